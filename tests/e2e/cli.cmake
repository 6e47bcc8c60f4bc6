# SPDX-License-Identifier: Apache-2.0
# The demo verifies its own claim: a complete capture of a real Redis that stalled. It preloads into
# programs of the system, which a sanitizer's runtime does not allow.
find_program(REDIS_SERVER redis-server)
if(REDIS_SERVER AND TARGET skein-agent AND TARGET skeind AND NOT SKEIN_SANITIZE)
    add_test(NAME e2e/demo COMMAND ${CMAKE_SOURCE_DIR}/tools/demo.sh ${CMAKE_BINARY_DIR})
    set_tests_properties(e2e/demo PROPERTIES LABELS e2e TIMEOUT 180
        ENVIRONMENT "ONCE=1;DEMO_OUT=${CMAKE_BINARY_DIR}/demo-out")
endif()

# What `make install` needs and puts where, and `make uninstall`.
if(NOT SKEIN_SANITIZE)
    add_test(NAME e2e/install COMMAND ${CMAKE_SOURCE_DIR}/tests/e2e/install.sh ${CMAKE_SOURCE_DIR}
        ${CMAKE_BINARY_DIR} ${CMAKE_COMMAND})
    set_tests_properties(e2e/install PROPERTIES LABELS e2e TIMEOUT 120)
endif()
