# SPDX-License-Identifier: Apache-2.0
skein_fuzz(address LINK skein_agent_core)
skein_fuzz(proc_load LINK skein_agent_core)
skein_fuzz(sockets LINK skein_agent_core)
skein_fuzz(policy_spec LINK skein_agent_core)
skein_fuzz(rule_spec LINK skein_agent_core)
