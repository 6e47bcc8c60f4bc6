# SPDX-License-Identifier: Apache-2.0
skein_program(bench_pack FILES pack.c bench_host.c bench_trace.c
    LINK skein_test_port skein_format skein_common)
# The forms that a trace could have, on traces of real programs that the script makes.
skein_program(bench_pack_forms FILES pack_forms.c pack_other.c pack_trace.c
    LINK skein_format skein_common PkgConfig::LZ4)
pkg_check_modules(BENCH_ZSTD QUIET IMPORTED_TARGET libzstd)
if(BENCH_ZSTD_FOUND)
    target_compile_definitions(bench_pack_forms PRIVATE BENCH_ZSTD)
    target_link_libraries(bench_pack_forms PRIVATE PkgConfig::BENCH_ZSTD)
endif()
find_program(PYTHON3 NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(PYTHON3)
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/bench_pack_traces
        CONTENT "#!/bin/sh\nexec ${PYTHON3} -B ${CMAKE_CURRENT_SOURCE_DIR}/pack_traces.py --skein $<TARGET_FILE:skein_cli> --agent $<TARGET_FILE:skein-agent> --skeind $<TARGET_FILE:skeind> --load $<TARGET_FILE:bench_overhead_load> --forms $<TARGET_FILE:bench_pack_forms> \"$@\"\n"
        FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()
