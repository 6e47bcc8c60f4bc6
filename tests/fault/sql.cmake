# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_sql_memory.c LINK skein_sql skein_test_support skein_alloc_fail)
target_include_directories(t_fault_sql_memory PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/sql)
