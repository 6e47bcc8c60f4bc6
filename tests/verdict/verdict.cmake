# SPDX-License-Identifier: Apache-2.0
# The verdict matrix: run_matrix.py, and the programs that it runs (run_matrix.py --help).
add_executable(verdict_subject ${CMAKE_CURRENT_LIST_DIR}/verdict_subject.c)
target_link_libraries(verdict_subject PRIVATE skein_flags skein_static)
add_library(clock_step SHARED ${CMAKE_CURRENT_LIST_DIR}/clock_step.c)
target_link_libraries(clock_step PRIVATE skein_flags)
