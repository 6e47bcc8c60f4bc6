# SPDX-License-Identifier: Apache-2.0
# The OpenAPI document is linted, and every answer that the tests got from a collector is held
# against it. Its programs come from npm (tools/deps.sh).
include_guard(GLOBAL)
add_library(skein_test_contract STATIC ${CMAKE_SOURCE_DIR}/tests/support/contract.c)
target_compile_definitions(skein_test_contract PRIVATE CONTRACT_FOLDER="${CMAKE_BINARY_DIR}/contract")
target_link_libraries(skein_test_contract PRIVATE skein_flags PUBLIC skein_http_client skein_common)

find_program(NODE node)
if(NODE AND EXISTS ${CMAKE_CURRENT_LIST_DIR}/node_modules)
    set(SKEIN_CONTRACT ON)
    set(document ${CMAKE_SOURCE_DIR}/server/api/openapi.json)
    add_test(NAME contract/document COMMAND ${NODE} ${CMAKE_CURRENT_LIST_DIR}/node_modules/@redocly/cli/bin/cli.js
        lint --config ${CMAKE_CURRENT_LIST_DIR}/redocly.yaml ${document})
    set_tests_properties(contract/document PROPERTIES
        ENVIRONMENT "REDOCLY_TELEMETRY=off;REDOCLY_SUPPRESS_UPDATE_NOTICE=true" LABELS contract TIMEOUT 60)
    add_test(NAME contract/begin COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/contract)
    add_test(NAME contract/folder COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/contract)
    set_tests_properties(contract/begin PROPERTIES FIXTURES_SETUP contract)
    set_tests_properties(contract/folder PROPERTIES FIXTURES_SETUP contract DEPENDS contract/begin)
    add_test(NAME contract/answers COMMAND ${NODE} ${CMAKE_CURRENT_LIST_DIR}/answers.mjs
        ${document} ${CMAKE_BINARY_DIR}/contract)
    set_tests_properties(contract/answers PROPERTIES FIXTURES_CLEANUP contract LABELS contract TIMEOUT 120)
else()
    message(STATUS "no contract tests: node or tests/contract/node_modules is missing; tools/deps.sh installs them")
endif()
