# SPDX-License-Identifier: Apache-2.0
skein_fuzz(sql LINK skein_cli_core skein_sql skein_sched skein_format)
skein_fuzz(sql_trace LINK skein_sql skein_format)
skein_fuzz(analyst_wire LINK skein_analyst_serve)
