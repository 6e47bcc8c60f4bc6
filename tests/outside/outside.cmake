# SPDX-License-Identifier: Apache-2.0
# A Go service that is watched from outside, by what it says of itself.
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(GO_PROGRAM go)
if(NOT SKEIN_SANITIZE AND SYSTEM_PYTHON AND GO_PROGRAM AND TARGET skein-agent AND TARGET skeind)
    add_test(NAME outside/go COMMAND ${CMAKE_CURRENT_LIST_DIR}/go.sh ${GO_PROGRAM}
        ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}
        ${SYSTEM_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/test_outside_go.py)
    set_tests_properties(outside/go PROPERTIES LABELS e2e TIMEOUT 600
        ENVIRONMENT "SKEIN_BUILD=${CMAKE_BINARY_DIR}")
endif()
