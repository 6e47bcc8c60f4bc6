/* SPDX-License-Identifier: Apache-2.0
 * The worker's half of a capture, with a spool of its own and nobody at the other end. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_evidence.h"
#include "ring_memory.h"
#include "support.h"

static char *folder;
static struct spool *spool;
static struct loop *loop;
static struct uplink *uplink;
static struct process *process;
static struct captures captures;

static void setup(void)
{
    folder = temp_dir_new();
    const struct spool_settings settings = {
        .folder = folder, .max_bytes = 1 << 20, .amend = target_result_amend};
    char error[256];
    ck_assert_int_eq(spool_open(&settings, &spool, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(loop_new(&loop), SKEIN_OK);
    const struct uplink_settings nobody = {.control_address = "tcp://127.0.0.1:1",
                                           .data_address = "tcp://127.0.0.1:1",
                                           .host = "test",
                                           .version = "",
                                           .boot = "",
                                           .labels = "",
                                           .heartbeat_ms = 1000,
                                           .spool = spool};
    ck_assert_int_eq(uplink_new(&nobody, &(struct uplink_hooks){0}, &uplink), SKEIN_OK);
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    captures = (struct captures){
        .settings = {.loop = loop, .spool = spool, .uplink = uplink, .host = "test", .epoch = 2}};
}

static void teardown(void)
{
    process_unref(&process);
    uplink_free(&uplink, 0);
    loop_free(&loop);
    spool_close(&spool);
    temp_dir_free(&folder);
}

/* The ring of this process cannot be read: nothing may be cut. */
START_TEST(a_report_that_is_full_says_from_when_on_nothing_is_listed)
{
    struct target target = {.captures = &captures,
                            .process = process,
                            .capture = {{7}},
                            .stream_ms = 100,
                            .end_ns = 9000,
                            .result = {.capture = {{7}}, .from_ns = 1000, .to_ns = 2000}};
    for (uint64_t i = 0; i < CAPTURE_RANGES_MAX; i++) {
        struct report_range range = {1, 2 * i, 2 * i, 10, 100};
        ck_assert_int_eq(target_result_add_range(&target.result, &range), SKEIN_OK);
    }
    for (int last = 0; last < 2; last++) {
        struct capture_job *job = calloc(1, sizeof *job);
        ck_assert_ptr_nonnull(job);
        *job = (struct capture_job){.target = &target, .to_ns = 5000, .last = last != 0};
        capture_job_run(job);
        ck_assert_uint_ne(target.full, 0); /* so the loop ends it */
    }
    struct spool_report report;
    ck_assert_int_eq(spool_report_next(spool, 0, &report), SKEIN_OK);
    ck_assert_int_eq(report.kind, SPOOL_TARGET);
    ck_assert_ptr_nonnull(strstr(
        report.text, "\"gaps\":[{\"from_ns\":2000,\"to_ns\":9000,\"reason\":\"report_full\"}]"));
    ck_assert_ptr_nonnull(strstr(report.text, "\"lost\":{}"));
    ck_assert_ptr_nonnull(strstr(report.text, "\"window\":{\"from_ns\":1000,\"to_ns\":2000}"));
    free(report.text);
    target_result_fini(&target.result);
}
END_TEST

/* ---- evidence ---- */

static sem_t entered, gate;

static void hang(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                 struct evidence_note *note)
{
    (void)source, (void)ask, (void)out, (void)note;
    sem_post(&entered);
    sem_wait(&gate);
}

static void loop_end(void *context)
{
    loop_stop(context);
}

/* A target whose report takes no more ranges, so that nothing is cut; the captures' own. */
static struct target *target_full(struct evidence *evidence)
{
    struct target *target = calloc(1, sizeof *target);
    ck_assert_ptr_nonnull(target);
    *target = (struct target){.captures = &captures,
                              .references = 1,
                              .process = process_ref(process),
                              .capture = {{7}},
                              .end_ns = 5000,
                              .result = {.capture = {{7}}, .from_ns = 1000, .to_ns = 5000}};
    for (uint64_t i = 0; i < CAPTURE_RANGES_MAX; i++) {
        struct report_range range = {1, 2 * i, 2 * i, 10, 100};
        ck_assert_int_eq(target_result_add_range(&target->result, &range), SKEIN_OK);
    }
    captures.settings.evidence = evidence;
    TAILQ_INSERT_TAIL(&captures.targets, target, link);
    capture_evidence_begin(target, &(struct evidence_wish){0});
    ck_assert_ptr_nonnull(target->evidence);
    return target;
}

