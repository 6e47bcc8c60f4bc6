# SPDX-License-Identifier: Apache-2.0
skein_test(unit/common/test_transport_nn.c LINK skein_transport skein_test_support LABELS tsan)
