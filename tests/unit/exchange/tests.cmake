# SPDX-License-Identifier: Apache-2.0
# Exports read by others' programs, or by decoders written from the formats alone, and held against
# what a program wrote.
skein_test(unit/exchange/test_export_trace.c LINK skein_exchange skein_format skein_test_support)
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
skein_program(make_exchange_trace FILES unit/exchange/make_exchange_trace.c LINK skein_format)
if(SYSTEM_PYTHON)
    set(judges chrome fxt otlp)
    execute_process(COMMAND ${SYSTEM_PYTHON} -c "import bt2" RESULT_VARIABLE no_bt2 OUTPUT_QUIET ERROR_QUIET)
    find_program(BABELTRACE2 babeltrace2)
    if(no_bt2 EQUAL 0 AND BABELTRACE2)
        list(APPEND judges ctf)
    endif()
    foreach(judge ${judges})
        add_test(NAME unit/exchange/${judge}_rules COMMAND ${SYSTEM_PYTHON}
            ${CMAKE_CURRENT_LIST_DIR}/${judge}_rules.py $<TARGET_FILE:skein_cli>
            $<TARGET_FILE:make_exchange_trace>)
        set_tests_properties(unit/exchange/${judge}_rules PROPERTIES LABELS unit TIMEOUT 120)
    endforeach()
endif()
if(SYSTEM_PYTHON)
    add_test(NAME unit/exchange/fxt_import COMMAND ${SYSTEM_PYTHON} -B
        ${CMAKE_CURRENT_LIST_DIR}/fxt_import.py $<TARGET_FILE:skein_cli> $<TARGET_FILE:make_exchange_trace>)
    add_test(NAME unit/exchange/crossing_rules COMMAND ${SYSTEM_PYTHON} -B
        ${CMAKE_CURRENT_LIST_DIR}/crossing_rules.py $<TARGET_FILE:skein_cli> $<TARGET_FILE:make_crossing_trace>)
    set_tests_properties(unit/exchange/crossing_rules PROPERTIES LABELS unit TIMEOUT 120)
    add_test(NAME unit/exchange/perf_script_import COMMAND ${SYSTEM_PYTHON} -B
        ${CMAKE_CURRENT_LIST_DIR}/perf_script_import.py $<TARGET_FILE:skein_cli>
        ${CMAKE_SOURCE_DIR}/tests/exchange/traces/perf_script)
    add_test(NAME unit/exchange/unpack_import COMMAND ${SYSTEM_PYTHON} -B
        ${CMAKE_CURRENT_LIST_DIR}/unpack_import.py $<TARGET_FILE:skein_cli> ${CMAKE_SOURCE_DIR})
    set_tests_properties(unit/exchange/fxt_import unit/exchange/perf_script_import unit/exchange/unpack_import
        PROPERTIES LABELS unit TIMEOUT 120)
endif()
find_program(PROTOC protoc)
if(SYSTEM_PYTHON AND PROTOC)
    add_test(NAME unit/exchange/perfetto_import COMMAND ${SYSTEM_PYTHON} -B
        ${CMAKE_CURRENT_LIST_DIR}/perfetto_import.py $<TARGET_FILE:skein_cli> $<TARGET_FILE:make_exchange_trace>
        ${PROTOC} ${CMAKE_CURRENT_LIST_DIR})
    set_tests_properties(unit/exchange/perfetto_import PROPERTIES LABELS unit TIMEOUT 120)
endif()
skein_test(unit/exchange/test_import_go.c LINK skein_exchange skein_sql skein_test_support)
target_compile_definitions(t_unit_exchange_import_go PRIVATE
    TRACES="${CMAKE_SOURCE_DIR}/tests/exchange/traces")
skein_test(unit/exchange/test_import_ctf.c LINK skein_exchange skein_sql skein_test_support)
target_compile_definitions(t_unit_exchange_import_ctf PRIVATE
    TRACES="${CMAKE_SOURCE_DIR}/tests/exchange/traces")
skein_test(unit/exchange/test_import_out.c LINK skein_exchange skein_sql skein_test_support)
