/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's verbs: create, fired, report, stop, delete, deadlines, what ingest has stored. Owns
 * the captures in memory. Under the control lock but for the inbox and where a function takes it.
 */
#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_int.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "metrics.h"

#define PROCESSES_PER_COMMAND                                                                      \
    1500 /* their ids fit a control message; a second command for the capture would be taken for a \
            repeat */
#define INBOX_MAX         65536
#define KEEP_FINISHED_NS  (UINT64_C(60) * 1000000000u)
#define PURGE_AGAIN_NS    (UINT64_C(30) * 1000000000u)
#define OFFSET_TRUSTED_NS INT64_C(50000000) /* a smaller estimate is mostly the message's delay */

/* ---- life ---- */

/* Has the partitions of a deleted capture deleted in the next rounds. */
static int purge_soon(void *context, const struct capture_id *id)
{
    struct capture_engine *e = context;
    if (idmap_get(&e->purge, id->bytes) != NULL)
        return 0;
    struct capture_id *copy = malloc(sizeof *copy);
    if (copy == NULL || idmap_put(&e->purge, id->bytes, copy) != SKEIN_OK) {
        free(copy);
        return 1;
    }
    *copy = *id;
    return 0;
}

int capture_engine_new(const struct capture_settings *settings, struct fleet *fleet,
                       struct catalog *catalog, struct index *index, struct capture_engine **out)
{
    struct capture_engine *e = calloc(1, sizeof *e);
    *out = e;
    if (e == NULL)
        return SKEIN_NO_MEMORY;
    e->settings = *settings;
    e->fleet = fleet;
    e->catalog = catalog;
    e->index = index;
    pthread_mutex_init(&e->inbox_lock, NULL);
    int status = capture_load_running(e);
    if (status == SKEIN_OK) {
        int64_t rows = catalog_unpurged(catalog, purge_soon, e);
        status = rows < 0 ? (int)rows : SKEIN_OK;
    }
    if (status != SKEIN_OK)
        capture_engine_free(out);
    return status;
}

void capture_engine_free(struct capture_engine **engine)
{
    struct capture_engine *e = *engine;
    if (e == NULL)
        return;
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;)
        capture_free(c);
    idmap_fini(&e->loaded);
    at = 0;
    for (void *id; (id = idmap_next(&e->purge, &at)) != NULL;)
        free(id);
    idmap_fini(&e->purge);
    free(e->inbox);
    pthread_mutex_destroy(&e->inbox_lock);
    free(e);
    *engine = NULL;
}

/* ---- commands ---- */

static cJSON *capture_command(const struct capture *c, const struct fleet_agent *agent,
                              cJSON *processes)
{
    char id[ID_TEXT_BYTES];
    int64_t offset = agent->clock_offset_ns;
    if (offset < OFFSET_TRUSTED_NS && offset > -OFFSET_TRUSTED_NS)
        offset = 0;
    cJSON *body = cJSON_CreateObject();
    id_text(c->id.bytes, id);
    cJSON_AddStringToObject(body, "kind", "capture");
    cJSON_AddStringToObject(body, "capture", id);
    json_add_u64(body, "at_ns", (uint64_t)((int64_t)c->at_ns - offset));
    json_add_u64(body, "pre_ms", c->pre_ms);
    json_add_u64(body, "post_ms", c->post_ms);
    json_add_u64(body, "deadline_ns", (uint64_t)((int64_t)c->deadline_ns - offset));
    cJSON_AddItemToObject(body, "processes", processes);
    return body;
}

static void send_stop(struct capture_engine *e, const struct capture *c, uint64_t agent)
{
    char id[ID_TEXT_BYTES];
    cJSON *body = cJSON_CreateObject();
    id_text(c->id.bytes, id);
    cJSON_AddStringToObject(body, "kind", "stop");
    cJSON_AddStringToObject(body, "capture", id);
    fleet_command(e->fleet, agent, &c->id, c->deadline_ns, body);
}

