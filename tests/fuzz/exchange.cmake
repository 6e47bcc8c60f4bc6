# SPDX-License-Identifier: Apache-2.0
skein_fuzz(unpack LINK skein_exchange skein_sql)
target_include_directories(fuzz_unpack PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
skein_fuzz(export LINK skein_exchange skein_format skein_common)
foreach(tool go ctf fxt perf_script perfetto)
    skein_fuzz(import_${tool} LINK skein_exchange skein_sql)
    target_include_directories(fuzz_import_${tool} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
endforeach()
