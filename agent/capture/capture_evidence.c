/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for a target's evidence; see capture_evidence.h. `waits` and `draining` are under the
 * captures' mutex, as worker and loop meet there; wait->target is the worker's.
 */
#include "capture_evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_clock.h"
#include "clock.h"
#include "log.h"
#include "skein_check.h"

/* What came of the evidence; and when both are over, evidence and cuts, the target ends:
 *
 *   OPEN ── wait_done ──▶ HAD
 *     └──── wait_late ──▶ LATE, ENDED (the agent is ending)
 */
enum wait_state { WAIT_OPEN, WAIT_HAD, WAIT_LATE, WAIT_ENDED };

/* One target whose last cut has begun; in the list until it ends. References: the evidence's, until
 * it is done or dropped, the timer's, and the target's. */
struct evidence_wait {
    TAILQ_ENTRY(evidence_wait) link, timed;
    struct captures *captures;
    struct target *target;      /* worker; NULL: it has ended */
    enum wait_state state;      /* worker */
    bool cut;                   /* worker: the last cut is done */
    struct evidence_task *task; /* a reference */
    struct loop_timer *timer;   /* loop; while it runs, the wait is in captures->timed */
    uint32_t references;        /* atomic */
};

/* Worker: the target knows the wait until it ends, and it ends with the later of evidence and cut. */
static void wait_assert(const struct evidence_wait *wait)
{
    skein_check(wait->state <= WAIT_ENDED);
    skein_check(__atomic_load_n(&wait->references, __ATOMIC_RELAXED) > 0);
    if (wait->target == NULL)
        return;
    skein_check(wait->target->wait == wait && wait->target->captures == wait->captures);
    skein_check(wait->state == WAIT_OPEN || !wait->cut);
}

static uint64_t monotonic_of(uint64_t line_ns)
{
    uint64_t base_ns = agent_clock_at(0);
    return line_ns > base_ns ? line_ns - base_ns : 0;
}

/* Gives `count` references back. */
static void wait_unref(struct evidence_wait *wait, uint32_t count)
{
    if (__atomic_fetch_sub(&wait->references, count, __ATOMIC_ACQ_REL) != count)
        return;
    evidence_unref(&wait->task);
    free(wait);
}

static struct evidence_wait *wait_ref(struct evidence_wait *wait)
{
    __atomic_fetch_add(&wait->references, 1, __ATOMIC_RELAXED);
    return wait;
}

static void notes_set(struct target *target, const struct report_evidence *notes, size_t count)
{
    target->result.evidence_count = 0;
    for (size_t i = 0; i < count; i++)
        target_result_add_evidence(&target->result, &notes[i]);
}

/* Nothing was had, and why. */
static void notes_none(struct target *target, const char *why)
{
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    notes_set(target, notes, evidence_notes_none(target->evidence, why, notes));
}

/* Who asks for kinds by name is told that there are none. */
static void notes_off(struct target *target, uint32_t kinds)
{
    for (unsigned i = 0; i < EVIDENCE_KIND_COUNT; i++) {
        const struct report_evidence note = {evidence_kind_name(i), "refused",
                                             EVIDENCE_OFF "evidence.enabled is false", 0, 0};
        if ((kinds & EVIDENCE_BIT(i)) != 0)
            target_result_add_evidence(&target->result, &note);
    }
}

void capture_evidence_begin(struct target *target, const struct evidence_wish *wish)
{
    const struct captures_settings *settings = &target->captures->settings;
    if (settings->evidence == NULL) {
        notes_off(target, wish->kinds);
        return;
    }
    if (!evidence_asks(settings->evidence, wish))
        return;
    const struct evidence_order order = {.process = target->process,
                                         .from_ns = monotonic_of(target->result.from_ns),
                                         .wish = *wish,
                                         .threads_barred = settings->threads_barred != NULL &&
                                                           *settings->threads_barred,
                                         .epoch = settings->epoch,
                                         .host = settings->host};
    if (evidence_begin(settings->evidence, &order, &target->evidence) == SKEIN_OK)
        notes_none(target, TARGET_EVIDENCE_YET);
    else
        log_error("capture", "out of memory: no evidence is taken", NULL);
}

/* ---- the end of a wait; worker ---- */

