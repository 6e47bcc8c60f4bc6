/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's half of a capture: cut, spool, report. Worker thread only.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_evidence.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "partition.h"
#include "report_fired.h"
#include "ring_loss.h"
#include "skein_check.h"

/* A process that writes as fast as it is cut must not keep the worker for ever. */
#define PARTITIONS_A_CUT 256

static void entry_take(struct cut_member *member, const struct cut_entry *entry);

/* What holds between two steps of the worker (capture_job.h). */
static void target_assert(const struct target *target)
{
    if (target->turn != NULL)
        skein_check(target->turn->target == target);
    /* Its cuts are told to it, and to no other. */
    if (target->member.chain != NULL)
        skein_check(target->member.take == entry_take);
}

void target_place(struct target *target)
{
    if (!target->result.map.known && target->captures->settings.uplink != NULL)
        target->result.map = uplink_clock_map(target->captures->settings.uplink);
}

static void gap_add(struct target *target, uint64_t from_ns, uint64_t to_ns, const char *reason)
{
    struct report_gap gap = {from_ns, to_ns, reason};
    target->changed = true;
    if (target_result_add_gap(&target->result, &gap) != SKEIN_OK)
        target->failure = SKEIN_NO_MEMORY;
}

static struct target *target_of(struct cut_member *member)
{
    return (struct target *)(void *)((char *)member - offsetof(struct target, member));
}

static bool gap_concerns(const struct target *target, const struct cut_gap *gap)
{
    return gap->from_ns <= target->member.to_ns && gap->to_ns >= target->member.from_ns;
}

/* Whether losses of a reason concern the window: a gap of theirs touches it, or they have none. */
static bool loss_concerns(const struct target *target, const struct cut_entry *entry, size_t reason)
{
    bool known = false, concerns = false;
    for (size_t i = 0; i < entry->gap_count; i++) {
        bool same = entry->gaps[i].reason == reason;
        known = known || same;
        concerns = concerns || (same && gap_concerns(target, &entry->gaps[i]));
    }
    return concerns || !known;
}

/* The ring counts these losses by time: each capture asks for its own (counted_take). */
static bool is_counted(uint8_t reason)
{
    return reason == PARTITION_LOSS_RING_FULL || reason == PARTITION_LOSS_SIGNAL;
}

/* Takes what the cut lacks of the window; a cut may reach beyond it. */
static void losses_take(struct target *target, const struct cut_entry *entry)
{
    for (size_t i = 0; i < sizeof entry->lost / sizeof entry->lost[0]; i++) {
        if (entry->lost[i] == 0 || is_counted((uint8_t)i) || !loss_concerns(target, entry, i))
            continue;
        target->result.lost[loss_parse(partition_loss_text((uint8_t)i))] += entry->lost[i];
        target->changed = true;
    }
    const struct cut_member *member = &target->member;
    for (size_t i = 0; i < entry->gap_count; i++) {
        const struct cut_gap *gap = &entry->gaps[i];
        if (!gap_concerns(target, gap) || is_counted(gap->reason))
            continue;
        gap_add(target, gap->from_ns > member->from_ns ? gap->from_ns : member->from_ns,
                gap->to_ns < member->to_ns ? gap->to_ns : member->to_ns,
                partition_loss_text(gap->reason));
    }
}

static bool is_full(const struct target *target)
{
    return __atomic_load_n(&target->full, __ATOMIC_RELAXED) != FULL_NOT;
}

static void target_set_full(struct target *target, enum target_full why)
{
    __atomic_store_n(&target->full, why, __ATOMIC_RELAXED);
}

/* The cuts of one job are numbered in a row and make one range: if the first has room, all have. */
static bool has_room(const struct target *target, const struct partition_key *key)
{
    size_t count = target->result.range_count;
    const struct report_range *last = count > 0 ? &target->result.ranges[count - 1] : NULL;
    return count < CAPTURE_RANGES_MAX ||
           (last->epoch == key->epoch && key->sequence > 0 && last->last == key->sequence - 1);
}

/* How many of its records lie in the target's window: a partition that is lost lacks no others. */
static uint64_t window_count(struct target *target, const struct cut_entry *entry)
{
    return cut_entry_within(entry, target->member.from_ns, target->member.to_ns,
                            &target->result.at_most);
}

