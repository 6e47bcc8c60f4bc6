/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for a target's evidence; see capture_evidence.h.
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

/* When both are over, evidence and cuts, the target ends (enum target_wait):
 *
 *         capture_evidence_ask          done_run                         wait_settle
 *   NONE ─────────────────────▶ OPEN ─────────────▶ HAD ─────────────────────────────────▶ NONE
 *                                 │     late_run                              ▲
 *                                 └───────────────▶ LATE, ENDED (the agent) ──┘
 *
 * It cannot end before the evidence is done or dropped, so that needs no reference of its own.
 */
static void wait_assert(const struct target *target)
{
    skein_check(target->wait <= WAIT_ENDED && target->evidence != NULL);
    skein_check(__atomic_load_n(&target->references, __ATOMIC_RELAXED) > 0);
    skein_check(target->wait <= WAIT_OPEN || !target->cut);
}

static uint64_t monotonic_of(uint64_t line_ns)
{
    uint64_t base_ns = agent_clock_at(0);
    return line_ns > base_ns ? line_ns - base_ns : 0;
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
                                         .host = settings->host,
                                         .whose = target->whose};
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
    const struct spool_head head = {.user = target->process->user,
                                    .capture = target->capture,
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
             evidence_deadline_ms(target->evidence));
    notes_none(target, why);
}

/* Ends the target if nothing is waited for any more. */
static void wait_settle(struct target *target)
{
    enum target_wait came = target->wait;
    bool over = target->cut && came != WAIT_OPEN;
    target->wait = over ? WAIT_NONE : came;
    wait_assert(target);
    if (!over)
        return;
    if (came == WAIT_HAD)
        result_take(target);
    else if (came == WAIT_LATE)
        late_tell(target);
    else
        notes_none(target, "the agent ended");
    capture_target_end(target);
}

static void done_run(void *context)
{
    struct target *target = context;
    skein_check(target->wait == WAIT_OPEN);
    target->wait = WAIT_HAD;
    wait_settle(target);
}

static void late_run(void *context)
{
    struct target *target = context;
    wait_assert(target);
    /* What is done stands in the worker's queue already. */
    if (target->wait == WAIT_OPEN && evidence_drop(target->evidence)) {
        target->wait = captures_are_draining(target->captures) ? WAIT_ENDED : WAIT_LATE;
        wait_settle(target);
    }
    capture_target_unref(target);
}

/* ---- the wait ---- */

/* Evidence thread, with the task's mutex. */
static bool on_done(void *context)
{
    struct target *target = context;
    return worker_post_first(target->captures->settings.worker, &target->whose, done_run, target) ==
           SKEIN_OK;
}

/* Loop. The target may end before this has its turn. */
static void late_post(struct target *target,
                      int post(struct worker *worker, const struct share_key *whose, worker_fn *fn,
                               void *context))
{
    __atomic_fetch_add(&target->references, 1, __ATOMIC_RELAXED); /* the caller has one */
    if (post(target->captures->settings.worker, &target->whose, late_run, target) != SKEIN_OK)
        capture_target_unref(target);
}

static void timer_late(void *context)
{
    struct target *target = context;
    target->late_timer = NULL;
    late_post(target, worker_post_first);
}

static void timer_start(void *context)
{
    struct target *target = context;
    const struct captures_settings *settings = &target->captures->settings;
    if (!captures_are_draining(target->captures))
        target->late_timer = loop_timer_add(settings->loop, evidence_deadline_ms(target->evidence),
                                            0, timer_late, target);
}

void capture_evidence_ask(struct target *target, uint64_t to_ns)
{
    skein_check(target->wait == WAIT_NONE && !target->cut);
    if (target->evidence == NULL || captures_are_draining(target->captures))
        return;
    target_place(target);
    /* done_run comes on this thread, so not before this returns. */
    int status = evidence_finish(target->evidence, monotonic_of(to_ns),
                                 target->result.map.offset_ns, on_done, target);
    target->evidence_hangs = status == SKEIN_BUSY;
    if (status != SKEIN_OK)
        return;
    target->wait = WAIT_OPEN;
    wait_assert(target);
    /* Before capture_done. Without memory for a timer the sources' own deadline has to do. */
    (void)loop_post(target->captures->settings.loop, timer_start, target);
}

void capture_evidence_wait(struct target *target)
{
    skein_check(!target->cut);
    bool waits = target->wait != WAIT_NONE;
    target->cut = true;
    if (waits) {
        wait_settle(target);
        return;
    }
    if (target->evidence != NULL) {
        (void)evidence_drop(target->evidence);
        notes_none(target, target->evidence_hangs                    ? EVIDENCE_HANGS
                           : captures_are_draining(target->captures) ? "the agent ended"
                                                                     : "out of memory");
    }
    capture_target_end(target);
}

void capture_evidence_drain(struct captures *captures)
{
    struct target *target;
    __atomic_store_n(&captures->draining, 1, __ATOMIC_RELAXED);
    TAILQ_FOREACH(target, &captures->targets, link) {
        loop_timer_cancel(captures->settings.loop, &target->late_timer);
        if (target->evidence != NULL)
            late_post(target, worker_post);
    }
}