/* What the spool did not take is not had: the record of the ring is none the worse for it. */
static void partition_refused(struct target *target, int status)
{
    char why[128];
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    snprintf(why, sizeof why, "the agent's spool did not take it: %s", skein_status_text(status));
    size_t count = evidence_notes(target->evidence, notes);
    for (size_t i = 0; i < count; i++) {
        if (notes[i].events == 0)
            continue;
        notes[i].events = 0;
        notes[i].state = "none";
        notes[i].reason = why;
    }
    notes_set(target, notes, count);
}

static int partition_store(struct target *target, const struct evidence_partition *partition)
{
    struct spool *spool = target->captures->settings.spool;
    const struct partition_key *key = &partition->key;
    const struct spool_head head = {.capture = target->capture,
                                    .key = *key,
                                    .events = partition->events,
                                    .from_ns = partition->from_ns,
                                    .to_ns = partition->to_ns};
    const struct report_range range = {key->epoch, key->sequence, key->sequence, partition->events,
                                       partition->bytes.len};
    int status = spool_put(spool, &head, partition->bytes.data, partition->bytes.len);
    if (status != SKEIN_OK)
        return status;
    status = target_result_add_range(&target->result, &range);
    target->result.events += status == SKEIN_OK ? partition->events : 0;
    target->result.evidence_at.epoch = key->epoch;
    target->result.evidence_at.sequence = key->sequence;
    target->result.evidence_at.known = true;
    return status;
}

static void result_take(struct target *target)
{
    struct report_evidence notes[EVIDENCE_KINDS_MAX];
    const struct evidence_partition *partition = evidence_result(target->evidence);
    notes_set(target, notes, evidence_notes(target->evidence, notes));
    int status = partition->bytes.len > 0 ? partition_store(target, partition) : SKEIN_OK;
    if (status != SKEIN_OK)
        partition_refused(target, status);
}

static void late_tell(struct target *target)
{
    char why[96];
    snprintf(why, sizeof why, "not had within %" PRIu64 " ms",
             evidence_deadline_ms(target->captures->settings.evidence));
    notes_none(target, why);
}

/* Takes the target out of the wait. Its reference is the caller's to give back. */
static void wait_leave(struct evidence_wait *wait)
{
    struct captures *captures = wait->captures;
    wait->target->wait = NULL;
    wait->target = NULL;
    pthread_mutex_lock(&captures->waits_mutex);
    TAILQ_REMOVE(&captures->waits, wait, link);
    pthread_mutex_unlock(&captures->waits_mutex);
}

/* Ends the target if nothing is waited for any more. Returns how many references are the caller's to
 * give back for it. */
static uint32_t wait_settle(struct evidence_wait *wait)
{
    struct target *target = wait->target;
    if (!wait->cut || wait->state == WAIT_OPEN) {
        wait_assert(wait);
        return 0;
    }
    if (wait->state == WAIT_HAD)
        result_take(target);
    else if (wait->state == WAIT_LATE)
        late_tell(target);
    else
        notes_none(target, "the agent ended");
    wait_leave(wait);
    wait_assert(wait);
    capture_target_end(target);
    return 1;
}

static void wait_done(void *context)
{
    struct evidence_wait *wait = context;
    uint32_t ours = 1;
    wait_assert(wait);
    if (wait->target != NULL) {
        skein_check(wait->state == WAIT_OPEN);
        wait->state = WAIT_HAD;
        ours += wait_settle(wait);
    }
    wait_unref(wait, ours);
}

static bool is_draining(struct captures *captures)
{
    pthread_mutex_lock(&captures->waits_mutex);
    bool draining = captures->draining;
    pthread_mutex_unlock(&captures->waits_mutex);
    return draining;
}

static void wait_late(void *context)
{
    struct evidence_wait *wait = context;
    uint32_t ours = 1;
    wait_assert(wait);
    /* What is done stands in the worker's queue already. */
    if (wait->target != NULL && wait->state == WAIT_OPEN && evidence_drop(wait->task)) {
        ours = 2; /* the evidence's, too: it calls nobody now */
        wait->state = is_draining(wait->captures) ? WAIT_ENDED : WAIT_LATE;
        ours += wait_settle(wait);
    }
    wait_unref(wait, ours);
}

/* ---- the wait ---- */

/* Evidence thread, with the task's mutex. */
static bool on_done(void *context)
{
    struct evidence_wait *wait = context;
    return worker_post_first(wait->captures->settings.worker, wait_done, wait) == SKEIN_OK;
}