/* The agent ends (_i 0), or the time is over (1): the report is made, and names what was not had. */
START_TEST(a_source_that_hangs_is_named_and_holds_no_report_up)
{
    const struct evidence_settings settings = {.deadline_ms = 100};
    const struct evidence_source source = {
        .kind = "vitals", .when = EVIDENCE_AT_END, .collect = hang};
    struct evidence *evidence, *left;
    struct worker *worker;
    sem_init(&entered, 0, 0);
    sem_init(&gate, 0, 0);
    TAILQ_INIT(&captures.targets);
    captures.running = 1;
    ck_assert_int_eq(worker_new(&worker), SKEIN_OK);
    ck_assert_int_eq(evidence_new(&settings, NULL, &evidence), SKEIN_OK);
    ck_assert_int_eq(evidence_add(evidence, &source), SKEIN_OK);
    captures.settings.worker = worker;
    struct target *target = target_full(evidence);
    struct capture_job *job = calloc(1, sizeof *job);
    ck_assert_ptr_nonnull(job);
    *job = (struct capture_job){.target = target, .to_ns = 5000, .last = true};
    ck_assert_int_eq(worker_post(worker, NULL, capture_job_run, job), SKEIN_OK);
    sem_wait(&entered);
    if (_i == 0) {
        capture_evidence_drain(&captures);
        worker_free(&worker);
        ck_assert_int_eq(loop_post(loop, loop_end, loop), SKEIN_OK);
        ck_assert_int_eq(loop_run(loop), SKEIN_OK);
    }
    while (captures.running > 0) { /* until the timer has run, and capture_done */
        struct loop_timer *timer = loop_timer_add(loop, 10, 0, loop_end, loop);
        ck_assert_ptr_nonnull(timer);
        ck_assert_int_eq(loop_run(loop), SKEIN_OK);
    }
    struct spool_report report;
    ck_assert_int_eq(spool_report_next(spool, 0, &report), SKEIN_OK);
    ck_assert_int_eq(report.kind, SPOOL_TARGET);
    const char *note =
        _i == 0
            ? "\"evidence\":[{\"kind\":\"vitals\",\"state\":\"none\",\"reason\":\"the agent ended\""
            : "\"evidence\":[{\"kind\":\"vitals\",\"state\":\"none\",\"reason\":\"not had within 100 ms\"";
    ck_assert_ptr_nonnull(strstr(report.text, note));
    ck_assert_ptr_nonnull(strstr(report.text, "\"state\":\"uploading\""));
    free(report.text);
    sem_post(&gate);
    left = evidence;
    while (evidence_free(&evidence) != 0) /* its thread comes back from the source */
        evidence = left;
    worker_free(&worker);
}
END_TEST

static void worker_hold(void *context)
{
    (void)context;
    sem_wait(&gate);
}

/* What the end of the agent has posted for it comes when the loop has let it go. */
START_TEST(a_target_stays_for_what_comes_when_it_has_ended)
{
    const struct evidence_source source = {
        .kind = "vitals", .when = EVIDENCE_AT_END, .collect = hang};
    struct evidence *evidence;
    struct worker *worker;
    sem_init(&gate, 0, 0);
    TAILQ_INIT(&captures.targets);
    captures.running = 1;
    ck_assert_int_eq(worker_new(&worker), SKEIN_OK);
    ck_assert_int_eq(evidence_new(&(struct evidence_settings){.deadline_ms = 100}, NULL, &evidence),
                     SKEIN_OK);
    ck_assert_int_eq(evidence_add(evidence, &source), SKEIN_OK);
    captures.settings.worker = worker;
    struct target *target = target_full(evidence);
    struct capture_job *job = calloc(1, sizeof *job);
    ck_assert_ptr_nonnull(job);
    *job = (struct capture_job){.target = target, .to_ns = 5000, .last = true};
    ck_assert_int_eq(worker_post(worker, NULL, worker_hold, NULL), SKEIN_OK);
    ck_assert_int_eq(worker_post(worker, NULL, capture_job_run, job), SKEIN_OK);
    ck_assert_int_eq(worker_post(worker, NULL, worker_hold, NULL), SKEIN_OK);
    capture_evidence_drain(&captures);
    sem_post(&gate);
    while (captures.running > 0) {
        ck_assert_ptr_nonnull(loop_timer_add(loop, 10, 0, loop_end, loop));
        ck_assert_int_eq(loop_run(loop), SKEIN_OK);
    }
    ck_assert_uint_eq(__atomic_load_n(&target->references, __ATOMIC_ACQUIRE), 1);
    sem_post(&gate);
    worker_free(&worker);
    ck_assert_uint_eq(evidence_free(&evidence), 0);
}
END_TEST

