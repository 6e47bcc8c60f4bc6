# SPDX-License-Identifier: Apache-2.0
# Helpers of all tests: LINK skein_test_support; where allocations shall fail, skein_alloc_fail too.
add_library(skein_test_port STATIC ${CMAKE_CURRENT_LIST_DIR}/port.c)
target_include_directories(skein_test_port PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(skein_test_port PRIVATE skein_flags)

add_library(skein_test_support STATIC ${CMAKE_CURRENT_LIST_DIR}/support.c)
target_include_directories(skein_test_support PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_compile_options(skein_test_support PRIVATE -Wno-format-nonliteral)
target_link_libraries(skein_test_support PRIVATE skein_flags skein_test_port PUBLIC PkgConfig::CHECK)

# In every test of libcheck's (cmake/SkeinTargets.cmake): an assertion that holds is no system call.
add_library(skein_test_mark STATIC ${CMAKE_CURRENT_LIST_DIR}/mark_point.c)
target_link_libraries(skein_test_mark PRIVATE skein_flags PUBLIC PkgConfig::CHECK)
target_link_options(skein_test_mark INTERFACE LINKER:--wrap=_mark_point)

add_library(skein_alloc_fail STATIC ${CMAKE_CURRENT_LIST_DIR}/alloc_fail.c)
target_include_directories(skein_alloc_fail PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(skein_alloc_fail PRIVATE skein_flags)
target_link_options(skein_alloc_fail INTERFACE
    LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup)

# Made incidents, as traces: for the tests of what a trace says.
add_library(skein_test_incidents STATIC ${CMAKE_CURRENT_LIST_DIR}/incident_make.c)
target_include_directories(skein_test_incidents PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(skein_test_incidents PRIVATE skein_flags PUBLIC skein_format PkgConfig::CHECK)

# What .ci/run runs phases in, to find what tests leave running.
add_test(NAME support/leftovers COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_LIST_DIR}/test_leftovers.py)
set_tests_properties(support/leftovers PROPERTIES LABELS unit TIMEOUT 60)
