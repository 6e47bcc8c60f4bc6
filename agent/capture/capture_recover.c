/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends what an earlier run of the agent left unfinished in its spool. Main thread, before the
 * uplink and the worker run.
 *
 * Of a target without a final report the spool may hold an intent, partitions, or both. An intent
 * says that the agent died between two cuts. It lists what the cuts so far brought; a stream may
 * have uploaded that already. The rest was in a ring that this run may no longer have, so the
 * target ends here, with what there is and a gap that says why. If nothing was taken yet, the
 * target is forgotten: a request comes again, and a rule fires again. The report of a request with
 * partitions waits, as an intent: the ring may have outlived the agent (ring_hold.h, or in its process),
 * and when the command comes again, what it still has is set against them (capture_saved.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_clock.h"
#include "array.h"
#include "capture_job.h"
#include "log.h"

struct leftover {
    struct target_result result;
    uint64_t told_ns; /* up to here the intent lists all; 0: there is none */
    bool fired;       /* nobody repeats it */
    bool strays;      /* partitions of other epochs than its first range's */
};
struct leftovers {
    struct leftover *items;
    size_t count, cap;
    int status;
};

static struct leftover *leftover_of(struct leftovers *left, const struct capture_id *capture,
                                    const struct process_uid *process)
{
    for (size_t i = 0; i < left->count; i++) {
        if (capture_id_equal(&left->items[i].result.capture, capture) &&
            process_uid_equal(&left->items[i].result.process, process))
            return &left->items[i];
    }
    if (!array_grow(left->items, left->count + 1, &left->cap)) {
        left->status = SKEIN_NO_MEMORY;
        return NULL;
    }
    struct leftover *made = &left->items[left->count++];
    *made = (struct leftover){
        .result = {.capture = *capture, .process = *process, .state = REPORT_FAILED}};
    return made;
}

/* Runs after the intents, which list the partitions that were journalled and perhaps released. What a
 * target lists is of one run. Of another one are those of a cut that was not finished, or that another
 * had taken the place of already. */
static void partition_take(void *context, const struct spool_head *head, int held)
{
    struct leftovers *left = context;
    struct leftover *item = held ? leftover_of(left, &head->capture, &head->key.process) : NULL;
    if (item == NULL)
        return;
    struct target_result *result = &item->result;
    if (result->range_count > 0 && result->ranges[0].epoch != head->key.epoch) {
        item->strays = true;
        return;
    }
    for (size_t i = 0; i < result->range_count; i++) {
        const struct report_range *range = &result->ranges[i];
        if (range->epoch == head->key.epoch && range->first <= head->key.sequence &&
            range->last >= head->key.sequence)
            return;
    }
    struct report_range partition = {head->key.epoch, head->key.sequence, head->key.sequence,
                                     head->events, head->payload_bytes};
    if (target_result_add_range(result, &partition) != SKEIN_OK)
        left->status = SKEIN_NO_MEMORY;
    result->events += head->events;
    result->window_events += head->events; /* nobody knows the window any more */
    result->at_most = true;
    if (result->from_ns == 0 || head->from_ns < result->from_ns)
        result->from_ns = head->from_ns;
    if (head->to_ns > result->to_ns)
        result->to_ns = head->to_ns;
}

static void intent_take(struct leftovers *left, const struct spool_report *report)
{
    struct leftover *item = leftover_of(left, &report->capture, &report->process);
    if (item == NULL)
        return;
    item->result.user = report->user;
    if (target_result_read(&item->result, report->text, report->len) == SKEIN_NO_MEMORY)
        left->status = SKEIN_NO_MEMORY;
    item->told_ns = item->result.to_ns;
}

/* Only reports say who shares a partition: the capture of a report shares again what that lists. */
static void listed_share(struct spool *spool, struct leftovers *left,
                         const struct spool_report *report)
{
    struct target_result listed = {.capture = report->capture, .process = report->process};
    int status = target_result_read(&listed, report->text, report->len);
    for (size_t i = 0; status == SKEIN_OK && i < listed.range_count; i++)
        status = spool_share(spool, &report->capture, &report->process, listed.ranges[i].epoch,
                             listed.ranges[i].first, listed.ranges[i].last);
    if (status == SKEIN_NO_MEMORY)
        left->status = status;
    target_result_fini(&listed);
    if (report->kind == SPOOL_TARGET)
        spool_release(spool, &report->capture, &report->process);
}

static int reports_take(struct spool *spool, struct leftovers *left)
{
    struct spool_report report;
    uint64_t after = 0;
    int status;
    while ((status = spool_report_next(spool, after, &report)) == SKEIN_OK) {
        after = report.revision;
        if (report.kind == SPOOL_INTENT)
            intent_take(left, &report);
        if (report.kind != SPOOL_FIRED)
            listed_share(spool, left, &report);
        free(report.text);
    }
    return status == SKEIN_NOT_FOUND ? left->status : status;
}

/* What the earlier run had still to ask for. */
static void evidence_end(struct target_result *result)
{
    for (size_t i = 0; i < result->evidence_count; i++) {
        struct target_evidence *evidence = &result->evidence[i];
        if (strcmp(evidence->reason, TARGET_EVIDENCE_YET) == 0)
            snprintf(evidence->reason, sizeof evidence->reason, "the agent was restarted");
    }
}

static void strays_forget(struct spool *spool, const struct target_result *result)
{
    const uint64_t epoch = result->ranges[0].epoch;
    if (epoch > 0)
        spool_forget(spool, &result->capture, &result->process, 0, epoch - 1);
    spool_forget(spool, &result->capture, &result->process, epoch + 1, UINT64_MAX);
}

/* What there is, and why there is no more. The gap begins where the intent ends: behind it the target
 * listed cuts of others too, and nobody knows which. Without an intent the gap has no begin, for the
 * partitions here may be any part of the window: a cut takes chunks by the times at which they begin,
 * and what it had not reached may lie between their records. */
static void result_end(struct leftover *item)
{
    struct target_result *result = &item->result;
    struct report_gap gap = {item->told_ns, agent_clock_ns(), loss_text(LOSS_AGENT_RESTARTED)};
    (void)target_result_add_gap(result, &gap);
    if (result->range_count > 0)
        result->state = REPORT_UPLOADING;
    snprintf(result->reason, sizeof result->reason, "%s", CAPTURE_RESTARTED_TEXT);
    evidence_end(result);
}

/* Until its command comes again. Without memory or disk the intent is as it was. */
static void result_save(struct spool *spool, uint64_t agent, const struct target_result *result)
{
    struct buf text = {0};
    target_result_put(agent, result, &text);
    if (text.status == SKEIN_OK)
        (void)spool_report_put(spool, SPOOL_INTENT, result->user, &result->capture,
                               &result->process, (const char *)text.data, text.len);
    buf_fini(&text);
}

static void target_end(struct spool *spool, uint64_t agent, struct leftover *item)
{
    struct target_result *result = &item->result;
    const bool asked = !item->fired && result->trigger == TRIGGER_REQUEST;
    if (item->strays)
        strays_forget(spool, result);
    /* Nothing was taken from the ring yet: the collector repeats its command (P-7). */
    if (asked && result->range_count == 0) {
        spool_report_drop(spool, SPOOL_INTENT, &result->capture, &result->process);
        return;
    }
    result_end(item);
    if (asked && !result->stream) /* a stream has sent what it lists, and goes on as a gap */
        result_save(spool, agent, result);
    else
        capture_finish(spool, NULL, agent, result);
}

static bool is_kept(const struct leftovers *left, const struct spool_report *report)
{
    for (size_t i = 0; i < left->count; i++) {
        const struct target_result *result = &left->items[i].result;
        if (capture_id_equal(&result->capture, &report->capture) &&
            process_uid_equal(&result->process, &report->process))
            return result->range_count > 0;
    }
    return false;
}

/* A firing with partitions becomes a report to send; the others are forgotten, as nobody heard. */
static int firings_settle(struct spool *spool, const struct leftovers *left)
{
    struct spool_report report;
    uint64_t after = 0;
    int status;
    while ((status = spool_report_next(spool, after, &report)) == SKEIN_OK) {
        after = report.revision;
        if (report.kind == SPOOL_FIRING && is_kept(left, &report))
            (void)spool_report_put(spool, SPOOL_FIRED, report.user, &report.capture,
                                   &report.process, report.text, report.len);
        else if (report.kind == SPOOL_FIRING)
            spool_report_drop(spool, SPOOL_FIRING, &report.capture, &report.process);
        free(report.text);
    }
    return status == SKEIN_NOT_FOUND ? SKEIN_OK : status;
}

/* Which of them began by themselves. */
static void firings_note(struct spool *spool, struct leftovers *left)
{
    struct spool_report report;
    uint64_t after = 0;
    while (spool_report_next(spool, after, &report) == SKEIN_OK) {
        after = report.revision;
        for (size_t i = 0; i < left->count; i++) {
            struct target_result *result = &left->items[i].result;
            if ((report.kind == SPOOL_FIRING || report.kind == SPOOL_FIRED) &&
                process_uid_equal(&result->process, &report.process) &&
                capture_id_equal(&result->capture, &report.capture))
                left->items[i].fired = true;
        }
        free(report.text);
    }
}

int captures_recover(struct spool *spool, uint64_t agent)
{
    struct leftovers left = {0};
    int status = reports_take(spool, &left);
    spool_visit(spool, partition_take, &left);
    firings_note(spool, &left);
    status = status == SKEIN_OK ? left.status : status;
    if (status == SKEIN_OK)
        status = firings_settle(spool, &left);
    for (size_t i = 0; i < left.count && status == SKEIN_OK; i++)
        target_end(spool, agent, &left.items[i]);
    for (size_t i = 0; i < left.count; i++)
        target_result_fini(&left.items[i].result);
    free(left.items);
    return status == SKEIN_OK ? (int)left.count : status;
}
