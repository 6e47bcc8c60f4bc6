# SPDX-License-Identifier: Apache-2.0
skein_test(unit/analysis/test_moment.c LINK skein_analysis skein_test_support)
skein_test(unit/analysis/test_thread_list.c LINK skein_analysis skein_test_support)
skein_test(unit/analysis/test_vitals_table.c LINK skein_analysis skein_test_support)
skein_test(unit/analysis/test_sched_sums.c LINK skein_analysis skein_sched skein_test_support)
skein_test(unit/analysis/test_lanes.c LINK skein_analysis skein_test_support skein_alloc_fail m)
skein_test(unit/analysis/test_page.c LINK skein_analysis skein_test_support skein_alloc_fail)
target_compile_definitions(t_unit_analysis_page PRIVATE
    SKEIN_PAGE_JUDGE="${CMAKE_SOURCE_DIR}/tests/unit/analysis/page_judge.py")
skein_test(unit/analysis/test_page_trace.c
    LINK skein_analysis skein_format skein_test_support skein_alloc_fail)
target_compile_definitions(t_unit_analysis_page_trace PRIVATE
    SKEIN_PAGE_JUDGE="${CMAKE_SOURCE_DIR}/tests/unit/analysis/page_judge.py")
skein_test(unit/analysis/test_lanes_read.c LINK skein_analysis skein_format skein_test_support)
skein_test(unit/analysis/test_histogram.c LINK skein_alloc_fail skein_analysis skein_test_support m)
skein_test(unit/analysis/test_summary.c LINK skein_alloc_fail skein_analysis skein_test_support)
skein_test(unit/analysis/test_summary_rows.c LINK skein_alloc_fail skein_analysis skein_sched
    skein_test_support)
skein_test(unit/analysis/test_statistics.c LINK skein_analysis skein_test_support m)
skein_test(unit/analysis/test_diff.c LINK skein_alloc_fail skein_analysis skein_test_support m)
skein_test(unit/analysis/test_diff_baseline.c LINK skein_analysis skein_test_incidents skein_test_support m)
skein_test(unit/analysis/test_slow_share.c LINK skein_alloc_fail skein_analysis skein_test_incidents
    skein_test_support m)

# What `skein stats` says beside sums that Python makes of `skein cat`.
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
skein_program(make_summary_trace FILES unit/analysis/make_summary_trace.c
    LINK skein_format skein_test_support PkgConfig::CHECK)
target_include_directories(make_summary_trace PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
if(SYSTEM_PYTHON)
    add_test(NAME unit/cli/stats_truth COMMAND ${SYSTEM_PYTHON}
        ${CMAKE_SOURCE_DIR}/tests/unit/cli/stats_truth.py $<TARGET_FILE:skein_cli>
        $<TARGET_FILE:make_summary_trace> ${CMAKE_CURRENT_BINARY_DIR}
        ${CMAKE_SOURCE_DIR}/tests/golden/partition-v1-3.skein)
    add_test(NAME unit/cli/stats_diff COMMAND ${SYSTEM_PYTHON}
        ${CMAKE_SOURCE_DIR}/tests/unit/cli/stats_diff.py $<TARGET_FILE:skein_cli>
        $<TARGET_FILE:make_summary_trace> ${CMAKE_CURRENT_BINARY_DIR}
        ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/perf_data/sched)
    add_test(NAME unit/cli/report_html COMMAND ${SYSTEM_PYTHON}
        ${CMAKE_SOURCE_DIR}/tests/unit/cli/report_html.py $<TARGET_FILE:skein_cli>
        $<TARGET_FILE:make_summary_trace> ${CMAKE_SOURCE_DIR}/tests/unit/analysis/page_judge.py
        ${CMAKE_SOURCE_DIR}/tests/golden/partition-v1-3.skein)
    add_test(NAME unit/cli/damage COMMAND ${SYSTEM_PYTHON}
        ${CMAKE_SOURCE_DIR}/tests/unit/cli/damage.py $<TARGET_FILE:skein_cli>
        $<TARGET_FILE:make_summary_trace>)
    add_test(NAME unit/cli/longest_truth COMMAND ${SYSTEM_PYTHON}
        ${CMAKE_SOURCE_DIR}/tests/unit/cli/longest_truth.py $<TARGET_FILE:skein_cli>
        $<TARGET_FILE:make_summary_trace>)
    set_tests_properties(unit/cli/damage unit/cli/longest_truth unit/cli/report_html unit/cli/stats_truth unit/cli/stats_diff PROPERTIES
        LABELS unit TIMEOUT 300)
endif()
skein_test(unit/analysis/test_trace_report.c LONG LINK skein_analysis skein_test_incidents skein_test_support)
skein_test(unit/analysis/test_task_path.c LINK skein_analysis skein_test_incidents skein_test_support)
skein_test(unit/analysis/test_report_blame.c LINK skein_analysis skein_test_incidents skein_test_support)
skein_test(unit/analysis/test_report_rules.c LINK skein_analysis skein_test_incidents skein_test_support)
target_compile_definitions(t_unit_analysis_report_rules PRIVATE SKEIN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
add_test(NAME unit/analysis/wasm COMMAND ${CMAKE_SOURCE_DIR}/tests/unit/analysis/wasm.sh
    ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/wasm)
set_tests_properties(unit/analysis/wasm PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
