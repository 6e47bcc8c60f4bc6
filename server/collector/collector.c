/* SPDX-License-Identifier: Apache-2.0
 *
 * Start and stop of the collector, and the hooks between its modules: agents' messages to captures
 * and rules, stored partitions to captures, deletions to ingest.
 */
#include "capture_has.h"
#include "collector_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture_control.h"
#include "catalog_ranges.h"
#include "clock.h"
#include "console.h"
#include "index_delete.h"
#include "log.h"

/* ---- hooks: the control thread, locked ---- */

/* Agents belong to no tenant, so only those who see everything hear of them. */
static void agent_publish(struct collector *c, const struct fleet_agent *agent, const char *type)
{
    char id[AGENT_TEXT_BYTES];
    cJSON *data = cJSON_CreateObject();
    cJSON_AddStringToObject(data, "host", agent->host);
    agent_text(agent->id, id);
    struct event_note note = {.type = type, .about = "agent", .name = id, .data = data};
    events_publish(c->events, &note);
}

static struct pushed_set *pushed(struct collector *c, enum fleet_set set) CONTROL_LOCKED
{
    struct named_set *named =
        set == FLEET_POLICIES ? policies_set(c->policies) : rules_set(c->rules);
    return &named->pushed;
}

static void agent_joined(void *context, struct fleet_agent *agent)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    policies_agent_changed(c->policies, agent);
    for (size_t i = 0; i < FLEET_SETS; i++)
        pushed_set_joined(pushed(c, (enum fleet_set)i), agent);
    capture_agent_joined(c->captures, agent);
    agent_publish(c, agent, "agent.online");
}

static void agent_heard(void *context, struct fleet_agent *agent)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    for (size_t i = 0; i < FLEET_SETS; i++)
        pushed_set_heard(pushed(c, (enum fleet_set)i), agent);
}

static void agent_lost(void *context, struct fleet_agent *agent)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    policies_agent_changed(c->policies, agent);
    capture_agent_lost(c->captures, agent);
    agent_publish(c, agent, "agent.offline");
}

static void processes_listed(void *context, struct fleet_agent *agent,
                             struct fleet_process *const *news, size_t count)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    capture_processes_listed(c->captures, agent, news, count);
}

static void command_done(void *context, struct fleet_agent *agent, const struct capture_id *capture,
                         const char *error)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    capture_command_done(c->captures, agent, capture, error);
}

static void done_push(void *context, struct fleet_agent *agent, enum fleet_set set,
                      const char *error)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    pushed_set_done(pushed(c, set), agent, error);
}

/* The capture and process that a report is about; false: it is about none. */
static bool about_capture(const struct report *report, const struct capture_id **capture,
                          const struct process_uid **process)
{
    if (report->kind == REPORT_FIRED) {
        *capture = &report->fired.capture;
        *process = &report->fired.process;
        return true;
    }
    *capture = &report->target.capture;
    *process = &report->target.process;
    return report->kind == REPORT_TARGET;
}

static int on_report(void *context, struct fleet_agent *agent, const struct report *report,
                     const cJSON *json, char *error, size_t error_bytes)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    const struct capture_id *capture;
    const struct process_uid *process;
    if (about_capture(report, &capture, &process) &&
        !capture_admits(c->captures, agent, capture, process,
                        report->kind == REPORT_FIRED ? &report->fired : NULL, error, error_bytes)) {
        if (report->kind == REPORT_FIRED) {
            if (report->fired.policy[0] == '\0') /* a part of a sample is refused, not the sample */
                capture_refuse(c->captures, agent, capture);
            rules_on_refused(c->rules, &report->fired, error);
        }
        return SKEIN_REFUSED;
    }
    switch (report->kind) {
    case REPORT_FIRED:
        if (report->fired.policy[0] != '\0')
            return policies_on_fired(c->policies, agent, &report->fired, error, error_bytes);
        return rules_on_fired(c->rules, agent, &report->fired, error, error_bytes);
    case REPORT_TARGET:
        return capture_on_target(c->captures, agent, &report->target, json);
    case REPORT_RULE:
        rules_on_report(c->rules, agent, &report->rule);
        return SKEIN_OK;
    case REPORT_POLICY:
        policies_on_report(c->policies, agent, &report->policy);
        return SKEIN_OK;
    case REPORT_PROCESSES:
    default:
        return SKEIN_INVALID;
    }
}

