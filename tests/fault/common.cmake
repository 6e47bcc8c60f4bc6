# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_bytes_memory.c LINK skein_protocol skein_test_support skein_alloc_fail)
