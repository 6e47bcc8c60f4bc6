/* SPDX-License-Identifier: Apache-2.0
 *
 * Agents: HELLO, heartbeats, reports, leases, and the estimate of each agent's clock. Everything
 * here runs under the control lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog_processes.h"
#include "clock.h"
#include "clock_steps.h"
#include "fleet_int.h"
#include "heartbeat.h"
#include "hello.h"
#include "log.h"
#include "metrics.h"

/* last_seen and clock offset of a quiet agent */
#define SAVE_EVERY_NS (UINT64_C(60) * 1000000000u)

struct fleet_agent *fleet_agent_find(struct fleet *f, uint64_t agent)
{
    control_assert_locked(f->control);
    return idmap_get(&f->agents, idmap_key_of(&agent).id);
}

struct fleet_agent *fleet_agent_next(struct fleet *f, size_t *at)
{
    control_assert_locked(f->control);
    return idmap_next(&f->agents, at);
}

/* ---- agents ---- */

static struct fleet_agent *session_agent_new(struct fleet *f, uint64_t id) CONTROL_LOCKED
{
    if (f->agents.count >= f->settings.max_agents) {
        metrics_add(agents_refused_total, 1);
        return NULL;
    }
    struct fleet_agent *agent = calloc(1, sizeof *agent);
    if (agent == NULL)
        return NULL;
    agent->id = id;
    if (idmap_put(&f->agents, idmap_key_of(&id).id, agent) != SKEIN_OK) {
        free(agent);
        return NULL;
    }
    metrics_set(agents_known, f->agents.count);
    return agent;
}

static int agent_load(void *context, const struct catalog_agent *row)
{
    struct fleet *f = context;
    control_assert_locked(f->control);
    struct fleet_agent *agent = session_agent_new(f, row->agent);
    if (agent == NULL)
        return 0;
    agent->epoch = row->epoch;
    agent->last_seen_ns = row->last_seen_ns;
    agent->clock_offset_ns = row->clock_offset_ns;
    snprintf(agent->host, sizeof agent->host, "%s", row->host);
    snprintf(agent->version, sizeof agent->version, "%s", row->version);
    snprintf(agent->labels, sizeof agent->labels, "%s", row->labels);
    return 0;
}

int fleet_load_agents(struct fleet *f)
{
    control_assert_locked(f->control);
    int64_t rows = f->catalog != NULL ? catalog_agents(f->catalog, agent_load, f) : 0;
    return rows < 0 ? (int)rows : fleet_load_processes(f);
}

void fleet_save_agents(struct fleet *f)
{
    control_assert_locked(f->control);
    fleet_save_losses(f);
    fleet_save_processes(f);
    for (struct fleet_agent *a = f->dirty_agents; a != NULL; a = a->next_dirty) {
        (void)saving_take(&a->save);
        struct catalog_agent row = {a->id,   a->epoch,   a->last_seen_ns, a->clock_offset_ns,
                                    a->host, a->version, a->labels};
        catalog_put_agent(f->catalog, &row);
    }
    size_t at = 0;
    for (const struct fleet_agent *a;
         f->forgetting > 0 && (a = fleet_agent_next(f, &at)) != NULL;) {
        if (a->forgetting == 0)
            continue;
        catalog_delete_agent(f->catalog, a->id);
        catalog_delete_processes_of(f->catalog, a->id);
    }
}

void fleet_saved_agents(struct fleet *f, bool ok)
{
    control_assert_locked(f->control);
    fleet_saved_losses(f, ok);
    fleet_saved_processes(f, ok);
    for (struct fleet_agent **at = &f->dirty_agents, *a; (a = *at) != NULL;) {
        if (ok && (a->save & SAVE_TAKEN) != 0)
            a->saved_ns = clock_monotonic_ns();
        saving_end(&a->save, ok);
        if (a->save == SAVE_NOTHING)
            *at = a->next_dirty;
        else
            at = &a->next_dirty;
    }
}

static void session_agent_free(struct fleet *f, struct fleet_agent *agent) CONTROL_LOCKED
{
    fleet_drop_agent_commands(f, agent, NULL);
    free(agent->list_have);
    shares_fini(&agent->own);
    free(agent->refused);
    for (size_t i = 0; i < FLEET_SETS; i++)
        free(agent->sets[i].refused);
    free(agent);
}

