# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../support/whole.cmake)
skein_test(e2e/test_whole_garbage.c LINK skein_test_whole TIMEOUT 300 LABELS long)
skein_test(e2e/test_whole_health.c LINK skein_test_whole)
skein_test(e2e/test_whole_daemons.c LINK skein_test_whole)
skein_test(e2e/test_whole_sealed.c LINK skein_test_whole skein_transport)
