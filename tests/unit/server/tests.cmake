# SPDX-License-Identifier: Apache-2.0
# Partitions and an uploading agent, for all tests of the collector.
add_library(skein_test_partition STATIC ${CMAKE_SOURCE_DIR}/tests/support/partition_make.c)
target_compile_options(skein_test_partition PRIVATE -Wno-format-nonliteral)
target_link_libraries(skein_test_partition
    PRIVATE skein_flags PUBLIC skein_format skein_transport skein_common skein_test_support)

# storage
skein_test(unit/server/test_store_files.c LINK skein_server_core skein_test_partition)
skein_test(unit/server/test_catalog.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_db_sqlite.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_index_sqlite.c LINK skein_server_core skein_test_partition)
skein_test(unit/server/test_index_usage.c LINK skein_server_core skein_test_partition)
skein_test(unit/server/test_assembly.c LINK skein_server_core skein_test_partition)
skein_test(unit/server/test_ingest.c LINK skein_server_core skein_test_partition LABELS tsan)

# control and HTTP: a collector in the test's process, and an agent on the real transport
add_library(skein_test_collector STATIC
    ${CMAKE_SOURCE_DIR}/tests/support/fake_wire_agent.c
    ${CMAKE_SOURCE_DIR}/tests/support/collector_fixture.c)
target_compile_options(skein_test_collector PRIVATE -Wno-format-nonliteral)
target_link_libraries(skein_test_collector
    PRIVATE skein_flags PUBLIC skein_server_core skein_test_partition skein_test_contract skein_http_client)
skein_test(unit/server/test_captures.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_capture_kinds.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_capture_stream.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_capture_merge.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_api.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_http_request.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_api_loss.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_events.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_rules.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_notify.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_policies.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_policy_check.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_retention.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_access.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_audit.c LINK skein_server_core skein_test_support LABELS tsan)
skein_test(unit/server/test_tokens.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_openapi.c LINK skein_server_core skein_test_support)
target_compile_definitions(t_unit_server_openapi PRIVATE OPENAPI_JSON="${CMAKE_SOURCE_DIR}/server/openapi.json")
skein_test(unit/server/test_sampling_place.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_http_route.c LINK skein_server_core skein_test_support)
add_library(skein_test_http STATIC ${CMAKE_SOURCE_DIR}/tests/support/http_subject.c)
target_link_libraries(skein_test_http
    PRIVATE skein_flags PUBLIC skein_server_core skein_http_client skein_test_support)
skein_test(unit/server/test_http_tls.c LINK skein_test_http)
skein_test(unit/server/test_http_limits.c LINK skein_test_http LABELS tsan)
skein_test(unit/server/test_idmap.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_rule_replay.c LINK skein_test_collector LABELS tsan)
skein_test(unit/server/test_rule_check.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_control_msg.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_capture_state.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_capture_work.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_ledger.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_stored_set.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_enroll.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_gate.c LINK skein_server_core skein_test_support)
skein_test(unit/server/test_fleet.c LINK skein_server_core skein_test_support)
