# SPDX-License-Identifier: Apache-2.0
skein_test(unit/sql/test_sql_engine.c LONG LINK skein_sql skein_test_support LABELS tsan)
skein_test(unit/sql/test_sql_command.c LINK skein_sched skein_format skein_test_support)
add_dependencies(t_unit_sql_sql_command skein_cli)
target_compile_definitions(t_unit_sql_sql_command PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>")

# Sums by another program over the same trace, and what docs/sql.md shows.
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
skein_program(make_sql_trace FILES unit/sql/make_sql_trace.c LINK skein_sched skein_format)
if(SYSTEM_PYTHON)
    foreach(test truth page)
        add_test(NAME unit/sql/${test} COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/unit/sql/${test}.py
            $<TARGET_FILE:skein_cli> $<TARGET_FILE:make_sql_trace> ${CMAKE_SOURCE_DIR}/docs/sql.md)
        set_tests_properties(unit/sql/${test} PROPERTIES LABELS unit TIMEOUT 300)
    endforeach()
endif()
