# SPDX-License-Identifier: Apache-2.0
skein_test(unit/config/test_config.c LINK skein_config skein_test_support skein_alloc_fail)
skein_test(unit/config/test_config_command.c LINK skein_config skein_test_support)
skein_test(unit/config/test_config_place.c LINK skein_config skein_test_support)
skein_test(unit/config/test_shipped_agent.c LINK skein_agent_core skein_config skein_test_support)
skein_test(unit/config/test_shipped_collector.c LINK skein_server_core skein_config skein_test_support)
foreach(daemon agent collector)
    target_compile_definitions(t_unit_config_shipped_${daemon} PRIVATE
        SHIPPED_FOLDER="${CMAKE_SOURCE_DIR}/config/")
endforeach()

find_program(SYSTEMD_ANALYZE systemd-analyze)
if(SYSTEMD_ANALYZE)
    set(skeind_may ${CMAKE_SOURCE_DIR}/docs/operations.md AF_NETLINK)
    set(skein-agent_may ${CMAKE_SOURCE_DIR}/docs/operations.md ptrace perf_event_open AF_NETLINK
        setgroups setresgid setresuid capset CAP_SETUID CAP_SETGID CAP_KILL)
    foreach(unit skeind:15 skein-agent:35)
        string(REPLACE ":" ";" unit ${unit})
        list(GET unit 0 name)
        list(GET unit 1 threshold)
        add_test(NAME unit/config/${name}_unit COMMAND
            ${CMAKE_SOURCE_DIR}/tests/unit/config/units.sh ${SYSTEMD_ANALYZE}
            ${CMAKE_BINARY_DIR}/config/${name}.service ${threshold} ${${name}_may})
        set_tests_properties(unit/config/${name}_unit PROPERTIES LABELS unit TIMEOUT 60)
    endforeach()
endif()

find_program(SYSTEMD_SYSUSERS systemd-sysusers)
if(SYSTEMD_SYSUSERS)
    add_test(NAME unit/config/check_user COMMAND
        ${CMAKE_SOURCE_DIR}/tests/unit/config/check_user.sh ${SYSTEMD_SYSUSERS}
        ${CMAKE_SOURCE_DIR}/config/systemd/skein.sysusers $<TARGET_FILE:skein-agent>)
    set_tests_properties(unit/config/check_user PROPERTIES LABELS unit TIMEOUT 60)
endif()

# The daemons' man pages, read by whichever linters there are.
find_program(GROFF groff)
find_program(MANDOC mandoc)
foreach(daemon skeind skein-agent)
    foreach(linter groff mandoc)
        string(TOUPPER ${linter} found)
        set(groff_options -man -ww -z -Tutf8)
        set(mandoc_options -T lint -W warning)
        if(${found})
            add_test(NAME unit/config/page_${daemon}_${linter} COMMAND
                ${CMAKE_SOURCE_DIR}/tests/unit/config/page.sh $<TARGET_FILE:${daemon}> ${${found}}
                ${${linter}_options})
            set_tests_properties(unit/config/page_${daemon}_${linter} PROPERTIES LABELS unit TIMEOUT 120)
        endif()
    endforeach()
endforeach()
