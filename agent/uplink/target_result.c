/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of targets and their reports; see target_result.h.
 */
#include "target_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

#define GAPS_MAX 256

void target_result_fini(struct target_result *result)
{
    free(result->ranges);
    free(result->gaps);
    result->ranges = NULL;
    result->gaps = NULL;
    result->range_count = result->gap_count = result->range_cap = result->gap_cap = 0;
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
    if (!array_grow(result->ranges, result->range_count + 1, &result->range_cap))
        return SKEIN_NO_MEMORY;
    ranges = result->ranges;
    memmove(ranges + at + 1, ranges + at, (result->range_count - at) * sizeof *ranges);
    ranges[at] = *range;
    result->range_count++;
    return SKEIN_OK;
}

/* Whether two gaps become one: they have one reason, and touch or the list is full. */
static bool gaps_join(const struct target_result *result, const struct report_gap *a,
                      const struct report_gap *b)
{
    if (strcmp(a->reason, b->reason) != 0)
        return false;
    return result->gap_count >= GAPS_MAX || (a->from_ns <= b->to_ns && b->from_ns <= a->to_ns);
}

/* Gaps that overlap become one; a new gap that joins two of the list takes both. */
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
    if (!array_grow(result->gaps, result->gap_count + 1, &result->gap_cap))
        return SKEIN_NO_MEMORY;
    result->gaps[result->gap_count++] = whole;
    return SKEIN_OK;
}

/* The part of a sum that the first n of all partitions have; the remainder goes to the first. */
static uint64_t result_share(uint64_t sum, uint64_t n, uint64_t all)
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
    out[0].events = rest > 0 ? result_share(events, left, rest) : 0;
    out[0].bytes = rest > 0 ? result_share(bytes, left, rest) : 0;
    out[1].events = events - out[0].events;
    out[1].bytes = bytes - out[0].bytes;
}

/* The lost partition holds evidence: the record of the ring is none the worse for it. */
static bool evidence_lost(struct target_result *result, const struct spool_head *lost,
                          const char *reason)
{
    if (!result->evidence_at.known || result->evidence_at.epoch != lost->key.epoch ||
        result->evidence_at.sequence != lost->key.sequence)
        return false;
    result->evidence_at.known = false;
    for (size_t i = 0; i < result->evidence_count; i++) {
        struct target_evidence *evidence = &result->evidence[i];
        if (evidence->events == 0)
            continue;
        evidence->events = 0;
        snprintf(evidence->state, sizeof evidence->state, "none");
        snprintf(evidence->reason, sizeof evidence->reason, "lost: %s", reason);
    }
    return true;
}

/* Of its records those of the window count. How many these are was known of all together alone. */
static void lost_count_drop(struct target_result *result, const struct spool_head *lost,
                            const char *reason)
{
    uint64_t most = lost->events < result->window_events ? lost->events : result->window_events;
    bool inside = lost->from_ns >= result->from_ns && lost->to_ns <= result->to_ns;
    result->lost[loss_parse(reason)] += result->window_events > 0 ? most : lost->events;
    if (inside)
        result->window_events -= most;
    result->at_most |= !inside;
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
        int status = SKEIN_OK;
        if (!evidence_lost(result, lost, reason)) {
            struct report_gap gap = {lost->from_ns, lost->to_ns, reason};
            lost_count_drop(result, lost, reason);
            status = target_result_add_gap(result, &gap);
        }
        if (status == SKEIN_OK && range.first < lost->key.sequence)
            status = target_result_add_range(result, &parts[0]);
        if (status == SKEIN_OK && range.last > lost->key.sequence)
            status = target_result_add_range(result, &parts[1]);
        return status;
    }
    return SKEIN_OK;
}

/* ---- reports ---- */

void target_result_add_evidence(struct target_result *result,
                                const struct report_evidence *evidence)
{
    if (result->evidence_count == REPORT_EVIDENCE_MAX)
        return;
    struct target_evidence *to = &result->evidence[result->evidence_count++];
    snprintf(to->kind, sizeof to->kind, "%s", evidence->kind);
    snprintf(to->state, sizeof to->state, "%s", evidence->state);
    snprintf(to->reason, sizeof to->reason, "%s", evidence->reason);
    to->events = evidence->events;
    to->took_us = evidence->took_us;
}

/* How far the offset may be from the true one in all of the window. */
static uint64_t error_of(const struct target_result *result)
{
    return result->from_ns != 0 && result->to_ns != 0
               ? clock_map_error(&result->map, result->from_ns, result->to_ns)
               : 0;
}

