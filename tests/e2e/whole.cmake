# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../support/whole.cmake)
skein_test(e2e/test_whole_garbage.c LINK skein_test_whole TIMEOUT 300 LABELS long)
skein_test(e2e/test_whole_health.c LINK skein_test_whole)
skein_test(e2e/test_whole_daemons.c LINK skein_test_whole)
skein_test(e2e/test_whole_sealed.c LINK skein_test_whole skein_transport)
skein_test(e2e/test_whole_rules.c LINK skein_test_whole)
target_compile_definitions(t_e2e_whole_rules PRIVATE AGENT_SUBJECT="$<TARGET_FILE:agent_subject>")
add_dependencies(t_e2e_whole_rules agent_subject)
