/* SPDX-License-Identifier: Apache-2.0
 *
 * What agents say about captures: an agent joined, is lost, refused a command, began a capture, or
 * reports of a target. Control thread, under the control lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_control.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "clock.h"
#include "clock_steps.h"
#include "json.h"
#include "log.h"
#include "metrics.h"
#include "sampling.h"

#define REFUSED_SAY_NS (UINT64_C(60) * 1000000000) /* logged for one agent at most so often */
#define AHEAD_NS       (UINT64_C(60) * 1000000000) /* more than an agent's clock may be ahead */

void capture_agent_joined(struct capture_engine *e, struct fleet_agent *agent)
{
    control_assert_locked(e->control);
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;)
        if (c->status == CAPTURE_RUNNING)
            capture_send(e, c, agent, false);
}

void capture_agent_lost(struct capture_engine *e, struct fleet_agent *agent)
{
    control_assert_locked(e->control);
    size_t at = 0;
    for (struct capture *c; (c = idmap_next(&e->loaded, &at)) != NULL;) {
        if (c->status != CAPTURE_RUNNING)
            continue;
        for (struct capture_target *t = capture_targets_at(c, agent->id); t != NULL;
             t = t->next_of_agent)
            if (t->status == TARGET_PENDING || t->status == TARGET_SENT)
                target_set(e, c, t, TARGET_OFFLINE, "its agent is silent");
    }
}

void capture_command_done(struct capture_engine *e, struct fleet_agent *agent,
                          const struct capture_id *id, const char *error)
{
    control_assert_locked(e->control);
    struct capture *c = error[0] != '\0' ? capture_find(e, id) : NULL;
    if (c == NULL || c->status != CAPTURE_RUNNING)
        return;
    for (struct capture_target *t = capture_targets_at(c, agent->id); t != NULL;
         t = t->next_of_agent)
        if (t->status == TARGET_PENDING || t->status == TARGET_SENT)
            target_set(e, c, t, TARGET_FAILED, error);
    capture_settle(e, c);
}

bool capture_waits_for_fired(const struct capture *c)
{
    return c->own && strcmp(c->trigger, "request") == 0;
}

/* Whether what this agent says of a capture that is not there comes too late. */
static bool is_gone(struct capture_engine *e, const struct fleet_agent *agent,
                    const struct capture_id *id) CONTROL_LOCKED
{
    return capture_is_refused(agent, id) || capture_is_deleted(e, id);
}

bool capture_is_news(struct capture_engine *e, const struct fleet_agent *agent,
                     const struct capture_id *id)
{
    control_assert_locked(e->control);
    const struct capture *c = capture_find(e, id);
    return c != NULL ? capture_waits_for_fired(c) : !is_gone(e, agent, id);
}

bool capture_has_target(struct capture_engine *e, const struct capture_id *id,
                        const struct process_uid *process)
{
    control_assert_locked(e->control);
    struct capture *c = capture_find(e, id);
    return c != NULL && capture_target_find(c, process) != NULL;
}

/* How many units (CAPTURE_OWN_UNITS) the report would add; 0: it names nothing new. */
static uint32_t units_of(struct capture_engine *e, const struct fleet_agent *agent,
                         const struct capture_id *id,
                         const struct process_uid *process) CONTROL_LOCKED
{
    struct capture *c = capture_find(e, id);
    if (c == NULL)
        return is_gone(e, agent, id) ? 0 : CAPTURE_OWN_UNITS;
    return c->kind == CAPTURE_SAMPLE && capture_target_find(c, process) == NULL ? 1 : 0;
}

/* How much of the bound is open to it. What an agent says of the rule is taken as it is: it is the
 * agent's own bound. */
static enum share_rank rank_of(const struct report_fired *fired, uint32_t user)
{
    if (user == 0)
        return SHARE_ROOT;
    return fired != NULL && (fired->rule[0] != '\0' || fired->trigger == TRIGGER_CRASH)
               ? SHARE_RULED
               : SHARE_ASKED;
}

/* Whose process it is. */
static uint32_t user_of(const struct fleet_process *p, const struct report_fired *fired)
{
    if (fired != NULL && fired->user != SHARE_USER_UNKNOWN)
        return fired->user;
    return p != NULL ? p->user : SHARE_USER_UNKNOWN;
}

/* To whom a report's units are charged. A report of a target that comes before the firing's has no
 * cause yet, and counts as one of its own. */