static void kept_take(struct target *target, const struct cut_entry *entry)
{
    const struct partition_key *key = &entry->key;
    struct report_range partition = {key->epoch, key->sequence, key->sequence, entry->events,
                                     entry->bytes};
    int status = spool_share(target->captures->settings.spool, &target->capture, &key->process,
                             key->epoch, key->sequence, key->sequence);
    if (status == SKEIN_OK)
        status = target_result_add_range(&target->result, &partition);
    if (status != SKEIN_OK)
        target->failure = status;
    target->result.events += entry->events;
    target->result.window_events += window_count(target, entry);
    target->last_ns = entry->to_ns > target->last_ns ? entry->to_ns : target->last_ns;
    target->changed = true;
}

/* The target hears of its own cuts, and of those of others in its window. */
static void entry_take(struct cut_member *member, const struct cut_entry *entry)
{
    struct target *target = target_of(member);
    if (is_full(target) || !has_room(target, &entry->key)) {
        target_set_full(target, FULL_REPORT); /* its last gap tells of that */
        return;
    }
    losses_take(target, entry);
    if (entry->reason != NULL) {
        target->result.lost[loss_parse(entry->reason)] += window_count(target, entry);
        gap_add(target, entry->from_ns, entry->to_ns, entry->reason);
    }
    if (entry->kept)
        kept_take(target, entry);
}

static bool is_lost(struct cut_member *member, const struct partition_key *key)
{
    return spool_has_lost(target_of(member)->captures->settings.spool, key);
}

/* Journals why a capture began that nobody asked for. */
static void journal_fired(struct target *target, uint16_t kind)
{
    target_place(target);
    const struct captures_settings *settings = &target->captures->settings;
    struct buf text = {0};
    const struct process *process = target->process;
    bool sample = target->trigger == TRIGGER_POLICY;
    struct report_fired fired = {
        .agent = settings->agent,
        .capture = target->capture,
        .process = process->uid,
        .with = target->with,
        .with_count = target->with_count,
        .trigger = target->trigger,
        .rule = sample ? "" : target->rule,
        .policy = sample ? target->rule : "",
        .reason = target->reason,
        .pid = process->pid,
        .user = process->user,
        .service = process->service,
        .labels = process->labels,
        .exe = process->exe,
        .at_ns = target->at_ns,
        .pre_ms = target->pre_ms,
        .post_ms = target->post_ms,
        .clock = {.offset_ns = target->result.map.offset_ns, .clock = target->result.map.clock}};
    report_fired_put(&fired, &text);
    if (text.status == SKEIN_OK)
        (void)spool_report_put(settings->spool, kind, process->user, &target->capture,
                               &target->process->uid, (const char *)text.data, text.len);
    buf_fini(&text);
    target->begun = true;
}

static void spool_partition(struct target *target, const struct cut_result *cut,
                            struct cut_entry *entry)
{
    struct spool_head head = {.user = target->process->user,
                              .capture = target->capture,
                              .key = cut->key,
                              .events = cut->events,
                              .from_ns = cut->from_ns,
                              .to_ns = cut->to_ns};
    /* First, so that a restart which finds the partition knows the firing too. */
    if (target->trigger != TRIGGER_REQUEST && !target->begun)
        journal_fired(target, SPOOL_FIRING);
    int status =
        spool_put(target->captures->settings.spool, &head, cut->bytes.data, cut->bytes.len);
    entry->kept = status == SKEIN_OK;
    if (entry->kept)
        return;
    entry->reason = loss_text(status == SKEIN_FULL ? LOSS_SPOOL_FULL : LOSS_SPOOL_FAILED);
    log_error("capture", "the spool did not take a partition", "reason", skein_status_text(status),
              NULL);
}

/* What bench_snapshot reads: where the time of a cut goes. */
static void times_tell(const struct cut_result *cut, uint64_t spool_ns)
{
    const struct cut_times *t = &cut->times;
    log_debug("capture", "cut", "us",
              log_fmt("copy:%" PRIu64 ",pack:%" PRIu64 ",names:%" PRIu64 ",end:%" PRIu64
                      ",spool:%" PRIu64,
                      t->copy_ns / 1000, t->pack_ns / 1000, t->names_ns / 1000, t->end_ns / 1000,
                      spool_ns / 1000),
              "events", log_fmt("%" PRIu64, cut->events), NULL);
}

struct cut_edges {
    size_t count;
    uint64_t ns[PARTITION_EDGES_MAX];
};