static void on_tick(void *context, uint64_t now_ns)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    capture_tick(c->captures, clock_monotonic_ns());
    rules_tick(c->rules, now_ns);
    policies_tick(c->policies, now_ns);
    events_tick(c->events, clock_monotonic_ns());
}

static uint64_t generation(void *context)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    return pushed(c, FLEET_RULES)->generation;
}

static void collector_save(void *context)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    capture_save(c->captures);
    rules_save(c->rules);
    named_set_save(policies_set(c->policies));
}

static void collector_saved(void *context, bool ok)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    capture_saved(c->captures, ok);
    rules_saved(c->rules, ok);
    named_set_saved(policies_set(c->policies), ok);
}

static void unlocked(void *context)
{
    struct collector *c = context;
    capture_unlocked(c->captures);
}

/* ---- hooks: other threads ---- */

static void on_stored(void *context, const struct partition_row *rows, size_t count)
{
    struct collector *c = context;
    capture_on_stored(c->captures, rows, count);
}

static uint64_t agent_of(void *context, const struct process_uid *process)
{
    struct collector *c = context;
    return fleet_agent_of(c->fleet, process);
}

static int collector_claim(void *context, const struct process_uid *process, uint64_t agent)
{
    struct collector *c = context;
    int status = fleet_claim(c->fleet, process, agent);
    if (status == SKEIN_OK && !fleet_claim_is_kept(c->fleet, process))
        status = SKEIN_AGAIN;
    return status;
}

static void capture_ended(void *context, const struct capture_id *incident, const char *rule,
                          cJSON *listing)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    rules_on_ended(c->rules, incident, rule, listing);
}

static int collector_wanted(void *context, const struct partition_key *key,
                            struct capture_id *capture)
{
    struct collector *c = context;
    return capture_wants(c->captures, key, capture);
}

static int64_t collector_ranges(void *context, const struct capture_id *capture,
                                struct partition_range *after, struct partition_range *ranges,
                                size_t room)
{
    struct collector *c = context;
    return catalog_ranges(c->catalog, capture, after, ranges, room);
}

static int64_t collector_unlisted(void *context, struct index_entry *entries, size_t count)
{
    struct collector *c = context;
    return capture_unlisted(c->captures, entries, count);
}

static void collector_deleted(void *context)
{
    struct collector *c = context;
    capture_deleted(c->captures);
}

static void partition_damaged(void *context, const struct partition_row *row)
{
    capture_on_damaged(context, row);
}

static void capture_sampled(void *context, const char *policy, const struct process_uid *process,
                            uint64_t bytes)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    policies_on_stored(c->policies, policy, process, bytes);
}

static int collector_purge(void *context, const struct capture_id *capture)
{
    struct collector *c = context;
    return c->ingest != NULL ? ingest_delete_capture(c->ingest, capture) : SKEIN_CLOSED;
}

static int64_t strays_delete(void *context, uint64_t *after, uint64_t before_ns, uint64_t *bytes)
{
    struct collector *c = context;
    if (state_backup_is_lost(c->config.folder)) { /* what captures have is lost with state.db */
        *after = 0;
        return 0;
    }
    return ingest_delete_strays(c->ingest, after, before_ns, bytes);
}

static void capture_touched(void *context, const struct capture_id *capture)
{
    struct collector *c = context;
    control_assert_locked(fleet_control(c->fleet));
    aggregate_touch(c->aggregate, capture);
}

static void room_make(void *context)
{
    struct collector *c = context;
    if (!store_make_room(c->store))
        return;
    index_trim(c->index);
    catalog_trim(c->catalog);
}

/* ---- start and stop ---- */