/* ---- many partitions ---- */

/* A ring of n chunks with an event each. */
static struct process *process_make(uint8_t id, uint32_t n)
{
    static const uint8_t row[] = "\4\1\1\0\1\4self\1\1x\7"; /* INLINE: instant, one u64 */
    struct process *p = NULL;
    ck_assert_int_eq(process_new(&p), SKEIN_OK);
    p->uid = (struct process_uid){{id}};
    ck_assert_int_eq(ring_geometry_init(&p->geometry, SKEIN_MODE_CIRCULAR, RING_BYTES_MIN),
                     SKEIN_OK);
    ck_assert_uint_le(n, ring_small_count(&p->geometry));
    const struct ring_identity identity = {.pid = 1, .service = "hand"};
    ck_assert_int_eq(ring_memory_new(&p->geometry, &identity, &p->ring_fd, &p->ring), SKEIN_OK);
    host_page_first(captures.settings.host_page, &p->attached_clock);
    for (uint32_t i = 0; i < n; i++) {
        struct ring_chunk head = {.state = RING_CHUNK_FULL | 1u << RING_CHUNK_EPOCH_SHIFT,
                                  .committed = UINT64_C(1) << 32 | (sizeof row - 1),
                                  .first.sequence = i,
                                  .first.base_ticks = p->attached_clock.ticks + i,
                                  .first.incarnation = 1,
                                  .first.tid = 9};
        uint8_t *at = p->ring + ring_small_offset(&p->geometry, i);
        memcpy(at, &head, sizeof head);
        memcpy(at + sizeof head, row, sizeof row - 1);
    }
    return p;
}

static void post_last(struct target *target)
{
    struct capture_job *job = calloc(1, sizeof *job);
    ck_assert_ptr_nonnull(job);
    *job = (struct capture_job){.target = target, .to_ns = target->end_ns, .last = true};
    ck_assert_int_eq(worker_post(captures.settings.worker, NULL, capture_job_run, job), SKEIN_OK);
}

struct two {
    struct target *large, *small;
};

/* On the worker, so that neither begins before both are there. */
static void post_both(void *context)
{
    struct two *two = context;
    struct capture_job *job = calloc(1, sizeof *job);
    ck_assert_ptr_nonnull(job);
    *job = (struct capture_job){.target = two->large, .to_ns = two->large->end_ns, .first = true};
    ck_assert_int_eq(worker_post(captures.settings.worker, NULL, capture_job_run, job), SKEIN_OK);
    post_last(two->large); /* stopped at once: the first one's rest becomes the last */
    post_last(two->small);
}

static struct target target_of(uint8_t id, struct process *p)
{
    return (struct target){.captures = &captures,
                           .references = 1,
                           .process = p,
                           .capture = {{id}},
                           .end_ns = UINT64_MAX / 4,
                           .result = {.capture = {{id}}, .process = p->uid, .from_ns = 1}};
}

static bool journal_has(uint16_t kind)
{
    struct spool_report report;
    bool has = false;
    for (uint64_t after = 0; spool_report_next(spool, after, &report) == SKEIN_OK;) {
        after = report.revision;
        has = has || report.kind == kind;
        free(report.text);
    }
    return has;
}

START_TEST(a_large_target_does_not_hold_up_the_others)
{
    enum { CHUNKS = 12 };
    struct host_page_owner *host;
    ck_assert_int_eq(host_page_new(100, &host), SKEIN_OK);
    struct worker *worker;
    ck_assert_int_eq(worker_new(&worker), SKEIN_OK);
    captures.settings.worker = worker;
    captures.settings.host_page = host;
    captures.settings.partition_bytes = 1; /* a chunk each */
    struct process *a = process_make(1, CHUNKS), *b = process_make(2, 1);
    struct target large = target_of(1, a), small = target_of(2, b);
    large.trigger = TRIGGER_HEALTH;
    struct two two = {&large, &small};
    ck_assert_int_eq(worker_post(captures.settings.worker, NULL, post_both, &two), SKEIN_OK);
    worker_free(&worker); /* when all is done */
    ck_assert_uint_eq(large.result.events, CHUNKS);
    ck_assert_uint_eq(small.result.events, 1);
    ck_assert_int_eq(large.result.state, REPORT_UPLOADING);
    uint64_t order = 0, place = 0, found = 0;
    struct spool_head head;
    while (spool_next(spool, order, &order, &head) == SKEIN_OK) {
        place++;
        if (process_uid_equal(&head.key.process, &b->uid))
            found = place;
    }
    ck_assert_uint_eq(place, CHUNKS + 1);
    ck_assert_uint_eq(found, 2);
    ck_assert(journal_has(SPOOL_FIRED));
    target_result_fini(&large.result);
    target_result_fini(&small.result);
    process_unref(&a);
    process_unref(&b);
    host_page_free(&host);
}
END_TEST