static void cut_take(struct target *target, int status, struct cut_result *cut,
                     const struct cut_edges *edges)
{
    struct cut_entry entry = {.key = cut->key,
                              .from_ns = cut->from_ns,
                              .to_ns = cut->to_ns,
                              .events = cut->events,
                              .bytes = cut->bytes.len,
                              .gaps = cut->gaps,
                              .gap_count = cut->gap_count};
    memcpy(entry.lost, cut->lost, sizeof entry.lost);
    memcpy(entry.edges_ns, edges->ns, sizeof entry.edges_ns);
    memcpy(entry.before, cut->before, sizeof entry.before);
    entry.edge_count = edges->count;
    cut->gaps = NULL;
    cut->gap_count = 0;
    uint64_t began_ns = clock_monotonic_ns();
    if (status == SKEIN_OK) {
        spool_partition(target, cut, &entry);
        times_tell(cut, clock_monotonic_ns() - began_ns);
    }
    cut_chain_add(&target->member, &entry);
}

/* Whether there is something to cut. */
static bool has_ring(const struct target *target)
{
    return !target->process->watched;
}

/* With its first cut the target joins the process's chain. */
static int chain_join(struct target *target)
{
    struct cut_member *member = &target->member;
    if (member->chain != NULL)
        return SKEIN_OK;
    member->from_ns = target->result.from_ns;
    member->to_ns = target->end_ns;
    member->unshared = target->unshared;
    member->is_lost = is_lost;
    member->take = entry_take;
    return cut_chain_join(member, target->process);
}

/* Cuts one partition. Returns whether there is more. */
static bool cut_once(struct target *target, struct capture_job *job)
{
    target_place(target);
    const struct captures_settings *settings = &target->captures->settings;
    struct cut_request request = {.to_ns = job->to_ns,
                                  .epoch = settings->epoch,
                                  .clock_offset_ns = target->result.map.offset_ns,
                                  .host = settings->host,
                                  .max_bytes = settings->partition_bytes,
                                  .symbolizer = settings->symbolizer,
                                  .names_ns = settings->names_ns};
    struct cut_result cut = {0};
    struct cut_edges edges;
    edges.count = cut_chain_edges(&target->member, job->to_ns, edges.ns);
    request.edges_ns = edges.ns;
    request.edge_count = edges.count;
    int status = cut_chain_cut(&target->member, settings->host_page, &request, &cut);
    bool more = status == SKEIN_OK && cut.more;
    if (status == SKEIN_OK || status == SKEIN_NOT_FOUND)
        cut_take(target, status, &cut, &edges);
    else
        target->failure = status;
    cut_result_fini(&cut);
    if (!more || ++job->turns < PARTITIONS_A_CUT)
        return more;
    if (job->last) /* else the next cut brings it */
        gap_add(target, target->member.from_ns, job->to_ns, loss_text(LOSS_SIZE));
    return false;
}

/* Cuts one partition of what came since the chain's last cut. Returns whether there is more. */
static bool cut_turn(struct target *target, struct capture_job *job)
{
    if (!has_ring(target))
        return false;
    if (target->result.range_count >= CAPTURE_RANGES_MAX)
        target_set_full(target, FULL_REPORT);
    int status = is_full(target) ? SKEIN_OK : chain_join(target);
    if (status != SKEIN_OK)
        target->failure = status;
    return !is_full(target) && status == SKEIN_OK && cut_chain_wants(&target->member, job->to_ns) &&
           cut_once(target, job);
}

/* Tells why a capture began that nobody asked for. It is cut once by now, so the past is safe. */
static void fired_announce(struct target *target)
{
    journal_fired(target, SPOOL_FIRED);
    uplink_wake(target->captures->settings.uplink);
}

/* Up to when the result has all losses: a bucket of the ring that still counts is not read yet. */
static uint64_t told_ns(const struct target *target)
{
    const struct target_result *result = &target->result;
    struct clock_snapshot begin, end;
    if (target->losses_until == 0)
        return result->from_ns;
    host_page_line(target->captures->settings.host_page, &begin, &end);
    uint64_t told = clock_snapshot_realtime(&begin, &end, target->losses_until);
    return told < result->to_ns ? told : result->to_ns;
}

