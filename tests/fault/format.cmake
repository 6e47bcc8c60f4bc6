# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_format_memory.c LINK skein_format skein_test_support skein_alloc_fail)
