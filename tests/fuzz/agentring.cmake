# SPDX-License-Identifier: Apache-2.0
skein_fuzz(attach LINK skein_agent_core)
skein_fuzz(ring LINK skein_agent_core)
