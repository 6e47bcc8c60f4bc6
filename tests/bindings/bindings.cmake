# SPDX-License-Identifier: Apache-2.0
# What services of other languages record through bindings/, by what they say that they did.
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(GO_PROGRAM go)
if(NOT SKEIN_SANITIZE AND TARGET skein-agent AND TARGET skeind)
    add_executable(binding_layout ${CMAKE_CURRENT_LIST_DIR}/binding_layout.c)
    target_link_libraries(binding_layout PRIVATE skein_flags skein)
    set(judge ${SYSTEM_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/test_bindings.py)
    set(there "SKEIN_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
    if(SYSTEM_PYTHON)
        add_test(NAME bindings/python COMMAND ${judge} python ${SYSTEM_PYTHON}
            ${CMAKE_CURRENT_LIST_DIR}/python_subject.py)
        set_tests_properties(bindings/python PROPERTIES LABELS e2e TIMEOUT 120
            ENVIRONMENT "${there};PYTHONPATH=${CMAKE_SOURCE_DIR}/bindings/python")
    endif()
    if(SYSTEM_PYTHON AND GO_PROGRAM)
        add_test(NAME bindings/go COMMAND ${CMAKE_CURRENT_LIST_DIR}/go.sh ${GO_PROGRAM}
            ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${judge})
        set_tests_properties(bindings/go PROPERTIES LABELS e2e TIMEOUT 300 ENVIRONMENT "${there}")
    endif()
endif()
