# SPDX-License-Identifier: Apache-2.0
skein_fuzz(attach LINK skein_agent_core)
skein_fuzz(ring LINK skein_agent_core)
skein_fuzz(perf_record LINK skein_agent_core)
skein_fuzz(perf_text LINK skein_agent_core)
skein_fuzz(fault_line LINK skein_agent_core)
skein_fuzz(last_words LINK skein_agent_core)
skein_fuzz(signal_frame LINK skein_agent_core)
