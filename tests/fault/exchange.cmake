# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_exchange_memory.c LINK skein_exchange skein_format skein_test_support skein_alloc_fail)
