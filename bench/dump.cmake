# SPDX-License-Identifier: Apache-2.0
skein_program(bench_dump FILES dump.c bench_host.c LINK skein_test_port skein_agent_core Threads::Threads)
target_compile_definitions(bench_dump PRIVATE SKEIN_SYMBOLIZER="$<TARGET_FILE:skein-symbolizer>")
add_dependencies(bench_dump skein-symbolizer)
