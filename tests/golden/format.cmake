# SPDX-License-Identifier: Apache-2.0
skein_test(golden/test_partition_v1.c LINK skein_format skein_test_support)
target_compile_definitions(t_golden_partition_v1 PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")

# Makes the golden file and the fuzz corpora; not part of the tests.
skein_program(make_samples FILES golden/make_samples.c LINK skein_format)

# The same of summaries (docs/summary.md).
skein_test(golden/test_summary_v1.c LINK skein_analysis skein_test_support)
target_compile_definitions(t_golden_summary_v1 PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
skein_program(make_summary FILES golden/make_summary.c LINK skein_analysis)
