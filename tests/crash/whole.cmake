# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../support/whole.cmake)
skein_test(crash/test_whole_kill_service.c LINK skein_test_whole TIMEOUT 300 LABELS long)
