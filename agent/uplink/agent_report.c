/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of the reports fired and target; see agent_report.h.
 */
#include "agent_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "process.h"

#define GAPS_MAX 256

const char *trigger_text(enum trigger_type type)
{
    static const char *const texts[] = {"request", "health",   "application", "crash",
                                        "latency", "log",      "counter",     "cpu",
                                        "memory",  "pressure", "policy"};
    return texts[type];
}

enum trigger_type trigger_parse(const char *text)
{
    int type = TRIGGER_REQUEST;
    while (type < TRIGGER_TYPES && strcmp(text, trigger_text((enum trigger_type)type)) != 0)
        type++;
    return (enum trigger_type)type;
}

void report_add_agent(cJSON *object, uint64_t agent)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, agent);
    cJSON_AddStringToObject(object, "agent", text);
}

void report_add_id(cJSON *object, const char *key, const uint8_t bytes[16])
{
    char text[ID_TEXT_BYTES];
    id_text(bytes, text);
    cJSON_AddStringToObject(object, key, text);
}

void target_result_fini(struct target_result *result)
{
    free(result->ranges);
    free(result->gaps);
    result->ranges = NULL;
    result->gaps = NULL;
    result->range_count = result->gap_count = 0;
}

/* Whether b begins where a ends. */
static bool range_leads(const struct report_range *a, const struct report_range *b)
{
    return a->epoch == b->epoch && a->last < b->first && b->first - a->last == 1;
}

static void range_join(struct report_range *to, const struct report_range *more)
{
    to->first = more->first < to->first ? more->first : to->first;
    to->last = more->last > to->last ? more->last : to->last;
    to->events += more->events;
    to->bytes += more->bytes;
}

int target_result_add_range(struct target_result *result, const struct report_range *range)
{
    size_t at = result->range_count; /* mostly the newest */
    struct report_range *ranges = result->ranges;
    while (at > 0 &&
           (ranges[at - 1].epoch > range->epoch ||
            (ranges[at - 1].epoch == range->epoch && ranges[at - 1].first > range->first)))
        at--;
    bool follows = at > 0 && range_leads(&ranges[at - 1], range);
    bool leads = at < result->range_count && range_leads(range, &ranges[at]);
    if (follows || leads) {
        range_join(&ranges[follows ? at - 1 : at], range);
        if (follows && leads) {
            range_join(&ranges[at - 1], &ranges[at]);
            result->range_count--;
            memmove(ranges + at, ranges + at + 1, (result->range_count - at) * sizeof *ranges);
        }
        return SKEIN_OK;
    }
    ranges = realloc(ranges, (result->range_count + 1) * sizeof *ranges);
    if (ranges == NULL)
        return SKEIN_NO_MEMORY;
    result->ranges = ranges;
    memmove(ranges + at + 1, ranges + at, (result->range_count - at) * sizeof *ranges);
    ranges[at] = *range;
    result->range_count++;
    return SKEIN_OK;
}

/* Whether they are of one reason and touch, or are to be one for want of room. */
static bool gaps_join(const struct target_result *result, const struct report_gap *a,
                      const struct report_gap *b)
{
    if (strcmp(a->reason, b->reason) != 0)
        return false;
    return result->gap_count >= GAPS_MAX || (a->from_ns <= b->to_ns && b->from_ns <= a->to_ns);
}

/* What overlaps is told as one: a gap that joins two of the list takes both. */
int target_result_add_gap(struct target_result *result, const struct report_gap *gap)
{
    struct report_gap whole = *gap;
    for (size_t i = 0; i < result->gap_count;) {
        const struct report_gap *other = &result->gaps[i];
        if (!gaps_join(result, other, &whole)) {
            i++;
            continue;
        }
        whole.from_ns = other->from_ns < whole.from_ns ? other->from_ns : whole.from_ns;
        whole.to_ns = other->to_ns > whole.to_ns ? other->to_ns : whole.to_ns;
        result->gaps[i] = result->gaps[--result->gap_count];
        i = 0;
    }
    struct report_gap *more = realloc(result->gaps, (result->gap_count + 1) * sizeof *more);
    if (more == NULL)
        return SKEIN_NO_MEMORY;
    result->gaps = more;
    more[result->gap_count++] = whole;
    return SKEIN_OK;
}

static void add_window(cJSON *object, uint64_t from_ns, uint64_t to_ns)
{
    json_add_u64(object, "from_ns", from_ns);
    json_add_u64(object, "to_ns", to_ns);
}