void fleet_free_tables(struct fleet *f)
{
    control_assert_locked(f->control);
    size_t at = 0;
    for (struct fleet_agent *a; (a = fleet_agent_next(f, &at)) != NULL;)
        session_agent_free(f, a);
    free(f->due);
    free(f->forgotten);
    idmap_fini(&f->agents);
    at = 0;
    for (struct fleet_process *p; (p = fleet_process_next(f, &at)) != NULL;)
        free(p);
    idmap_fini(&f->processes);
    idmap_fini(&f->owners);
}

static void session_save_soon(struct fleet *f, struct fleet_agent *agent) CONTROL_LOCKED
{
    if (agent->save == SAVE_NOTHING) {
        agent->next_dirty = f->dirty_agents;
        f->dirty_agents = agent;
    }
    saving_mark(&agent->save);
    control_mark_dirty(f->control);
}

/* Every message of an agent renews its lease and says where to answer. One that was taken for lost is
 * not back by it: what it was not told meanwhile (commands, rules) is told at its HELLO, which the
 * answer to its next heartbeat asks for. */
static void agent_seen(struct fleet_agent *agent, const struct transport_peer *peer)
{
    agent->peer = *peer;
    agent->heard_ns = clock_monotonic_ns();
    agent->last_seen_ns = clock_realtime_ns();
}

static uint64_t rules_generation(struct fleet *f)
{
    return f->hooks.rules_generation != NULL ? f->hooks.rules_generation(f->hooks.context) : 0;
}

void fleet_on_hello(struct fleet *f, const struct wire_frame *frame, const cJSON *json,
                    const struct transport_peer *peer)
{
    control_assert_locked(f->control);
    struct hello hello;
    char error[256], collector[AGENT_TEXT_BYTES], id[AGENT_TEXT_BYTES];
    uint64_t received_ns, clock = clock_setting(&received_ns);
    if (hello_get(json, &hello, error, sizeof error) != SKEIN_OK) {
        metrics_add(control_malformed_total, 1);
        fleet_answer_error(f, peer, WIRE_ERROR, frame->id, error);
        return;
    }
    struct fleet_agent *agent = fleet_agent_find(f, hello.agent);
    if (agent == NULL)
        agent = session_agent_new(f, hello.agent);
    if (agent == NULL) {
        fleet_answer_error(f, peer, WIRE_ERROR, frame->id,
                           "the collector's table of agents is full");
        return;
    }
    bool known_session = agent->session && agent->online && agent->epoch == hello.epoch;
    if (agent->epoch != 0 && agent->epoch != hello.epoch)
        agent->anew_ns = clock_monotonic_ns();
    agent->epoch = hello.epoch;
    agent->hello_instance = hello.instance;
    snprintf(agent->host, sizeof agent->host, "%s", hello.host);
    snprintf(agent->version, sizeof agent->version, "%s", hello.version);
    snprintf(agent->labels, sizeof agent->labels, "%s", hello.labels);
    agent->session = agent->online = true;
    agent->clock_error_ns = 0;                   /* until it says so again */
    agent->list_version = agent->list_pages = 0; /* the new run counts anew */
    agent_seen(agent, peer);
    session_save_soon(f, agent);
    agent_text(agent->id, id);
    if (!known_session)
        log_info("control", "agent joined", "agent", id, "host", agent->host, "version",
                 agent->version, NULL);
    agent_text(f->catalog != NULL ? catalog_collector(f->catalog) : 0, collector);
    const struct welcome welcome = {.collector = collector,
                                    .lease_ms = f->settings.lease_ms,
                                    .heartbeat_ms = f->settings.heartbeat_ms,
                                    .rules_generation = rules_generation(f),
                                    .received_ns = received_ns,
                                    .clock = clock,
                                    .captures_per_hour = f->settings.own_captures_per_hour};
    struct buf body = {0};
    welcome_put(&welcome, &body);
    fleet_answer(f, peer, WIRE_WELCOME, frame->id, &body);
    fleet_drop_agent_commands(f, agent, NULL); /* P-7 */
    if (f->hooks.agent_joined != NULL)
        f->hooks.agent_joined(f->hooks.context, agent);
}

