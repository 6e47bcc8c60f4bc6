# SPDX-License-Identifier: Apache-2.0
skein_test(stress/test_ring_threads.c LINK skein_ring_support skein_static)
