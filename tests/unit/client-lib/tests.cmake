# SPDX-License-Identifier: Apache-2.0
# A second decoder of rings and an agent without a daemon, for all tests of the writer.
add_library(skein_ring_support STATIC
    ${CMAKE_SOURCE_DIR}/tests/support/decoded_ring.c
    ${CMAKE_SOURCE_DIR}/tests/support/fake_agent.c)
target_include_directories(skein_ring_support PUBLIC ${CMAKE_SOURCE_DIR}/tests/support)
target_link_libraries(skein_ring_support PRIVATE skein_flags PUBLIC skein_ring skein_test_support)
target_include_directories(skein_ring_support PRIVATE ${CMAKE_SOURCE_DIR}/client-lib/include)

skein_test(unit/client-lib/test_ring_layout.c LINK skein_ring_support)
skein_test(unit/client-lib/test_privacy.c LINK skein_ring_support)
skein_test(unit/client-lib/test_writer_slow.c LINK skein_ring_support skein_static)
skein_test(unit/client-lib/test_attach_client.c LONG LINK skein_ring_support skein_static)
skein_test(unit/client-lib/test_session_miss.c LINK skein_ring_support skein_static)
skein_test(unit/client-lib/test_session_race.c LINK skein_ring_support skein_testpoints)
skein_test(unit/client-lib/test_thread_cold.c LINK skein_ring_support skein_testpoints)
skein_test(unit/client-lib/test_backing.c LINK skein_ring_support skein_static LABELS tsan)
skein_test(unit/client-lib/test_chunk.c LONG LINK skein_ring_support skein_static)
skein_test(unit/client-lib/test_table.c LINK skein_ring_support skein_testpoints ${CMAKE_DL_LIBS})
add_library(skein_test_plugin MODULE ${CMAKE_CURRENT_LIST_DIR}/plugin.c)
target_link_libraries(skein_test_plugin PRIVATE skein_flags)
target_include_directories(skein_test_plugin PRIVATE ${CMAKE_SOURCE_DIR}/client-lib/include)
add_dependencies(t_unit_client-lib_table skein_test_plugin)
set_target_properties(t_unit_client-lib_table PROPERTIES ENABLE_EXPORTS ON)
target_compile_definitions(t_unit_client-lib_table PRIVATE PLUGIN="$<TARGET_FILE:skein_test_plugin>")
skein_test(unit/client-lib/test_cpp.c LINK skein_ring_support skein_static)
target_sources(t_unit_client-lib_cpp PRIVATE ${CMAKE_CURRENT_LIST_DIR}/cpp_work.cpp)

# What is walked is compiled as services are, also where the rest is not.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_library(skein_walk_subject OBJECT ${CMAKE_CURRENT_LIST_DIR}/walk_subject.c)
    target_compile_options(skein_walk_subject PRIVATE -O2 -fomit-frame-pointer
        -fno-optimize-sibling-calls -fno-sanitize=all)
    skein_test(unit/client-lib/test_stack_walk.c LINK skein_ring_support skein_static ${CMAKE_DL_LIBS})
    target_sources(t_unit_client-lib_stack_walk PRIVATE $<TARGET_OBJECTS:skein_walk_subject>)
    skein_test(unit/client-lib/test_thread_stack.c LINK skein_ring_support skein_static ${CMAKE_DL_LIBS})
    target_sources(t_unit_client-lib_thread_stack PRIVATE $<TARGET_OBJECTS:skein_walk_subject>)
    skein_test(unit/client-lib/test_stack_gaps.c LINK skein_ring_support skein_static ${CMAKE_DL_LIBS})
    target_compile_options(t_unit_client-lib_stack_gaps PRIVATE -fno-sanitize=all)
    target_link_options(t_unit_client-lib_stack_gaps PRIVATE
        -fuse-ld=bfd -Wl,--section-start=far_text=0x40000000 -Wl,--build-id)
    skein_test(unit/client-lib/test_stack_record.c
        LINK skein_ring_support skein_static ${CMAKE_DL_LIBS} LABELS tsan)
    target_sources(t_unit_client-lib_stack_record PRIVATE $<TARGET_OBJECTS:skein_walk_subject>)
    foreach(plugin IN ITEMS a b bare_a bare_b) # bare: without a build id
        add_library(walk_plugin_${plugin} MODULE ${CMAKE_CURRENT_LIST_DIR}/walk_plugin.c)
        target_compile_options(walk_plugin_${plugin} PRIVATE -O2 -fomit-frame-pointer -fno-sanitize=all)
        string(TOUPPER ${plugin} upper)
        target_compile_definitions(walk_plugin_${plugin} PRIVATE
            WALK_PLUGIN="${plugin}" WALK_ROOM=$<IF:$<STREQUAL:${plugin},a>,256,768>)
        if(plugin MATCHES bare)
            target_link_options(walk_plugin_${plugin} PRIVATE -Wl,--build-id=none)
        endif()
        target_compile_definitions(t_unit_client-lib_stack_record PRIVATE
            WALK_PLUGIN_${upper}="$<TARGET_FILE:walk_plugin_${plugin}>")
        add_dependencies(t_unit_client-lib_stack_record walk_plugin_${plugin})
    endforeach()
    add_executable(stack_rules_print ${CMAKE_CURRENT_LIST_DIR}/stack_rules_print.c)
    target_link_libraries(stack_rules_print PRIVATE skein_flags skein_static ${CMAKE_DL_LIBS})
    target_include_directories(stack_rules_print PRIVATE ${CMAKE_SOURCE_DIR}/client-lib/src)
    add_test(NAME unit/client-lib/stack_rules COMMAND /usr/bin/python3
        ${CMAKE_CURRENT_LIST_DIR}/stack_rules.py $<TARGET_FILE:stack_rules_print> readelf)
    set_tests_properties(unit/client-lib/stack_rules PROPERTIES LABELS unit TIMEOUT 600)
endif()

add_test(NAME unit/client-lib/headers
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/headers.sh ${CMAKE_SOURCE_DIR}/client-lib/include)
set_tests_properties(unit/client-lib/headers PROPERTIES LABELS unit TIMEOUT 120)
if(TARGET skein-preload AND NOT SKEIN_SANITIZE)
    add_test(NAME unit/client-lib/symbols
        COMMAND ${CMAKE_CURRENT_LIST_DIR}/symbols.sh ${CMAKE_BINARY_DIR}/client-lib/libskein.a
            $<TARGET_FILE:skein> $<TARGET_FILE:skein-preload> $<TARGET_FILE:skein_static>
            ${CMAKE_SOURCE_DIR}/client-lib/include ${CMAKE_C_COMPILER})
    set_tests_properties(unit/client-lib/symbols PROPERTIES LABELS unit TIMEOUT 120)
endif()
