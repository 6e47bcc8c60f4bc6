# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_exchange_memory.c LINK skein_exchange skein_format skein_test_support skein_alloc_fail)
skein_test(fault/test_import_go_memory.c LINK skein_exchange skein_test_support skein_alloc_fail)
target_include_directories(t_fault_import_go_memory PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/exchange)
target_compile_definitions(t_fault_import_go_memory PRIVATE
    TRACES="${CMAKE_SOURCE_DIR}/tests/exchange/traces")