/* Sends the capture's command to one agent for its targets that wait; the agent is online. */
static void send_capture(struct capture_engine *e, struct capture *c, struct fleet_agent *agent)
{
    char id[ID_TEXT_BYTES];
    cJSON *processes = cJSON_CreateArray();
    size_t count = 0;
    for (size_t i = 0; i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        if (t->agent != agent->id || target_is_final(t->status) || t->status == TARGET_UPLOADING)
            continue;
        if (count == PROCESSES_PER_COMMAND) {
            target_set(e, c, t, TARGET_FAILED, "more processes on one agent than a command holds");
            continue;
        }
        id_text(t->process.bytes, id);
        cJSON_AddItemToArray(processes, cJSON_CreateString(id));
        count++;
    }
    int status = SKEIN_OK;
    if (count > 0)
        status = fleet_command(e->fleet, agent->id, &c->id, c->deadline_ns,
                               capture_command(c, agent, processes));
    else
        cJSON_Delete(processes);
    for (size_t i = 0; i < c->target_count && count > 0; i++) {
        struct capture_target *t = c->targets[i];
        if (t->agent != agent->id || (t->status != TARGET_PENDING && t->status != TARGET_OFFLINE))
            continue;
        if (status == SKEIN_OK)
            target_set(e, c, t, TARGET_SENT, "");
        else
            target_set(e, c, t, TARGET_FAILED, skein_status_text(status));
    }
    if (count > 0 && c->stopped)
        send_stop(e, c, agent->id);
}

/* Sends to every agent that has targets waiting. */
static void send_to_all(struct capture_engine *e, struct capture *c)
{
    for (size_t i = 0; i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        struct fleet_agent *agent = fleet_agent_find(e->fleet, t->agent);
        if (t->status == TARGET_PENDING && agent != NULL && agent->online)
            send_capture(e, c, agent);
    }
}

/* ---- create ---- */

static void begin_target(struct capture_engine *e, struct capture *c, struct capture_target *t,
                         enum target_status status, const char *reason)
{
    target_set(e, c, t, status, reason);
    metrics_add(capture_targets_total, 1);
}

static int add_matches(struct capture_engine *e, struct capture *c, const struct selector *selector)
{
    size_t at = 0;
    for (struct fleet_process *p; (p = fleet_process_next(e->fleet, &at)) != NULL;) {
        enum fleet_process_status status = fleet_process_status(e->fleet, p);
        if (status == FLEET_GONE || !fleet_process_match(selector, p))
            continue;
        struct capture_target *t =
            capture_target_add(c, &p->uid, p, fleet_agent_find(e->fleet, p->agent));
        if (t == NULL)
            return SKEIN_NO_MEMORY;
        begin_target(e, c, t, status == FLEET_LIVE ? TARGET_PENDING : TARGET_OFFLINE,
                     status == FLEET_LIVE ? "" : "its agent is silent");
    }
    return c->target_count > 0 ? SKEIN_OK : SKEIN_NOT_FOUND;
}

static void discard(struct capture_engine *e, struct capture *c)
{
    idmap_remove(&e->loaded, c->id.bytes);
    capture_free(c);
}

static int create_locked(struct capture_engine *e, const struct capture_request *request,
                         const struct capture_id *id, cJSON **out)
{
    struct capture *c = capture_new(e, id);
    if (c == NULL)
        return SKEIN_NO_MEMORY;
    c->created_ns = clock_realtime_ns();
    c->at_ns = request->at_ns != 0 ? request->at_ns : c->created_ns;
    c->pre_ms = request->pre_ms;
    c->post_ms = request->post_ms;
    uint64_t end_ns = c->at_ns + c->post_ms * 1000000u;
    c->deadline_ns =
        (end_ns > c->created_ns ? end_ns : c->created_ns) + request->deadline_ms * 1000000u;
    c->selector = strdup(request->selector_text);
    snprintf(c->trigger, sizeof c->trigger, "request");
    snprintf(c->reason, sizeof c->reason, "%s", request->reason);
    int status = c->selector != NULL ? add_matches(e, c, request->selector) : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK)
        status = fleet_flush(e->fleet);
    if (status != SKEIN_OK) {
        discard(e, c);
        return status;
    }
    metrics_add(captures_total, 1);
    send_to_all(e, c);
    *out = capture_json(c, true);
    return SKEIN_OK;
}

int capture_create(struct capture_engine *e, const struct capture_request *request,
                   struct capture_id *id, cJSON **out)
{
    *out = NULL;
    *id = capture_id_new();
    fleet_lock(e->fleet);
    int status = create_locked(e, request, id, out);
    fleet_unlock(e->fleet);
    return status;
}

