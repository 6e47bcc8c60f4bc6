# SPDX-License-Identifier: Apache-2.0
skein_test(stress/test_ring_reader.c
    LINK skein_agent_core skein_static skein_test_support LABELS tsan)