static struct share_key charged_to(struct capture_engine *e, const struct process_uid *process,
                                   const struct report_fired *fired,
                                   enum share_rank *rank) CONTROL_LOCKED
{
    const struct fleet_process *p = fleet_process_find(e->fleet, process);
    const uint32_t user = user_of(p, fired);
    const char *program = fired != NULL && fired->exe[0] != '\0' ? fired->exe
                          : p != NULL                            ? p->exe
                                                                 : "";
    const char *cause = fired == NULL              ? ""
                        : fired->policy[0] != '\0' ? fired->policy
                        : fired->rule[0] != '\0'   ? fired->rule
                                                   : trigger_text(fired->trigger);
    *rank = rank_of(fired, user);
    return share_key_of(user, program, cause);
}

bool capture_admits(struct capture_engine *e, struct fleet_agent *agent,
                    const struct capture_id *id, const struct process_uid *process,
                    const struct report_fired *fired, char *error, size_t error_bytes)
{
    control_assert_locked(e->control);
    uint64_t limit = e->settings.agent_captures_per_hour, now_ns = clock_monotonic_ns();
    uint32_t units = limit > 0 ? units_of(e, agent, id, process) : 0;
    if (units == 0)
        return true;
    enum share_rank rank;
    const struct share_key key = charged_to(e, process, fired, &rank);
    enum share_answer answer = shares_take(&agent->own, now_ns, &key, units,
                                           share_open_to(rank, limit * CAPTURE_OWN_UNITS));
    if (answer == SHARE_GRANTED)
        return true;
    agent->own_refused++;
    metrics_add(captures_refused_total, 1);
    snprintf(error, error_bytes,
             "agents.captures_per_hour: %s is used up on %.100s; all together have begun %" PRIu64
             " of %" PRIu64 " captures within the hour",
             share_answer_text(answer), agent->host,
             shares_used(&agent->own, now_ns) / CAPTURE_OWN_UNITS, limit);
    if (agent->own_said_ns == 0 || now_ns - agent->own_said_ns > REFUSED_SAY_NS) {
        agent->own_said_ns = now_ns;
        log_warn("captures", "an agent begins more captures than agents.captures_per_hour allows",
                 "host", agent->host, "refused", log_fmt("%" PRIu64, agent->own_refused), "reason",
                 error, NULL);
    }
    return false;
}

/* Says for whom it counts: the user whose process it is, on his host. A sample is its policy's. */
static void holder_set(struct capture_engine *e, struct capture *c, const struct fleet_agent *agent,
                       const struct process_uid *process,
                       const struct report_fired *fired) CONTROL_LOCKED
{
    const uint32_t user = user_of(fleet_process_find(e->fleet, process), fired);
    c->rank = rank_of(fired, user);
    if (user == SHARE_USER_UNKNOWN)
        snprintf(c->holder, sizeof c->holder, "somebody on %s", agent->host);
    else
        snprintf(c->holder, sizeof c->holder, "user %" PRIu32 " on %s", user, agent->host);
}

/* Makes a capture that an agent has begun, with its one target. NULL: no memory. */
static struct capture *target_adopt(struct capture_engine *e, struct fleet_agent *agent,
                                    const struct capture_id *id,
                                    const struct process_uid *process) CONTROL_LOCKED
{
    char text[ID_TEXT_BYTES];
    struct capture *c = capture_new(e, id);
    if (c == NULL)
        return NULL;
    c->own = true;
    c->clock = clock_setting(&c->created_ns);
    c->at_ns = c->created_ns;
    capture_set_due(c, clock_monotonic_ns() + e->settings.deadline_ms * 1000000u);
    id_text(process->bytes, text);
    size_t bytes = strlen(text) + 9;
    c->selector = malloc(bytes);
    struct capture_target *t =
        capture_target_add(c, process, fleet_process_find(e->fleet, process), agent);
    if (c->selector == NULL || t == NULL) {
        capture_discard(e, c);
        return NULL;
    }
    t->own = true;
    holder_set(e, c, agent, process, NULL);
    snprintf(c->selector, bytes, "process=%s", text);
    /* `fired` says both. A report that overtakes it is kept under these words until it comes. */
    snprintf(c->trigger, sizeof c->trigger, "request");
    snprintf(c->reason, sizeof c->reason, "reported by its agent; no request is known");
    capture_begin_target(e, c, t, TARGET_CAPTURING, "");
    metrics_add(captures_total, 1);
    return c;
}

/* The capture that an agent's report names, begun now if it is not known. SKEIN_OK, with NULL where
 * it is deleted or refused; SKEIN_AGAIN. */
