# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_exchange_memory.c LINK skein_exchange skein_format skein_test_support skein_alloc_fail)
foreach(test import_go import_ctf)
    skein_test(fault/test_${test}_memory.c LINK skein_exchange skein_sql skein_test_support skein_alloc_fail)
    target_include_directories(t_fault_${test}_memory PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/exchange)
    target_compile_definitions(t_fault_${test}_memory PRIVATE
        TRACES="${CMAKE_SOURCE_DIR}/tests/exchange/traces")
endforeach()
