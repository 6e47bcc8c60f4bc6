# SPDX-License-Identifier: Apache-2.0
skein_test(unit/analysis/test_findings.c LINK skein_analysis skein_test_support)
skein_test(unit/analysis/test_thread_list.c LINK skein_analysis skein_test_support)
skein_test(unit/analysis/test_vitals_table.c LINK skein_analysis skein_test_support)
skein_test(unit/analysis/test_sched_sums.c LINK skein_analysis skein_sched skein_test_support)
skein_test(unit/analysis/test_lanes.c LINK skein_analysis skein_test_support skein_alloc_fail m)
skein_test(unit/analysis/test_page.c LINK skein_analysis skein_test_support skein_alloc_fail)
target_compile_definitions(t_unit_analysis_page PRIVATE
    SKEIN_PAGE_JUDGE="${CMAKE_SOURCE_DIR}/tests/unit/analysis/page_judge.py")
skein_test(unit/analysis/test_lanes_read.c LINK skein_analysis skein_format skein_test_support)
