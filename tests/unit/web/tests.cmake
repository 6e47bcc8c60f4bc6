# SPDX-License-Identifier: Apache-2.0
skein_test(unit/web/test_lz4_frame.c LINK skein_trace_api skein_format skein_test_support)
skein_test(unit/web/test_search_terms.c LINK skein_trace_api skein_format skein_test_support)
# The browser's qsort, under another name.
skein_test(unit/web/test_stable_sort.c LINK skein_test_support skein_alloc_fail m)
target_sources(t_unit_web_stable_sort PRIVATE ${CMAKE_SOURCE_DIR}/web/wasm/stable_sort.c)
set_source_files_properties(${CMAKE_SOURCE_DIR}/web/wasm/stable_sort.c
    TARGET_DIRECTORY t_unit_web_stable_sort PROPERTIES COMPILE_DEFINITIONS qsort=browser_qsort)
skein_test(unit/web/test_trace_api.c LINK skein_trace_api skein_format skein_test_support skein_alloc_fail)
skein_test(unit/web/test_trace_details.c LINK skein_trace_api skein_format skein_test_support)
target_compile_definitions(t_unit_web_trace_api PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")

# What the browser runs, beside the same sources natively. Programs of sanitizers are no peers of it.
find_program(NODE node)
if(NODE AND NOT SKEIN_SANITIZE AND NOT SKEIN_FUZZ_ENGINE)
    file(STRINGS ${CMAKE_SOURCE_DIR}/web/wasm/sources.txt wasm_lines REGEX "^[^#]")
    list(TRANSFORM wasm_lines REPLACE " .*" "")
    list(TRANSFORM wasm_lines PREPEND ${CMAKE_SOURCE_DIR}/)
    set(wasm ${CMAKE_BINARY_DIR}/wasm)
    file(GLOB wasm_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/wasm/*.h ${CMAKE_SOURCE_DIR}/format/*.h
        ${CMAKE_SOURCE_DIR}/analysis/*.h ${CMAKE_SOURCE_DIR}/common/*.h ${CMAKE_SOURCE_DIR}/sched/*.h)
    add_custom_command(OUTPUT ${wasm}/trace.wasm ${wasm}/analysis.wasm
        COMMAND ${CMAKE_SOURCE_DIR}/web/wasm/build.sh ${wasm}
        COMMAND ${CMAKE_COMMAND} -E touch ${wasm}/trace.wasm ${wasm}/analysis.wasm
        DEPENDS ${CMAKE_SOURCE_DIR}/web/wasm/build.sh ${CMAKE_SOURCE_DIR}/web/wasm/sources.txt ${wasm_lines}
            ${wasm_headers} VERBATIM)
    add_custom_target(skein_wasm ALL DEPENDS ${wasm}/trace.wasm ${wasm}/analysis.wasm)
    skein_program(api_dump FILES unit/web/api_dump.c LINK skein_trace_api)
    skein_program(make_hostile FILES unit/web/make_hostile.c LINK skein_format)
    target_include_directories(make_hostile PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz)
    add_test(NAME unit/web/wasm_is_native
        COMMAND ${NODE} ${CMAKE_CURRENT_LIST_DIR}/wasm_is_native.mjs $<TARGET_FILE:api_dump>
            $<TARGET_FILE:make_hostile> $<TARGET_FILE:make_incident_trace> ${wasm} ${CMAKE_SOURCE_DIR}/tests)
    set_tests_properties(unit/web/wasm_is_native PROPERTIES LABELS unit TIMEOUT 300)
endif()
