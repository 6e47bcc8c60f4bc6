# SPDX-License-Identifier: Apache-2.0
# Pages in a browser, where there is one (tools/deps.sh --ci installs it): that of a report, and the console's.
# The browser without its own windows and menus takes half the processor's time; pages are the same to it.
find_program(CHROMIUM_SHELL chromium-headless-shell)
find_program(CHROMIUM chromium)
set(page_browser ${CHROMIUM})
if(CHROMIUM_SHELL)
    set(page_browser ${CHROMIUM_SHELL})
endif()
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(NODE node)
if(page_browser AND SYSTEM_PYTHON AND NOT SKEIN_SANITIZE)
    add_test(NAME page/in_browser COMMAND ${SYSTEM_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/page_in_browser.py ${page_browser}
        $<TARGET_FILE:skein_cli> $<TARGET_FILE:make_incident_trace> $<TARGET_FILE:make_sql_trace>
        $<TARGET_FILE:t_unit_analysis_page>)
    set_tests_properties(page/in_browser PROPERTIES LABELS page TIMEOUT 600 COST 10 PROCESSORS 2)
else()
    message(STATUS "no test of the page in a browser: chromium is missing; tools/deps.sh --ci installs it")
endif()

# The console (web/tests). Its pages need a skeind that has them.
set(web_tests ${CMAKE_SOURCE_DIR}/web/tests/run.sh)
if(SKEIN_WEB AND NODE AND EXISTS ${CMAKE_SOURCE_DIR}/web/node_modules)
    add_test(NAME unit/web COMMAND ${web_tests} unit WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(unit/web PROPERTIES LABELS unit TIMEOUT 120)
    if(page_browser AND SYSTEM_PYTHON AND NOT SKEIN_SANITIZE)
        foreach(part walks looks sessions) # each has a scene of its own: web/tests/pages/run.mjs
            add_test(NAME page/console_${part} COMMAND ${web_tests} pages --part ${part}
                WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
            set_tests_properties(page/console_${part} PROPERTIES LABELS page TIMEOUT 600 COST 100 PROCESSORS 2
                ENVIRONMENT "SKEIN_BUILD=${CMAKE_BINARY_DIR};SKEIN_CHROMIUM=${page_browser}")
        endforeach()
    endif()
endif()
skein_program(console_subject FILES page/console_subject.c LINK skein)
skein_program(make_console_trace FILES page/make_console_trace.c ${CMAKE_SOURCE_DIR}/tests/support/fake_wire_agent.c
    LINK skein_test_partition skein_test_support skein_transport skein_protocol skein_format skein_common)