/* Journals what there is so far, for a restart, and tells the collector. */
static void progress_announce(struct target *target)
{
    const struct captures_settings *settings = &target->captures->settings;
    char capture[ID_TEXT_BYTES], process[ID_TEXT_BYTES], key[128];
    struct buf text = {0};
    uint64_t to_ns = target->result.to_ns;
    target->result.state = REPORT_CAPTURING;
    target->result.to_ns = told_ns(target);
    target_place(target);
    target_result_put(settings->agent, &target->result, &text);
    target->result.to_ns = to_ns;
    if (text.status == SKEIN_OK) {
        id_text(target->capture.bytes, capture);
        id_text(target->process->uid.bytes, process);
        snprintf(key, sizeof key, "target:%s:%s", capture, process);
        (void)spool_report_put(settings->spool, SPOOL_INTENT, target->process->user,
                               &target->capture, &target->process->uid, (const char *)text.data,
                               text.len);
        (void)uplink_report(settings->uplink, key, &target->capture, &target->process->uid,
                            (const char *)text.data, text.len);
    }
    buf_fini(&text);
    uplink_wake(settings->uplink);
    target->changed = false;
}

/* Takes out what the spool has lost since it was released for upload. */
static void spool_losses_take(struct target *target)
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
    spool_losses_take(target);
    if (target->changed)
        progress_announce(target);
    spool_release(target->captures->settings.spool, &target->capture, &target->process->uid);
    uplink_wake(target->captures->settings.uplink);
}

static void state_settle(struct target *target)
{
    struct target_result *result = &target->result;
    if (target->failure != SKEIN_OK)
        gap_add(target, result->from_ns, result->to_ns, loss_text(LOSS_AGENT_FAILED));
    if (!has_ring(target) && result->reason[0] == '\0')
        snprintf(result->reason, sizeof result->reason, "%s", CAPTURE_WATCHED_TEXT);
    if (result->range_count > 0) {
        result->state = REPORT_UPLOADING;
    } else if (target->failure != SKEIN_OK) {
        result->state = REPORT_FAILED;
        snprintf(result->reason, sizeof result->reason, "the agent could not cut the ring: %s",
                 skein_status_text(target->failure));
    } else if (result->lost[LOSS_SPOOL_FULL] != 0 || result->lost[LOSS_SPOOL_FAILED] != 0) {
        result->state = REPORT_FAILED;
        snprintf(result->reason, sizeof result->reason,
                 "the agent's spool did not take the partitions");
    } else {
        result->state = REPORT_NOTHING;
        if (has_ring(target))
            snprintf(result->reason, sizeof result->reason, "no record lies in the window");
    }
}

void capture_finish(struct spool *spool, struct uplink *uplink, uint64_t agent,
                    const struct target_result *result)
{
    struct buf text = {0};
    target_result_put(agent, result, &text);
    int status = text.status;
    if (status == SKEIN_OK)
        status = spool_report_put(spool, SPOOL_TARGET, result->user, &result->capture,
                                  &result->process, (const char *)text.data, text.len);
    buf_fini(&text);
    if (status != SKEIN_OK)
        log_error("capture", "a report could not be journalled", "reason",
                  skein_status_text(status), NULL);
    spool_release(spool, &result->capture, &result->process);
    if (uplink != NULL)
        uplink_wake(uplink);
}

/* Called for the others of a chain when one target ends. What they share with it may be uploaded
 * and gone from the spool before they end. Should the agent die in between, only the journal knows
 * that it is theirs. A target that has ended no job yet is not journalled: it begins anew then. */
static void journal_shared(struct cut_member *member)
{
    struct target *target = target_of(member);
    if (target->changed && target->result.to_ns != 0)
        progress_announce(target);
}

void capture_target_end(struct target *target)
{
    const struct captures_settings *settings = &target->captures->settings;
    spool_losses_take(target); /* while it waited, too */
    state_settle(target);
    capture_finish(settings->spool, settings->uplink, settings->agent, &target->result);
    if (loop_post(settings->loop, capture_done, target) != SKEIN_OK)
        log_error("capture", "out of memory: a finished target stays in the table", NULL);
}

