/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's half of a capture: cut, spool, report. Worker thread only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_int.h"
#include "json.h"
#include "log.h"
#include "partition.h"

/* A process that writes as fast as it is cut must not keep the worker for ever. */
#define PARTITIONS_A_CUT 256

static void add_gap(struct target *target, uint64_t from_ns, uint64_t to_ns, const char *reason)
{
    struct report_gap gap = {from_ns, to_ns, reason};
    if (target_result_add_gap(&target->result, &gap) != SKEIN_OK)
        target->failure = SKEIN_NO_MEMORY;
}

static void take_losses(struct target *target, const struct cut_result *cut)
{
    for (size_t i = 0; i < AGENT_LOSS_REASONS; i++)
        target->result.lost[i] += cut->lost[i];
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
        target->result.lost_spool += cut->events;
        add_gap(target, cut->from_ns, cut->to_ns,
                status == SKEIN_FULL ? "spool_full" : "spool_failed");
        log_error("capture", "the spool did not take a partition", "reason",
                  skein_status_text(status), NULL);
        return;
    }
    struct report_range partition = {cut->key.epoch, cut->key.sequence, cut->key.sequence,
                                     cut->events, cut->bytes.len};
    target->result.events += cut->events;
    if (target_result_add_range(&target->result, &partition) != SKEIN_OK)
        target->failure = SKEIN_NO_MEMORY;
}

static void cut_window(struct target *target, uint64_t from_ns, uint64_t to_ns)
{
    const struct captures_settings *settings = &target->captures->settings;
    struct cut_request request = {.process = target->process,
                                  .from_ns = from_ns,
                                  .to_ns = to_ns,
                                  .marks = target->marks,
                                  .epoch = settings->epoch,
                                  .clock_offset_ns = uplink_clock_offset(settings->uplink),
                                  .host = settings->host,
                                  .max_bytes = settings->partition_bytes};
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
            add_gap(target, from_ns, to_ns, partition_loss_text(PARTITION_LOSS_SIZE));
            return;
        }
    }
}

/* After the first cut: the past is safe, now it is said what is going on. */
static void announce(struct target *target, bool last)
{
    const struct captures_settings *settings = &target->captures->settings;
    struct buf text = {0};
    if (target->trigger != TRIGGER_REQUEST) {
        struct fired_report fired = {.capture = target->capture,
                                     .process = target->process,
                                     .trigger = target->trigger,
                                     .rule = target->rule[0] != '\0' ? target->rule : NULL,
                                     .at_ns = target->at_ns,
                                     .pre_ms = target->pre_ms,
                                     .post_ms = target->post_ms,
                                     .reason = target->reason};
        report_fired(settings->agent, &fired, &text);
        if (text.status == SKEIN_OK)
            (void)spool_report_put(settings->spool, SPOOL_FIRED, &target->capture,
                                   &target->process->uid, (const char *)text.data, text.len);
        buf_clear(&text);
    }
    if (!last) {
        target->result.state = "capturing";
        report_target(settings->agent, &target->result, &text);
    }
    if (!last && text.status == SKEIN_OK) {
        char capture[ID_TEXT_BYTES], process[ID_TEXT_BYTES], key[128];
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
}

static void settle_state(struct target *target)
{
    struct target_result *result = &target->result;
    if (target->failure != SKEIN_OK)
        add_gap(target, result->from_ns, result->to_ns, "agent_failed");
    if (result->range_count > 0) {
        result->state = "uploading";
    } else if (target->failure != SKEIN_OK) {
        result->state = "failed";
        snprintf(result->reason, sizeof result->reason, "the agent could not cut the ring: %s",
                 skein_status_text(target->failure));
    } else if (result->lost_spool != 0) {
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

void capture_job_run(void *context)
{
    struct capture_job *job = context;
    struct target *target = job->target;
    const struct captures_settings *settings = &target->captures->settings;
    cut_window(target, job->from_ns, job->to_ns);
    if (job->to_ns > target->result.to_ns)
        target->result.to_ns = job->to_ns;
    if (job->first)
        announce(target, job->last);
    if (job->last) {
        target->result.death.signal = job->death.signal;
        target->result.death.status = job->death.status;
        target->result.death.known = job->death.known;
        settle_state(target);
        capture_finish(settings->spool, settings->uplink, settings->agent, &target->result);
        if (loop_post(settings->loop, capture_done, target) != SKEIN_OK)
            log_error("capture", "out of memory: a finished target stays in the table", NULL);
    }
    free(job);
}
