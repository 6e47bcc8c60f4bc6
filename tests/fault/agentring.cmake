# SPDX-License-Identifier: Apache-2.0
skein_test(fault/test_cut_memory.c LINK skein_agent_core skein_test_support skein_alloc_fail)
