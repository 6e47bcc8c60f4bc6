# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../support/whole.cmake)
skein_test(crash/test_whole_kill_service.c LINK skein_test_whole LABELS long)

# One body, a test for each daemon.
add_executable(t_crash_whole_kill ${CMAKE_CURRENT_LIST_DIR}/test_whole_kill.c)
target_link_libraries(t_crash_whole_kill PRIVATE skein_flags skein_test_whole)
foreach(daemon agent collector)
    add_test(NAME crash/whole_kill_${daemon} COMMAND t_crash_whole_kill ${daemon})
    set_tests_properties(crash/whole_kill_${daemon} PROPERTIES LABELS "crash;long" TIMEOUT 600 COST 30)
    if(SKEIN_CONTRACT)
        set_tests_properties(crash/whole_kill_${daemon} PROPERTIES FIXTURES_REQUIRED contract)
    endif()
endforeach()
