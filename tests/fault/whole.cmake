# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../support/whole.cmake)
skein_test(fault/test_whole_disk_full.c LINK skein_test_whole)
