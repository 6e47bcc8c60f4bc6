# SPDX-License-Identifier: Apache-2.0
skein_program(bench_index FILES bench_index.c bench_host.c LINK skein_test_port skein_server_core)
