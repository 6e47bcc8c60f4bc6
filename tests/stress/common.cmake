# SPDX-License-Identifier: Apache-2.0
skein_test(stress/test_transport_strangers.c LINK skein_transport skein_transport_sockets skein_test_support)
