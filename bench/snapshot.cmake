# SPDX-License-Identifier: Apache-2.0
skein_program(bench_snapshot FILES snapshot.c snapshot_parts.c bench_host.c
    LINK skein_test_port skein_http_client skein_common skein_static)
skein_program(bench_snapshot_peer FILES snapshot_peer.c)
target_compile_definitions(bench_snapshot PRIVATE
    SKEIND="$<TARGET_FILE:skeind>" SKEIN_AGENT="$<TARGET_FILE:skein-agent>"
    PEER_SCRIPT="${CMAKE_CURRENT_SOURCE_DIR}/snapshot_lttng.sh"
    PEER_PROGRAM="$<TARGET_FILE:bench_snapshot_peer>")
add_dependencies(bench_snapshot skeind skein-agent bench_snapshot_peer)