int capture_get(struct capture_engine *e, const struct capture_id *id, cJSON **out)
{
    fleet_lock(e->fleet);
    struct capture *c = capture_find(e, id);
    *out = c != NULL ? capture_json(c, true) : NULL;
    fleet_unlock(e->fleet);
    return c != NULL ? SKEIN_OK : SKEIN_NOT_FOUND;
}

bool capture_exists(struct capture_engine *e, const struct capture_id *id)
{
    fleet_lock(e->fleet);
    bool found = capture_find(e, id) != NULL;
    fleet_unlock(e->fleet);
    return found;
}

/* ---- stop ---- */

static void stop_targets(struct capture_engine *e, struct capture *c)
{
    for (size_t i = 0; i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        bool told = false;
        if (t->status == TARGET_OFFLINE || t->status == TARGET_PENDING) {
            target_set(e, c, t, TARGET_EXPIRED, "stopped while its agent was silent");
            continue;
        }
        if (target_is_final(t->status) || t->status == TARGET_UPLOADING)
            continue;
        for (size_t k = 0; k < i && !told; k++)
            told = c->targets[k]->agent == t->agent && !target_is_final(c->targets[k]->status) &&
                   c->targets[k]->status != TARGET_UPLOADING;
        if (!told)
            send_stop(e, c, t->agent);
    }
}

int capture_stop(struct capture_engine *e, const struct capture_id *id, cJSON **out)
{
    int status = SKEIN_OK;
    *out = NULL;
    fleet_lock(e->fleet);
    struct capture *c = capture_find(e, id);
    if (c == NULL) {
        status = SKEIN_NOT_FOUND;
    } else if (c->status == CAPTURE_RUNNING && !c->stopped) {
        c->stopped = true;
        capture_touch(e, c);
        stop_targets(e, c);
        capture_settle(e, c);
        status = fleet_flush(e->fleet);
    }
    if (status == SKEIN_OK)
        *out = capture_json(c, true);
    fleet_unlock(e->fleet);
    return status;
}

/* ---- delete ---- */

static int mark_deleted(struct capture_engine *e, const struct capture_id *id)
{
    int status = catalog_begin(e->catalog);
    if (status != SKEIN_OK)
        return status;
    status = catalog_delete_capture(e->catalog, id, clock_realtime_ns());
    int ended = catalog_end(e->catalog, status == SKEIN_OK);
    if (status == SKEIN_OK)
        status = ended;
    if (status == SKEIN_OK)
        purge_soon(e, id);
    return status;
}

/* Deletes the partitions and notes that it is done. Not locked: it waits for the ingest thread. */
static int purge(struct capture_engine *e, const struct capture_id *id)
{
    int status = e->settings.purge(e->settings.context, id);
    if (status != SKEIN_OK)
        return status;
    fleet_lock(e->fleet);
    status = catalog_begin(e->catalog);
    if (status == SKEIN_OK) {
        status = catalog_set_purged(e->catalog, id);
        int ended = catalog_end(e->catalog, status == SKEIN_OK);
        status = status == SKEIN_OK ? ended : status;
    }
    if (status == SKEIN_OK)
        free(idmap_remove(&e->purge, id->bytes));
    fleet_unlock(e->fleet);
    return status;
}

int capture_delete(struct capture_engine *e, const struct capture_id *id)
{
    fleet_lock(e->fleet);
    struct capture *c = capture_find(e, id);
    bool waiting = idmap_get(&e->purge, id->bytes) != NULL;
    int status = c != NULL ? mark_deleted(e, id) : waiting ? SKEIN_OK : SKEIN_NOT_FOUND;
    if (status == SKEIN_OK && c != NULL) {
        fleet_drop_commands(e->fleet, id);
        discard(e, c);
        metrics_add(captures_deleted_total, 1);
    }
    fleet_unlock(e->fleet);
    return status == SKEIN_OK ? purge(e, id) : status;
}

void capture_refuse(struct capture_engine *e, const struct capture_id *id)
{
    if (mark_deleted(e, id) != SKEIN_OK)
        log_warn("captures", "a refused capture cannot be noted; what comes of it is kept", NULL);
}

