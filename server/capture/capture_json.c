/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture as JSON (docs/api.md): targets and verdict; ledgers are capture_ledger.c's. Reads only;
 * under the control lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture_begins.h"
#include "capture_int.h"
#include "capture_ledger.h"
#include "capture_state.h"
#include "capture_target.h"
#include "clock.h"
#include "event_groups.h"
#include "json.h"

#define REACH_NS           1000000                   /* clocks differ by less */
#define VERDICT_BUT_BEGINS "complete but for begins" /* in place of the status */
#define VERDICT_FINDINGS                                                                           \
    5 /* named in the text; the rest is counted there and told by the targets */

static cJSON *target_json(const struct capture *c, const struct capture_target *t)
{
    uint64_t error_ns;
    cJSON *json = cJSON_CreateObject();
    json_add_id(json, "process", t->process.bytes);
    json_add_agent(json, "agent", t->agent);
    cJSON_AddStringToObject(json, "host", t->host);
    cJSON_AddStringToObject(json, "service", t->service);
    cJSON_AddNumberToObject(json, "pid", t->pid);
    cJSON_AddStringToObject(json, "status", target_status_text(t->status));
    if (t->reason[0] != '\0')
        cJSON_AddStringToObject(json, "reason", t->reason);
    json_add_u64(json, "events", t->stored_events);
    json_add_u64(json, "bytes", t->stored_bytes);
    report_partitions_add(&t->facts, json);
    cJSON_AddItemToObject(json, "ledger", target_ledger_json(c, t));
    report_death_add(&t->facts, json);
    report_evidence_add(&t->facts, json);
    report_ring_add(&t->facts, json);
    if (target_clock_error(c, t, &error_ns))
        json_add_u64(json, "clock_error_ns", error_ns);
    json_add_time(json, "updated", t->updated_ns);
    cJSON *times = cJSON_AddObjectToObject(json, "times");
    for (int s = 0; s < TARGET_STATUS_COUNT; s++)
        if (t->entered_ns[s] != 0)
            json_add_time(times, target_status_text((enum target_status)s), t->entered_ns[s]);
    return json;
}

/* ---- the verdict ---- */

struct verdict {
    struct buf text;
    unsigned named, findings;
};

/* Whether one more finding is to be written; its separator then is. */
static bool finding_begin(struct verdict *v)
{
    v->findings++;
    if (v->named == VERDICT_FINDINGS)
        return false;
    buf_printf(&v->text, "%s", v->named++ == 0 ? ": " : "; ");
    return true;
}

/* Names a process; one that nobody has described by its id. */
static void capturer_say(struct verdict *v, const struct capture_target *t)
{
    char id[ID_TEXT_BYTES];
    id_text(t->process.bytes, id);
    if (t->pid == 0)
        buf_printf(&v->text, "process %s on %s: ", id, t->host);
    else
        buf_printf(&v->text, "%s (pid %u) on %s: ", t->service[0] != '\0' ? t->service : "process",
                   t->pid, t->host);
}

/* Whether the gap is what the ring no longer held at the begin of the window. */
static bool is_reach(const struct capture *c, const struct loss_gap *gap)
{
    uint64_t from_ns = capture_from_ns(c);
    return gap->reason == LOSS_OVERWRITTEN && gap->from_ns <= from_ns + REACH_NS &&
           gap->to_ns >= from_ns && gap->to_ns < capture_to_ns(c);
}

/* Writes the counts of the target's ledger, also those its agent cannot know (damage on disk). */
static void losses_say(struct verdict *v, const struct capture *c, const struct capture_target *t)
{
    struct ledger ledger = {.stored = 0};
    target_ledger(c, t, &ledger);
    for (size_t i = 0; i < LOSS_REASONS; i++)
        if (ledger.events[i] > 0 && finding_begin(v)) {
            capturer_say(v, t);
            buf_printf(&v->text, "%s%" PRIu64 " events %s, %s", ledger.at_most[i] ? "at most " : "",
                       ledger.events[i], i == LOSS_NAME ? "not whole" : "lost",
                       loss_text((enum loss_reason)i));
        }
    if (ledger.implausible > 0 && finding_begin(v)) {
        capturer_say(v, t);
        buf_printf(&v->text, "it says that it lost more events than it can have written");
    }
    ledger_fini(&ledger);
}

/* Whether its status already says what the gap does. */
static bool gap_is_said(const struct capture_target *t, const struct loss_gap *gap)
{
    return t->status == TARGET_WATCHED && gap->reason == LOSS_WATCHED;
}

