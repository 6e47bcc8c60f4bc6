# SPDX-License-Identifier: Apache-2.0
skein_program(bench_read FILES read.c bench_host.c bench_trace.c LINK skein_test_port skein_format skein_common)
