# SPDX-License-Identifier: Apache-2.0
skein_test(crash/test_spool_kill.c LINK skein_agent_core skein_test_support)
