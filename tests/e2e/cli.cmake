# SPDX-License-Identifier: Apache-2.0
# The demo verifies its own claim: a complete capture of a real Redis that stalled. It preloads into
# programs of the system, which a sanitizer's runtime does not allow.
find_program(REDIS_SERVER redis-server)
if(REDIS_SERVER AND TARGET skein-agent AND TARGET skeind AND NOT SKEIN_SANITIZE)
    add_test(NAME e2e/demo COMMAND ${CMAKE_SOURCE_DIR}/tools/demo.sh ${CMAKE_BINARY_DIR})
    set_tests_properties(e2e/demo PROPERTIES LABELS e2e TIMEOUT 180 COST 20
        ENVIRONMENT "ONCE=1;DEMO_OUT=${CMAKE_BINARY_DIR}/demo-out" FIXTURES_SETUP demo_out)
endif()

# Every block of README.md, as it stands there. Its network and folders are its own (77: the kernel
# allows none).
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(REDIS_SERVER AND SYSTEM_PYTHON AND NOT SKEIN_SANITIZE)
    add_test(NAME e2e/readme COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/e2e/readme.py
        ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_BINARY_DIR})
    set_tests_properties(e2e/readme PROPERTIES LABELS e2e TIMEOUT 300 SKIP_RETURN_CODE 77 COST 30)
endif()

# What `make install` needs and puts where, and `make uninstall`.
if(NOT SKEIN_SANITIZE)
    add_test(NAME e2e/install COMMAND ${CMAKE_SOURCE_DIR}/tests/e2e/install.sh ${CMAKE_SOURCE_DIR}
        ${CMAKE_BINARY_DIR} ${CMAKE_COMMAND})
    set_tests_properties(e2e/install PROPERTIES LABELS e2e TIMEOUT 120)
endif()
