/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector put together: config, store, index, catalog, fleet, captures, rules, ingest, HTTP.
 * Owns them all and the order in which they start and stop. Started and stopped by one thread.
 */
#ifndef COLLECTOR_H
#define COLLECTOR_H

#include "aggregate.h"
#include "api_services.h"
#include "audit.h"
#include "capture.h"
#include "catalog.h"
#include "config.h"
#include "enroll.h"
#include "events.h"
#include "fleet.h"
#include "http_server.h"
#include "index.h"
#include "ingest.h"
#include "lockout.h"
#include "logins.h"
#include "notify.h"
#include "places.h"
#include "policies.h"
#include "retention.h"
#include "rules.h"
#include "state_backup.h"
#include "store.h"
#include "tokens.h"

struct collector_config {
    char *data_address, *control_address, *http_address, *folder;
    char *http_hosts, *http_public_url, *http_metrics_public, *http_tls_certificate, *http_tls_key;
    char *log_level, *log_form, *analysis_program;
    uint64_t segment_bytes, min_free_bytes, assembling_bytes, commit_wait_ms;
    uint64_t compact_below_percent;
    uint64_t retention_ttl_ms, retention_max_bytes;
    struct config_map retention_services;
    uint64_t session_ms, lease_ms, heartbeat_ms, max_agents, max_processes, keep_gone_ms;
    uint64_t agent_captures_per_hour;
    uint64_t deadline_ms, rule_captures_per_hour, rule_bytes_per_hour;
    bool require_sealed, insecure_plaintext, http_insecure_plaintext;
    uint64_t http_threads, http_connections, http_connections_per_ip, http_body_bytes,
        http_bad_tokens, http_lockout_ms, http_receive_ms, http_idle_ms, http_drain_ms,
        http_exports, http_profile_bytes, http_event_streams, audit_keep_ms, audit_max_rows,
        backup_every_ms, backups;
    uint64_t analysis_keep_ms, analysis_max_rows, analysis_max_bytes, analysis_max_trace_bytes,
        analysis_timeout_ms, analysis_memory_bytes, analysis_sql_rows, analysis_sql_timeout_ms;
};
extern const struct config_param collector_params[];

struct collector {
    struct collector_config config;
    struct store *store;
    struct index *index;
    struct catalog *catalog;
    struct enroll *enroll;
    struct gate *gate;
    struct fleet *fleet;
    struct events *events;
    struct notify *notify;
    struct capture_engine *captures;
    struct rules *rules;
    struct policies *policies;
    struct retention *retention;
    struct ingest *ingest;
    struct tokens *tokens;
    struct state_backup *backup;
    struct audit *audit;
    struct lockout *lockout;
    struct logins *logins;
    struct places *exports;  /* that run now */
    struct places *series;   /* reads of series that run now */
    struct analyst *analyst; /* NULL: nobody reads traces */
    struct aggregate *aggregate;
    struct api_services api;
    struct http_server *http;
};

/* What a start would refuse, to be asked before it. Other than SKEIN_OK: words in error. */
int collector_http_allowed(const struct collector_config *config, char *error, size_t error_bytes);
bool collector_needs_key(const struct collector_config *config);
int collector_key_missing(const struct collector_config *config, char *error, size_t error_bytes);

/* Starts everything, with the config that is in place. SKEIN_OK; or a status, "what: why" in error,
 * and what had started is stopped again. */
int collector_start(struct collector *c, char *error, size_t error_bytes);
/* Takes no new requests, lets running downloads and uploads finish within bounds, and puts
 * everything acknowledged on disk. */
void collector_stop(struct collector *c);

#endif