/* The gate's hook; control thread. */
static void agent_enrolled(void *context, uint64_t agent, const char *token_id)
{
    struct collector *c = context;
    char id[AGENT_TEXT_BYTES], actor[AGENT_TEXT_BYTES + 8], detail[64];
    agent_text(agent, id);
    snprintf(actor, sizeof actor, "agent:%s", id);
    snprintf(detail, sizeof detail, "by join token %s", token_id);
    struct audit_entry entry = {
        .actor = actor, .action = "agent.enroll", .object = id, .result = "ok", .detail = detail};
    audit_add(c->audit, &entry);
    cJSON *data = cJSON_CreateObject();
    cJSON_AddStringToObject(data, "join_token", token_id);
    struct event_note note = {.type = "agent.enrolled", .about = "agent", .name = id, .data = data};
    events_publish(c->events, &note);
}

static bool agents_are_local(const struct collector_config *g)
{
    return transport_is_loopback(g->data_address) && transport_is_loopback(g->control_address);
}

bool collector_needs_key(const struct collector_config *g)
{
    return g->require_sealed || (!agents_are_local(g) && !g->insecure_plaintext);
}

int collector_key_missing(const struct collector_config *g, char *error, size_t error_bytes)
{
    snprintf(error, error_bytes, "%s, and there is no key: run skeind keygen%s",
             g->require_sealed ? "agents.require_sealed is set"
                               : "the agents' ports are open to a network",
             g->require_sealed ? ""
                               : ", or listen on 127.0.0.1, or set "
                                 "agents.insecure_plaintext_on_network");
    return SKEIN_INVALID;
}

/* Who may speak plain: on loopback anybody, unless that is forbidden; on a network nobody, unless a
 * flag that says what it does allows it. */
static int collector_gate_make(struct collector *c, char *error, size_t error_bytes)
{
    const struct collector_config *g = &c->config;
    int status = enroll_open(g->folder, &c->enroll, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    if (enroll_is_new(c->enroll) && collector_is_used(c))
        log_error("skeind",
                  "enroll.db was empty or gone although partitions are stored: every agent that "
                  "speaks sealed needs a join token again, or stop the collector and put a "
                  "backup's in its place",
                  NULL);
    struct seal_pair keys[ENROLL_KEYS];
    bool has_key = enroll_keys(c->enroll, keys) > 0;
    seal_wipe(keys, sizeof keys);
    bool needs_key = collector_needs_key(g);
    if (needs_key && !has_key)
        return collector_key_missing(g, error, error_bytes);
    if (!agents_are_local(g) && g->insecure_plaintext)
        log_warn("skeind",
                 "anybody who reaches the agents' ports is believed, and everybody on the "
                 "way can read: agents.insecure_plaintext_on_network is set",
                 NULL);
    struct gate_settings settings = {.enroll = c->enroll,
                                     .plain = !needs_key,
                                     .max_agents = g->max_agents,
                                     .renew_ms = (uint32_t)g->session_ms,
                                     .joined = agent_enrolled,
                                     .context = c};
    return gate_new(&settings, &c->gate);
}

/* Tokens and traces cross a network only sealed, unless a flag that says what it does allows it. */
int collector_http_allowed(const struct collector_config *g, char *error, size_t error_bytes)
{
    if (http_is_loopback(g->http_address) || g->http_tls_certificate[0] != '\0' ||
        g->http_insecure_plaintext)
        return SKEIN_OK;
    snprintf(error, error_bytes,
             "listen.http %s is open to a network, and there is no certificate: set "
             "http.tls_certificate and http.tls_key, or listen on 127.0.0.1, or set "
             "http.insecure_plaintext_on_network",
             g->http_address);
    return SKEIN_INVALID;
}

static int http_check(const struct collector *c, char *error, size_t error_bytes)
{
    const struct collector_config *g = &c->config;
    int status = collector_http_allowed(g, error, error_bytes);
    if (status == SKEIN_OK && !http_is_loopback(g->http_address) &&
        g->http_tls_certificate[0] == '\0')
        log_warn("skeind",
                 "everybody on the way can read tokens and traces: "
                 "http.insecure_plaintext_on_network is set",
                 NULL);
    return status;
}

static int state_make(struct collector *c, char *error, size_t error_bytes)
{
    const struct collector_config *g = &c->config;
    struct fleet_settings fleet = {
        g->control_address, g->lease_ms,     g->heartbeat_ms,           g->max_agents,
        g->max_processes,   g->keep_gone_ms, g->agent_captures_per_hour};
    struct capture_settings captures = {.deadline_ms = g->deadline_ms,
                                        .agent_captures_per_hour = g->agent_captures_per_hour,
                                        .quota_bytes = g->retention_max_bytes,
                                        .ttl_ms = g->retention_ttl_ms,
                                        .purge = collector_purge,
                                        .make_room = room_make,
                                        .is_full = collector_is_full,
                                        .context = c,
                                        .ended = capture_ended,
                                        .touched = capture_touched,
                                        .sampled = capture_sampled};
    struct rules_settings rules = {.captures_per_hour = g->rule_captures_per_hour,
                                   .bytes_per_hour = g->rule_bytes_per_hour,
                                   .public_url = g->http_public_url};
    struct fleet_hooks hooks = {
        c,         agent_joined, agent_heard, agent_lost, processes_listed, command_done,
        done_push, on_report,    on_tick,     generation, collector_save,   collector_saved,
        unlocked};
    c->exports = places_new(g->http_exports);
    c->series = places_new(API_SERIES_PLACES);
    c->lockout = lockout_new(g->http_bad_tokens, g->http_lockout_ms);
    c->logins = logins_new();
    bool made = c->lockout != NULL && c->exports != NULL && c->series != NULL && c->logins != NULL;
    int status = made ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK)
        status = events_new(g->http_event_streams, &c->events);
    rules.events = c->events;
    if (status == SKEIN_OK)
        status = fleet_new(&fleet, c->catalog, &c->fleet);
    if (status == SKEIN_OK)
        status = notify_new(c->catalog, &c->notify);
    rules.notify = c->notify;
    if (status == SKEIN_OK)
        status = rules_new(&rules, c->fleet, c->catalog, &c->rules);
    if (status == SKEIN_OK)
        status = policies_new(c->fleet, c->catalog, c->events, &c->policies);
    captures.events = c->events;
    captures.audit = c->audit;
    if (status == SKEIN_OK)
        status = capture_engine_new(&captures, c->fleet, c->catalog, c->index, &c->captures);
    if (status != SKEIN_OK)
        snprintf(error, error_bytes, "state: %s", skein_status_text(status));
    else {
        index_on_damage(c->index, partition_damaged, c->captures);
        rules_set_captures(c->rules, c->captures);
        policies_set_captures(c->policies, c->captures);
        fleet_set_hooks(c->fleet, &hooks);
        fleet_set_gate(c->fleet, c->gate);
    }
    return status;
}