static void tell(void *source, const struct evidence_ask *ask, struct evidence_out *out,
                 struct evidence_note *note)
{
    (void)source;
    const struct partition_event_type type = {.name = "seen", .klass = SKEIN_CLASS_INSTANT};
    int64_t thread = evidence_thread(out, 0, EVIDENCE_THREAD_PROCESS);
    (void)evidence_event(out, thread, evidence_type(out, &type), ask->from_ns + 1, 0, NULL);
    evidence_say(note, EVIDENCE_TAKEN, "%s", "");
    sem_post(&entered);
}

static sem_t begun, go_on;
enum { MANY_CHUNKS = 12 };

/* On the worker: one cut, whose rest waits in the queue until this returns. */
static void first_turn_run(void *context)
{
    struct target *target = context;
    struct capture_job *job = calloc(1, sizeof *job);
    must_hold(job != NULL, "memory");
    *job = (struct capture_job){
        .target = target, .to_ns = target->end_ns, .first = true, .last = true};
    capture_job_run(job);
    must_hold(target->turn == job && target->result.events < MANY_CHUNKS, "a part of the cut");
    sem_wait(&entered); /* the source is asked all the same */
    sem_post(&begun);
    sem_wait(&go_on);
}

/* Evidence comes (_i 0), its time is over (1), or the agent ends (2), while the last cut is half
 * done. */
START_TEST(evidence_is_taken_while_the_last_cut_is_made)
{
    static const char *const notes[] = {"\"taken\"",
                                        "\"none\",\"reason\":\"not had within 100 ms\"",
                                        "\"none\",\"reason\":\"the agent ended\""};
    const struct evidence_settings settings = {.deadline_ms = _i == 1 ? 100 : 10000};
    const struct evidence_source source = {
        .kind = "vitals", .when = EVIDENCE_AT_END, .collect = _i == 0 ? tell : hang};
    char note[128];
    struct host_page_owner *host;
    struct evidence *evidence, *left;
    struct worker *worker;
    sem_init(&entered, 0, 0);
    sem_init(&gate, 0, 0);
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    TAILQ_INIT(&captures.targets);
    ck_assert_int_eq(host_page_new(100, &host), SKEIN_OK);
    ck_assert_int_eq(worker_new(&worker), SKEIN_OK);
    ck_assert_int_eq(evidence_new(&settings, NULL, &evidence), SKEIN_OK);
    ck_assert_int_eq(evidence_add(evidence, &source), SKEIN_OK);
    captures.settings.worker = worker;
    captures.settings.host_page = host;
    captures.settings.partition_bytes = 1; /* a chunk each */
    captures.settings.evidence = evidence;
    captures.running = 1;
    struct target *target = calloc(1, sizeof *target);
    ck_assert_ptr_nonnull(target);
    *target = target_of(1, process_make(1, MANY_CHUNKS));
    TAILQ_INSERT_TAIL(&captures.targets, target, link);
    capture_evidence_begin(target, &(struct evidence_wish){0});
    ck_assert_int_eq(worker_post(worker, NULL, first_turn_run, target), SKEIN_OK);
    sem_wait(&begun);
    do { /* until the time is over, and what to do then stands in front of the rest of the cut */
        ck_assert_ptr_nonnull(loop_timer_add(loop, 10, 0, loop_end, loop));
        ck_assert_int_eq(loop_run(loop), SKEIN_OK);
    } while (_i == 1 && target->late_timer != NULL);
    if (_i == 2)
        capture_evidence_drain(&captures);
    sem_post(&go_on);
    while (captures.running > 0) {
        ck_assert_ptr_nonnull(loop_timer_add(loop, 10, 0, loop_end, loop));
        ck_assert_int_eq(loop_run(loop), SKEIN_OK);
    }
    struct spool_report report;
    ck_assert_int_eq(spool_report_next(spool, 0, &report), SKEIN_OK);
    ck_assert_int_eq(report.kind, SPOOL_TARGET);
    snprintf(note, sizeof note, "\"evidence\":[{\"kind\":\"vitals\",\"state\":%s", notes[_i]);
    ck_assert_ptr_nonnull(strstr(report.text, note));
    uint64_t events = 0, order = 0;
    struct spool_head head;
    while (spool_next(spool, order, &order, &head) == SKEIN_OK)
        events += head.events;
    ck_assert_uint_eq(events, MANY_CHUNKS + (_i == 0));
    free(report.text);
    sem_post(&gate);
    left = evidence;
    while (evidence_free(&evidence) != 0)
        evidence = left;
    worker_free(&worker);
    host_page_free(&host);
}
END_TEST