void capture_unlocked(struct capture_engine *e)
{
    struct capture_id ids[16];
    size_t count = 0, at = 0;
    uint64_t now = clock_monotonic_ns();
    fleet_lock(e->fleet);
    if (now >= e->next_purge_ns) {
        for (struct capture_id *id; count < 16 && (id = idmap_next(&e->purge, &at)) != NULL;)
            ids[count++] = *id;
        e->next_purge_ns = count == 16 ? now : now + PURGE_AGAIN_NS;
    }
    fleet_unlock(e->fleet);
    for (size_t i = 0; i < count; i++) {
        if (purge(e, &ids[i]) == SKEIN_OK)
            continue;
        log_warn("captures", "partitions of a deleted capture cannot be deleted yet", NULL);
        e->next_purge_ns = now + PURGE_AGAIN_NS;
    }
}

/* ---- from agents ---- */

void capture_agent_joined(struct capture_engine *e, struct fleet_agent *agent)
{
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (c->status == CAPTURE_RUNNING && !c->own)
            send_capture(e, c, agent);
}

void capture_agent_lost(struct capture_engine *e, struct fleet_agent *agent)
{
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;) {
        if (c->status != CAPTURE_RUNNING)
            continue;
        for (size_t i = 0; i < c->target_count; i++)
            if (c->targets[i]->agent == agent->id &&
                (c->targets[i]->status == TARGET_PENDING || c->targets[i]->status == TARGET_SENT))
                target_set(e, c, c->targets[i], TARGET_OFFLINE, "its agent is silent");
    }
}

void capture_command_done(struct capture_engine *e, struct fleet_agent *agent,
                          const struct capture_id *id, const char *error)
{
    struct capture *c = error[0] != '\0' ? capture_find(e, id) : NULL;
    if (c == NULL || c->status != CAPTURE_RUNNING)
        return;
    for (size_t i = 0; i < c->target_count; i++)
        if (c->targets[i]->agent == agent->id &&
            (c->targets[i]->status == TARGET_PENDING || c->targets[i]->status == TARGET_SENT))
            target_set(e, c, c->targets[i], TARGET_FAILED, error);
    capture_settle(e, c);
}

bool capture_known(struct capture_engine *e, const struct capture_id *id)
{
    return capture_find(e, id) != NULL || catalog_is_deleted(e->catalog, id);
}

/* A capture that an agent has begun, with its one target. NULL: no memory. */
static struct capture *adopt(struct capture_engine *e, struct fleet_agent *agent,
                             const struct capture_id *id, const struct process_uid *process)
{
    char text[ID_TEXT_BYTES];
    struct capture *c = capture_new(e, id);
    if (c == NULL)
        return NULL;
    c->own = true;
    c->created_ns = c->at_ns = clock_realtime_ns();
    c->deadline_ns = c->created_ns + e->settings.deadline_ms * 1000000u;
    id_text(process->bytes, text);
    size_t bytes = strlen(text) + 9;
    c->selector = malloc(bytes);
    struct capture_target *t =
        capture_target_add(c, process, fleet_process_find(e->fleet, process), agent);
    if (c->selector == NULL || t == NULL) {
        discard(e, c);
        return NULL;
    }
    snprintf(c->selector, bytes, "process=%s", text);
    /* What fired says; a report that overtakes it is kept under these until it comes. */
    snprintf(c->trigger, sizeof c->trigger, "request");
    snprintf(c->reason, sizeof c->reason, "reported by its agent; no request is known");
    begin_target(e, c, t, TARGET_CAPTURING, "");
    metrics_add(captures_total, 1);
    return c;
}

int capture_on_fired(struct capture_engine *e, struct fleet_agent *agent,
                     const struct control_fired *fired)
{
    struct capture *c = capture_find(e, &fired->capture);
    if (c == NULL && catalog_is_deleted(e->catalog, &fired->capture))
        return SKEIN_OK;
    if (c == NULL)
        c = adopt(e, agent, &fired->capture, &fired->process);
    if (c == NULL)
        return SKEIN_AGAIN;
    if (!c->own || strcmp(c->trigger, "request") != 0)
        return SKEIN_OK; /* a repeat */
    snprintf(c->trigger, sizeof c->trigger, "%s", fired->trigger);
    snprintf(c->rule, sizeof c->rule, "%s", fired->rule);
    snprintf(c->reason, sizeof c->reason, "%s", fired->reason);
    id_text(fired->process.bytes, c->trigger_process);
    if (fired->at_ns != 0)
        c->at_ns = fired->at_ns;
    c->pre_ms = fired->pre_ms;
    c->post_ms = fired->post_ms;
    if (c->status == CAPTURE_RUNNING)
        c->deadline_ns = clock_realtime_ns() + (c->post_ms + e->settings.deadline_ms) * 1000000u;
    capture_touch(e, c);
    char id[ID_TEXT_BYTES];
    id_text(c->id.bytes, id);
    log_info("captures", "an agent began a capture", "capture", id, "host", agent->host, "trigger",
             c->trigger, "rule", c->rule, "reason", c->reason, NULL);
    return SKEIN_OK;
}

