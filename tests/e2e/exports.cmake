# SPDX-License-Identifier: Apache-2.0
# The demo's capture in other tools' formats, beside what the second decoder reads of it.
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(TEST e2e/demo AND SYSTEM_PYTHON)
    execute_process(COMMAND ${SYSTEM_PYTHON} -c "import bt2, lz4.frame" RESULT_VARIABLE no_bt2
        OUTPUT_QUIET ERROR_QUIET)
    if(no_bt2 EQUAL 0)
        add_test(NAME e2e/exports COMMAND ${SYSTEM_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/exports.py
            $<TARGET_FILE:skein_cli> ${CMAKE_BINARY_DIR}/demo-out/redis.skein ${CMAKE_SOURCE_DIR})
        set_tests_properties(e2e/exports PROPERTIES LABELS e2e TIMEOUT 180 FIXTURES_REQUIRED demo_out)
    endif()
endif()

# Services in memory cgroups of their own; it says so where none can be made (77).
if(SYSTEM_PYTHON AND TARGET skein-agent AND TARGET skeind AND NOT SKEIN_SANITIZE)
    add_executable(memory_subject ${CMAKE_CURRENT_LIST_DIR}/memory_subject.c)
    target_link_libraries(memory_subject PRIVATE skein_flags skein_static)
    add_test(NAME e2e/memory_cgroup COMMAND ${SYSTEM_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/memory_cgroup.py)
    set_tests_properties(e2e/memory_cgroup PROPERTIES LABELS e2e TIMEOUT 600 COST 30 SKIP_RETURN_CODE 77
        ENVIRONMENT "SKEIN_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endif()
