# SPDX-License-Identifier: Apache-2.0
# The page of a report in a browser, where there is one: tools/deps.sh --ci installs it.
find_program(CHROMIUM chromium)
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(CHROMIUM AND SYSTEM_PYTHON AND NOT SKEIN_SANITIZE)
    add_test(NAME page/in_browser COMMAND ${SYSTEM_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/page_in_browser.py ${CHROMIUM}
        $<TARGET_FILE:skein_cli> $<TARGET_FILE:make_incident_trace> $<TARGET_FILE:make_sql_trace>
        $<TARGET_FILE:t_unit_analysis_page>)
    set_tests_properties(page/in_browser PROPERTIES LABELS page TIMEOUT 600 COST 10)
else()
    message(STATUS "no test of the page in a browser: chromium is missing; tools/deps.sh --ci installs it")
endif()
