# SPDX-License-Identifier: Apache-2.0
skein_test(stress/test_ring_threads.c LINK skein_ring_support skein_static)
skein_test(stress/test_writer_torn.c LINK skein_ring_support skein_testpoints LABELS tsan)
