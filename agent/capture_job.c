/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's half of a capture: cut, spool, report. Worker thread only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_job.h"
#include "json.h"
#include "log.h"
#include "partition.h"

/* A process that writes as fast as it is cut must not keep the worker for ever. */
#define PARTITIONS_A_CUT 256

static void add_gap(struct target *target, uint64_t from_ns, uint64_t to_ns, const char *reason)
{
    struct report_gap gap = {from_ns, to_ns, reason};
    target->changed = true;
    if (target_result_add_gap(&target->result, &gap) != SKEIN_OK)
        target->failure = SKEIN_NO_MEMORY;
}

static void take_losses(struct target *target, const struct cut_result *cut)
{
    for (size_t i = 0; i < sizeof cut->lost / sizeof cut->lost[0]; i++) {
        target->result.lost[loss_parse(partition_loss_text((uint8_t)i))] += cut->lost[i];
        target->changed = target->changed || cut->lost[i] != 0;
    }
    for (size_t i = 0; i < cut->gap_count; i++)
        add_gap(target, cut->gaps[i].from_ns, cut->gaps[i].to_ns,
                partition_loss_text(cut->gaps[i].reason));
}

static void take_partition(struct target *target, const struct cut_result *cut)
{
    struct spool_head head = {.capture = target->capture,
                              .key = cut->key,
                              .events = cut->events,
                              .from_ns = cut->from_ns,
                              .to_ns = cut->to_ns};
    int status =
        spool_put(target->captures->settings.spool, &head, cut->bytes.data, cut->bytes.len);
    if (status != SKEIN_OK) {
        enum loss_reason reason = status == SKEIN_FULL ? LOSS_SPOOL_FULL : LOSS_SPOOL_FAILED;
        target->result.lost[reason] += cut->events;
        add_gap(target, cut->from_ns, cut->to_ns, loss_text(reason));
        log_error("capture", "the spool did not take a partition", "reason",
                  skein_status_text(status), NULL);
        return;
    }
    struct report_range partition = {cut->key.epoch, cut->key.sequence, cut->key.sequence,
                                     cut->events, cut->bytes.len};
    target->result.events += cut->events;
    target->changed = true;
    if (target_result_add_range(&target->result, &partition) != SKEIN_OK)
        target->failure = SKEIN_NO_MEMORY;
}

/* `whole`: what is left behind the bound is lost; else the next cut brings it. */
static void cut_window(struct target *target, uint64_t from_ns, uint64_t to_ns, bool whole)
{
    const struct captures_settings *settings = &target->captures->settings;
    struct cut_request request = {.process = target->process,
                                  .from_ns = from_ns,
                                  .to_ns = to_ns,
                                  .marks = target->marks,
                                  .epoch = settings->epoch,
                                  .clock_offset_ns = uplink_clock_offset(settings->uplink),
                                  .host = settings->host,
                                  .max_bytes = settings->partition_bytes,
                                  .groups = target->groups};
    for (unsigned i = 0;; i++) {
        struct cut_result cut = {0};
        int status = partition_cut(settings->host_page, &request, &cut);
        bool more = status == SKEIN_OK && cut.more;
        if (status == SKEIN_OK || status == SKEIN_NOT_FOUND)
            take_losses(target, &cut);
        else
            target->failure = status;
        if (status == SKEIN_OK)
            take_partition(target, &cut);
        cut_result_fini(&cut);
        if (!more)
            return;
        if (i + 1 == PARTITIONS_A_CUT) {
            if (whole)
                add_gap(target, from_ns, to_ns, loss_text(LOSS_SIZE));
            return;
        }
    }
}

/* After the first cut of a capture that nobody asked for: the past is safe, now it is said why. */
static void announce_fired(struct target *target)
{
    const struct captures_settings *settings = &target->captures->settings;
    struct buf text = {0};
    struct fired_report fired = {.capture = target->capture,
                                 .process = target->process,
                                 .trigger = target->trigger,
                                 .rule = target->rule[0] != '\0' ? target->rule : NULL,
                                 .at_ns = target->at_ns,
                                 .pre_ms = target->pre_ms,
                                 .post_ms = target->post_ms,
                                 .clock_offset_ns = uplink_clock_offset(settings->uplink),
                                 .reason = target->reason};
    report_fired(settings->agent, &fired, &text);
    if (text.status == SKEIN_OK)
        (void)spool_report_put(settings->spool, SPOOL_FIRED, &target->capture,
                               &target->process->uid, (const char *)text.data, text.len);
    buf_fini(&text);
    uplink_wake(settings->uplink);
}

