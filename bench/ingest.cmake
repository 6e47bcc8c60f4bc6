# SPDX-License-Identifier: Apache-2.0
skein_program(bench_ingest FILES bench_ingest.c bench_host.c LINK skein_test_port skein_server_core skein_test_partition)
