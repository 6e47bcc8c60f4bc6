# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_analysis_memory.c LINK skein_analysis skein_test_incidents skein_test_support skein_alloc_fail)
