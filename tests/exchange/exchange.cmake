# SPDX-License-Identifier: Apache-2.0
# What is exchanged with other tools, judged by these. Where a tool is not there, its test says so and
# is skipped; what it once said is beside the trace, so that the import is always held against it.
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON AND TARGET skein_cli)
    foreach(version 1.22 1.23 1.26)
        set(golden ${CMAKE_CURRENT_LIST_DIR}/traces/go${version})
        add_test(NAME exchange/go_${version} COMMAND ${SYSTEM_PYTHON} -B
            ${CMAKE_CURRENT_LIST_DIR}/go_judge.py compare ${golden}.json $<TARGET_FILE:skein_cli> ${golden}.trace)
        set_tests_properties(exchange/go_${version} PROPERTIES LABELS exchange TIMEOUT 120)
    endforeach()
    set(golden ${CMAKE_CURRENT_LIST_DIR}/traces/lttng)
    add_test(NAME exchange/ctf_lttng COMMAND ${SYSTEM_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/ctf_judge.py
        compare ${golden}.txt $<TARGET_FILE:skein_cli> ${golden})
    set_tests_properties(exchange/ctf_lttng PROPERTIES LABELS exchange TIMEOUT 120)
    add_test(NAME exchange/ctf_live COMMAND ${CMAKE_CURRENT_LIST_DIR}/ctf_live.sh ${SYSTEM_PYTHON}
        $<TARGET_FILE:skein_cli> ${CMAKE_BINARY_DIR}/tests/exchange)
    set_tests_properties(exchange/ctf_live PROPERTIES LABELS exchange TIMEOUT 600 SKIP_RETURN_CODE 77
        RESOURCE_LOCK lttng)
    add_test(NAME exchange/go_live COMMAND ${CMAKE_CURRENT_LIST_DIR}/go_live.sh ${SYSTEM_PYTHON}
        $<TARGET_FILE:skein_cli> ${CMAKE_BINARY_DIR}/tests/exchange)
    set_tests_properties(exchange/go_live PROPERTIES LABELS exchange TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
find_program(PROTOC protoc)
if(SYSTEM_PYTHON AND PROTOC AND TARGET skein_cli)
    add_test(NAME exchange/perfetto_live COMMAND ${SYSTEM_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/perfetto_live.py
        $<TARGET_FILE:skein_cli> ${PROTOC} ${CMAKE_SOURCE_DIR}/tests/unit/exchange)
    set_tests_properties(exchange/perfetto_live PROPERTIES LABELS exchange TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
