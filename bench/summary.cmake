# SPDX-License-Identifier: Apache-2.0
skein_program(bench_summary FILES bench_summary.c LINK skein_analysis skein_format)
set_source_files_properties(bench_summary.c PROPERTIES COMPILE_OPTIONS -O2)
