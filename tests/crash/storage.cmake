# SPDX-License-Identifier: Apache-2.0
skein_test(crash/test_collector_kill.c LINK skein_server_core skein_test_partition)
skein_test(crash/test_compact_kill.c LINK skein_server_core skein_test_partition)