static int reported_find(struct capture_engine *e, struct fleet_agent *agent,
                         const struct capture_id *id, const struct process_uid *process,
                         struct capture **out) CONTROL_LOCKED
{
    *out = capture_find(e, id);
    if (*out != NULL || is_gone(e, agent, id))
        return SKEIN_OK;
    *out = target_adopt(e, agent, id, process);
    return *out != NULL ? SKEIN_OK : SKEIN_AGAIN;
}

/* Adds a target to a capture that an agent has begun. NULL: no memory. */
static struct capture_target *target_join(struct capture_engine *e, struct capture *c,
                                          struct fleet_agent *agent,
                                          const struct process_uid *process) CONTROL_LOCKED
{
    capture_reopen(e, c, clock_monotonic_ns() + e->settings.deadline_ms * 1000000u);
    struct capture_target *t =
        capture_target_add(c, process, fleet_process_find(e->fleet, process), agent);
    if (t == NULL)
        return NULL;
    t->own = true;
    capture_begin_target(e, c, t, TARGET_CAPTURING, "");
    return t;
}

/* Describes a process that came and went between two lists of its agent. */
static void fired_describe(struct capture_engine *e, struct capture *c, struct capture_target *t,
                           const struct report_fired *fired) CONTROL_LOCKED
{
    if (t == NULL || t->pid != 0)
        return;
    t->pid = fired->pid;
    snprintf(t->service, sizeof t->service, "%s", fired->service);
    snprintf(t->labels, sizeof t->labels, "%s", fired->labels);
    snprintf(t->exe, sizeof t->exe, "%s", fired->exe);
    target_touch(e, c, t);
}

static void capture_keep_as(struct capture_engine *e, struct capture *c,
                            const struct capture_keep *keep)
{
    uint64_t deadline_ms = keep != NULL ? keep->deadline_ms : e->settings.deadline_ms;
    if (c->status == CAPTURE_RUNNING)
        capture_set_due(c, clock_monotonic_ns() + (c->post_ms + deadline_ms) * 1000000u);
    if (keep == NULL)
        return;
    if (keep->ttl_ms > 0)
        c->ttl_ms = keep->ttl_ms;
    c->pin = keep->pin;
    c->wish = keep->wish;
    if (keep->incident != NULL)
        c->incident = *keep->incident;
    capture_set_expiry(c);
}

/* Whether this agent has begun the capture, so that it may say who else is in it. */
static bool began(struct capture *c, const struct fleet_agent *agent)
{
    const struct capture_target *t = capture_targets_at(c, agent->id);
    while (t != NULL && !t->own)
        t = t->next_of_agent;
    return c->own && t != NULL;
}

/* Adds all targets of a firing at its first word, so that the capture is not complete before all of
 * them are. One that cannot be added now comes with its own report. */
static void target_join_with(struct capture_engine *e, struct capture *c, struct fleet_agent *agent,
                             const struct report_fired *fired) CONTROL_LOCKED
{
    for (size_t i = 0; i < fired->with_count; i++) {
        const struct process_uid *uid = &fired->with[i];
        const struct fleet_process *p = fleet_process_find(e->fleet, uid);
        if (p != NULL && p->agent == agent->id && capture_target_find(c, uid) == NULL)
            (void)target_join(e, c, agent, uid);
    }
}

int capture_on_fired(struct capture_engine *e, struct fleet_agent *agent,
                     const struct report_fired *fired, const struct capture_keep *keep)
{
    control_assert_locked(e->control);
    struct capture *c;
    int status = reported_find(e, agent, &fired->capture, &fired->process, &c);
    if (c == NULL)
        return status;
    struct capture_target *t = capture_target_find(c, &fired->process);
    if (t == NULL && began(c, agent) && (t = target_join(e, c, agent, &fired->process)) == NULL)
        return SKEIN_AGAIN;
    if (!capture_waits_for_fired(c)) { /* a repeat, or another target of the firing */
        fired_describe(e, c, t, fired);
        return SKEIN_OK;
    }
    if (t == NULL || t->agent != agent->id)
        return SKEIN_DENIED; /* only the agent of its first target may have begun it */
    snprintf(c->trigger, sizeof c->trigger, "%s", trigger_text(fired->trigger));
    snprintf(c->rule, sizeof c->rule, "%s", fired->rule);
    snprintf(c->reason, sizeof c->reason, "%s", fired->reason);
    id_text(fired->process.bytes, c->trigger_process);
    holder_set(e, c, agent, &fired->process, fired);
    if (fired->at_ns != 0)
        c->at_ns = fired->at_ns;
    fired_describe(e, c, t, fired);
    target_join_with(e, c, agent, fired);
    c->pre_ms = fired->pre_ms;
    c->post_ms = fired->post_ms;
    capture_keep_as(e, c, keep);
    capture_touch(e, c);
    char id[ID_TEXT_BYTES];
    id_text(c->id.bytes, id);
    log_info("captures", "an agent began a capture", "capture", id, "host", agent->host, "trigger",
             c->trigger, "rule", c->rule, "reason", c->reason, NULL);
    capture_publish(e, c, "capture.created", NULL);
    capture_audit_created(e, c);
    return SKEIN_OK;
}

