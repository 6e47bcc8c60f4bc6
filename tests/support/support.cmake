# SPDX-License-Identifier: Apache-2.0
# Helpers of all tests: LINK skein_test_support; where allocations shall fail, skein_alloc_fail too.
add_library(skein_test_port STATIC ${CMAKE_CURRENT_LIST_DIR}/port.c)
target_include_directories(skein_test_port PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(skein_test_port PRIVATE skein_flags)

add_library(skein_test_support STATIC ${CMAKE_CURRENT_LIST_DIR}/support.c)
target_include_directories(skein_test_support PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_compile_options(skein_test_support PRIVATE -Wno-format-nonliteral)
target_link_libraries(skein_test_support PRIVATE skein_flags skein_test_port PUBLIC PkgConfig::CHECK)

add_library(skein_alloc_fail STATIC ${CMAKE_CURRENT_LIST_DIR}/alloc_fail.c)
target_include_directories(skein_alloc_fail PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(skein_alloc_fail PRIVATE skein_flags)
target_link_options(skein_alloc_fail INTERFACE
    LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup)