/* The fleet may have learnt of the process after the capture began. */
static void describe(struct capture_engine *e, struct capture_target *t)
{
    const struct fleet_process *p = fleet_process_find(e->fleet, &t->process);
    if (p == NULL || t->pid != 0)
        return;
    t->pid = p->pid;
    snprintf(t->service, sizeof t->service, "%s", p->service);
    snprintf(t->labels, sizeof t->labels, "%s", p->labels);
    snprintf(t->exe, sizeof t->exe, "%s", p->exe);
}

static int on_uploading(struct capture_engine *e, struct capture *c, struct capture_target *t,
                        const struct control_target *report, const cJSON *json)
{
    if (t->status == TARGET_COMPLETE || t->status == TARGET_NOTHING)
        return SKEIN_OK;
    if (report->partition_count == 0) {
        target_set(e, c, t, TARGET_NOTHING, report->reason);
        return SKEIN_OK;
    }
    cJSON *copy = cJSON_Duplicate(json, true);
    int status = copy != NULL ? target_take_facts(e, t, copy) : SKEIN_NO_MEMORY;
    if (status != SKEIN_OK)
        return SKEIN_AGAIN;
    if (t->status == TARGET_FAILED && c->status != CAPTURE_RUNNING)
        target_set(e, c, t, TARGET_EXPIRED, "its partitions are late");
    else if (t->status != TARGET_EXPIRED)
        target_set(e, c, t, TARGET_UPLOADING, report->reason);
    t->dirty = true;
    capture_touch(e, c);
    target_check_stored(e, c, t);
    return SKEIN_OK;
}

int capture_on_target(struct capture_engine *e, struct fleet_agent *agent,
                      const struct control_target *report, const cJSON *json)
{
    struct capture *c = capture_find(e, &report->capture);
    if (c == NULL && catalog_is_deleted(e->catalog, &report->capture))
        return SKEIN_OK;
    if (c == NULL)
        c = adopt(e, agent, &report->capture, &report->process);
    if (c == NULL)
        return SKEIN_AGAIN;
    struct capture_target *t = capture_target_find(c, &report->process);
    if (t == NULL || t->agent != agent->id)
        return t == NULL ? SKEIN_NOT_FOUND : SKEIN_DENIED;
    describe(e, t);
    int status = SKEIN_OK;
    switch (report->state) {
    case CONTROL_CAPTURING:
        if (target_may(t->status, TARGET_CAPTURING))
            target_set(e, c, t, TARGET_CAPTURING, report->reason);
        break;
    case CONTROL_UPLOADING:
        status = on_uploading(e, c, t, report, json);
        break;
    case CONTROL_NOTHING:
    case CONTROL_FAILED:
    default:
        if (report->has_death || report->gap_count > 0 || report->loss_count > 0) {
            cJSON *copy = cJSON_Duplicate(json, true);
            if (t->status != TARGET_COMPLETE && copy != NULL)
                target_take_facts(e, t, copy);
            else
                cJSON_Delete(copy);
        }
        target_set(e, c, t, report->state == CONTROL_NOTHING ? TARGET_NOTHING : TARGET_FAILED,
                   report->reason);
        break;
    }
    capture_settle(e, c);
    return status;
}

/* ---- from ingest ---- */

