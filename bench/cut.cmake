# SPDX-License-Identifier: Apache-2.0
add_executable(bench_cut ${CMAKE_CURRENT_LIST_DIR}/cut.c)
target_link_libraries(bench_cut PRIVATE skein_flags skein_agent_core skein_static)