/* Its length is looked at before it is cut to the window: its end counts, too. */
static void lacks_add(struct target *target, const struct capture_job *job)
{
    const uint64_t window_ns = target->result.from_ns;
    uint64_t from_ns = target->last_ns > job->lacks_from_ns ? target->last_ns : job->lacks_from_ns;
    if (from_ns + job->lacks_least_ns >= job->lacks_to_ns)
        return;
    from_ns = from_ns > window_ns ? from_ns : window_ns;
    if (from_ns < job->lacks_to_ns)
        gap_add(target, from_ns, job->lacks_to_ns, loss_text(job->lacks_reason));
}

static void gaps_add(struct target *target, const struct capture_job *job)
{
    const struct loss_gap *unrecorded = &job->unrecorded;
    if (unrecorded->from_ns < unrecorded->to_ns)
        gap_add(target, unrecorded->from_ns, unrecorded->to_ns, loss_text(unrecorded->reason));
    lacks_add(target, job);
    if (is_full(target) && target->result.to_ns < target->end_ns)
        gap_add(target, target->result.to_ns, target->end_ns, loss_text(LOSS_REPORT_FULL));
}

static void job_finish(struct target *target, const struct capture_job *job)
{
    target->result.death.signal = job->death.signal;
    target->result.death.status = job->death.status;
    target->result.death.known = job->death.known;
    target_place(target);
    cut_chain_others(&target->member, journal_shared);
    cut_chain_leave(&target->member);
    spool_losses_take(target);
    if (target->full != FULL_SAVED) /* else a gap tells of all that follows */
        gaps_add(target, job);
    capture_evidence_wait(target);
}

static void run_add(void *context, const struct process_loss_run *run)
{
    struct target *target = context;
    const char *reason = partition_loss_text(run->reason);
    target->result.lost[loss_parse(reason)] += run->records;
    gap_add(target, run->from_ns, run->to_ns, reason);
}

/* Takes what the ring has counted as lost in the window since the job before (losses_until). */
static void counted_take(struct target *target, const struct capture_job *job)
{
    if (is_full(target) || !has_ring(target))
        return; /* a gap tells of all that follows */
    int status = process_losses_take(target->process, target->captures->settings.host_page,
                                     target->result.from_ns, job->to_ns, job->last,
                                     &target->losses_until, run_add, target);
    if (status != SKEIN_OK)
        target->failure = status;
}

/* Behind the first cut: what counts, this one or what an earlier run had saved. The journal lists the one
 * before the other goes. */
static void saved_settle(struct target *target)
{
    if (saved_is_had(target)) {
        progress_announce(target);
        saved_drop(target);
        return;
    }
    log_info("capture", "the ring has less than was cut before a restart: that is kept", NULL);
    saved_take_back(target);
    target_set_full(target, FULL_SAVED);
}

/* The job is cut: tells of it, and frees it. */
static void job_end(struct target *target, struct capture_job *job)
{
    if (!is_full(target) && job->to_ns > target->result.to_ns)
        target->result.to_ns = job->to_ns;
    counted_take(target, job);
    if (job->first && target->trigger != TRIGGER_REQUEST)
        fired_announce(target);
    if (target->saved != NULL)
        saved_settle(target);
    else if (job->first && !job->last)
        progress_announce(target);
    if (job->last)
        job_finish(target, job); /* gone with this */
    else if (target->stream_ms != 0)
        stream_release(target);
    if (!job->last)
        __atomic_store_n(&target->cutting, 0, __ATOMIC_RELEASE);
    free(job);
}

/* The rest of the job before stands behind this one in the queue. It becomes the last one, with the
 * last; else the next cut brings what came. */
static void job_join(struct target *target, struct capture_job *job)
{
    bool first = target->turn->first;
    if (job->last) {
        *target->turn = *job;
        target->turn->first = first;
    } else {
        __atomic_store_n(&target->cutting, 0, __ATOMIC_RELEASE);
    }
    free(job);
}

void capture_job_run(void *context)
{
    struct capture_job *job = context;
    struct target *target = job->target;
    target_assert(target);
    if (job->last && !job->asked) {
        job->asked = true;
        capture_evidence_ask(target, job->to_ns);
    }
    if (target->turn != NULL && target->turn != job) {
        job_join(target, job);
        return;
    }
    /* Other targets' jobs come between two partitions of a large one. */
    while (cut_turn(target, job)) {
        target->turn = job;
        target_assert(target);
        if (worker_post(target->captures->settings.worker, &target->whose, capture_job_run, job) ==
            SKEIN_OK)
            return;
    }
    target->turn = NULL;
    target_assert(target);
    job_end(target, job);
}
