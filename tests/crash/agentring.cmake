# SPDX-License-Identifier: Apache-2.0
add_executable(ring_subject ${CMAKE_CURRENT_LIST_DIR}/ring_subject.c)
target_link_libraries(ring_subject PRIVATE skein_flags skein_static)
skein_test(crash/test_ring_kill.c LINK skein_agent_core skein_test_support)
target_compile_definitions(t_crash_ring_kill PRIVATE RING_SUBJECT="$<TARGET_FILE:ring_subject>")
add_dependencies(t_crash_ring_kill ring_subject)
