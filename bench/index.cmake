# SPDX-License-Identifier: Apache-2.0
skein_program(bench_index FILES index.c bench_host.c LINK skein_server_core)
