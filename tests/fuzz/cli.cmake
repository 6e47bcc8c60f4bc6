# SPDX-License-Identifier: Apache-2.0
skein_fuzz(sse LINK skein_cli_core skein_common)
skein_fuzz(kept_trace LINK skein_cli_core skein_common)
skein_fuzz(sql_answer LINK skein_cli_core skein_common)
