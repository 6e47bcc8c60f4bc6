# SPDX-License-Identifier: Apache-2.0
find_program(PYTHON3 NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(PYTHON3)
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/bench_sched_read
        CONTENT "#!/bin/sh\nexec ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/sched_read.py --skein $<TARGET_FILE:skein_cli> \"$@\"\n"
        FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()
