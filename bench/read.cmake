# SPDX-License-Identifier: Apache-2.0
skein_program(bench_read FILES read.c bench_trace.c read_child.c bench_host.c
    LINK skein_test_port skein_analysis skein_format skein_common)
add_dependencies(bench_read skein_cli)
skein_program(read_calls FILES read_calls.c)
target_compile_options(read_calls PRIVATE -pg)
target_link_options(read_calls PRIVATE -pg)
add_dependencies(bench_read read_calls)
