# SPDX-License-Identifier: Apache-2.0
skein_test(crash/test_skeind_kill.c LINK skein_test_collector)
target_compile_definitions(t_crash_skeind_kill PRIVATE SKEIND="$<TARGET_FILE:skeind>")
add_dependencies(t_crash_skeind_kill skeind)
skein_test(crash/test_retention_kill.c LINK skein_test_collector)
target_compile_definitions(t_crash_retention_kill PRIVATE SKEIND="$<TARGET_FILE:skeind>")
add_dependencies(t_crash_retention_kill skeind)
