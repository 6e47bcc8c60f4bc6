# SPDX-License-Identifier: Apache-2.0
skein_fuzz(partition LINK skein_format)
skein_fuzz(footer LINK skein_format)
skein_fuzz(slice LINK skein_format)
skein_fuzz(footer_strip LINK skein_server_trace skein_format m)
skein_fuzz(evidence LINK skein_analysis skein_format)
skein_fuzz(trace LINK skein_format)
skein_fuzz(summary LINK skein_analysis skein_common)
skein_fuzz(trace_report LINK skein_analysis skein_format)
