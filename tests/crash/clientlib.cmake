# SPDX-License-Identifier: Apache-2.0
skein_test(crash/test_writer_kill.c LINK skein_ring_support skein_testpoints)
