# SPDX-License-Identifier: Apache-2.0
skein_test(unit/common/test_buf.c LINK skein_common skein_test_support)
skein_test(unit/common/test_clock.c LINK skein_common skein_test_support)
skein_test(unit/common/test_ids.c LINK skein_common skein_test_support)
skein_test(unit/common/test_json.c LINK skein_common skein_test_support)
skein_test(unit/common/test_log.c LINK skein_common skein_test_support LABELS tsan)
skein_test(unit/common/test_selector.c LINK skein_common skein_test_support skein_alloc_fail)
skein_test(unit/common/test_transport_nn.c LINK skein_transport skein_test_support LABELS tsan)
skein_test(unit/common/test_wire.c LINK skein_common skein_test_support)