static struct api_services api_services_of(const struct collector *c)
{
    const struct collector_config *g = &c->config;
    return (struct api_services){.config = {.folder = g->folder,
                                            .http_address = g->http_address,
                                            .http_hosts = g->http_hosts,
                                            .http_public_url = g->http_public_url,
                                            .http_metrics_public = g->http_metrics_public,
                                            .http_event_streams = g->http_event_streams,
                                            .http_exports = g->http_exports,
                                            .http_profile_bytes = g->http_profile_bytes,
                                            .retention_max_bytes = g->retention_max_bytes,
                                            .analysis_sql_rows = g->analysis_sql_rows,
                                            .analysis_sql_timeout_ms = g->analysis_sql_timeout_ms,
                                            .retention_services = &g->retention_services,
                                            .http_loopback = http_is_loopback(g->http_address),
                                            .http_tls = g->http_tls_certificate[0] != '\0'},
                                 .store = c->store,
                                 .index = c->index,
                                 .catalog = c->catalog,
                                 .enroll = c->enroll,
                                 .gate = c->gate,
                                 .fleet = c->fleet,
                                 .control = fleet_control(c->fleet),
                                 .events = c->events,
                                 .captures = c->captures,
                                 .rules = c->rules,
                                 .policies = c->policies,
                                 .retention = c->retention,
                                 .ingest = c->ingest,
                                 .tokens = c->tokens,
                                 .audit = c->audit,
                                 .lockout = c->lockout,
                                 .logins = c->logins,
                                 .exports = c->exports,
                                 .series = c->series,
                                 .analyst_run = c->analyst != NULL ? analyst_run : NULL,
                                 .analyst = c->analyst,
                                 .aggregate = c->aggregate};
}

