# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_sched_memory.c LINK skein_agent_core skein_test_support skein_alloc_fail)
skein_test(fault/test_import_memory.c LINK skein_cli_core skein_test_support skein_alloc_fail)
target_compile_definitions(t_fault_import_memory PRIVATE
    CORPUS="${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/perf_data")
