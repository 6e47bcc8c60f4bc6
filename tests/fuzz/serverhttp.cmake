# SPDX-License-Identifier: Apache-2.0
skein_fuzz(cursor LINK skein_server_core)
skein_fuzz(control LINK skein_server_core)
skein_fuzz(policy LINK skein_server_core)
skein_fuzz(rule LINK skein_server_core)
skein_fuzz(trigger LINK skein_server_core)
skein_fuzz(http_field LINK skein_server_core)
skein_fuzz(http_framing LINK skein_server_core)