/* received - sent is the difference of the clocks plus the delay on the way, which is never
 * negative. So the least value of the last heartbeats is nearest to the difference. */
static void offset_estimate(struct fleet_agent *agent, uint64_t sent_ns, uint64_t received_ns)
{
    if (sent_ns == 0)
        return;
    agent->offsets[agent->offset_count++ % FLEET_OFFSET_SAMPLES] =
        (int64_t)received_ns - (int64_t)sent_ns;
    size_t n =
        agent->offset_count < FLEET_OFFSET_SAMPLES ? agent->offset_count : FLEET_OFFSET_SAMPLES;
    int64_t least = agent->offsets[0];
    for (size_t i = 1; i < n; i++)
        if (agent->offsets[i] < least)
            least = agent->offsets[i];
    agent->clock_offset_ns = least;
}

bool fleet_agent_clock_error(const struct fleet_agent *agent, uint64_t *error_ns)
{
    if (!agent->online || agent->clock_error_ns == 0)
        return false;
    const uint64_t now = clock_setting(NULL);
    const uint64_t doubt_ns = clock_setting_doubt(agent->clock, now);
    const int64_t step_ns = clock_setting_shift(agent->clock, now);
    const uint64_t age_ns = clock_monotonic_ns() - agent->clock_heard_ns;
    const unsigned __int128 sum_ns =
        (unsigned __int128)agent->clock_error_ns + age_ns / CLOCK_DRIFT_DIVISOR + 1 + doubt_ns +
        (uint64_t)(step_ns < 0 ? -(uint64_t)step_ns : (uint64_t)step_ns);
    *error_ns = (uint64_t)sum_ns;
    return doubt_ns != UINT64_MAX && sum_ns < INT64_MAX;
}

/* Adds what the counters have gained. The first heartbeat that we hear also counts a time before
 * us, so it only sets them; an agent that has started anew counts from zero. */
static void session_count_up(const struct fleet_agent *agent, const struct agent_counters *now)
{
    const struct agent_counters *before = &agent->state.counters;
#define X(name, help)                                                                              \
    if (agent->counted)                                                                            \
        metrics_add_at(agent_counters_total, AGENT_COUNTER_##name,                                 \
                       now->name >= before->name ? now->name - before->name : now->name);
    AGENT_COUNTER_LIST(X)
#undef X
}

#define CLONED_NS (UINT64_C(60) * 1000000000) /* how long it is told, and how often logged */

bool fleet_agent_is_cloned(const struct fleet_agent *agent)
{
    return agent->cloned_ns != 0 && clock_monotonic_ns() - agent->cloned_ns < CLONED_NS;
}

/* Each start of an agent has a number. If an old number comes back after another, its process has
 * not ended: two run with one identity, as when a state folder was copied with its host. */
static void clones_watch_for(struct fleet_agent *agent, uint64_t instance)
{
    if (instance == 0 || instance == agent->instance)
        return;
    bool again = instance == agent->instance_before;
    agent->instance_before = agent->instance;
    agent->instance = instance;
    if (!again)
        return;
    if (!fleet_agent_is_cloned(agent)) {
        char id[AGENT_TEXT_BYTES];
        agent_text(agent->id, id);
        metrics_add(agents_cloned_total, 1);
        log_error("control",
                  "two agents have one identity: a state folder was copied; remove agent.json and "
                  "the keys from one",
                  "agent", id, "host", agent->host, NULL);
    }
    agent->cloned_ns = clock_monotonic_ns();
}

/* What is shown of an agent is what its last HELLO said. Of two that have one identity, each would have
 * its name shown in turn, with its commands dropped each time: so the one that lives says it anew when
 * they do not take turns any more. */
static bool hello_is_anothers(const struct fleet_agent *agent, uint64_t instance)
{
    return instance != 0 && agent->hello_instance != 0 && instance != agent->hello_instance &&
           !fleet_agent_is_cloned(agent);
}