static int ports_start(struct collector *c, char *error, size_t error_bytes)
{
    const struct collector_config *g = &c->config;
    struct ingest_settings ingest = {g->data_address,          g->assembling_bytes,
                                     g->commit_wait_ms,        c->gate,
                                     g->compact_below_percent, g->retention_max_bytes};
    struct ingest_hooks hooks = {c,
                                 on_stored,
                                 agent_of,
                                 collector_claim,
                                 collector_wanted,
                                 collector_ranges,
                                 collector_unlisted,
                                 collector_deleted};
    struct retention_settings retention = {g->retention_max_bytes, &g->retention_services,
                                           g->keep_gone_ms, strays_delete, c};
    struct http_settings http = {.address = g->http_address,
                                 .max_body_bytes = g->http_body_bytes,
                                 .max_connections = g->http_connections,
                                 .max_connections_per_ip = g->http_connections_per_ip,
                                 .threads = g->http_threads,
                                 .receive_ms = g->http_receive_ms,
                                 .idle_ms = g->http_idle_ms,
                                 .drain_ms = g->http_drain_ms,
                                 .authorize = api_authorize,
                                 .pages = console_routes,
                                 .still = api_still};
    if (g->http_tls_certificate[0] != '\0') {
        http.tls_certificate = g->http_tls_certificate;
        http.tls_key = g->http_tls_key;
    }
    int status = ingest_start(&ingest, c->store, c->index, &hooks, &c->ingest, error, error_bytes);
    if (status == SKEIN_OK)
        status = collector_analyst_make(c, error, error_bytes);
    if (status == SKEIN_OK)
        status = collector_aggregate_make(c, error, error_bytes);
    if (status == SKEIN_OK)
        status = notify_start(c->notify);
    if (status == SKEIN_OK)
        status = fleet_start(c->fleet, error, error_bytes);
    if (status == SKEIN_OK)
        status = retention_start(&retention, c->store, c->index, c->catalog, c->captures, c->audit,
                                 &c->retention);
    if (status != SKEIN_OK)
        return status;
    c->api = api_services_of(c);
    return http_start(&http, api_routes, &c->api, &c->http, error, error_bytes);
}

int collector_start(struct collector *c, char *error, size_t error_bytes)
{
    int status = collector_open(c, error, error_bytes);
    if (status == SKEIN_OK)
        status = http_check(c, error, error_bytes);
    if (status == SKEIN_OK)
        status = collector_gate_make(c, error, error_bytes);
    if (status == SKEIN_OK)
        status = state_make(c, error, error_bytes);
    if (status == SKEIN_OK)
        status = ports_start(c, error, error_bytes);
    if (status != SKEIN_OK)
        collector_stop(c);
    return status;
}

void collector_stop(struct collector *c)
{
    __atomic_store_n(&c->api.draining, true, __ATOMIC_RELAXED);
    http_stop(&c->http);
    retention_stop(&c->retention); /* it deletes through ingest */
    /* Fleet before ingest: the control thread may be deleting through ingest. The next start finds
     * partitions that ingest stores after that in the index. */
    if (c->fleet != NULL)
        fleet_stop(c->fleet);
    /* Nobody touches captures any more. */
    aggregate_stop(&c->aggregate);
    analyst_free(&c->analyst);
    if (c->ingest != NULL)
        ingest_stop(&c->ingest);
    capture_engine_free(&c->captures);
    rules_free(&c->rules);
    policies_free(&c->policies);
    notify_free(&c->notify);
    fleet_free(&c->fleet);
    gate_free(&c->gate);
    enroll_close(&c->enroll);
    events_free(&c->events);
    state_backup_stop(&c->backup);
    catalog_close(&c->catalog);
    tokens_close(&c->tokens);
    audit_close(&c->audit);
    lockout_free(&c->lockout);
    logins_free(&c->logins);
    places_free(&c->exports);
    places_free(&c->series);
    if (c->index != NULL)
        index_close(&c->index);
    if (c->store != NULL)
        store_close(&c->store);
}