/* Journals what there is so far, for a restart, and tells the collector. */
static void announce_progress(struct target *target)
{
    const struct captures_settings *settings = &target->captures->settings;
    char capture[ID_TEXT_BYTES], process[ID_TEXT_BYTES], key[128];
    struct buf text = {0};
    target->result.state = "capturing";
    target->result.clock_offset_ns = uplink_clock_offset(settings->uplink);
    report_target(settings->agent, &target->result, &text);
    if (text.status == SKEIN_OK) {
        id_text(target->capture.bytes, capture);
        id_text(target->process->uid.bytes, process);
        snprintf(key, sizeof key, "target:%s:%s", capture, process);
        (void)spool_report_put(settings->spool, SPOOL_INTENT, &target->capture,
                               &target->process->uid, (const char *)text.data, text.len);
        (void)uplink_report(settings->uplink, key, &target->capture, &target->process->uid,
                            (const char *)text.data, text.len);
    }
    buf_fini(&text);
    uplink_wake(settings->uplink);
    target->changed = false;
}

/* What was released for upload may have been lost since. */
static void take_spool_losses(struct target *target)
{
    struct spool_head lost;
    const char *reason;
    while (spool_loss_take(target->captures->settings.spool, &target->capture,
                           &target->process->uid, &lost, &reason) == SKEIN_OK) {
        if (target_result_drop(&target->result, &lost, reason) != SKEIN_OK)
            target->failure = SKEIN_NO_MEMORY;
        target->changed = true;
    }
}

/* Lets what a stream has cut so far go up, after the journal lists it. */
static void stream_release(struct target *target)
{
    take_spool_losses(target);
    if (target->changed)
        announce_progress(target);
    spool_release(target->captures->settings.spool, &target->capture, &target->process->uid);
    uplink_wake(target->captures->settings.uplink);
    if (target->result.range_count >= CAPTURE_RANGES_MAX)
        __atomic_store_n(&target->full, 1, __ATOMIC_RELAXED);
}

static void settle_state(struct target *target)
{
    struct target_result *result = &target->result;
    if (target->failure != SKEIN_OK)
        add_gap(target, result->from_ns, result->to_ns, loss_text(LOSS_AGENT_FAILED));
    if (result->range_count > 0) {
        result->state = "uploading";
    } else if (target->failure != SKEIN_OK) {
        result->state = "failed";
        snprintf(result->reason, sizeof result->reason, "the agent could not cut the ring: %s",
                 skein_status_text(target->failure));
    } else if (result->lost[LOSS_SPOOL_FULL] != 0 || result->lost[LOSS_SPOOL_FAILED] != 0) {
        result->state = "failed";
        snprintf(result->reason, sizeof result->reason,
                 "the agent's spool did not take the partitions");
    } else {
        result->state = "nothing";
        snprintf(result->reason, sizeof result->reason, "no record lies in the window");
    }
}

void capture_finish(struct spool *spool, struct uplink *uplink, uint64_t agent,
                    const struct target_result *result)
{
    struct buf text = {0};
    report_target(agent, result, &text);
    int status = text.status;
    if (status == SKEIN_OK)
        status = spool_report_put(spool, SPOOL_TARGET, &result->capture, &result->process,
                                  (const char *)text.data, text.len);
    buf_fini(&text);
    if (status != SKEIN_OK)
        log_error("capture", "a report could not be journalled", "reason",
                  skein_status_text(status), NULL);
    spool_release(spool, &result->capture, &result->process);
    if (uplink != NULL)
        uplink_wake(uplink);
}

/* The rest of a stream that ended before its time. */
static void add_rest(struct target *target, uint64_t to_ns)
{
    if (__atomic_load_n(&target->full, __ATOMIC_RELAXED) != 0 && to_ns < target->end_ns)
        add_gap(target, to_ns, target->end_ns, loss_text(LOSS_REPORT_FULL));
}

static void finish(struct target *target, const struct capture_job *job)
{
    const struct captures_settings *settings = &target->captures->settings;
    target->result.death.signal = job->death.signal;
    target->result.death.status = job->death.status;
    target->result.death.known = job->death.known;
    target->result.clock_offset_ns = uplink_clock_offset(settings->uplink);
    take_spool_losses(target);
    add_rest(target, job->to_ns);
    settle_state(target);
    capture_finish(settings->spool, settings->uplink, settings->agent, &target->result);
    if (loop_post(settings->loop, capture_done, target) != SKEIN_OK)
        log_error("capture", "out of memory: a finished target stays in the table", NULL);
}

void capture_job_run(void *context)
{
    struct capture_job *job = context;
    struct target *target = job->target;
    cut_window(target, job->from_ns, job->to_ns, job->last || target->stream_ms == 0);
    if (job->to_ns > target->result.to_ns)
        target->result.to_ns = job->to_ns;
    if (job->first && target->trigger != TRIGGER_REQUEST)
        announce_fired(target);
    if (job->first && !job->last)
        announce_progress(target);
    if (job->last)
        finish(target, job); /* gone with this */
    else if (target->stream_ms != 0)
        stream_release(target);
    if (!job->first && !job->last)
        __atomic_store_n(&target->cutting, 0, __ATOMIC_RELEASE);
    free(job);
}
