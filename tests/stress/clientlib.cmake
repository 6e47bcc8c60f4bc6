# SPDX-License-Identifier: Apache-2.0
skein_test(stress/test_ring_threads.c LINK skein_ring_support skein_static)
skein_test(stress/test_writer_torn.c LONG LINK skein_ring_support skein_testpoints LABELS tsan)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    skein_test(stress/test_stack_load.c
        LINK skein_ring_support skein_static ${CMAKE_DL_LIBS} LABELS tsan)
    target_sources(t_stress_stack_load PRIVATE ${CMAKE_CURRENT_LIST_DIR}/stack_load_work.cpp)
    target_compile_definitions(t_stress_stack_load PRIVATE
        WALK_PLUGIN_A="$<TARGET_FILE:walk_plugin_a>" WALK_PLUGIN_B="$<TARGET_FILE:walk_plugin_b>")
    add_dependencies(t_stress_stack_load walk_plugin_a walk_plugin_b)
endif()
