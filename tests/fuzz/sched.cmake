# SPDX-License-Identifier: Apache-2.0
skein_fuzz(perf_data LINK skein_cli_core skein_exchange skein_sql)
target_include_directories(fuzz_perf_data PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
skein_fuzz(sched_page LINK skein_agent_core skein_sched)
skein_fuzz(sched_layout LINK skein_agent_core skein_sched)
