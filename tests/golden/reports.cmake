# SPDX-License-Identifier: Apache-2.0
# What commands say of fixed traces; README.md says how they are renewed.
skein_program(make_incident_trace FILES golden/make_incident_trace.c LINK skein_test_incidents skein_test_support)
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON)
    set(reports ${SYSTEM_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/reports.py $<TARGET_FILE:skein_cli> ${CMAKE_CURRENT_LIST_DIR}/reports
        $<TARGET_FILE:make_incident_trace> $<TARGET_FILE:make_summary_trace> $<TARGET_FILE:make_sql_trace>
        ${CMAKE_CURRENT_LIST_DIR}/partition-v1-3.skein)
    add_test(NAME golden/reports COMMAND ${reports})
    set_tests_properties(golden/reports PROPERTIES LABELS golden TIMEOUT 300)
    add_custom_target(renew_reports COMMAND ${reports} --renew DEPENDS skein_cli make_incident_trace make_summary_trace
        make_sql_trace VERBATIM)
endif()
