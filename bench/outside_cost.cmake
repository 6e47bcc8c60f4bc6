# SPDX-License-Identifier: Apache-2.0
skein_program(bench_outside FILES outside_cost.c bench_host.c LINK skein_test_port skein_agent_core)
