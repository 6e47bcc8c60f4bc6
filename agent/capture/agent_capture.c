/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop's half of a capture: who is captured, when which cut is due. Loop thread only.
 */
#include "agent_capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_clock.h"
#include "capture_evidence.h"
#include "clock.h"
#include "log.h"
#include "proc_info.h"

/* Of a process that ended while no agent was there nobody saw whether it had called exec before: if so,
 * its ring ended then. A program is not recorded before it is this old in any case. */
#define UNSEEN_NS UINT64_C(50000000)

#define FOLLOW_MS 50 /* how often we look whether a waiting target is to be cut */

static void agent_capture_remember(struct captures *captures, const struct capture_id *capture,
                                   const struct process_uid *process)
{
    struct done_target *slot = &captures->done[captures->done_count++ % CAPTURES_REMEMBERED];
    slot->capture = *capture;
    slot->process = *process;
}

/* An earlier run captured what the journal still holds: not again (P-7). */
static int journal_remember(struct captures *captures)
{
    struct spool_report report;
    uint64_t after = 0;
    int status;
    while ((status = spool_report_next(captures->settings.spool, after, &report)) == SKEIN_OK) {
        after = report.revision;
        if (report.kind == SPOOL_TARGET)
            agent_capture_remember(captures, &report.capture, &report.process);
        free(report.text);
    }
    return status == SKEIN_NOT_FOUND ? SKEIN_OK : status;
}

int captures_new(const struct captures_settings *settings, struct captures **out)
{
    *out = NULL;
    struct captures *captures = calloc(1, sizeof *captures);
    if (captures == NULL)
        return SKEIN_NO_MEMORY;
    captures->settings = *settings;
    TAILQ_INIT(&captures->targets);
    TAILQ_INIT(&captures->saved.list);
    int status = journal_remember(captures);
    if (status == SKEIN_OK)
        status = saved_recall(captures);
    if (status != SKEIN_OK) {
        captures_free(&captures);
        return status;
    }
    *out = captures;
    return SKEIN_OK;
}

