# SPDX-License-Identifier: Apache-2.0
skein_test(unit/cli/test_cli_gaps.c LINK skein_cli_core skein_test_support)
skein_test(unit/cli/test_report_verdict.c LINK skein_cli_core skein_test_support)
skein_test(unit/cli/test_kept_trace.c LINK skein_cli_core skein_test_support)
skein_test(unit/cli/test_perf_data.c LINK skein_cli_core skein_test_support)
target_compile_definitions(t_unit_cli_perf_data PRIVATE CORPUS="${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/perf_data")
skein_test(unit/cli/test_cli_options.c LINK skein_cli_core skein_test_support)
skein_test(unit/cli/test_cli_sse.c LINK skein_cli_core skein_test_support)
skein_test(unit/cli/test_sql_answer.c LINK skein_cli_core skein_test_support)
skein_test(unit/cli/test_cli_table.c LINK skein_cli_core skein_test_support)
foreach(test trace_commands evidence_commands download sched_commands)
    skein_test(unit/cli/test_${test}.c LINK skein_format skein_common skein_test_support)
    add_dependencies(t_unit_cli_${test} skein_cli)
    target_include_directories(t_unit_cli_${test} PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/format)
    target_compile_definitions(t_unit_cli_${test} PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>")
endforeach()

target_compile_definitions(t_unit_cli_sched_commands PRIVATE CORPUS="${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/perf_data"
    GO_TRACE="${CMAKE_SOURCE_DIR}/tests/exchange/traces/go1.22.trace")

skein_test(unit/cli/test_symbolize.c LINK skein_format skein_common skein_test_support)
target_include_directories(t_unit_cli_symbolize PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/format)
target_compile_definitions(t_unit_cli_symbolize PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>"
    SKEIN_SYMBOLIZER="$<TARGET_FILE:skein-symbolizer>" SYMBOL_PLUGIN="$<TARGET_FILE:symbol_plugin>")
add_dependencies(t_unit_cli_symbolize skein_cli skein-symbolizer symbol_plugin)

# What is made from the tables of commands: completion, pressed as the shells press it, and man
# pages, read by whichever linters there are.
find_program(BASH bash)
if(BASH)
    add_test(NAME unit/cli/completion COMMAND ${BASH} ${CMAKE_SOURCE_DIR}/tests/unit/cli/completion.sh
        $<TARGET_FILE:skein_cli>)
    set_tests_properties(unit/cli/completion PROPERTIES LABELS unit TIMEOUT 120)
endif()
find_program(GROFF groff)
find_program(MANDOC mandoc)
foreach(linter groff mandoc)
    string(TOUPPER ${linter} found)
    set(groff_options -man -ww -z -Tutf8)
    set(mandoc_options -T lint -W warning)
    if(${found})
        add_test(NAME unit/cli/man_${linter} COMMAND ${CMAKE_SOURCE_DIR}/tests/unit/cli/man.sh
            $<TARGET_FILE:skein_cli> ${${found}} ${${linter}_options})
        set_tests_properties(unit/cli/man_${linter} PROPERTIES LABELS unit TIMEOUT 120)
    endif()
endforeach()

# Where commands write.
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON)
    add_test(NAME unit/cli/outputs COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/unit/cli/outputs.py
        $<TARGET_FILE:skein_cli> ${CMAKE_SOURCE_DIR}/tests/golden/partition-v1-3.skein)
    add_test(NAME unit/cli/odd_files COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/unit/cli/odd_files.py
        $<TARGET_FILE:skein_cli> ${CMAKE_SOURCE_DIR}/tests/golden/partition-v1-3.skein)
    add_test(NAME unit/cli/links COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/unit/cli/links.py $<TARGET_FILE:skein_cli>)
    set_tests_properties(unit/cli/outputs unit/cli/odd_files unit/cli/links PROPERTIES LABELS unit TIMEOUT 300)
    add_test(NAME unit/cli/hostile_series COMMAND ${SYSTEM_PYTHON}
        ${CMAKE_SOURCE_DIR}/tests/unit/cli/hostile_series.py $<TARGET_FILE:skein_cli>)
    set_tests_properties(unit/cli/outputs unit/cli/odd_files unit/cli/hostile_series PROPERTIES LABELS unit TIMEOUT 300)
endif()