static void timer_late(void *context)
{
    struct evidence_wait *wait = context;
    wait->timer = NULL;
    TAILQ_REMOVE(&wait->captures->timed, wait, timed);
    if (worker_post_first(wait->captures->settings.worker, wait_late, wait) != SKEIN_OK)
        wait_unref(wait, 1);
}

static void timer_start(void *context)
{
    struct evidence_wait *wait = context;
    struct captures *captures = wait->captures;
    if (!is_draining(captures))
        wait->timer =
            loop_timer_add(captures->settings.loop,
                           evidence_deadline_ms(captures->settings.evidence), 0, timer_late, wait);
    if (wait->timer == NULL)
        wait_unref(wait, 1);
    else
        TAILQ_INSERT_TAIL(&captures->timed, wait, timed);
}

/* Made with its references. NULL: no memory, or no time to wait. */
static struct evidence_wait *wait_new(struct target *target)
{
    struct captures *captures = target->captures;
    struct evidence_wait *wait = calloc(1, sizeof *wait);
    if (wait == NULL)
        return NULL;
    *wait = (struct evidence_wait){.captures = captures,
                                   .target = target,
                                   .task = evidence_ref(target->evidence),
                                   .references = 3};
    pthread_mutex_lock(&captures->waits_mutex);
    bool draining = captures->draining;
    if (!draining)
        TAILQ_INSERT_TAIL(&captures->waits, wait, link);
    pthread_mutex_unlock(&captures->waits_mutex);
    if (!draining)
        return wait;
    wait_unref(wait, 3);
    return NULL;
}

void capture_evidence_ask(struct target *target, uint64_t to_ns)
{
    struct captures *captures = target->captures;
    skein_check(target->wait == NULL);
    struct evidence_wait *wait = target->evidence != NULL ? wait_new(target) : NULL;
    if (wait == NULL)
        return;
    target->wait = wait;
    target_place(target);
    /* wait_done comes on this thread, so not before this returns. */
    int status = evidence_finish(wait->task, monotonic_of(to_ns), target->result.map.offset_ns,
                                 on_done, wait);
    if (status != SKEIN_OK) {
        target->evidence_hangs = status == SKEIN_BUSY;
        wait_leave(wait);
        wait_unref(wait, 3);
        return;
    }
    /* Without memory for a timer the sources' own deadline has to do. */
    if (loop_post(captures->settings.loop, timer_start, wait) != SKEIN_OK)
        wait_unref(wait, 1);
}

void capture_evidence_wait(struct target *target)
{
    struct evidence_wait *wait = target->wait;
    if (wait != NULL) {
        skein_check(!wait->cut);
        wait->cut = true;
        uint32_t ours = wait_settle(wait);
        if (ours > 0)
            wait_unref(wait, ours);
        return;
    }
    if (target->evidence != NULL) {
        (void)evidence_drop(target->evidence);
        notes_none(target, target->evidence_hangs          ? EVIDENCE_HANGS
                           : is_draining(target->captures) ? "the agent ended"
                                                           : "out of memory");
    }
    capture_target_end(target);
}

void capture_evidence_free(struct captures *captures)
{
    struct evidence_wait *wait;
    while ((wait = TAILQ_FIRST(&captures->timed)) != NULL) {
        TAILQ_REMOVE(&captures->timed, wait, timed);
        loop_timer_cancel(captures->settings.loop, &wait->timer);
        wait_unref(wait, 1);
    }
}

void capture_evidence_drain(struct captures *captures)
{
    struct evidence_wait *wait;
    pthread_mutex_lock(&captures->waits_mutex);
    captures->draining = true;
    TAILQ_FOREACH(wait, &captures->waits, link) {
        if (worker_post(captures->settings.worker, wait_late, wait_ref(wait)) != SKEIN_OK)
            wait_unref(wait, 1);
    }
    pthread_mutex_unlock(&captures->waits_mutex);
    capture_evidence_free(captures); /* the loop may run once more, when the worker has ended */
}

void capture_evidence_leave(struct target *target)
{
    bool dropped = target->evidence != NULL && evidence_drop(target->evidence);
    struct evidence_wait *wait = target->wait;
    if (wait != NULL) { /* the worker has ended before it */
        uint32_t theirs = dropped && wait->state == WAIT_OPEN;
        wait_leave(wait);
        wait_unref(wait, 1 + theirs);
    }
    evidence_unref(&target->evidence);
}
