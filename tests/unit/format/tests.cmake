# SPDX-License-Identifier: Apache-2.0
skein_test(unit/format/test_partition_damage.c LINK skein_format skein_test_support)
skein_test(unit/format/test_partition_reader.c LINK skein_format skein_test_support)
skein_test(unit/format/test_partition_slice.c LINK skein_format skein_test_support)
skein_test(unit/format/test_partition_writer.c LINK skein_format skein_test_support)
skein_test(unit/format/test_perfetto_export.c LINK skein_format skein_test_support)
skein_test(unit/format/test_trace_file.c LINK skein_format skein_test_support)
skein_test(unit/format/test_trace_json.c LINK skein_format skein_common skein_test_support)
