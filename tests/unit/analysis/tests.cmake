# SPDX-License-Identifier: Apache-2.0
skein_test(unit/analysis/test_moment.c LINK skein_analysis skein_test_support)
skein_test(unit/analysis/test_thread_list.c LINK skein_analysis skein_test_support)
skein_test(unit/analysis/test_vitals_table.c LINK skein_analysis skein_test_support)
skein_test(unit/analysis/test_sched_sums.c LINK skein_analysis skein_sched skein_test_support)
skein_test(unit/analysis/test_trace_report.c LINK skein_analysis skein_test_incidents skein_test_support)
skein_test(unit/analysis/test_report_rules.c LINK skein_analysis skein_test_incidents skein_test_support)
target_compile_definitions(t_unit_analysis_report_rules PRIVATE SKEIN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
