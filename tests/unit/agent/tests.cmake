# SPDX-License-Identifier: Apache-2.0
# A collector for tests of agents; LINK skein_fake_collector.
add_library(skein_fake_collector STATIC ${CMAKE_SOURCE_DIR}/tests/support/fake_collector.c)
target_include_directories(skein_fake_collector PUBLIC ${CMAKE_SOURCE_DIR}/tests/support)
target_compile_options(skein_fake_collector PRIVATE -Wno-format-nonliteral)
target_link_libraries(skein_fake_collector PRIVATE skein_flags PUBLIC skein_transport skein_common skein_test_support)

skein_test(unit/agent/test_durable.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_spool.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_capture_recover.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_uplink_clock.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_uplink_seal.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_uplink.c LINK skein_agent_up skein_fake_collector LABELS tsan)
skein_test(unit/agent/test_agent_report.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_capture_job.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_policy_spec.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_rule_condition.c LINK skein_agent_up skein_test_support)
skein_test(unit/agent/test_proc_load.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_checks.c LINK skein_agent_up skein_test_support LABELS tsan)
skein_test(unit/agent/test_check_place.c LINK skein_agent_up skein_test_support)
# The agent as a process, with a service of its own.
foreach(service agent_subject agent_forker)
    add_executable(${service} ${CMAKE_CURRENT_LIST_DIR}/${service}.c)
    target_link_libraries(${service} PRIVATE skein_flags skein_static)
endforeach()
add_library(skein_test_agent STATIC ${CMAKE_CURRENT_LIST_DIR}/agent_daemon.c)
target_compile_options(skein_test_agent PRIVATE -Wno-format-nonliteral)
target_include_directories(skein_test_agent PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(skein_test_agent PUBLIC
    SKEIN_AGENT="$<TARGET_FILE:skein-agent>" AGENT_SUBJECT="$<TARGET_FILE:agent_subject>"
    AGENT_FORKER="$<TARGET_FILE:agent_forker>")
target_link_libraries(skein_test_agent PRIVATE skein_flags PUBLIC skein_format skein_fake_collector)
add_dependencies(skein_test_agent skein-agent agent_subject agent_forker)
skein_test(unit/agent/test_agent.c LINK skein_agent_up skein_test_agent)
skein_test(unit/agent/test_agent_rules.c LINK skein_test_agent)

# Rings: attach, read, cut.
skein_test(unit/agent/test_cutter.c LINK skein_agent_core skein_static skein_test_support)
skein_test(unit/agent/test_rule_scan.c LINK skein_agent_up skein_static skein_test_support LABELS tsan)
skein_test(unit/agent/test_ring_decode.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_cut_chain.c LINK skein_agent_core skein_test_support)
skein_test(unit/agent/test_attach.c LINK skein_agent_core skein_test_support LABELS tsan)
skein_test(unit/agent/test_loop.c LINK skein_agent_core skein_test_support LABELS tsan)
skein_test(unit/agent/test_host_page.c LINK skein_agent_core skein_test_support)