static void add_ledger(cJSON *root, const struct target_result *result)
{
    cJSON *ledger = cJSON_AddObjectToObject(root, "ledger");
    json_add_u64(ledger, "events", result->events);
    cJSON *lost = cJSON_AddObjectToObject(ledger, "lost");
    for (int reason = 0; reason < LOSS_REASONS; reason++) {
        if (result->lost[reason] != 0)
            json_add_u64(lost, loss_text((enum loss_reason)reason), result->lost[reason]);
    }
}

static cJSON *range_json(const struct report_range *range)
{
    cJSON *item = cJSON_CreateObject();
    json_add_u64(item, "epoch", range->epoch);
    json_add_u64(item, "first", range->first);
    json_add_u64(item, "last", range->last);
    json_add_u64(item, "events", range->events);
    json_add_u64(item, "bytes", range->bytes);
    return item;
}

static void add_lists(cJSON *root, const struct target_result *result)
{
    cJSON *partitions = cJSON_AddArrayToObject(root, "partitions");
    for (size_t i = 0; i < result->range_count; i++)
        cJSON_AddItemToArray(partitions, range_json(&result->ranges[i]));
    cJSON *gaps = cJSON_AddArrayToObject(root, "gaps");
    for (size_t i = 0; i < result->gap_count; i++) {
        cJSON *item = cJSON_CreateObject();
        add_window(item, result->gaps[i].from_ns, result->gaps[i].to_ns);
        cJSON_AddStringToObject(item, "reason", result->gaps[i].reason);
        cJSON_AddItemToArray(gaps, item);
    }
}

void report_add_clock(cJSON *object, const struct clock_map *map)
{
    if (map->offset_ns != 0)
        json_add_i64(object, "clock_offset_ns", map->offset_ns);
    if (map->clock != 0)
        json_add_u64(object, "clock", map->clock);
}

void report_target(uint64_t agent, const struct target_result *result, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    report_add_agent(root, agent);
    cJSON_AddStringToObject(root, "kind", "target");
    report_add_id(root, "capture", result->capture.bytes);
    report_add_id(root, "process", result->process.bytes);
    cJSON_AddStringToObject(root, "state", result->state);
    if (strcmp(result->state, "capturing") == 0)
        cJSON_AddStringToObject(root, "trigger", trigger_text(result->trigger));
    if (result->reason[0] != '\0')
        cJSON_AddStringToObject(root, "reason", result->reason);
    if (result->to_ns != 0)
        add_window(cJSON_AddObjectToObject(root, "window"), result->from_ns, result->to_ns);
    report_add_clock(root, &result->map);
    add_lists(root, result);
    add_ledger(root, result);
    if (result->death.known) {
        cJSON *death = cJSON_AddObjectToObject(root, "death");
        cJSON_AddNumberToObject(death, "signal", result->death.signal);
        cJSON_AddNumberToObject(death, "status", result->death.status);
    }
    json_print(root, out);
    cJSON_Delete(root);
}

static void add_with(cJSON *root, const struct fired_report *fired)
{
    char id[ID_TEXT_BYTES];
    cJSON *with = fired->with_count > 0 ? cJSON_AddArrayToObject(root, "with") : NULL;
    for (size_t i = 0; with != NULL && i < fired->with_count && i < FIRED_WITH_MAX; i++) {
        id_text(fired->with[i].bytes, id);
        cJSON_AddItemToArray(with, cJSON_CreateString(id));
    }
}

void report_fired(uint64_t agent, const struct fired_report *fired, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    report_add_agent(root, agent);
    cJSON_AddStringToObject(root, "kind", "fired");
    report_add_id(root, "capture", fired->capture.bytes);
    cJSON_AddStringToObject(root, "trigger", trigger_text(fired->trigger));
    if (fired->rule != NULL)
        cJSON_AddStringToObject(root, fired->trigger == TRIGGER_POLICY ? "policy" : "rule",
                                fired->rule);
    report_add_id(root, "process", fired->process->uid.bytes);
    add_with(root, fired);
    json_add_u64(root, "pid", fired->process->pid);
    cJSON_AddStringToObject(root, "service", fired->process->service);
    cJSON_AddStringToObject(root, "labels", fired->process->labels);
    cJSON_AddStringToObject(root, "exe", fired->process->exe);
    json_add_u64(root, "at_ns", fired->at_ns);
    report_add_clock(root, &fired->map);
    cJSON_AddStringToObject(root, "reason", fired->reason);
    json_add_u64(root, "pre_ms", fired->pre_ms);
    json_add_u64(root, "post_ms", fired->post_ms);
    json_print(root, out);
    cJSON_Delete(root);
}

