# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../support/whole.cmake)
skein_test(e2e/test_whole_garbage.c LINK skein_test_whole LABELS long)
skein_test(e2e/test_promtool.c LINK skein_test_whole)
set_tests_properties(e2e/promtool PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: promtool")
skein_test(e2e/test_whole_health.c LINK skein_test_whole)
skein_test(e2e/test_whole_clocks.c LINK skein_test_whole)
skein_test(e2e/test_whole_databases.c LINK skein_test_whole LABELS long)
skein_test(e2e/test_whole_daemons.c LINK skein_test_whole)
skein_test(e2e/test_whole_stream.c LINK skein_test_whole)
skein_test(e2e/test_whole_share.c LINK skein_test_whole)
skein_test(e2e/test_whole_scope.c LINK skein_test_whole LABELS long)
skein_test(e2e/test_whole_sealed.c LINK skein_test_whole skein_transport)
skein_test(e2e/test_whole_neighbours.c LINK skein_test_whole LABELS long)
target_compile_definitions(t_e2e_whole_neighbours PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>")
add_dependencies(t_e2e_whole_neighbours skein_cli)
skein_test(e2e/test_whole_rules.c LINK skein_test_whole)
target_compile_definitions(t_e2e_whole_rules PRIVATE AGENT_SUBJECT="$<TARGET_FILE:agent_subject>")
add_dependencies(t_e2e_whole_rules agent_subject)
foreach(test cli damage policies remote series threads tls)
    skein_test(e2e/test_whole_${test}.c LINK skein_test_whole)
    target_compile_definitions(t_e2e_whole_${test} PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>")
    add_dependencies(t_e2e_whole_${test} skein_cli)
endforeach()
add_dependencies(t_e2e_whole_series skein-analyst)
target_compile_definitions(t_e2e_whole_tls PRIVATE CONSOLE_LOGIN="${CMAKE_CURRENT_LIST_DIR}/console_login.py"
    CONSOLE_OPEN="${CMAKE_CURRENT_LIST_DIR}/console_open.py")
if(NOT SKEIN_SANITIZE) # they preload
    add_executable(evidence_subject ${CMAKE_CURRENT_LIST_DIR}/evidence_subject.c)
    target_link_libraries(evidence_subject PRIVATE skein_flags)
    target_compile_options(evidence_subject PRIVATE -g)
    foreach(test evidence refused)
        skein_test(e2e/test_whole_${test}.c TRACEFS LINK skein_test_whole)
        target_sources(t_e2e_whole_${test} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/evidence_scene.c)
        target_compile_definitions(t_e2e_whole_${test} PRIVATE
            SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>"
            EVIDENCE_SUBJECT="$<TARGET_FILE:evidence_subject>"
            SHIPPED_FOLDER="${CMAKE_SOURCE_DIR}/config/")
        add_dependencies(t_e2e_whole_${test} skein_cli skein-preload skein-symbolizer evidence_subject)
    endforeach()
    find_program(GO_PROGRAM go)
    set(evidence_go "")
    if(GO_PROGRAM)
        set(evidence_go ${GO_PROGRAM})
    endif()
    skein_test(e2e/test_whole_evidence_choice.c TRACEFS LINK skein_test_whole)
    target_compile_definitions(t_e2e_whole_evidence_choice PRIVATE
        SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>" SKEIN_PRELOAD="$<TARGET_FILE:skein-preload>"
        CPU_BURNER="$<TARGET_FILE:cpu_burner>" GO_PROGRAM="${evidence_go}")
    add_dependencies(t_e2e_whole_evidence_choice skein_cli skein-preload cpu_burner skein-symbolizer)
    skein_test(e2e/test_plain_user.c LINK skein_test_support)
    target_compile_options(t_e2e_plain_user PRIVATE -Wno-format-nonliteral)
    target_compile_definitions(t_e2e_plain_user PRIVATE SKEIND="$<TARGET_FILE:skeind>"
        SKEIN_AGENT="$<TARGET_FILE:skein-agent>" SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>"
        SHIPPED_FOLDER="${CMAKE_SOURCE_DIR}/config/")
    add_dependencies(t_e2e_plain_user skeind skein-agent skein_cli)
endif()
if(NOT SKEIN_SANITIZE) # it preloads into programs of the system; and a static one has no sanitizer
    add_executable(outside_counter ${CMAKE_SOURCE_DIR}/tests/support/outside_counter.c)
    add_executable(outside_napper ${CMAKE_SOURCE_DIR}/tests/support/outside_counter.c)
    add_executable(watched_counter ${CMAKE_SOURCE_DIR}/tests/support/outside_counter.c)
    foreach(program outside_counter watched_counter) # one for each test: agents select by the path
        target_compile_options(${program} PRIVATE -O1)
        target_link_options(${program} PRIVATE -static)
        target_link_libraries(${program} PRIVATE skein_flags)
    endforeach()
    target_link_libraries(outside_napper PRIVATE skein_flags)
    skein_test(e2e/test_whole_words.c TRACEFS LINK skein_test_whole)
    target_compile_definitions(t_e2e_whole_words PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>"
        PRELOAD="$<TARGET_FILE:skein-preload>")
    add_dependencies(t_e2e_whole_words skein_cli skein-preload skein-symbolizer)
    skein_test(e2e/test_whole_outside.c TRACEFS LINK skein_test_whole LABELS long)
    target_compile_definitions(t_e2e_whole_outside PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>"
        PRELOAD="$<TARGET_FILE:skein-preload>" OUTSIDE_COUNTER="$<TARGET_FILE:outside_counter>"
        OUTSIDE_NAPPER="$<TARGET_FILE:outside_napper>")
    add_dependencies(t_e2e_whole_outside skein_cli skein-preload skein-symbolizer outside_counter
        outside_napper)
    skein_test(e2e/test_whole_watched.c TRACEFS LINK skein_test_whole LABELS long)
    target_compile_definitions(t_e2e_whole_watched PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>"
        OUTSIDE_COUNTER="$<TARGET_FILE:watched_counter>")
    add_dependencies(t_e2e_whole_watched skein_cli skein-symbolizer watched_counter)
endif()

add_executable(whole_crowd ${CMAKE_CURRENT_LIST_DIR}/../support/whole_crowd.c)
target_link_libraries(whole_crowd PRIVATE skein_flags skein_static)
skein_test(e2e/test_whole_crowd.c LINK skein_test_whole)
target_compile_definitions(t_e2e_whole_crowd PRIVATE WHOLE_CROWD="$<TARGET_FILE:whole_crowd>"
    SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>")
add_dependencies(t_e2e_whole_crowd whole_crowd skein_cli)
set_tests_properties(e2e/whole_crowd PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: to be two users")
