# SPDX-License-Identifier: Apache-2.0
skein_program(bench_fleet FILES fleet.c fleet_collector.c fleet_ingest.c fleet_link.c fleet_seal.c bench_host.c
    LINK skein_server_core skein_test_partition skein_http_client skein_transport_sockets)
target_compile_definitions(bench_fleet PRIVATE SKEIND="$<TARGET_FILE:skeind>")
add_dependencies(bench_fleet skeind)
