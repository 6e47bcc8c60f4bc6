# SPDX-License-Identifier: Apache-2.0
skein_test(unit/sched/test_sched_layout.c LINK skein_sched skein_test_support)
skein_test(unit/sched/test_sched_runs.c LINK skein_sched skein_test_support)
skein_test(unit/sched/test_sched_timeline.c LINK skein_sched skein_test_support)
target_compile_definitions(t_unit_sched_sched_layout PRIVATE CORPUS="${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/sched_layout")