static void run_job(struct target *target, uint64_t to_ns, bool last)
{
    struct capture_job *job = calloc(1, sizeof *job);
    ck_assert_ptr_nonnull(job);
    *job = (struct capture_job){.target = target, .to_ns = to_ns, .first = true, .last = last};
    capture_job_run(job);
}

/* It called exec: what its new program does is in no ring yet. */
START_TEST(a_process_that_has_left_its_ring_lacks_all_since_its_last_record)
{
    struct host_page_owner *host;
    ck_assert_int_eq(host_page_new(100, &host), SKEIN_OK);
    captures.settings.host_page = host;
    struct process *p = process_make(1, 2);
    struct target target = target_of(1, p);
    struct capture_job *job = calloc(1, sizeof *job);
    ck_assert_ptr_nonnull(job);
    *job = (struct capture_job){
        .target = &target,
        .to_ns = target.end_ns,
        .first = true,
        .last = true,
        .lacks_to_ns = target.end_ns,
        .lacks_reason = LOSS_REPLACED,
        .unrecorded = {target.result.from_ns, target.result.from_ns + 1, LOSS_LATE}};
    capture_job_run(job);
    ck_assert_uint_eq(target.result.gap_count, 2);
    ck_assert_str_eq(target.result.gaps[0].reason, "attached_late"); /* it is known by the end */
    ck_assert_uint_eq(target.result.gaps[0].to_ns, target.result.from_ns + 1);
    target.result.gaps[0] = target.result.gaps[1];
    ck_assert_str_eq(target.result.gaps[0].reason, "ring_replaced");
    ck_assert_uint_eq(target.result.gaps[0].from_ns, target.last_ns);
    ck_assert_uint_eq(target.result.gaps[0].to_ns, target.end_ns);
    target_result_fini(&target.result);
    process_unref(&p);
    host_page_free(&host);
}
END_TEST

/* The journal's last word of a capture that runs. */
static bool intent_lists(const struct capture_id *capture)
{
    struct spool_report report;
    bool lists = false;
    for (uint64_t after = 0; spool_report_next(spool, after, &report) == SKEIN_OK;) {
        after = report.revision;
        if (report.kind == SPOOL_INTENT && capture_id_equal(&report.capture, capture))
            lists = strstr(report.text, "\"events\":2") != NULL;
        free(report.text);
    }
    return lists;
}

/* Else the agent could die when that is uploaded, and nobody would know whose it is too. */
START_TEST(what_one_that_ends_lets_go_is_in_the_journal_of_those_that_share_it)
{
    struct host_page_owner *host;
    ck_assert_int_eq(host_page_new(100, &host), SKEIN_OK);
    captures.settings.host_page = host;
    captures.settings.partition_bytes = 0;
    struct process *p = process_make(1, 2);
    struct target lasts = target_of(1, p), ends = target_of(2, p);
    run_job(&lasts, 2, false);
    ck_assert(!intent_lists(&lasts.capture));
    run_job(&ends, ends.end_ns, true);
    ck_assert_uint_eq(ends.result.events, 2);
    ck_assert(intent_lists(&lasts.capture));
    cut_chain_leave(&lasts.member);
    target_result_fini(&lasts.result);
    target_result_fini(&ends.result);
    process_unref(&p);
    host_page_free(&host);
}
END_TEST

