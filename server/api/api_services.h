/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP API (docs/api.md): its routes, and what its handlers may use of the collector, which
 * owns it. Made by the collector once all of it runs; handlers are called until http_stop().
 */
#ifndef API_SERVICES_H
#define API_SERVICES_H

#include "aggregate.h"
#include "analyst.h"
#include "audit.h"
#include "capture.h"
#include "catalog.h"
#include "config.h"
#include "enroll.h"
#include "events.h"
#include "fleet.h"
#include "http.h"
#include "index.h"
#include "ingest.h"
#include "lockout.h"
#include "logins.h"
#include "places.h"
#include "policies.h"
#include "retention.h"
#include "rules.h"
#include "state_backup.h"
#include "store.h"
#include "tokens.h"

#define API_SERIES_PLACES 16u /* reads of series at once */

/* Constant while the server runs. */
struct api_config {
    const char *folder; /* data_dir */
    const char *http_address, *http_hosts, *http_metrics_public;
    const char *http_public_url; /* "": nobody has said */
    uint64_t http_event_streams, http_exports, http_profile_bytes, retention_max_bytes;
    uint64_t analysis_sql_rows, analysis_sql_timeout_ms;
    const struct config_map *retention_services;
    bool http_loopback; /* nobody but this machine reaches the HTTP port */
    bool http_tls;
};

struct api_services {
    struct api_config config;
    struct store *store;
    struct index *index;
    struct catalog *catalog;
    struct enroll *enroll;
    struct gate *gate;
    struct fleet *fleet;
    struct control *control; /* the fleet's */
    struct events *events;
    struct capture_engine *captures;
    struct rules *rules;
    struct policies *policies;
    struct retention *retention;
    struct ingest *ingest;
    struct tokens *tokens;
    struct audit *audit;
    struct lockout *lockout;
    struct logins *logins;
    struct places *exports; /* that run now */
    struct places *series;  /* reads of series that run now */
    /* analyst_run, or what answers so; NULL: nobody reads traces here. */
    int (*analyst_run)(struct analyst *analyst, const struct analyst_job *job, struct buf *answer,
                       char error[ANALYST_ERROR_BYTES]);
    struct analyst *analyst;
    struct aggregate *aggregate;
    uint64_t replays; /* tests of rules now; atomic */
    bool draining;    /* atomic */
};

/* The route table (api_routes.c); handlers get the struct api_services as their context. */
extern const struct http_route api_routes[];
http_authorize api_authorize; /* api_access.c; the same context */
http_still api_still;

#endif
