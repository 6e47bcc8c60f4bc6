/* SPDX-License-Identifier: Apache-2.0
 *
 * What an earlier run of the agent had cut, against what this one has; see capture_saved.h.
 */
#include "capture_saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_job.h"
#include "clock.h"

#define SLACK_NS UINT64_C(20000000) /* two agents place a tick so far apart */
#define TELL_MS  20000

static void told_as_under_way(const struct captures *captures, const struct target_result *result)
{
    const struct captures_settings *settings = &captures->settings;
    struct target_result under_way = *result;
    char capture[ID_TEXT_BYTES], process[ID_TEXT_BYTES], key[128];
    struct buf text = {0};
    under_way.state = REPORT_CAPTURING;
    target_result_put(settings->agent, &under_way, &text);
    id_text(result->capture.bytes, capture);
    id_text(result->process.bytes, process);
    snprintf(key, sizeof key, "target:%s:%s", capture, process);
    if (text.status == SKEIN_OK)
        (void)uplink_report(settings->uplink, key, &result->capture, &result->process,
                            (const char *)text.data, text.len);
    buf_fini(&text);
}

/* Loop. The collector answers with stop where the capture is over, so that none stays for ever. */
static void saved_tell(void *context)
{
    struct captures *captures = context;
    const struct saved *saved;
    TAILQ_FOREACH(saved, &captures->saved.list, link)
        told_as_under_way(captures, &saved->result);
    if (TAILQ_EMPTY(&captures->saved.list))
        loop_timer_cancel(captures->settings.loop, &captures->saved.timer);
}

int saved_recall(struct captures *captures)
{
    struct spool_report report;
    uint64_t after = 0;
    int status = SKEIN_OK;
    while (status == SKEIN_OK &&
           (status = spool_report_next(captures->settings.spool, after, &report)) == SKEIN_OK) {
        after = report.revision;
        struct saved *saved = report.kind == SPOOL_INTENT ? calloc(1, sizeof *saved) : NULL;
        if (saved == NULL) {
            status = report.kind == SPOOL_INTENT ? SKEIN_NO_MEMORY : SKEIN_OK;
            free(report.text);
            continue;
        }
        saved->result = (struct target_result){.capture = report.capture,
                                               .process = report.process,
                                               .user = report.user,
                                               .state = REPORT_UPLOADING};
        snprintf(saved->result.reason, sizeof saved->result.reason, "%s", CAPTURE_RESTARTED_TEXT);
        status = target_result_read(&saved->result, report.text, report.len);
        free(report.text);
        if (status == SKEIN_OK) {
            TAILQ_INSERT_TAIL(&captures->saved.list, saved, link);
        } else {
            saved_free(&saved);
            status = status == SKEIN_NO_MEMORY ? status : SKEIN_OK; /* no report of ours */
        }
    }
    if (TAILQ_EMPTY(&captures->saved.list))
        return status == SKEIN_NOT_FOUND ? SKEIN_OK : status;
    captures->saved.timer =
        loop_timer_add(captures->settings.loop, TELL_MS, 1, saved_tell, captures);
    saved_tell(captures);
    return captures->saved.timer == NULL ? SKEIN_NO_MEMORY
           : status == SKEIN_NOT_FOUND   ? SKEIN_OK
                                         : status;
}

struct saved *saved_take(struct captures *captures, const struct capture_id *capture,
                         const struct process_uid *process)
{
    struct saved *saved;
    TAILQ_FOREACH(saved, &captures->saved.list, link) {
        if (capture_id_equal(&saved->result.capture, capture) &&
            process_uid_equal(&saved->result.process, process)) {
            TAILQ_REMOVE(&captures->saved.list, saved, link);
            return saved;
        }
    }
    return NULL;
}

void saved_free(struct saved **saved)
{
    if (*saved != NULL)
        target_result_fini(&(*saved)->result);
    free(*saved);
    *saved = NULL;
}

static bool is_restart(const struct report_gap *gap)
{
    return loss_parse(gap->reason) == LOSS_AGENT_RESTARTED;
}

/* From the old agent's line to this one's. Both windows begin at one moment, and the host's clock may
 * have been set between the two. Where the old one was killed before it could tell of a cut, its result
 * begins with a record instead, and the two lines are taken for one. */
static int64_t line_shift(const struct target_result *old, const struct target_result *fresh)
{
    for (size_t i = 0; i < old->gap_count; i++)
        if (is_restart(&old->gaps[i]) && old->gaps[i].from_ns == 0)
            return 0;
    return (int64_t)(fresh->from_ns - old->from_ns);
}

/* What ring and writer never had, no cut has had. */
static bool is_never_had(enum loss_reason reason)
{
    return reason == LOSS_RING_FULL || reason == LOSS_SIGNAL;
}

static bool has_gap(const struct target_result *old, uint64_t from_ns, uint64_t to_ns,
                    enum loss_reason reason)
{
    /* The horizon only rises: behind the old one the old cut has records that the new one lacks. */
    const uint64_t slack_ns = reason == LOSS_OVERWRITTEN ? 0 : SLACK_NS;
    for (size_t i = 0; i < old->gap_count; i++) {
        const struct report_gap *gap = &old->gaps[i];
        if (loss_parse(gap->reason) == reason && !is_restart(gap) &&
            gap->from_ns <= from_ns + SLACK_NS && to_ns <= gap->to_ns + slack_ns)
            return true;
    }
    return false;
}

bool saved_is_had(const struct target *target)
{
    const struct target_result *fresh = &target->result, *old = &target->saved->result;
    const int64_t shift_ns = line_shift(old, fresh);
    if (target->failure != SKEIN_OK || __atomic_load_n(&target->full, __ATOMIC_RELAXED) != 0)
        return false;
    for (size_t i = 0; i < fresh->gap_count; i++) {
        const enum loss_reason reason = loss_parse(fresh->gaps[i].reason);
        uint64_t from_ns = clock_shift_ns(fresh->gaps[i].from_ns, -shift_ns);
        uint64_t to_ns = clock_shift_ns(fresh->gaps[i].to_ns, -shift_ns);
        from_ns = from_ns > old->from_ns ? from_ns : old->from_ns;
        to_ns = to_ns < old->to_ns ? to_ns : old->to_ns;
        if (from_ns <= to_ns && !is_never_had(reason) && !has_gap(old, from_ns, to_ns, reason))
            return false;
    }
    return true;
}

void saved_drop(struct target *target)
{
    const struct captures_settings *settings = &target->captures->settings;
    spool_forget(settings->spool, &target->capture, &target->process->uid, 0, settings->epoch - 1);
    saved_free(&target->saved);
}

void saved_take_back(struct target *target)
{
    const struct captures_settings *settings = &target->captures->settings;
    struct target_result fresh = target->result;
    target->result = target->saved->result;
    target->saved->result = (struct target_result){0};
    /* Evidence is still to come. */
    memcpy(target->result.evidence, fresh.evidence, sizeof fresh.evidence);
    target->result.evidence_count = fresh.evidence_count;
    target->failure = SKEIN_OK;
    target->changed = false; /* the journal has it */
    spool_forget(settings->spool, &target->capture, &target->process->uid, settings->epoch,
                 settings->epoch);
    target_result_fini(&fresh);
    saved_free(&target->saved);
}
