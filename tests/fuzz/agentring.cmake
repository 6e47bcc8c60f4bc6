# SPDX-License-Identifier: Apache-2.0
skein_fuzz(ring LINK skein_agent_core)
