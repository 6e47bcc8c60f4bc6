# SPDX-License-Identifier: Apache-2.0
skein_test(unit/rules/test_rule_match.c LINK skein_rules skein_test_support)
