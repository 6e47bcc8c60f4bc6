# SPDX-License-Identifier: Apache-2.0
# A collector for tests of agents; LINK skein_fake_collector.
add_library(skein_fake_collector STATIC ${CMAKE_SOURCE_DIR}/tests/support/fake_collector.c)
target_include_directories(skein_fake_collector PUBLIC ${CMAKE_SOURCE_DIR}/tests/support)
target_compile_options(skein_fake_collector PRIVATE -Wno-format-nonliteral)
target_link_libraries(skein_fake_collector PRIVATE skein_flags PUBLIC skein_transport skein_common skein_test_support)

skein_test(unit/agent/test_durable.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_spool.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_uplink.c LINK skein_agent_up skein_fake_collector LABELS tsan)