/* What it counted in a bucket that lasts is told with a later cut, or not at all. */
START_TEST(the_journal_says_all_is_told_no_further_than_what_was_counted)
{
    struct host_page_owner *host;
    ck_assert_int_eq(host_page_new(100, &host), SKEIN_OK);
    captures.settings.host_page = host;
    struct process *p = process_make(1, 2);
    struct target target = target_of(1, p);
    struct clock_snapshot now;
    host_page_snapshot(host, &now);
    target.result.from_ns = now.realtime_ns - UINT64_C(60000000000);
    run_job(&target, now.realtime_ns, false);
    struct spool_report report;
    ck_assert_int_eq(spool_report_next(spool, 0, &report), SKEIN_OK);
    const char *to = strstr(report.text, "\"to_ns\":");
    ck_assert_ptr_nonnull(to);
    uint64_t told = strtoull(to + strlen("\"to_ns\":"), NULL, 10);
    ck_assert_uint_lt(told, now.realtime_ns);
    free(report.text);
    cut_chain_leave(&target.member);
    target_result_fini(&target.result);
    process_unref(&p);
    host_page_free(&host);
}
END_TEST

#define AT_ONCE 64

/* Puts one of the user's under way, if it is admitted. */
static bool under_way(struct target *target, uint32_t user, char why[CAPTURE_WHY_BYTES])
{
    struct process *p;
    ck_assert_int_eq(process_new(&p), SKEIN_OK);
    p->user = user;
    bool admitted = captures_admit(&captures, p, TRIGGER_APPLICATION, "asked", why);
    if (admitted) {
        *target = (struct target){.process = p, .trigger = TRIGGER_APPLICATION};
        TAILQ_INSERT_TAIL(&captures.targets, target, link);
        captures.running++;
        return true;
    }
    process_unref(&p);
    return false;
}

/* Whatever waits for the worker is under way, so this bounds what one user may have queued. */
START_TEST(what_one_user_has_waiting_leaves_others_room)
{
    static struct target crowd[AT_ONCE], other[2];
    char why[CAPTURE_WHY_BYTES];
    size_t taken = 0;
    TAILQ_INIT(&captures.targets);
    captures.settings.max_targets = AT_ONCE;
    captures.settings.uplink = NULL; /* no bound of an hour */
    while (taken < AT_ONCE && under_way(&crowd[taken], 65534, why))
        taken++;
    ck_assert_uint_eq(taken, share_most(share_open_to(SHARE_RULED, AT_ONCE), 0));
    ck_assert_ptr_nonnull(strstr(why, "too many captures at once"));
    ck_assert_ptr_nonnull(strstr(why, "uid 65534, asked"));
    ck_assert_uint_eq(captures_refused(&captures), 1);
    for (size_t i = 0; i < 2; i++)
        ck_assert_msg(under_way(&other[i], 0, why), "%s", why);
    ck_assert_str_eq(why, "");
    ck_assert_uint_eq(captures_refused(&captures), 1);
    for (size_t i = 0; i < taken; i++)
        process_unref(&crowd[i].process);
    for (size_t i = 0; i < 2; i++)
        process_unref(&other[i].process);
}
END_TEST

/* Each of many users is a newcomer; they are not let into what is kept for root. */
START_TEST(what_many_users_have_waiting_leaves_root_room)
{
    static struct target crowd[AT_ONCE], root;
    char why[CAPTURE_WHY_BYTES];
    size_t taken = 0;
    TAILQ_INIT(&captures.targets);
    captures.settings.max_targets = AT_ONCE;
    captures.settings.uplink = NULL; /* no bound of an hour */
    while (taken < AT_ONCE && under_way(&crowd[taken], 100000 + (uint32_t)taken, why))
        taken++;
    ck_assert_uint_eq(taken, AT_ONCE - AT_ONCE / 16);
    ck_assert_msg(under_way(&root, 0, why), "%s", why);
    for (size_t i = 0; i < taken; i++)
        process_unref(&crowd[i].process);
    process_unref(&root.process);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture job");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_report_that_is_full_says_from_when_on_nothing_is_listed);
    tcase_add_loop_test(tc, a_source_that_hangs_is_named_and_holds_no_report_up, 0, 2);
    tcase_add_test(tc, what_many_users_have_waiting_leaves_root_room);
    tcase_add_test(tc, a_target_stays_for_what_comes_when_it_has_ended);
    tcase_add_test(tc, a_large_target_does_not_hold_up_the_others);
    tcase_add_loop_test(tc, evidence_is_taken_while_the_last_cut_is_made, 0, 3);
    tcase_add_test(tc, a_process_that_has_left_its_ring_lacks_all_since_its_last_record);
    tcase_add_test(tc, the_journal_says_all_is_told_no_further_than_what_was_counted);
    tcase_add_test(tc, what_one_that_ends_lets_go_is_in_the_journal_of_those_that_share_it);
    tcase_add_test(tc, what_one_user_has_waiting_leaves_others_room);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