/* The others come first: what everybody has is not what somebody looks for. */
static void target_say(struct verdict *v, const struct capture *c, const struct capture_target *t)
{
    bool ended = t->status == TARGET_COMPLETE || t->status == TARGET_NOTHING;
    if (!ended && finding_begin(v)) {
        capturer_say(v, t);
        const char *status = target_status_text(t->status);
        bool twice = strncmp(t->reason, status, strlen(status)) == 0;
        buf_printf(&v->text, "%s%s%s", twice ? "" : status,
                   !twice && t->reason[0] != '\0' ? ", " : "", t->reason);
    }
    for (size_t i = 0; i < t->facts.gap_count; i++) {
        char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];
        struct loss_gap gap;
        if (!target_gap(c, t, &t->facts.gaps[i], &gap) || gap_is_said(t, &gap) || !finding_begin(v))
            continue;
        clock_text(gap.from_ns, from);
        clock_text(gap.to_ns, to);
        capturer_say(v, t);
        if (is_reach(c, &gap))
            buf_printf(&v->text, "reaches back to %s of %s asked, overwritten", to, from);
        else
            buf_printf(&v->text, "gap from %s to %s, %s", from, to, t->facts.gaps[i].reason);
    }
    losses_say(v, c, t);
}

/* Says which processes may be missing as targets because nobody knows of them. */
static void unknown_say(struct verdict *v, const struct capture *c)
{
    char from[CLOCK_TEXT_BYTES];
    if (c->known_from_ns == 0 || !finding_begin(v))
        return;
    clock_text(c->known_from_ns, from);
    buf_printf(&v->text, "processes that ended before %s may not be known", from);
}

static void findings_say(struct verdict *v, const struct capture *c)
{
    unknown_say(v, c);
    for (int late = 0; late <= 1; late++)
        for (size_t i = 0; i < c->target_count; i++)
            if (target_begins_late(c, c->targets[i]) == (late != 0))
                target_say(v, c, c->targets[i]);
    if (v->findings > v->named)
        buf_printf(&v->text, "; and %u more", v->findings - v->named);
}

static void begins_say(struct verdict *v, const struct capture_begins *begins)
{
    if (begins->late > 0)
        buf_printf(&v->text, ", %zu of %zu young processes begin late, by up to %" PRIu64 " ms",
                   begins->late, begins->young, (begins->longest_ns + 999999) / 1000000);
    if (begins->rest_whole)
        buf_printf(&v->text, ", nothing else lost in the window");
}

static void begins_add(cJSON *json, const struct capture_begins *begins)
{
    if (begins->late == 0)
        return;
    cJSON *to = cJSON_AddObjectToObject(json, "begins");
    json_add_u64(to, "late", begins->late);
    json_add_u64(to, "young", begins->young);
    json_add_u64(to, "longest_ms", (begins->longest_ns + 999999) / 1000000);
    cJSON_AddBoolToObject(to, "rest_complete", begins->rest_whole);
}

static cJSON *verdict_json(const struct capture *c)
{
    struct verdict v = {.named = 0};
    struct capture_begins begins;
    capture_begins_find(c, &begins);
    uint64_t complete = 0, idle = 0, watched = 0, events = 0;
    for (size_t i = 0; i < c->target_count; i++) {
        watched += c->targets[i]->status == TARGET_WATCHED;
        complete += c->targets[i]->status == TARGET_COMPLETE;
        idle += c->targets[i]->status == TARGET_NOTHING;
        events += c->targets[i]->stored_events;
    }
    buf_printf(&v.text, "%s: %" PRIu64 " of %zu targets, %" PRIu64 " events",
               begins.rest_whole ? VERDICT_BUT_BEGINS : capture_status_text(c->status),
               (complete + idle), c->target_count, events);
    if (idle > 0)
        buf_printf(&v.text, ", %" PRIu64 " idle", idle);
    if (watched > 0)
        buf_printf(&v.text, ", %" PRIu64 " watched", watched);
    begins_say(&v, &begins);
    findings_say(&v, c);
    if (v.findings == 0 && c->status == CAPTURE_COMPLETE)
        buf_printf(&v.text, ", nothing lost in the window");
    buf_put_u8(&v.text, 0);
    cJSON *json = cJSON_CreateObject();
    /* A stopped capture is complete, too, if every target is and nothing is missing. */
    bool whole =
        c->status == CAPTURE_COMPLETE ||
        (c->status == CAPTURE_STOPPED && v.findings == 0 && complete + idle == c->target_count);
    cJSON_AddBoolToObject(json, "complete", whole);
    cJSON_AddStringToObject(json, "text",
                            v.text.status == SKEIN_OK ? (const char *)v.text.data : "");
    begins_add(json, &begins);
    buf_fini(&v.text);
    return json;
}

