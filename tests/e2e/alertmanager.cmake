# SPDX-License-Identifier: Apache-2.0
# Prometheus Alertmanager itself, where it is installed (tools/deps.sh --ci).
find_program(ALERTMANAGER prometheus-alertmanager)
if(ALERTMANAGER)
    skein_test(e2e/test_alertmanager.c LINK skein_test_collector)
    target_compile_definitions(t_e2e_alertmanager PRIVATE ALERTMANAGER="${ALERTMANAGER}")
endif()