void target_result_put(uint64_t agent, const struct target_result *result, struct buf *out)
{
    struct report_loss losses[LOSS_REASONS];
    struct report_evidence evidence[REPORT_EVIDENCE_MAX];
    struct report_target report = {
        .agent = agent,
        .capture = result->capture,
        .process = result->process,
        .state = result->state,
        .trigger = result->trigger,
        .stream = result->stream,
        .reason = result->reason,
        .has_window = result->to_ns != 0,
        .from_ns = result->from_ns,
        .to_ns = result->to_ns,
        .began_ns = result->began_ns,
        .clock = {result->map.offset_ns, result->map.clock, error_of(result)},
        .partitions = result->ranges,
        .partition_count = result->range_count,
        .events = result->events,
        .has_window_events = true,
        .window_events = result->window_events,
        .at_most = result->at_most,
        .losses = losses,
        .gaps = result->gaps,
        .gap_count = result->gap_count,
        .evidence = evidence,
        .evidence_count = result->evidence_count,
        .has_evidence_at = result->evidence_at.known,
        .evidence_epoch = result->evidence_at.epoch,
        .evidence_sequence = result->evidence_at.sequence,
        .has_death = result->death.known,
        .signal = result->death.signal,
        .status = result->death.status,
        .ring = result->ring};
    report.ring.why = result->ring_why;
    for (int reason = 0; reason < LOSS_REASONS; reason++)
        if (result->lost[reason] != 0)
            losses[report.loss_count++] =
                (struct report_loss){loss_text((enum loss_reason)reason), result->lost[reason]};
    for (size_t i = 0; i < result->evidence_count; i++) {
        const struct target_evidence *of = &result->evidence[i];
        evidence[i] =
            (struct report_evidence){of->kind, of->state, of->reason, of->events, of->took_us};
    }
    report_target_put(&report, out);
}

/* SKEIN_OK, SKEIN_NO_MEMORY. */
static int report_add(struct target_result *result, const struct report_target *report)
{
    int status = SKEIN_OK;
    const bool first = result->from_ns == 0 && result->to_ns == 0;
    if (report->from_ns != 0 && (result->from_ns == 0 || report->from_ns < result->from_ns))
        result->from_ns = report->from_ns;
    if (report->to_ns > result->to_ns)
        result->to_ns = report->to_ns;
    if (report->trigger != TRIGGER_REQUEST)
        result->trigger = report->trigger;
    result->stream |= report->stream;
    result->began_ns = report->began_ns;
    result->window_events +=
        report->has_window_events ? report->window_events : report->listed_events;
    result->at_most |= report->at_most || !report->has_window_events;
    result->map.offset_ns = report->clock.offset_ns;
    result->map.clock = report->clock.clock;
    result->map.known = result->map.offset_ns != 0 || result->map.clock != 0;
    /* Each is of its own window: together they hold for all of it. */
    bool all = first || (result->map.error_ns != 0 && report->clock.error_ns != 0);
    if (!all || report->clock.error_ns > result->map.error_ns)
        result->map.error_ns = all ? report->clock.error_ns : 0;
    result->map.measured_ns = 0;
    for (size_t i = 0; i < report->partition_count && status == SKEIN_OK; i++)
        status = target_result_add_range(result, &report->partitions[i]);
    for (size_t i = 0; i < report->gap_count && status == SKEIN_OK; i++) {
        struct report_gap gap = report->gaps[i];
        gap.reason = loss_text(loss_parse(gap.reason)); /* gaps keep no copy */
        status = target_result_add_gap(result, &gap);
    }
    for (size_t i = 0; i < report->loss_count; i++)
        result->lost[loss_parse(report->losses[i].reason)] += report->losses[i].events;
    for (size_t i = 0; i < report->evidence_count; i++)
        target_result_add_evidence(result, &report->evidence[i]);
    if (report->has_evidence_at) {
        result->evidence_at.epoch = report->evidence_epoch;
        result->evidence_at.sequence = report->evidence_sequence;
        result->evidence_at.known = true;
    }
    result->events += report->events;
    if (report->ring.bytes != 0) {
        result->ring = report->ring;
        result->ring.why = NULL; /* it is the report's */
        snprintf(result->ring_why, sizeof result->ring_why, "%s", report->ring.why);
    }
    return status;
}

/* SKEIN_OK; else SKEIN_CORRUPT and nothing to free. The report's text points into *json. */
static int report_read(const char *text, size_t n, cJSON **json, struct report_target *report)
{
    char why[256];
    *json = control_body_parse(text, n, why, sizeof why);
    if (*json != NULL && report_target_get(*json, report, why, sizeof why) == SKEIN_OK)
        return SKEIN_OK;
    cJSON_Delete(*json);
    return SKEIN_CORRUPT;
}

int target_result_read(struct target_result *result, const char *report, size_t n)
{
    cJSON *json;
    struct report_target told;
    int status = report_read(report, n, &json, &told);
    if (status != SKEIN_OK)
        return status;
    status = report_add(result, &told);
    report_target_fini(&told);
    cJSON_Delete(json);
    return status;
}

int target_result_amend(const char *report, size_t n, const struct spool_head *lost,
                        const char *reason, struct buf *out)
{
    cJSON *json;
    struct report_target told;
    int status = report_read(report, n, &json, &told);
    if (status != SKEIN_OK)
        return status;
    struct target_result result = {
        .capture = told.capture, .process = told.process, .state = told.state};
    result.death.known = told.has_death;
    result.death.signal = (int32_t)told.signal;
    result.death.status = (int32_t)told.status;
    snprintf(result.reason, sizeof result.reason, "%s", told.reason);
    status = report_add(&result, &told);
    size_t listed = result.range_count;
    if (status == SKEIN_OK)
        status = target_result_drop(&result, lost, reason);
    if (status == SKEIN_OK && listed > 0 && result.range_count == 0) {
        result.state = REPORT_FAILED;
        snprintf(result.reason, sizeof result.reason, "%s", reason);
    }
    if (status == SKEIN_OK) {
        target_result_put(told.agent, &result, out);
        status = out->status;
    }
    target_result_fini(&result);
    report_target_fini(&told);
    cJSON_Delete(json);
    return status;
}
