# SPDX-License-Identifier: Apache-2.0
skein_fuzz(lz4_frame LINK skein_trace_api skein_format PkgConfig::LZ4)
skein_fuzz(search_terms LINK skein_trace_api skein_format)