void capture_on_stored(struct capture_engine *e, const struct partition_row *rows, size_t count)
{
    pthread_mutex_lock(&e->inbox_lock);
    for (size_t i = 0; i < count; i++) {
        if (e->inbox_count == e->inbox_cap && e->inbox_cap < INBOX_MAX) {
            size_t cap = e->inbox_cap * 2 + 64;
            struct stored_note *larger = realloc(e->inbox, cap * sizeof *larger);
            if (larger != NULL) {
                e->inbox = larger;
                e->inbox_cap = cap;
            }
        }
        if (e->inbox_count == e->inbox_cap) {
            e->inbox_overflow = true;
            break;
        }
        e->inbox[e->inbox_count++] = (struct stored_note){
            rows[i].record.capture, rows[i].record.key, rows[i].events, rows[i].place.bytes};
    }
    pthread_mutex_unlock(&e->inbox_lock);
    fleet_wake(e->fleet);
}

static void take_note(struct capture_engine *e, const struct stored_note *note)
{
    if (capture_id_is_zero(&note->capture))
        return;
    struct capture *c = capture_find(e, &note->capture);
    if (c == NULL) {
        if (catalog_is_deleted(e->catalog, &note->capture)) {
            purge_soon(e, &note->capture);
            e->next_purge_ns = 0;
        }
        return;
    }
    struct capture_target *t = capture_target_find(c, &note->key.process);
    for (size_t i = 0; t != NULL && i < t->facts.partition_count; i++) {
        if (t->facts.partitions[i].epoch != note->key.epoch ||
            t->facts.partitions[i].sequence != note->key.sequence || t->stored[i])
            continue;
        t->stored[i] = true;
        t->stored_count++;
        t->stored_events += note->events;
        t->stored_bytes += note->bytes;
        t->updated_ns = clock_realtime_ns();
        t->dirty = true;
        capture_touch(e, c);
        target_check_stored(e, c, t);
    }
}

/* Notes were lost for want of memory: asks the index about every target that waits. */
static void look_up_all(struct capture_engine *e)
{
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;) {
        for (size_t i = 0; i < c->target_count; i++) {
            struct capture_target *t = c->targets[i];
            cJSON *copy = t->report != NULL && t->status != TARGET_COMPLETE
                              ? cJSON_Duplicate(t->report, true)
                              : NULL;
            if (copy != NULL && target_take_facts(e, t, copy) == SKEIN_OK)
                target_check_stored(e, c, t);
        }
    }
}

static void take_inbox(struct capture_engine *e)
{
    pthread_mutex_lock(&e->inbox_lock);
    struct stored_note *notes = e->inbox;
    size_t count = e->inbox_count;
    bool overflow = e->inbox_overflow;
    e->inbox = NULL;
    e->inbox_count = e->inbox_cap = 0;
    e->inbox_overflow = false;
    pthread_mutex_unlock(&e->inbox_lock);
    for (size_t i = 0; i < count; i++)
        take_note(e, &notes[i]);
    free(notes);
    if (overflow)
        look_up_all(e);
}

/* ---- the clock ---- */

static void expire(struct capture_engine *e, struct capture *c)
{
    char words[CAPTURE_REASON_MAX];
    for (size_t i = 0; i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        if (target_is_final(t->status))
            continue;
        if (t->status == TARGET_UPLOADING)
            snprintf(words, sizeof words, "%zu of %zu partitions had not arrived at the deadline",
                     t->facts.partition_count - t->stored_count, t->facts.partition_count);
        else
            snprintf(words, sizeof words, "%s at the deadline",
                     t->status == TARGET_OFFLINE     ? "its agent was silent"
                     : t->status == TARGET_CAPTURING ? "its agent had not finished"
                                                     : "its agent had not answered");
        target_set(e, c, t, TARGET_EXPIRED, words);
    }
    capture_settle(e, c);
}

static void forget_finished(struct capture_engine *e)
{
    struct capture *old[64];
    size_t count = 0, at = 0;
    uint64_t now = clock_monotonic_ns();
    for (struct capture *c; count < 64 && (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (c->status != CAPTURE_RUNNING && !c->dirty && now - c->touched_ns > KEEP_FINISHED_NS)
            old[count++] = c;
    for (size_t i = 0; i < count; i++)
        discard(e, old[i]);
}

void capture_tick(struct capture_engine *e, uint64_t now_ns)
{
    uint64_t running = 0;
    size_t at = 0;
    take_inbox(e);
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;) {
        if (c->status != CAPTURE_RUNNING)
            continue;
        if (now_ns >= c->deadline_ns)
            expire(e, c);
        running += c->status == CAPTURE_RUNNING;
    }
    metrics_set(captures_running, running);
    forget_finished(e);
}
