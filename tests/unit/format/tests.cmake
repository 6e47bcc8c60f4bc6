# SPDX-License-Identifier: Apache-2.0
skein_test(unit/format/test_partition_bytes.c LINK skein_format skein_test_support LABELS tsan)
skein_test(unit/format/test_partition_columns.c LINK skein_format skein_test_support)
skein_test(unit/format/test_partition_damage.c LINK skein_format skein_test_support)
skein_test(unit/format/test_partition_fault.c LINK skein_format skein_test_support)
skein_test(unit/format/test_partition_reader.c LINK skein_format skein_test_support)
skein_test(unit/format/test_partition_slice.c LINK skein_format skein_test_support)
skein_test(unit/format/test_partition_stacks.c LINK skein_format skein_test_support)
skein_test(unit/format/test_partition_writer.c LINK skein_format skein_test_support)
skein_test(unit/format/test_perfetto_export.c LINK skein_format skein_test_support)
skein_test(unit/format/test_span_lanes.c LINK skein_format skein_test_support)
skein_test(unit/format/test_stack_profile.c LINK skein_format skein_test_support)
skein_test(unit/format/test_trace_columns.c LINK skein_format skein_test_support)
skein_test(unit/format/test_trace_cursor.c LINK skein_format skein_test_support)
skein_test(unit/format/test_trace_causes.c LINK skein_alloc_fail skein_format skein_test_support)
skein_test(unit/format/test_trace_file.c LINK skein_format skein_test_support)
skein_test(unit/format/test_trace_json.c LINK skein_format skein_common skein_test_support)
skein_test(unit/format/test_trace_whole.c LINK skein_format skein_test_support skein_alloc_fail)
skein_test(unit/format/test_trace_twins.c LINK skein_format skein_test_support skein_alloc_fail)

# The installed reader: what it exports, and what a program outside of the tree makes of it.
if(NOT SKEIN_SANITIZE)
    skein_program(reader_abi FILES unit/format/reader_abi.c)
    target_include_directories(reader_abi PRIVATE ${CMAKE_SOURCE_DIR}/format/include
        ${CMAKE_SOURCE_DIR}/client-lib/include)
    add_dependencies(reader_abi skein_reader skein_reader_archive)
    add_test(NAME unit/format/reader_abi
        COMMAND ${CMAKE_CURRENT_LIST_DIR}/reader_abi.sh ${CMAKE_BINARY_DIR})
    add_test(NAME unit/format/reader_installed
        COMMAND ${CMAKE_CURRENT_LIST_DIR}/reader_installed.sh ${CMAKE_SOURCE_DIR}
            ${CMAKE_BINARY_DIR} ${CMAKE_COMMAND})
    set_tests_properties(unit/format/reader_abi unit/format/reader_installed PROPERTIES
        LABELS unit TIMEOUT 120)
endif()

# An export read by another decoder, by Perfetto's own rules.
find_program(PROTOC protoc)
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
skein_program(make_crossing_trace FILES unit/format/make_crossing_trace.c LINK skein_test_partition)
if(PROTOC AND SYSTEM_PYTHON)
    skein_program(make_perfetto_trace FILES unit/format/make_perfetto_trace.c
        LINK skein_test_partition)
    add_test(NAME unit/format/perfetto_rules COMMAND ${SYSTEM_PYTHON}
        ${CMAKE_SOURCE_DIR}/tests/unit/format/perfetto_rules.py $<TARGET_FILE:skein_cli>
        $<TARGET_FILE:make_perfetto_trace> ${PROTOC} ${CMAKE_SOURCE_DIR}/tests/unit/format)
    set_tests_properties(unit/format/perfetto_rules PROPERTIES LABELS unit TIMEOUT 120)
    add_test(NAME unit/format/perfetto_judged COMMAND ${SYSTEM_PYTHON} -B
        ${CMAKE_SOURCE_DIR}/tests/unit/format/perfetto_judged.py $<TARGET_FILE:skein_cli>
        $<TARGET_FILE:make_crossing_trace> ${PROTOC} ${CMAKE_SOURCE_DIR}/tests/unit/format)
    set_tests_properties(unit/format/perfetto_judged PROPERTIES LABELS unit TIMEOUT 300)
    # Stacks in all exports; pprof's own reader comes with Go.
    find_program(GO_PROGRAM go)
    skein_program(make_stack_trace FILES unit/format/make_stack_trace.c LINK skein_format)
    set(stack_go)
    if(GO_PROGRAM)
        set(stack_go ${GO_PROGRAM})
    endif()
    add_test(NAME unit/format/stack_rules COMMAND ${SYSTEM_PYTHON}
        ${CMAKE_SOURCE_DIR}/tests/unit/format/stack_rules.py $<TARGET_FILE:skein_cli>
        $<TARGET_FILE:make_stack_trace> ${PROTOC} ${CMAKE_SOURCE_DIR}/tests/unit/format
        ${stack_go})
    set_tests_properties(unit/format/stack_rules PROPERTIES LABELS unit TIMEOUT 120)
endif()