/* ---- samples: captures that many agents begin, each for its processes ---- */

/* When the sample's span begins. An agent has put this into the id: one whose clock is far ahead
 * must not keep a capture running until then. */
static uint64_t sample_begin_ns(const struct capture_id *id)
{
    uint64_t begin_ns = sampling_span_begin_ns(id), now_ns = clock_realtime_ns();
    return begin_ns > now_ns + AHEAD_NS ? now_ns : begin_ns;
}

static void sample_become(struct capture_engine *e, struct capture *c,
                          const struct report_fired *fired,
                          const struct capture_sample *sample) CONTROL_LOCKED
{
    char *selector = sample->selector != NULL ? strdup(sample->selector) : NULL;
    c->kind = CAPTURE_SAMPLE;
    c->at_ns = sample_begin_ns(&c->id);
    c->pre_ms = 0;
    c->post_ms = sample->span_ms + sample->post_ms;
    if (sample->ttl_ms > 0)
        c->ttl_ms = sample->ttl_ms;
    c->groups = sample->groups;
    c->pin = sample->pin;
    c->rank = SHARE_ROOT;
    snprintf(c->holder, sizeof c->holder, "policy %s", fired->policy);
    snprintf(c->trigger, sizeof c->trigger, "%s", trigger_text(fired->trigger));
    snprintf(c->rule, sizeof c->rule, "%s", fired->policy);
    snprintf(c->reason, sizeof c->reason, "samples of the policy %s", fired->policy);
    if (selector != NULL) {
        free(c->selector);
        c->selector = selector;
    }
    capture_touch(e, c);
    capture_publish(e, c, "capture.created", NULL);
    capture_audit_created(e, c);
}

int capture_on_sample(struct capture_engine *e, struct fleet_agent *agent,
                      const struct report_fired *fired, const struct capture_sample *sample)
{
    control_assert_locked(e->control);
    struct capture *c;
    int status = reported_find(e, agent, &fired->capture, &fired->process, &c);
    if (c == NULL)
        return status;
    if (c->kind != CAPTURE_SAMPLE && capture_waits_for_fired(c))
        sample_become(e, c, fired, sample);
    if (c->kind != CAPTURE_SAMPLE || strcmp(c->rule, fired->policy) != 0)
        return SKEIN_DENIED;
    uint64_t due_ns =
        clock_monotonic_ns() + capture_window_left_ns(c) + e->settings.deadline_ms * 1000000u;
    struct capture_target *t = capture_target_find(c, &fired->process);
    if (t == NULL && (t = target_join(e, c, agent, &fired->process)) == NULL)
        return SKEIN_AGAIN;
    if (c->status == CAPTURE_RUNNING && c->due_ns < due_ns) {
        capture_set_due(c, due_ns);
        capture_touch(e, c);
    }
    fired_describe(e, c, t, fired);
    return SKEIN_OK;
}

/* ---- reports of targets ---- */

/* Describes a process that the fleet learnt of only after the capture began. */
static void target_describe(struct capture_engine *e, struct capture_target *t) CONTROL_LOCKED
{
    const struct fleet_process *p = fleet_process_find(e->fleet, &t->process);
    if (p != NULL && t->pid == 0)
        capture_target_describe(t, p);
}

/* A copy of the report for the capture to keep. NULL: no memory. The report's times follow one
 * setting of our clock (P-28), the capture's another one if the clock was set in between: the
 * copy's offset is moved to the capture's setting. That is done here alone, because `clock` stays
 * what the agent said: whoever moved a copy again would add the same once more. */
static cJSON *report_copy(const struct capture *c, const cJSON *report)
{
    cJSON *json = cJSON_Duplicate(report, true);
    struct json_reader r = {.error = ""};
    uint64_t clock = json_u64(&r, json, "", "clock", JSON_OPTIONAL, 0, 0, UINT64_MAX);
    int64_t offset_ns = json_i64(&r, json, "", "clock_offset_ns", JSON_OPTIONAL, 0);
    int64_t shift_ns = clock_setting_shift(clock, c->clock);
    if (json == NULL || shift_ns == 0)
        return json;
    cJSON_DeleteItemFromObjectCaseSensitive(json, "clock_offset_ns");
    json_add_i64(json, "clock_offset_ns", offset_ns + shift_ns);
    if (cJSON_HasObjectItem(json, "clock_offset_ns"))
        return json;
    cJSON_Delete(json);
    return NULL;
}

