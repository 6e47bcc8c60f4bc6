/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's verbs for people: create, get, stop, delete; and the deadlines. Owns the captures in
 * memory. Under the control lock but for the inbox and where a function takes it.
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
#define KEEP_FINISHED_NS  (UINT64_C(60) * 1000000000u)
#define PURGE_AGAIN_NS    (UINT64_C(30) * 1000000000u)
#define OFFSET_TRUSTED_NS INT64_C(50000000) /* a smaller estimate is mostly the message's delay */

/* ---- life ---- */

/* Has the partitions of a deleted capture deleted in the next rounds. */
int capture_purge_soon(void *context, const struct capture_id *id)
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
        int64_t rows = catalog_unpurged(catalog, capture_purge_soon, e);
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
void capture_send(struct capture_engine *e, struct capture *c, struct fleet_agent *agent)
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
            capture_send(e, c, agent);
    }
}

/* ---- create ---- */

void capture_begin_target(struct capture_engine *e, struct capture *c, struct capture_target *t,
                          enum target_status status, const char *reason)
{
    target_set(e, c, t, status, reason);
    metrics_add(capture_targets_total, 1);
}

static int compare_targets(const void *a, const void *b)
{
    const struct capture_target *const *x = a, *const *y = b;
    return memcmp((*x)->process.bytes, (*y)->process.bytes, sizeof(*x)->process.bytes);
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
        capture_begin_target(e, c, t, status == FLEET_LIVE ? TARGET_PENDING : TARGET_OFFLINE,
                             status == FLEET_LIVE ? "" : "its agent is silent");
    }
    if (c->target_count == 0)
        return SKEIN_NOT_FOUND;
    /* The order in which the catalog gives them back. */
    qsort(c->targets, c->target_count, sizeof *c->targets, compare_targets);
    return SKEIN_OK;
}

void capture_discard(struct capture_engine *e, struct capture *c)
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
        capture_discard(e, c);
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
        capture_purge_soon(e, id);
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
        capture_discard(e, c);
        metrics_add(captures_deleted_total, 1);
    }
    fleet_unlock(e->fleet);
    return status == SKEIN_OK ? purge(e, id) : status;
}

void capture_refuse(struct capture_engine *e, const struct capture_id *id)
{
    struct capture *c = capture_find(e, id);
    if (mark_deleted(e, id) == SKEIN_OK && c != NULL)
        capture_discard(e, c);
    else if (!catalog_is_deleted(e->catalog, id))
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

/* ---- the clock ---- */

static void expire(struct capture_engine *e, struct capture *c)
{
    char words[CAPTURE_REASON_MAX];
    for (size_t i = 0; i < c->target_count; i++) {
        struct capture_target *t = c->targets[i];
        if (target_is_final(t->status))
            continue;
        if (t->status == TARGET_UPLOADING)
            snprintf(words, sizeof words, "%llu of %llu partitions had not arrived at the deadline",
                     (unsigned long long)(t->facts.listed - t->stored_count),
                     (unsigned long long)t->facts.listed);
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
        capture_discard(e, old[i]);
}

void capture_tick(struct capture_engine *e, uint64_t now_ns)
{
    uint64_t running = 0;
    size_t at = 0;
    capture_take_inbox(e);
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
