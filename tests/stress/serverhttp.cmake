# SPDX-License-Identifier: Apache-2.0
skein_test(stress/test_collector_strangers.c LINK skein_test_collector skein_transport_sockets)
