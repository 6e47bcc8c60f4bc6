# SPDX-License-Identifier: Apache-2.0
# Programs of Debian that stand still, and whether their capture says why (docs/incidents).
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON AND TARGET skein-agent AND TARGET skeind AND NOT SKEIN_SANITIZE)
    foreach(incident stopped crashed row_lock stalled_disk starved held_mutex)
        add_test(NAME incidents/${incident} COMMAND
            ${CMAKE_SOURCE_DIR}/tests/support/with_tracefs.sh ${SYSTEM_PYTHON}
            ${CMAKE_CURRENT_LIST_DIR}/run_incidents.py --only ${incident})
        set_tests_properties(incidents/${incident} PROPERTIES LABELS e2e TIMEOUT 180 COST 15
            SKIP_RETURN_CODE 77 ENVIRONMENT "SKEIN_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
    endforeach()
    set_tests_properties(incidents/starved PROPERTIES RUN_SERIAL TRUE) # it takes all CPUs from others
endif()
