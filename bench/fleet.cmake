# SPDX-License-Identifier: Apache-2.0
skein_program(bench_fleet FILES bench_fleet.c fleet_collector.c fleet_ingest.c fleet_link.c fleet_seal.c bench_host.c
    LINK skein_test_port skein_server_core skein_test_partition skein_http_client skein_transport_sockets)
target_compile_definitions(bench_fleet PRIVATE SKEIND="$<TARGET_FILE:skeind>")
add_dependencies(bench_fleet skeind)
# The protocol moves, and its simulated agents have to follow.
add_test(NAME bench/fleet COMMAND bench_fleet --agents 16 --idle 1 --partitions 64)
set_tests_properties(bench/fleet PROPERTIES LABELS e2e TIMEOUT 300)