/* ---- the whole ---- */

static void trigger_add(cJSON *json, const struct capture *c)
{
    cJSON *trigger = cJSON_AddObjectToObject(json, "trigger");
    cJSON_AddStringToObject(trigger, "type", c->trigger);
    if (c->rule[0] != '\0')
        cJSON_AddStringToObject(trigger, c->kind == CAPTURE_SAMPLE ? "policy" : "rule", c->rule);
    if (c->trigger_process[0] != '\0')
        cJSON_AddStringToObject(trigger, "process", c->trigger_process);
    cJSON_AddStringToObject(trigger, "reason", c->reason);
}

static void times_add(cJSON *json, const struct capture *c)
{
    json_add_time(json, "at", c->at_ns);
    json_add_u64(json, "pre_ms", c->pre_ms);
    json_add_u64(json, "post_ms", c->post_ms);
    cJSON *window = cJSON_AddObjectToObject(json, "window");
    json_add_time(window, "from", capture_from_ns(c));
    json_add_time(window, "to", capture_to_ns(c));
    json_add_time(json, "created", c->created_ns);
    json_add_time(json, "deadline", c->deadline_ns);
    if (c->finished_ns != 0)
        json_add_time(json, "finished", c->finished_ns);
    if (c->expires_ns > 0)
        json_add_time(json, "expires", c->expires_ns);
    if (c->known_from_ns != 0)
        json_add_time(json, "known_from", c->known_from_ns);
}

static void counts_add(cJSON *json, const struct capture *c, const struct selector *within)
{
    uint64_t counts[TARGET_STATUS_COUNT] = {0};
    cJSON *to = cJSON_AddObjectToObject(json, "target_counts");
    for (size_t i = 0; i < c->target_count; i++)
        counts[c->targets[i]->status] += capture_target_seen(c->targets[i], within);
    for (size_t i = 0; i < TARGET_STATUS_COUNT; i++)
        if (counts[i] > 0)
            json_add_u64(to, target_status_text((enum target_status)i), counts[i]);
}

const char *capture_kind_text(enum capture_kind kind)
{
    static const char *const texts[CAPTURE_KINDS] = {"snapshot", "record", "stream", "sample"};
    return texts[kind];
}

static void asked_add(cJSON *json, const struct capture *c)
{
    trigger_add(json, c);
    cJSON_AddStringToObject(json, "selector", c->selector != NULL ? c->selector : "");
    json_add_u64(json, "min_targets", c->min_targets > 0 ? c->min_targets : 1);
    if (c->max_targets > 0)
        json_add_u64(json, "max_targets", c->max_targets);
    if (c->ttl_ms > 0)
        json_add_u64(json, "ttl_ms", c->ttl_ms);
    cJSON_AddBoolToObject(json, "pin", c->pin);
    evidence_wish_add(&c->wish, json);
}

static void targets_add(cJSON *json, const struct capture *c, const struct selector *within)
{
    cJSON *targets = cJSON_AddArrayToObject(json, "targets");
    for (size_t i = 0; i < c->target_count; i++)
        if (capture_target_seen(c->targets[i], within))
            cJSON_AddItemToArray(targets, target_json(c, c->targets[i]));
}

void capture_add_url(cJSON *capture, const char *public_url)
{
    char url[512];
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(capture, "capture");
    if (!cJSON_IsString(id) || public_url == NULL || public_url[0] == '\0')
        return;
    int n = snprintf(url, sizeof url, "%s/captures/%s", public_url, id->valuestring);
    if (n > 0 && (size_t)n < sizeof url)
        cJSON_AddStringToObject(capture, "url", url);
}

/* The request's words and the verdict speak of all targets, so only who sees all gets them. */
cJSON *capture_json(const struct capture *c, const struct selector *within, bool with_targets)
{
    cJSON *json = cJSON_CreateObject();
    json_add_id(json, "capture", c->id.bytes);
    json_add_id(json, "incident", c->incident.bytes);
    cJSON_AddStringToObject(json, "kind", capture_kind_text(c->kind));
    cJSON_AddStringToObject(json, "status", capture_status_text(c->status));
    if (c->groups != 0) /* for all: what they read is of these */
        cJSON_AddItemToObject(json, "groups", event_groups_json(c->groups));
    if (within == NULL)
        asked_add(json, c);
    times_add(json, c);
    if (with_targets)
        targets_add(json, c, within);
    counts_add(json, c, within);
    cJSON_AddItemToObject(json, "ledger", capture_ledger_json(c, within));
    if (within == NULL)
        cJSON_AddItemToObject(json, "verdict", verdict_json(c));
    return json;
}