void fleet_on_heartbeat(struct fleet *f, const struct wire_frame *frame, const cJSON *json,
                        const struct transport_peer *peer)
{
    control_assert_locked(f->control);
    struct heartbeat beat;
    char error[256];
    uint64_t received_ns, clock = clock_setting(&received_ns);
    if (heartbeat_get(json, &beat, error, sizeof error) != SKEIN_OK) {
        metrics_add(control_malformed_total, 1);
        fleet_answer_error(f, peer, WIRE_ERROR, frame->id, error);
        return;
    }
    struct fleet_agent *agent = fleet_agent_find(f, beat.agent);
    if (agent != NULL)
        clones_watch_for(agent, beat.instance);
    /* An agent that was taken for lost must say HELLO, too: its commands were not repeated. */
    bool hello = agent == NULL || !agent->session || !agent->online ||
                 hello_is_anothers(agent, beat.instance);
    const struct heartbeat_ack ack = {.received_ns = received_ns,
                                      .clock = clock,
                                      .rules_generation = rules_generation(f),
                                      .hello = hello,
                                      .cloned = agent != NULL && fleet_agent_is_cloned(agent)};
    struct buf body = {0};
    heartbeat_ack_put(&ack, &body);
    fleet_answer(f, peer, WIRE_HEARTBEAT_ACK, frame->id, &body);
    if (hello)
        return;
    agent_seen(agent, peer);
    agent->clock_error_ns = beat.clock_error_ns;
    agent->clock = beat.clock;
    agent->clock_heard_ns = clock_monotonic_ns();
    if (beat.knows_offset)
        agent->clock_offset_ns = beat.clock_offset_ns;
    else
        offset_estimate(agent, beat.sent_ns, received_ns);
    agent->sets[FLEET_RULES].generation = beat.rules_generation;
    agent->sets[FLEET_POLICIES].generation = beat.policies_generation;
    session_count_up(agent, &beat.state.counters);
    agent->state = beat.state;
    agent->counted = true;
    if (clock_monotonic_ns() - agent->saved_ns > SAVE_EVERY_NS)
        session_save_soon(f, agent);
    if (f->hooks.agent_heard != NULL)
        f->hooks.agent_heard(f->hooks.context, agent);
}

/* The process that a report is about; NULL: none. */
static const struct process_uid *process_of_report(const struct report *report)
{
    switch (report->kind) {
    case REPORT_FIRED:
        return &report->fired.process;
    case REPORT_TARGET:
        return &report->target.process;
    case REPORT_RULE:
        return &report->rule.process;
    case REPORT_PROCESSES:
    case REPORT_POLICY:
    default:
        return NULL;
    }
}

/* Takes a report that is not a list of processes. */
static int on_other(struct fleet *f, struct fleet_agent *agent, const struct transport_peer *peer,
                    const struct report *report, const cJSON *json, char *error, size_t error_bytes)
{
    const struct process_uid *process = process_of_report(report);
    int status = process != NULL ? fleet_claim_from(f, peer, process) : SKEIN_OK;
    if (status == SKEIN_DENIED)
        snprintf(error, error_bytes, "the process is another agent's");
    if (status != SKEIN_OK)
        return status == SKEIN_NO_MEMORY ? SKEIN_AGAIN : status;
    return f->hooks.report == NULL
               ? SKEIN_AGAIN
               : f->hooks.report(f->hooks.context, agent, report, json, error, error_bytes);
}

/* Moves the firing's time to our clock as it is set now: others compare the two. */
static void fired_align(struct report_fired *fired)
{
    fired->at_ns =
        clock_shift_ns(fired->at_ns, clock_setting_shift(fired->clock.clock, clock_setting(NULL)));
}

/* The same for a list: its times are kept beside those of the lists before. */
static void processes_align(struct fleet *f, struct report_processes *list) CONTROL_LOCKED
{
    fleet_follow_clock(f);
    const int64_t shift_ns = clock_setting_shift(list->clock, f->clock);
    for (size_t i = 0; i < list->count; i++) {
        struct report_process *p = &list->items[i];
        p->start_ns = fleet_time_moved(p->start_ns, shift_ns);
        p->attached_ns = fleet_time_moved(p->attached_ns, shift_ns);
        p->ended_ns = fleet_time_moved(p->ended_ns, shift_ns);
    }
    list->known_from_ns = fleet_time_moved(list->known_from_ns, shift_ns);
}

