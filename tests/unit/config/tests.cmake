# SPDX-License-Identifier: Apache-2.0
skein_test(unit/config/test_config.c LINK skein_config skein_test_support skein_alloc_fail)
