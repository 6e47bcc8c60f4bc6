# SPDX-License-Identifier: Apache-2.0
skein_fuzz(agent_control LINK skein_agent_core)
skein_fuzz(spool LINK skein_agent_core)
skein_fuzz(rule_memory LINK skein_agent_core)
skein_fuzz(roster_file LINK skein_agent_core)
skein_fuzz(outside LINK skein_agent_core)