void fleet_on_report(struct fleet *f, const struct wire_frame *frame, const cJSON *json,
                     const struct transport_peer *peer)
{
    control_assert_locked(f->control);
    struct report report;
    char error[256] = "";
    int status = report_get(json, &report, error, sizeof error);
    if (status != SKEIN_OK) {
        metrics_add(control_malformed_total, 1);
        fleet_answer_error(f, peer, WIRE_REPORT_ACK, frame->id, error);
        return;
    }
    report_align(&report);
    if (report.kind == REPORT_FIRED)
        fired_align(&report.fired);
    else if (report.kind == REPORT_PROCESSES)
        processes_align(f, &report.processes);
    struct fleet_agent *agent = fleet_agent_find(f, report.agent);
    /* No answer to a stranger: it says HELLO first, and then reports again. */
    status = SKEIN_AGAIN;
    if (agent != NULL && agent->session) {
        agent_seen(agent, peer);
        if (report.kind == REPORT_PROCESSES)
            status = fleet_on_processes(f, agent, peer, &report.processes, error, sizeof error);
        else
            status = on_other(f, agent, peer, &report, json, error, sizeof error);
    }
    report_fini(&report);
    if (status == SKEIN_OK) {
        struct buf body = {0};
        report_ack_put(&(struct report_ack){.ok = true}, &body);
        fleet_answer(f, peer, WIRE_REPORT_ACK, frame->id, &body);
    } else if (status != SKEIN_AGAIN) {
        fleet_answer_error(f, peer, WIRE_REPORT_ACK, frame->id,
                           error[0] != '\0' ? error : skein_status_text(status));
    }
}

/* Nothing of it is to be saved any more. */
static void session_unsave(struct fleet *f, const struct fleet_agent *agent) CONTROL_LOCKED
{
    struct fleet_agent **link = &f->dirty_agents;
    while (*link != NULL && *link != agent)
        link = &(*link)->next_dirty;
    if (*link != NULL)
        *link = agent->next_dirty;
}

void fleet_agent_remove(struct fleet *f, struct fleet_agent *agent)
{
    const uint64_t id = agent->id;
    fleet_agent_end(f, agent);
    session_unsave(f, agent);
    fleet_forget_processes(f, agent);
    idmap_remove(&f->agents, idmap_key_of(&id).id);
    metrics_set(agents_known, f->agents.count);
    session_agent_free(f, agent);
}

int fleet_agent_forget(struct fleet *f, struct fleet_agent *agent)
{
    control_assert_locked(f->control);
    const uint64_t id = agent->id;
    agent->forgetting++;
    f->forgetting++;
    control_mark_dirty(f->control);
    int status = control_save(f->control);
    f->forgetting--;
    agent = fleet_agent_find(f, id);
    if (agent == NULL || agent->forgetting == 0)
        return SKEIN_OK; /* somebody else was faster */
    agent->forgetting--;
    if (status != SKEIN_OK)
        return status;
    fleet_agent_remove(f, agent);
    return SKEIN_OK;
}

/* ---- leases ---- */

void fleet_agent_end(struct fleet *f, struct fleet_agent *agent)
{
    control_assert_locked(f->control);
    if (!agent->online)
        return;
    agent->online = false;
    session_save_soon(f, agent);
    if (f->hooks.agent_lost != NULL)
        f->hooks.agent_lost(f->hooks.context, agent);
}

void fleet_check_leases(struct fleet *f)
{
    control_assert_locked(f->control);
    uint64_t now = clock_monotonic_ns(), online = 0, live = 0;
    size_t at = 0;
    char id[AGENT_TEXT_BYTES];
    for (struct fleet_agent *a; (a = fleet_agent_next(f, &at)) != NULL;) {
        if (a->online && now - a->heard_ns > f->settings.lease_ms * 1000000u) {
            agent_text(a->id, id);
            log_warn("control", "agent is silent", "agent", id, "host", a->host, NULL);
            fleet_agent_end(f, a);
        }
        online += a->online;
        live += a->online ? a->processes_live : 0;
    }
    fleet_forget_strangers(f);
    metrics_set(agents_online, online);
    metrics_set(processes_live, live);
    metrics_set(agent_connections_refused_total, transport_refused());
    fleet_forget_gone(f, 0, f->settings.keep_gone_ms * 1000000u);
    if (f->rows_save != SAVE_NOTHING)
        control_mark_dirty(f->control);
}
