# SPDX-License-Identifier: Apache-2.0
# SQL over a capture of a program of Debian's; it preloads, which a sanitizer's runtime does not allow.
include(${CMAKE_CURRENT_LIST_DIR}/../support/whole.cmake)
find_program(REDIS_SERVER redis-server)
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(REDIS_SERVER AND SYSTEM_PYTHON AND NOT SKEIN_SANITIZE)
    skein_test(e2e/test_whole_sql.c LINK skein_test_whole)
    target_compile_definitions(t_e2e_whole_sql PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>"
        SKEIN_PRELOAD="$<TARGET_FILE:skein-preload>" SYSTEM_PYTHON="${SYSTEM_PYTHON}"
        TRUTH="${CMAKE_SOURCE_DIR}/tests/unit/sql/truth.py")
    add_dependencies(t_e2e_whole_sql skein_cli skein-preload skein-symbolizer)
endif()
# Comparisons of a capture of the same program.
if(REDIS_SERVER AND NOT SKEIN_SANITIZE)
    skein_test(e2e/test_whole_diff.c LINK skein_test_whole)
    target_compile_definitions(t_e2e_whole_diff PRIVATE SKEIN_PROGRAM="$<TARGET_FILE:skein_cli>"
        SKEIN_PRELOAD="$<TARGET_FILE:skein-preload>")
    add_dependencies(t_e2e_whole_diff skein_cli skein-preload skein-symbolizer)
endif()
