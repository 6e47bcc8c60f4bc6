# SPDX-License-Identifier: Apache-2.0
skein_test(unit/config/test_config.c LINK skein_config skein_test_support skein_alloc_fail)
skein_test(unit/config/test_shipped_agent.c LINK skein_agent_up skein_config skein_test_support)
skein_test(unit/config/test_shipped_collector.c LINK skein_server_core skein_config skein_test_support)
foreach(daemon agent collector)
    target_compile_definitions(t_unit_config_shipped_${daemon} PRIVATE
        SHIPPED_FOLDER="${CMAKE_SOURCE_DIR}/config/")
endforeach()
