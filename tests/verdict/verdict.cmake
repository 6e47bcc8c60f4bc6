# SPDX-License-Identifier: Apache-2.0
# The verdict matrix: run_matrix.py, and the programs that it runs. A few cases are a test; .ci/run verdict runs all.
# run_kills.py is a campaign of kills with the same judge; a few rounds of it are a test.
add_executable(verdict_subject ${CMAKE_CURRENT_LIST_DIR}/verdict_subject.c)
target_link_libraries(verdict_subject PRIVATE skein_flags skein_static)
add_executable(verdict_plain ${CMAKE_CURRENT_LIST_DIR}/verdict_plain.c)
target_link_libraries(verdict_plain PRIVATE skein_flags)
add_library(clock_step SHARED ${CMAKE_CURRENT_LIST_DIR}/clock_step.c)
target_link_libraries(clock_step PRIVATE skein_flags)
add_test(NAME verdict/judge COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/test_judge.py)
set_tests_properties(verdict/judge PROPERTIES LABELS "verdict" TIMEOUT 60
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
add_test(NAME verdict/matrix_short
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/run_matrix.py --short --seed 1)
add_test(NAME verdict/kills_short
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/run_kills.py --rounds 12 --seed 1 --jobs 2)
set_tests_properties(verdict/kills_short PROPERTIES LABELS "verdict;long" TIMEOUT 300 COST 30
    ENVIRONMENT "SKEIN_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
set_tests_properties(verdict/matrix_short PROPERTIES LABELS "verdict;long" TIMEOUT 300 COST 30
    ENVIRONMENT "SKEIN_BUILD=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
