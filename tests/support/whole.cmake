# SPDX-License-Identifier: Apache-2.0
# The daemons as built, run together: LINK skein_test_whole.
include_guard(GLOBAL)
add_executable(whole_load ${CMAKE_CURRENT_LIST_DIR}/whole_load.c)
target_link_libraries(whole_load PRIVATE skein_flags skein_static)

# Begins a program with fewer rights.
add_executable(confined ${CMAKE_CURRENT_LIST_DIR}/confined.c)
target_link_libraries(confined PRIVATE skein_flags)

# A wall clock that is wrong, to be preloaded: no sanitizer, whose start it would come before.
add_library(skein_test_clock_skew MODULE ${CMAKE_CURRENT_LIST_DIR}/clock_skew.c)
target_compile_options(skein_test_clock_skew PRIVATE -fno-sanitize=all)
target_link_options(skein_test_clock_skew PRIVATE -fno-sanitize=all)

add_library(skein_test_whole STATIC
    ${CMAKE_CURRENT_LIST_DIR}/whole.c ${CMAKE_CURRENT_LIST_DIR}/whole_tally.c)
target_include_directories(skein_test_whole PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_compile_options(skein_test_whole PRIVATE -Wno-format-nonliteral)
target_compile_definitions(skein_test_whole PUBLIC
    WHOLE_SKEIND="$<TARGET_FILE:skeind>" WHOLE_AGENT="$<TARGET_FILE:skein-agent>"
    WHOLE_LOAD="$<TARGET_FILE:whole_load>" WHOLE_SKEW="$<TARGET_FILE:skein_test_clock_skew>"
    WHOLE_CONFINED="$<TARGET_FILE:confined>")
target_link_libraries(skein_test_whole PRIVATE skein_flags
    PUBLIC skein_test_support skein_test_contract skein_http_client skein_protocol skein_format skein_transport)
add_dependencies(skein_test_whole skeind skein-analyst skein-agent whole_load confined skein_test_clock_skew)