void capture_target_unref(struct target *target)
{
    /* Release: what this user did is over; acquire: the last one sees that of all the others. */
    if (__atomic_fetch_sub(&target->references, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    if (target->evidence != NULL)
        (void)evidence_drop(target->evidence);
    evidence_unref(&target->evidence);
    cut_chain_leave(&target->member); /* where the worker has ended before the capture */
    saved_free(&target->saved);       /* the journal has it */
    process_unref(&target->process);
    target_result_fini(&target->result);
    free(target->with);
    free(target);
}

static void timers_cancel(struct target *target)
{
    struct loop *loop = target->captures->settings.loop;
    loop_timer_cancel(loop, &target->timer);
    loop_timer_cancel(loop, &target->follow_timer);
}

void capture_done(void *context)
{
    struct target *target = context;
    struct captures *captures = target->captures;
    char capture[ID_TEXT_BYTES];
    id_text(target->capture.bytes, capture);
    log_info("capture", "done", "capture", capture, "service", target->process->service, "state",
             report_state_text(target->result.state), "ranges",
             log_fmt("%zu", target->result.range_count), "events",
             log_fmt("%" PRIu64, target->result.events), NULL);
    agent_capture_remember(captures, &target->capture, &target->process->uid);
    TAILQ_REMOVE(&captures->targets, target, link);
    captures->running--;
    loop_timer_cancel(captures->settings.loop, &target->late_timer);
    capture_target_unref(target);
}

/* Whether the process runs on without its ring: for good, or nobody knows yet. */
static bool has_left(const struct process *p)
{
    if (p->watched)
        return false; /* all of it is a gap already */
    if (p->left)
        return true;
    if (process_state(p) != PROCESS_LIVE || p->pidfd < 0 || pidfd_ended(p->pidfd))
        return false;
    if (p->away)
        return process_runs_else(p); /* it called exec while its visitor was away */
    return p->socket < 0 && !p->said_bye && !process_is_being_ended(p);
}

/* The part of the window behind the last cut: no cut has it. */
static void lacks_find(const struct target *target, struct capture_job *job)
{
    const struct process *p = target->process;
    bool left = has_left(p);
    if (captures_are_draining(target->captures) &&
        job->to_ns < target->end_ns) { /* the process lives on */
        job->lacks_to_ns = target->end_ns;
        job->lacks_reason = LOSS_AGENT_RESTARTED;
    } else if (p->runs_ns < p->died_ns) { /* it may have called exec in between: nobody saw */
        job->lacks_from_ns = p->runs_ns;
        job->lacks_to_ns = p->died_ns < job->to_ns ? p->died_ns : job->to_ns;
        job->lacks_least_ns = UNSEEN_NS;
        job->lacks_reason = LOSS_REPLACED;
    } else if (left) {
        job->lacks_to_ns = p->left ? target->end_ns : job->to_ns;
        job->lacks_reason = LOSS_REPLACED;
    }
}

/* A target's jobs are done in order, so a last one may be posted while the first still waits. */
static int cut_post(struct target *target, bool first, bool last)
{
    struct capture_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return SKEIN_NO_MEMORY;
    uint64_t now_ns = agent_clock_ns(), end_ns = target->end_ns;
    job->target = target;
    job->first = first;
    job->last = last;
    if (last)
        job->to_ns = now_ns < end_ns ? now_ns : end_ns; /* stopped early: up to now */
    else                                                /* all that was saved lies before now */
        job->to_ns = first && target->saved == NULL ? target->at_ns : now_ns;
    if (job->to_ns <= target->result.from_ns)
        job->to_ns = target->result.from_ns + 1;
    if (last) {
        target->last_posted = true;
        lacks_find(target, job);
        if (!process_unrecorded(target->process, target->result.from_ns, job->to_ns,
                                &job->unrecorded))
            job->unrecorded = (struct loss_gap){0};
        job->death.signal = target->process->death.signal;
        job->death.status = target->process->death.status;
        job->death.known = target->process->death.known;
    }
    int status =
        worker_post(target->captures->settings.worker, &target->whose, capture_job_run, job);
    if (status != SKEIN_OK) {
        free(job);
        target->last_posted = false;
    }
    return status;
}

static void timer_finish(void *context);

static void target_finish(struct target *target)
{
    timers_cancel(target);
    if (target->last_posted)
        return;
    bool first = !target->first_posted;
    target->first_posted = true;
    /* Out of memory: again in a second, for the target must end some time. */
    if (cut_post(target, first, true) != SKEIN_OK)
        target->timer =
            loop_timer_add(target->captures->settings.loop, 1000, 0, timer_finish, target);
}

static void timer_finish(void *context)
{
    struct target *target = context;
    target->timer = NULL; /* one-shot: gone with this call */
    target_finish(target);
}

/* The next cut is due by what comes from now on. */
static void target_follow_from_here(struct target *target)
{
    process_cursors(target->process, &target->cut_at);
    target->cut_ns = clock_monotonic_ns();
}

/* The first cut leaves what came since `at` to the next one, and the agent may hear of the capture late.
 * What was claimed by then is known of the last look at the ring; if that was later, all of it may be
 * what came since. */
static void target_follow_from_at(struct target *target)
{
    const struct process *p = target->process;
    target_follow_from_here(target);
    const bool knows = agent_clock_at(p->looked_ns) <= target->at_ns;
    target->cut_at.small = knows ? p->looked.small : 0;
    target->cut_at.big = knows ? p->looked.big : 0;
}

/* A stream is cut every stream_ms. Any target is cut before the ring overwrites what it lacks. */
static bool is_cut_due(const struct target *target)
{
    uint64_t since_ns = clock_monotonic_ns() - target->cut_ns;
    return (target->stream_ms != 0 &&
            since_ns + FOLLOW_MS * NS_PER_MS / 2 >= target->stream_ms * NS_PER_MS) ||
           process_is_half_over(target->process, &target->cut_at);
}

static void timer_follow(void *context)
{
    struct target *target = context;
    const uint32_t full = __atomic_load_n(&target->full, __ATOMIC_RELAXED);
    if (full == FULL_SAVED || (full != FULL_NOT && target->stream_ms != 0))
        target_finish(target);
    if (full != FULL_NOT || !is_cut_due(target))
        return;
    /* One at a time: a worker that is behind takes all that came meanwhile with one cut. */
    if (__atomic_exchange_n(&target->cutting, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    if (cut_post(target, false, false) == SKEIN_OK)
        target_follow_from_here(target);
    else
        __atomic_store_n(&target->cutting, 0, __ATOMIC_RELEASE);
}

/* Runs at `at`: has the past cut, and waits for what comes after. */
static void target_start(struct target *target)
{
    struct loop *loop = target->captures->settings.loop;
    uint64_t now_ns = agent_clock_ns();
    if (target->end_ns <= now_ns) {
        target_finish(target);
        return;
    }
    target->first_posted = true;
    target_follow_from_at(target);
    __atomic_store_n(&target->cutting, 1, __ATOMIC_RELEASE); /* until the first one is done */
    if (cut_post(target, true, false) != SKEIN_OK)
        __atomic_store_n(&target->cutting, 0, __ATOMIC_RELEASE);
    uint64_t wait_ms = (target->end_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
    target->timer = loop_timer_add(loop, wait_ms, 0, timer_finish, target);
    if (wait_ms > FOLLOW_MS)
        target->follow_timer = loop_timer_add(loop, FOLLOW_MS, 1, timer_follow, target);
    if (target->timer == NULL || (wait_ms > FOLLOW_MS && target->follow_timer == NULL))
        target_finish(target);
}

static void timer_start(void *context)
{
    struct target *target = context;
    target->timer = NULL;
    target_start(target);
}

static uint64_t window_begin_ns(const struct capture_order *order)
{
    uint64_t pre_ns = order->pre_ms * NS_PER_MS;
    return order->at_ns > pre_ns ? order->at_ns - pre_ns : 0;
}

static int target_new(struct captures *captures, const struct capture_order *order,
                      struct process *process, struct target **out)
{
    struct target *target = calloc(1, sizeof *target);
    if (target == NULL)
        return SKEIN_NO_MEMORY;
    target->references = 1;
    target->captures = captures;
    target->capture = order->capture;
    target->trigger = order->trigger;
    target->whose = capture_share_key(process, order->trigger, order->rule);
    snprintf(target->rule, sizeof target->rule, "%s", order->rule != NULL ? order->rule : "");
    snprintf(target->reason, sizeof target->reason, "%s",
             order->reason != NULL ? order->reason : "");
    target->at_ns = order->at_ns;
    target->pre_ms = order->pre_ms;
    target->post_ms = order->post_ms;
    target->end_ns = order->at_ns + order->post_ms * NS_PER_MS;
    target->stream_ms = order->stream_ms;
    target->unshared = order->unshared;
    if (order->stream_ms != 0 && order->deadline_ns != 0 && order->deadline_ns < target->end_ns)
        target->end_ns = order->deadline_ns;
    target->result.capture = order->capture;
    target->result.process = process->uid;
    target->result.user = process->user;
    if (process->ring != NULL) {
        target->result.ring = (struct report_ring){.bytes = process->geometry.total,
                                                   .wished_bytes = process->choice.wished_bytes,
                                                   .memory_bytes = process_memory(process)};
        ring_choice_text(&process->choice, target->result.ring_why, sizeof target->result.ring_why);
    }
    target->result.map = order->map;
    target_place(target);
    target->result.trigger = order->trigger;
    target->result.stream = order->stream_ms != 0;
    target->result.began_ns = process->start_ns;
    target->result.state = REPORT_CAPTURING;
    target->result.from_ns = window_begin_ns(order);
    target->process = process_ref(process);
    if (order->with_count > 0)
        target->with = calloc(order->with_count, sizeof *target->with);
    for (size_t i = 0; target->with != NULL && i < order->with_count; i++)
        target->with[target->with_count++] = order->with[i]->uid;
    *out = target;
    struct loss_gap gap;
    if (!process_unrecorded(process, target->result.from_ns, target->end_ns, &gap))
        return SKEIN_OK;
    const struct report_gap told = {gap.from_ns, gap.to_ns, loss_text(gap.reason)};
    int status = target_result_add_gap(&target->result, &told);
    if (status != SKEIN_OK)
        capture_target_unref(target);
    return status;
}

int captures_begin(struct captures *captures, const struct capture_order *order,
                   struct process *process)
{
    if (captures_know(captures, &order->capture, &process->uid))
        return SKEIN_EXISTS;
    if (captures->running >= captures->settings.max_targets) {
        captures_refuse(captures, &order->capture, &process->uid,
                        "busy: too many captures at once");
        return SKEIN_BUSY;
    }
    struct target *target;
    int status = target_new(captures, order, process, &target);
    if (status != SKEIN_OK) {
        captures_refuse(captures, &order->capture, &process->uid, "the agent is out of memory");
        return status;
    }
    target->saved = saved_take(captures, &order->capture, &process->uid);
    TAILQ_INSERT_TAIL(&captures->targets, target, link);
    captures->running++;
    char capture[ID_TEXT_BYTES];
    id_text(order->capture.bytes, capture);
    log_info("capture", "begun", "capture", capture, "trigger", trigger_text(order->trigger),
             "service", process->service, "pid", log_fmt("%u", process->pid), "reason",
             target->reason, NULL);
    capture_evidence_begin(target, &order->wish);
    uint64_t now_ns = agent_clock_ns();
    if (order->at_ns > now_ns && process_state(process) == PROCESS_LIVE)
        target->timer = loop_timer_add(captures->settings.loop,
                                       (order->at_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS, 0,
                                       timer_start, target);
    if (process_state(process) != PROCESS_LIVE)
        target_finish(target);
    else if (target->timer == NULL)
        target_start(target);
    return SKEIN_OK;
}

/* What an earlier run has cut is all that there will be. */
static void saved_end(struct captures *captures, struct saved *saved)
{
    agent_capture_remember(captures, &saved->result.capture, &saved->result.process);
    capture_finish(captures->settings.spool, captures->settings.uplink, captures->settings.agent,
                   &saved->result);
    saved_free(&saved);
}

static void agent_capture_refuse(struct captures *captures, struct target_result *result,
                                 const char *reason)
{
    struct saved *saved = saved_take(captures, &result->capture, &result->process);
    if (saved != NULL) {
        saved_end(captures, saved);
        return;
    }
    if (!result->map.known)
        result->map = uplink_clock_map(captures->settings.uplink);
    snprintf(result->reason, sizeof result->reason, "%s", reason);
    agent_capture_remember(captures, &result->capture, &result->process);
    capture_finish(captures->settings.spool, captures->settings.uplink, captures->settings.agent,
                   result);
}

void captures_refuse(struct captures *captures, const struct capture_id *capture,
                     const struct process_uid *process, const char *reason)
{
    struct target_result result = {
        .capture = *capture, .process = *process, .state = REPORT_FAILED};
    agent_capture_refuse(captures, &result, reason);
    log_warn("capture", "refused", "reason", reason, NULL);
}

void captures_absent(struct captures *captures, const struct capture_order *order,
                     const struct process_uid *process, const struct loss_gap *life,
                     const char *reason)
{
    struct target_result result = {.capture = order->capture,
                                   .process = *process,
                                   .from_ns = window_begin_ns(order),
                                   .to_ns = order->at_ns + order->post_ms * NS_PER_MS,
                                   .map = order->map,
                                   .state = REPORT_FAILED};
    const struct report_gap gap = {life->from_ns > result.from_ns ? life->from_ns : result.from_ns,
                                   life->to_ns < result.to_ns ? life->to_ns : result.to_ns,
                                   loss_text(life->reason)};
    if (life->reason == LOSS_WATCHED)
        result.state = REPORT_NOTHING; /* nothing failed: there is nothing to be had */
    if (gap.from_ns >= gap.to_ns) {    /* it did not run in the window */
        result.state = REPORT_NOTHING;
        reason = "";
    } else {
        (void)target_result_add_gap(&result, &gap); /* without it, all of the window is one */
    }
    agent_capture_refuse(captures, &result, reason);
    target_result_fini(&result);
}

bool captures_know(const struct captures *captures, const struct capture_id *capture,
                   const struct process_uid *process)
{
    const struct target *target;
    TAILQ_FOREACH(target, &captures->targets, link) {
        if (capture_id_equal(&target->capture, capture) &&
            process_uid_equal(&target->process->uid, process))
            return true;
    }
    size_t known =
        captures->done_count < CAPTURES_REMEMBERED ? captures->done_count : CAPTURES_REMEMBERED;
    for (size_t i = 0; i < known; i++) {
        if (capture_id_equal(&captures->done[i].capture, capture) &&
            process_uid_equal(&captures->done[i].process, process))
            return true;
    }
    return false;
}

void captures_stop(struct captures *captures, const struct capture_id *capture)
{
    struct target *target;
    TAILQ_FOREACH(target, &captures->targets, link) {
        if (capture_id_equal(&target->capture, capture))
            target_finish(target);
    }
    struct saved *saved, *next;
    for (saved = TAILQ_FIRST(&captures->saved.list); saved != NULL; saved = next) {
        next = TAILQ_NEXT(saved, link);
        if (!capture_id_equal(&saved->result.capture, capture))
            continue;
        TAILQ_REMOVE(&captures->saved.list, saved, link);
        saved_end(captures, saved);
    }
}

void captures_process_gone(struct captures *captures, const struct process *process)
{
    struct target *target;
    TAILQ_FOREACH(target, &captures->targets, link) {
        if (target->process == process)
            target_finish(target);
    }
}

size_t captures_running(const struct captures *captures)
{
    return captures->running;
}

void captures_drain(struct captures *captures)
{
    struct target *target;
    struct saved *saved;
    capture_evidence_drain(captures);
    TAILQ_FOREACH(target, &captures->targets, link)
        target_finish(target);
    while ((saved = TAILQ_FIRST(&captures->saved.list)) != NULL) {
        TAILQ_REMOVE(&captures->saved.list, saved, link);
        saved_end(captures, saved);
    }
    loop_timer_cancel(captures->settings.loop, &captures->saved.timer);
}

void captures_free(struct captures **captures_p)
{
    struct captures *captures = *captures_p;
    if (captures == NULL)
        return;
    *captures_p = NULL;
    struct target *target;
    while ((target = TAILQ_FIRST(&captures->targets)) != NULL) {
        TAILQ_REMOVE(&captures->targets, target, link);
        timers_cancel(target);
        loop_timer_cancel(captures->settings.loop, &target->late_timer);
        capture_target_unref(target);
    }
    struct saved *saved;
    loop_timer_cancel(captures->settings.loop, &captures->saved.timer);
    while ((saved = TAILQ_FIRST(&captures->saved.list)) != NULL) {
        TAILQ_REMOVE(&captures->saved.list, saved, link);
        saved_free(&saved);
    }
    shares_fini(&captures->shares);
    free(captures);
}
