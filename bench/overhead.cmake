# SPDX-License-Identifier: Apache-2.0
skein_program(bench_overhead_load FILES overhead_load.c LINK Threads::Threads)
# What preloading costs by itself: a library without code.
add_library(bench_overhead_nothing SHARED overhead_nothing.c)
find_program(PYTHON3 NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(PYTHON3)
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/bench_overhead
        CONTENT "#!/bin/sh\nexec ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/overhead.py --skein $<TARGET_FILE:skein_cli> --agent $<TARGET_FILE:skein-agent> --load $<TARGET_FILE:bench_overhead_load> --nothing $<TARGET_FILE:bench_overhead_nothing> \"$@\"\n"
        FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()