/* The first n partitions' part of a sum over all; the remainder goes to the first ones. */
static uint64_t share(uint64_t sum, uint64_t n, uint64_t all)
{
    return sum / all * n + (sum % all < n ? sum % all : n);
}

/* What is left of a range without one partition: before it, and behind it. */
static void range_split(const struct report_range *range, const struct spool_head *lost,
                        struct report_range out[2])
{
    uint64_t sequence = lost->key.sequence, left = sequence - range->first;
    uint64_t rest = range->last - range->first;
    uint64_t events = range->events > lost->events ? range->events - lost->events : 0;
    uint64_t bytes = range->bytes > lost->payload_bytes ? range->bytes - lost->payload_bytes : 0;
    out[0] = out[1] = *range;
    out[0].last = sequence - 1;
    out[1].first = sequence + 1;
    out[0].events = rest > 0 ? share(events, left, rest) : 0;
    out[0].bytes = rest > 0 ? share(bytes, left, rest) : 0;
    out[1].events = events - out[0].events;
    out[1].bytes = bytes - out[0].bytes;
}

static struct report_range range_read(const cJSON *item)
{
    struct json_reader r = {.error = ""};
    return (struct report_range){json_u64(&r, item, "", "epoch", JSON_OPTIONAL, 0, 0, UINT64_MAX),
                                 json_u64(&r, item, "", "first", JSON_OPTIONAL, 0, 0, UINT64_MAX),
                                 json_u64(&r, item, "", "last", JSON_OPTIONAL, 0, 0, UINT64_MAX),
                                 json_u64(&r, item, "", "events", JSON_OPTIONAL, 0, 0, UINT64_MAX),
                                 json_u64(&r, item, "", "bytes", JSON_OPTIONAL, 0, 0, UINT64_MAX)};
}

int target_result_drop(struct target_result *result, const struct spool_head *lost,
                       const char *reason)
{
    for (size_t i = 0; i < result->range_count; i++) {
        struct report_range range = result->ranges[i], parts[2];
        if (range.epoch != lost->key.epoch || range.first > lost->key.sequence ||
            range.last < lost->key.sequence)
            continue;
        range_split(&range, lost, parts);
        result->range_count--;
        memmove(result->ranges + i, result->ranges + i + 1,
                (result->range_count - i) * sizeof *result->ranges);
        result->events -= lost->events < result->events ? lost->events : result->events;
        result->lost[loss_parse(reason)] += lost->events;
        struct report_gap gap = {lost->from_ns, lost->to_ns, reason};
        int status = target_result_add_gap(result, &gap);
        if (status == SKEIN_OK && range.first < lost->key.sequence)
            status = target_result_add_range(result, &parts[0]);
        if (status == SKEIN_OK && range.last > lost->key.sequence)
            status = target_result_add_range(result, &parts[1]);
        return status;
    }
    return SKEIN_OK;
}

static uint64_t number(const cJSON *object, const char *key)
{
    struct json_reader r = {.error = ""};
    return object == NULL ? 0 : json_u64(&r, object, "", key, JSON_OPTIONAL, 0, 0, UINT64_MAX);
}

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void read_window(struct target_result *result, const cJSON *root)
{
    uint64_t from_ns = number(member(root, "window"), "from_ns");
    uint64_t to_ns = number(member(root, "window"), "to_ns");
    if (from_ns != 0 && (result->from_ns == 0 || from_ns < result->from_ns))
        result->from_ns = from_ns;
    if (to_ns > result->to_ns)
        result->to_ns = to_ns;
}

int target_result_read(struct target_result *result, const char *report, size_t n)
{
    char why[160];
    struct json_reader r = {.error = ""};
    cJSON *root = json_parse(report, n, why, sizeof why);
    if (!cJSON_IsObject(root)) {
        cJSON_Delete(root);
        return SKEIN_CORRUPT;
    }
    const char *trigger = json_str(&r, root, "", "trigger", JSON_OPTIONAL, "", 32);
    enum trigger_type type = trigger_parse(trigger);
    if (type != TRIGGER_TYPES)
        result->trigger = type;
    read_window(result, root);
    result->map.offset_ns = json_i64(&r, root, "", "clock_offset_ns", JSON_OPTIONAL, 0);
    result->map.clock = json_u64(&r, root, "", "clock", JSON_OPTIONAL, 0, 0, UINT64_MAX);
    result->map.known = result->map.offset_ns != 0 || result->map.clock != 0;
    int status = SKEIN_OK;
    const cJSON *item, *lost = member(member(root, "ledger"), "lost");
    cJSON_ArrayForEach(item, member(root, "partitions"))
    {
        struct report_range range = range_read(item);
        if (status == SKEIN_OK)
            status = target_result_add_range(result, &range);
    }
    cJSON_ArrayForEach(item, member(root, "gaps"))
    {
        const char *reason = json_str(&r, item, "", "reason", JSON_OPTIONAL, "", 64);
        struct report_gap gap = {number(item, "from_ns"), number(item, "to_ns"),
                                 loss_text(loss_parse(reason))}; /* gaps keep no copy */
        if (status == SKEIN_OK)
            status = target_result_add_gap(result, &gap);
    }
    result->events += number(member(root, "ledger"), "events");
    cJSON_ArrayForEach(item, lost) result->lost[loss_parse(item->string)] +=
        number(lost, item->string);
    cJSON_Delete(root);
    return status;
}

