# SPDX-License-Identifier: Apache-2.0
skein_program(bench_read FILES read.c bench_trace.c bench_host.c
    LINK skein_test_port skein_analysis skein_format skein_common)
add_dependencies(bench_read skein_cli)
