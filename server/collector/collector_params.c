/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of skeind's settings. The loader, --help, the schema and the docs are made from it.
 * Owns no state; read by any thread.
 */
#include "collector.h"

#define DAY_MS UINT64_C(86400000)
#define LIVE_STR(s, field, path, otherwise, help)                                                  \
    {                                                                                              \
        CONFIG_TYPE_STR, offsetof(s, field), path, otherwise, 0, 0, 0, true, help                  \
    }

const struct config_param collector_params[] = {
    CONFIG_STR(struct collector_config, data_address, "listen.data", "tcp://127.0.0.1:7460",
               "where agents upload partitions"),
    CONFIG_STR(struct collector_config, control_address, "listen.control", "tcp://127.0.0.1:7461",
               "where agents take commands"),
    CONFIG_STR(struct collector_config, http_address, "listen.http", "127.0.0.1:7462",
               "HTTP: HOST:PORT, [HOST]:PORT or *:PORT"),
    CONFIG_STR(struct collector_config, folder, "data_dir", "/var/lib/skein",
               "folder of segments, index and state; an ordinary user's own: "
               "$XDG_STATE_HOME/skein/collector"),
    LIVE_STR(struct collector_config, log_level, "log.level", "info", "debug, info, warn or error"),
    LIVE_STR(struct collector_config, log_form, "log.form", "text", "text or json"),
    CONFIG_U64(struct collector_config, segment_bytes, "store.segment_bytes", 64 << 20, 1 << 20,
               UINT64_C(4) << 30, "a segment is closed when it is larger"),
    CONFIG_U64(struct collector_config, min_free_bytes, "store.min_free_bytes", UINT64_C(1) << 30,
               0, UINT64_MAX, "disk that is left free: below, agents keep their data"),
    CONFIG_U64(struct collector_config, compact_below_percent, "store.compact_below_percent", 50, 0,
               100, "a closed segment with less alive is compacted; 0: none is"),
    CONFIG_U64(
        struct collector_config, retention_ttl_ms, "retention.ttl_ms", 0, 0, 3660 * DAY_MS,
        "how long captures that say nothing themselves are kept after their end; 0: no bound"),
    CONFIG_U64(
        struct collector_config, retention_max_bytes, "retention.max_bytes", 0, 0, UINT64_MAX,
        "disk for all segments and state.db: beyond, captures of who has most go; 0: no bound"),
    CONFIG_MAP(struct collector_config, retention_services, "retention.services", 1, UINT64_MAX,
               "bytes of partitions that a service may have: beyond, captures with "
               "partitions of it go; {\"shop\": 10737418240}"),
    CONFIG_U64(struct collector_config, assembling_bytes, "ingest.max_assembling_bytes",
               UINT64_C(256) << 20, 1 << 20, UINT64_MAX, "memory for partitions that are arriving"),
    CONFIG_U64(struct collector_config, commit_wait_ms, "ingest.commit_wait_ms", 5, 0, 1000,
               "how long a partition waits for others to be synced with it"),
    CONFIG_U64(struct collector_config, lease_ms, "agents.lease_ms", 35000, 500, DAY_MS,
               "an agent silent for this long is shown offline"),
    CONFIG_U64(struct collector_config, heartbeat_ms, "agents.heartbeat_ms", 10000, 100, DAY_MS,
               "time between an agent's heartbeats"),
    CONFIG_U64(struct collector_config, max_agents, "agents.max", 20000, 1, 1000000,
               "agents known; further ones are turned away"),
    CONFIG_BOOL(struct collector_config, require_sealed, "agents.require_sealed", false,
                "take sealed messages alone, also on loopback; elsewhere it is so once there is a "
                "key (skeind keygen)"),
    CONFIG_U64(struct collector_config, session_ms, "agents.session_ms", 3600000, 1000, DAY_MS,
               "an agent renews its sealed session after this, and learns of a new key"),
    CONFIG_BOOL(struct collector_config, insecure_plaintext, "agents.insecure_plaintext_on_network",
                false,
                "take messages of anybody who reaches the ports, readable by anybody on the way"),
    CONFIG_U64(struct collector_config, max_processes, "agents.max_processes", 10000, 1, 100000,
               "processes of one agent"),
    CONFIG_U64(struct collector_config, agent_captures_per_hour, "agents.captures_per_hour", 3600,
               0, 1000000,
               "captures that one agent may begin by itself in an hour, shared out among users and "
               "programs; a process that joins one counts a sixteenth; 0: no bound"),
    CONFIG_U64(
        struct collector_config, keep_gone_ms, "agents.keep_gone_ms", 3600000, 0, 7 * DAY_MS,
        "how long a process that is gone stays listed, and a partition that no capture has is kept"),
    CONFIG_U64(struct collector_config, deadline_ms, "captures.deadline_ms", 30000, 1000, DAY_MS,
               "time for captures that agents begin without a rule"),
    CONFIG_U64(struct collector_config, rule_captures_per_hour, "rules.captures_per_hour", 3600, 0,
               UINT64_MAX,
               "captures that all rules together may begin in an hour, shared out among them; 0: "
               "no bound"),
    CONFIG_U64(struct collector_config, rule_bytes_per_hour, "rules.bytes_per_hour", 0, 0,
               UINT64_MAX,
               "bytes stored of captures that rules began within an hour, from which on they begin "
               "none; 0: no bound"),
    CONFIG_STR(
        struct collector_config, http_tls_certificate, "http.tls_certificate", "",
        "PEM file: HTTPS alone is spoken, with this certificate and its chain; read again on "
        "SIGHUP"),
    CONFIG_STR(struct collector_config, http_tls_key, "http.tls_key", "",
               "PEM file of its key, which others must not be able to read; read again on SIGHUP"),
    CONFIG_BOOL(struct collector_config, http_insecure_plaintext,
                "http.insecure_plaintext_on_network", false,
                "speak plain HTTP on a network: tokens and traces are readable by anybody on the "
                "way"),
    CONFIG_STR(struct collector_config, http_hosts, "http.hosts", "",
               "further names, with commas, under which HTTP is asked while there is no token"),
    CONFIG_STR(struct collector_config, http_public_url, "http.public_url", "",
               "where people reach the console, https://NAME: links in notices and captures begin "
               "with it"),
    CONFIG_STR(struct collector_config, http_metrics_public, "http.metrics_public", "auto",
               "whether /metrics needs no token: yes, no, or auto (where HTTP is on loopback)"),
    CONFIG_U64(
        struct collector_config, http_bad_tokens, "http.max_bad_tokens", 20, 1, 100000,
        "wrong tokens that begin alike, from one address within a minute, until further ones are "
        "answered 429"),
    CONFIG_U64(struct collector_config, http_lockout_ms, "http.lockout_ms", 60000, 1000, DAY_MS,
               "how long such wrong tokens are answered 429"),
    CONFIG_U64(struct collector_config, http_threads, "http.threads", 8, 1, 64,
               "threads that answer"),
    CONFIG_U64(struct collector_config, http_connections, "http.max_connections", 1024, 16, 100000,
               "connections at once"),
    CONFIG_U64(struct collector_config, http_connections_per_ip, "http.max_connections_per_ip", 256,
               1, 100000, "connections at once from one address"),
    CONFIG_U64(struct collector_config, http_body_bytes, "http.max_body_bytes", 1 << 20, 1024,
               1 << 26, "largest body of a request"),
    CONFIG_U64(struct collector_config, http_receive_ms, "http.receive_ms", 10000, 100, 600000,
               "time for a request to arrive whole"),
    CONFIG_U64(struct collector_config, http_idle_ms, "http.idle_ms", 60000, 1000, DAY_MS,
               "a connection without traffic is closed after this"),
    CONFIG_U64(struct collector_config, http_drain_ms, "http.drain_ms", 10000, 0, 600000,
               "at the stop, running answers have this long"),
    CONFIG_U64(
        struct collector_config, http_exports, "http.max_exports", 4, 1, 64,
        "answers that take work at once: exports, reports, evidence made anew; each may hold two "
        "partitions"),
    CONFIG_U64(struct collector_config, http_profile_bytes, "http.max_profile_bytes", 64 << 20,
               4 << 10, UINT64_C(4) << 30,
               "memory of a profile's stacks, and again of what is sent of it; larger ones are "
               "refused"),
    CONFIG_U64(struct collector_config, http_event_streams, "http.max_event_streams", 256, 1,
               100000, "watchers of events at once"),
    CONFIG_U64(struct collector_config, analysis_keep_ms, "analysis.keep_ms", 60 * DAY_MS, 0,
               3660 * DAY_MS, "how long rows of the series are kept; 0: by their number alone"),
    CONFIG_U64(struct collector_config, analysis_max_rows, "analysis.max_rows", 1000000, 1000,
               100000000, "rows of the series kept: beyond, those of the oldest time go"),
    CONFIG_U64(struct collector_config, analysis_max_bytes, "analysis.max_bytes",
               UINT64_C(256) << 20, 1 << 20, UINT64_MAX,
               "disk for reports and summaries of captures: beyond, the oldest go"),
    CONFIG_U64(struct collector_config, analysis_max_trace_bytes, "analysis.max_trace_bytes",
               UINT64_C(4) << 30, 0, UINT64_MAX,
               "captures with more are not summed up at their end; 0: none is"),
    CONFIG_STR(struct collector_config, analysis_program, "analysis.program", "",
               "path of skein-analyst, a process of which reads each trace that is asked about; "
               "empty: beside skeind"),
    CONFIG_U64(struct collector_config, analysis_memory_bytes, "analysis.memory_bytes",
               UINT64_C(1) << 30, UINT64_C(64) << 20, UINT64_MAX,
               "address space of such a process"),
    CONFIG_U64(struct collector_config, analysis_timeout_ms, "analysis.timeout_ms", 300000, 1000,
               DAY_MS, "time for a report, and again for a summary, of a capture at its end"),
    CONFIG_U64(struct collector_config, analysis_sql_rows, "analysis.sql_rows", 10000, 1, 1000000,
               "rows that a statement of SQL may be answered with"),
    CONFIG_U64(struct collector_config, analysis_sql_timeout_ms, "analysis.sql_timeout_ms", 30000,
               100, 3600000, "time for a statement of SQL"),
    CONFIG_U64(struct collector_config, backup_every_ms, "state.backup_every_ms", DAY_MS, 60000,
               366 * DAY_MS, "how often state.db is copied to data_dir/backup"),
    CONFIG_U64(struct collector_config, backups, "state.backups", 7, 0, 365,
               "how many such copies are kept, the newest; 0: none are made"),
    CONFIG_U64(struct collector_config, audit_keep_ms, "audit.keep_ms", 90 * DAY_MS, 0,
               3660 * DAY_MS, "how long audit entries are kept; 0: by their number alone"),
    CONFIG_U64(
        struct collector_config, audit_max_rows, "audit.max_rows", 200000, 1000, 10000000,
        "audit entries kept, the newest; refusals, questions in SQL, and downloads of a kind, are at most a fifth of them"),
    {0}};
