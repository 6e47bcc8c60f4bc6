# SPDX-License-Identifier: Apache-2.0
skein_test(unit/exchange/test_import_go.c LINK skein_exchange skein_test_support)
target_compile_definitions(t_unit_exchange_import_go PRIVATE
    TRACES="${CMAKE_SOURCE_DIR}/tests/exchange/traces")
skein_test(unit/exchange/test_import_ctf.c LINK skein_exchange skein_test_support)
target_compile_definitions(t_unit_exchange_import_ctf PRIVATE
    TRACES="${CMAKE_SOURCE_DIR}/tests/exchange/traces")
