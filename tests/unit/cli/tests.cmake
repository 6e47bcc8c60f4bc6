# SPDX-License-Identifier: Apache-2.0
skein_test(unit/cli/test_cli_options.c LINK skein_cli_core skein_test_support)
skein_test(unit/cli/test_cli_table.c LINK skein_cli_core skein_test_support)
foreach(test trace_commands download)
    skein_test(unit/cli/test_${test}.c LINK skein_format skein_common skein_test_support)
    add_dependencies(t_unit_cli_${test} skein_cli)
    target_include_directories(t_unit_cli_${test} PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/format)
    target_compile_definitions(t_unit_cli_${test} PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>")
endforeach()