/* Takes what the report says that there is and that is missing. SKEIN_OK; SKEIN_AGAIN: it is not
 * known, so its agent has to say it again. */
static int facts_take(struct capture_engine *e, struct capture *c, struct capture_target *t,
                      const cJSON *json) CONTROL_LOCKED
{
    cJSON *copy = report_copy(c, json);
    return copy != NULL && target_take_facts(e, c, t, copy) == SKEIN_OK ? SKEIN_OK : SKEIN_AGAIN;
}

/* Takes a report that the target has begun, or what there is of a stream so far. Ignored where a
 * later report has come first. */
static int on_capturing(struct capture_engine *e, struct capture *c, struct capture_target *t,
                        const struct report_target *report, const cJSON *json) CONTROL_LOCKED
{
    if (t->status != TARGET_CAPTURING && !target_set(e, c, t, TARGET_CAPTURING, report->reason))
        return SKEIN_OK;
    if (report->partition_count == 0 && report->gap_count == 0 && report->loss_count == 0)
        return SKEIN_OK;
    int status = facts_take(e, c, t, json);
    if (status == SKEIN_OK)
        target_set(e, c, t, TARGET_CAPTURING, report->reason);
    return status;
}

/* Takes a report of a window without a record, or of a failure; also what is missing, and how the
 * process died: without that the target would be whole. */
static int on_nothing(struct capture_engine *e, struct capture *c, struct capture_target *t,
                      const struct report_target *report, const cJSON *json) CONTROL_LOCKED
{
    bool young = report->began_ns >= capture_from_ns(c); /* one of those that the verdict counts */
    bool tells = report->has_death || report->gap_count > 0 || report->loss_count > 0 || young;
    if (tells && !target_is_stored(t->status) && facts_take(e, c, t, json) != SKEIN_OK)
        return SKEIN_AGAIN;
    enum target_status to = target_lacks_ring(report)        ? TARGET_WATCHED
                            : report->state == REPORT_FAILED ? TARGET_FAILED
                                                             : TARGET_NOTHING;
    target_set(e, c, t, to, report->reason);
    return SKEIN_OK;
}

static int on_uploading(struct capture_engine *e, struct capture *c, struct capture_target *t,
                        const struct report_target *report, const cJSON *json) CONTROL_LOCKED
{
    if (target_has_ended_well(t->status))
        return SKEIN_OK;
    if (report->partition_count == 0)
        return on_nothing(e, c, t, report, json);
    int status = facts_take(e, c, t, json);
    if (status != SKEIN_OK)
        return status;
    if (t->status == TARGET_FAILED && c->status != CAPTURE_RUNNING)
        target_set(e, c, t, TARGET_EXPIRED, "its partitions are late");
    else if (t->status != TARGET_EXPIRED)
        target_set(e, c, t, TARGET_UPLOADING, report->reason);
    target_touch(e, c, t);
    target_check_stored(e, c, t);
    return SKEIN_OK;
}

int capture_on_target(struct capture_engine *e, struct fleet_agent *agent,
                      const struct report_target *report, const cJSON *json)
{
    control_assert_locked(e->control);
    struct capture *c;
    int status = reported_find(e, agent, &report->capture, &report->process, &c);
    if (status != SKEIN_OK)
        return status;
    if (report->state == REPORT_CAPTURING && (c == NULL || c->status != CAPTURE_RUNNING))
        capture_tell_stop(e, agent->id, &report->capture,
                          clock_monotonic_ns() + e->settings.deadline_ms * 1000000u);
    if (c == NULL)
        return SKEIN_OK;
    struct capture_target *t = capture_target_find(c, &report->process);
    bool joins = c->kind == CAPTURE_SAMPLE || began(c, agent);
    if (t == NULL && joins && (t = target_join(e, c, agent, &report->process)) == NULL)
        return SKEIN_AGAIN;
    if (t == NULL || t->agent != agent->id)
        return t == NULL ? SKEIN_NOT_FOUND : SKEIN_DENIED;
    target_describe(e, t);
    switch (report->state) {
    case REPORT_CAPTURING:
        status = on_capturing(e, c, t, report, json);
        break;
    case REPORT_UPLOADING:
        status = on_uploading(e, c, t, report, json);
        break;
    case REPORT_NOTHING:
    case REPORT_FAILED:
    default:
        status = on_nothing(e, c, t, report, json);
        break;
    }
    capture_settle(e, c);
    return status;
}
