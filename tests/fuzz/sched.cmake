# SPDX-License-Identifier: Apache-2.0
skein_fuzz(perf_data LINK skein_cli_core skein_format skein_common)
skein_fuzz(sched_page LINK skein_agent_core skein_sched)
skein_fuzz(sched_layout LINK skein_agent_core skein_sched)
