# SPDX-License-Identifier: Apache-2.0
skein_test(unit/protocol/test_command.c LINK skein_protocol skein_test_support)
skein_test(unit/protocol/test_control_golden.c LINK skein_protocol skein_test_support)
skein_test(unit/protocol/test_control_round_trip.c LINK skein_protocol skein_test_support)
skein_test(unit/protocol/test_report.c LINK skein_protocol skein_test_support)
skein_test(unit/protocol/test_seal_file.c LINK skein_seal skein_test_support)
skein_test(unit/protocol/test_seal_sodium.c LINK skein_seal skein_test_support)
skein_test(unit/protocol/test_wire.c LINK skein_protocol skein_test_support)