/* Moves the ranges to a new list, all but the lost partition; true if it was there. */
static bool unlist(cJSON *partitions, const struct spool_head *lost, cJSON *rest)
{
    bool found = false;
    cJSON *item;
    while ((item = cJSON_DetachItemFromArray(partitions, 0)) != NULL) {
        struct report_range range = range_read(item), parts[2];
        if (found || range.epoch != lost->key.epoch || range.first > lost->key.sequence ||
            range.last < lost->key.sequence) {
            cJSON_AddItemToArray(rest, item);
            continue;
        }
        found = true;
        range_split(&range, lost, parts);
        if (range.first < lost->key.sequence)
            cJSON_AddItemToArray(rest, range_json(&parts[0]));
        if (range.last > lost->key.sequence)
            cJSON_AddItemToArray(rest, range_json(&parts[1]));
        cJSON_Delete(item);
    }
    return found;
}

static void count_lost(cJSON *ledger, const struct spool_head *lost, const char *reason)
{
    struct json_reader r = {.error = ""};
    cJSON *by_reason = cJSON_GetObjectItemCaseSensitive(ledger, "lost");
    if (!cJSON_IsObject(by_reason)) { /* what is none would stand beside it */
        cJSON_DeleteItemFromObjectCaseSensitive(ledger, "lost");
        by_reason = cJSON_AddObjectToObject(ledger, "lost");
    }
    uint64_t before = json_u64(&r, by_reason, "", reason, JSON_OPTIONAL, 0, 0, UINT64_MAX);
    cJSON_DeleteItemFromObjectCaseSensitive(by_reason, reason);
    json_add_u64(by_reason, reason, before + lost->events);
    uint64_t events = json_u64(&r, ledger, "", "events", JSON_OPTIONAL, 0, 0, UINT64_MAX);
    cJSON_DeleteItemFromObjectCaseSensitive(ledger, "events");
    json_add_u64(ledger, "events", events > lost->events ? events - lost->events : 0);
}

static void fail_target(cJSON *root, const char *reason)
{
    cJSON_DeleteItemFromObjectCaseSensitive(root, "state");
    cJSON_AddStringToObject(root, "state", "failed");
    cJSON_DeleteItemFromObjectCaseSensitive(root, "reason");
    cJSON_AddStringToObject(root, "reason", reason);
}

int report_target_drop(const char *report, size_t n, const struct spool_head *lost,
                       const char *reason, struct buf *out)
{
    char why[160];
    cJSON *root = json_parse(report, n, why, sizeof why);
    cJSON *partitions = cJSON_GetObjectItemCaseSensitive(root, "partitions");
    cJSON *ledger = cJSON_GetObjectItemCaseSensitive(root, "ledger");
    cJSON *gaps = cJSON_GetObjectItemCaseSensitive(root, "gaps");
    if (!cJSON_IsArray(partitions) || !cJSON_IsObject(ledger) || !cJSON_IsArray(gaps)) {
        cJSON_Delete(root);
        return SKEIN_CORRUPT;
    }
    cJSON *rest = cJSON_CreateArray();
    bool found = unlist(partitions, lost, rest);
    cJSON_ReplaceItemInObjectCaseSensitive(root, "partitions", rest);
    if (found) {
        count_lost(ledger, lost, reason);
        cJSON *gap = cJSON_CreateObject();
        add_window(gap, lost->from_ns, lost->to_ns);
        cJSON_AddStringToObject(gap, "reason", reason);
        cJSON_AddItemToArray(gaps, gap);
        if (cJSON_GetArraySize(rest) == 0)
            fail_target(root, reason);
    }
    json_print(root, out);
    cJSON_Delete(root);
    return out->status;
}
