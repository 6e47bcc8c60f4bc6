# SPDX-License-Identifier: Apache-2.0
skein_fuzz(export LINK skein_exchange skein_format skein_common)
skein_fuzz(import_go LINK skein_exchange)
target_include_directories(fuzz_import_go PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/exchange)
skein_fuzz(import_ctf LINK skein_exchange)
target_include_directories(fuzz_import_ctf PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/exchange)
skein_fuzz(import_fxt LINK skein_exchange)
target_include_directories(fuzz_import_fxt PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/exchange)
