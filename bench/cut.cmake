# SPDX-License-Identifier: Apache-2.0
skein_program(bench_cut FILES cut.c bench_host.c LINK skein_test_port skein_agent_core skein_static)
