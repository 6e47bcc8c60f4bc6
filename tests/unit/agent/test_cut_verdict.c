/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cut says is missing, against what the program itself counted: a child with the real
 * library writes numbered events and notes in shared memory when; whatever of a window is not in
 * the partition must lie in a gap, and a gap that ends within the window must hold something that
 * is missing. Time is made of the events themselves: nobody sleeps.
 */
#include <sys/mman.h>
#include <time.h>

#include "agent_child.h"

#define EVENTS_MAX 400000
#define SLACK_NS   200000 /* of two clocks */

/* What the child did. Number n was written between began[n] and ended[n], in real time. */
struct truth {
    uint64_t count; /* atomic */
    uint64_t mark;  /* real time, of the child's choice */
    uint64_t began[EVENTS_MAX], ended[EVENTS_MAX];
};
static struct truth *truth;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void event_write(void)
{
    uint64_t n = __atomic_fetch_add(&truth->count, 1, __ATOMIC_RELAXED);
    if (n >= EVENTS_MAX)
        return;
    truth->began[n] = now_ns();
    SKEIN_INSTANT("numbered", (u64, "n", n));
    __atomic_store_n(&truth->ended[n], now_ns(), __ATOMIC_RELEASE);
}

static void events_write(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        event_write();
}

/* ---- the judge ---- */

static uint8_t present[EVENTS_MAX];

static void present_find(const struct buf *bytes)
{
    char error[256] = "";
    struct partition_reader *reader = NULL;
    struct trace_event event;
    ck_assert_msg(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof(error)) ==
                      SKEIN_OK,
                  "%s", error);
    while (partition_reader_next(reader, &event) == 1)
        if (event.kind == TRACE_INSTANT && strcmp(event.type->name, "numbered") == 0) {
            uint64_t n = event.args[0].u64;
            must_hold(n < EVENTS_MAX, "event %lu", (unsigned long)n);
            present[n]++;
        }
    partition_reader_free(&reader);
}

struct judged {
    uint64_t missing, present, lost, gaps;
    uint64_t reach_ns; /* the last end of a gap of what was overwritten; 0: none */
};

/* The record's time is somewhere between both. */
static bool gap_covers(const struct cut_gap *gap, uint64_t n)
{
    return truth->ended[n] + SLACK_NS >= gap->from_ns && truth->began[n] <= gap->to_ns + SLACK_NS;
}

static void missing_check(const struct cut_result *result, uint64_t from_ns, uint64_t to_ns,
                          uint64_t count, struct judged *judged)
{
    for (uint64_t n = 0; n < count; n++) {
        if (truth->began[n] < from_ns + SLACK_NS || truth->ended[n] > to_ns || truth->ended[n] == 0)
            continue;
        must_hold(present[n] <= 1, "event %lu is there twice", (unsigned long)n);
        judged->present += present[n];
        judged->missing += !present[n];
        bool told = present[n];
        for (size_t i = 0; i < result->gap_count && !told; i++)
            told = gap_covers(&result->gaps[i], n);
        must_hold(told,
                  "event %lu of %lu, %.6f s behind the begin, is missing and in none of %zu "
                  "gaps, the last to %.6f s; %lu lost",
                  (unsigned long)n, (unsigned long)count,
                  ((double)truth->began[n] - (double)from_ns) / 1e9, result->gap_count,
                  result->gap_count > 0
                      ? ((double)result->gaps[result->gap_count - 1].to_ns - (double)from_ns) / 1e9
                      : 0,
                  (unsigned long)result->lost[PARTITION_LOSS_RING_FULL]);
    }
}

/* V-6: of what was overwritten, the record at the gap's end, also where that is so near to the
 * window's begin that missing_check lets it be. */
static void gaps_check(const struct cut_result *result, uint64_t to_ns, uint64_t count)
{
    for (size_t i = 0; i < result->gap_count; i++) {
        struct cut_gap gap_end = result->gaps[i];
        if (gap_end.reason == PARTITION_LOSS_OVERWRITTEN)
            gap_end.from_ns = gap_end.to_ns;
        const struct cut_gap *gap = &gap_end;
        bool holds = gap->to_ns + SLACK_NS >= to_ns;
        for (uint64_t n = 0; n < count && !holds; n++)
            holds = !present[n] && gap_covers(gap, n);
        ck_assert_msg(holds, "nothing is missing in a gap that ends %.3f s before the end",
                      (double)(to_ns - gap->to_ns) / 1e9);
    }
}

/* Cuts a window that ends now; the child holds still. */
static struct judged judge(struct agent_fixture *f, uint64_t from_ns)
{
    struct cut_result result;
    struct judged judged = {0};
    uint64_t to_ns = now_ns(), count = truth->count < EVENTS_MAX ? truth->count : EVENTS_MAX;
    memset(present, 0, sizeof present);
    int status = fixture_cut(f->host, f->last, NULL, from_ns, &result);
    ck_assert(status == SKEIN_OK || status == SKEIN_NOT_FOUND);
    if (status == SKEIN_OK)
        present_find(&result.bytes);
    missing_check(&result, from_ns, to_ns, count, &judged);
    gaps_check(&result, to_ns, count);
    for (size_t i = 0; i < result.gap_count; i++)
        if (result.gaps[i].reason == PARTITION_LOSS_OVERWRITTEN)
            judged.reach_ns = result.gaps[i].to_ns;
    judged.lost = result.lost[PARTITION_LOSS_RING_FULL] + result.lost[PARTITION_LOSS_SIGNAL];
    judged.gaps = result.gap_count;
    cut_result_fini(&result);
    return judged;
}

static struct agent_fixture *begin(uint64_t ring_bytes, uint8_t mode)
{
    truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(truth, MAP_FAILED);
    struct agent_fixture *f = fixture_new(ring_bytes);
    f->settings.mode = mode;
    return f;
}

static void end(struct agent_fixture *f, struct child *child)
{
    ck_assert_int_eq(child_end(child), 0);
    fixture_free(f);
    munmap(truth, sizeof *truth);
}

/* ---- threads that come and go ---- */

struct crowd {
    pthread_t threads[128];
    pthread_barrier_t *turn;
    unsigned count, turns, events;
};

static void *crowd_member(void *context)
{
    const struct crowd *crowd = context;
    for (unsigned i = 0; i < crowd->turns; i++) {
        events_write(crowd->events);
        if (crowd->turn != NULL)
            pthread_barrier_wait(crowd->turn);
    }
    return NULL;
}

static void crowd_begin(struct crowd *crowd, unsigned count)
{
    crowd->count = count;
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&crowd->threads[i], NULL, crowd_member, crowd) != 0)
            _exit(5);
}

static void crowd_end(struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++)
        pthread_join(crowd->threads[i], NULL);
}

/* Generations of threads overlap: each lives for LIVES turns of the others, as connections do, so
 * that a chunk's records reach far behind the begin of chunks that were claimed after it. */
#define LIVES       6
#define GENERATIONS 120
#define TOGETHER    10

static void generations_run(int in, int out)
{
    static struct crowd crowds[GENERATIONS];
    static pthread_barrier_t turns[GENERATIONS];
    for (unsigned g = 0; g < GENERATIONS + LIVES - 1; g++) {
        if (g < GENERATIONS) {
            pthread_barrier_init(&turns[g], NULL, TOGETHER + 1);
            crowds[g] = (struct crowd){.turn = &turns[g], .turns = LIVES, .events = 40};
            crowd_begin(&crowds[g], TOGETHER);
        }
        for (unsigned old = g < LIVES ? 0 : g - LIVES + 1; old <= g && old < GENERATIONS; old++)
            pthread_barrier_wait(&turns[old]); /* they have written their events of this turn */
        if (g + 1 >= LIVES)
            crowd_end(&crowds[g + 1 - LIVES]);
        if (g == GENERATIONS - 20)
            truth->mark = now_ns();
    }
    child_say(out);
    child_hear(in);
}

START_TEST(chunks_of_ended_threads_that_are_used_again_are_told)
{
    struct agent_fixture *f = begin(UINT64_C(2) << 20, SKEIN_MODE_CIRCULAR);
    struct child child = child_start(f, generations_run);
    ck_assert(child_hear(child.from));
    uint64_t began = truth->began[0], ended = now_ns();
    for (unsigned part = 0; part < 20; part++) {
        struct judged judged = judge(f, began + (ended - began) * part / 20);
        ck_assert_uint_eq(judged.lost, 0);
        ck_assert(judged.missing == 0 || judged.reach_ns != 0);
        ck_assert(part > 0 || judged.missing > 0); /* else the test shows nothing */
    }
    end(f, &child);
}
END_TEST

/* A thread writes seldom into one chunk, ends, and its chunk goes while all others stay. */
static void slow_thread_run(int in, int out)
{
    struct crowd slow = {.turns = 1, .events = 30}, others = {.turns = 1, .events = 300};
    crowd_begin(&slow, 1);
    crowd_end(&slow);
    for (int i = 0; i < 200; i++) {
        crowd_begin(&others, 1);
        crowd_end(&others);
    }
    truth->mark = now_ns();
    events_write(4000);
    child_say(out);
    child_hear(in);
}

START_TEST(a_window_behind_all_that_was_overwritten_is_whole)
{
    struct agent_fixture *f = begin(UINT64_C(256) << 10, SKEIN_MODE_CIRCULAR);
    struct child child = child_start(f, slow_thread_run);
    ck_assert(child_hear(child.from));
    struct judged judged = judge(f, truth->mark);
    ck_assert_uint_eq(judged.missing, 0);
    ck_assert_uint_ge(judged.present, 100);
    ck_assert_uint_eq(judged.gaps, 0);
    judged = judge(f, truth->began[0]);
    ck_assert_uint_gt(judged.missing, 0);
    ck_assert_uint_eq(judged.gaps, 1);
    judged = judge(f, judged.reach_ns + 2 * SLACK_NS); /* what it says is there, is */
    ck_assert_uint_eq(judged.missing, 0);
    ck_assert_uint_eq(judged.gaps, 0);
    end(f, &child);
}
END_TEST

/* Time goes on with each turn; after the first one all that was there is overwritten. */
static void turns_run(int in, int out)
{
    struct crowd others = {.turns = 1, .events = 300};
    events_write(200);
    child_say(out);
    while (child_hear(in)) {
        for (int i = 0; i < 200; i++) {
            crowd_begin(&others, 1);
            crowd_end(&others);
        }
        child_say(out);
    }
}

/* Adds the cut's events to `present`. Returns its gaps. */
static size_t past_cut(struct agent_fixture *f, struct cut_marks *marks, uint64_t from_ns,
                       uint64_t to_ns)
{
    const struct cut_request request = {
        .process = f->last, .from_ns = from_ns, .to_ns = to_ns, .marks = marks};
    struct cut_result result;
    int status = partition_cut(f->host, &request, &result);
    ck_assert(status == SKEIN_OK || status == SKEIN_NOT_FOUND);
    if (status == SKEIN_OK)
        present_find(&result.bytes);
    size_t gaps = result.gap_count;
    cut_result_fini(&result);
    return gaps;
}

/* What the first cut looked at and took, whole chunks, is there for a window behind its own. */
START_TEST(what_an_earlier_cut_has_taken_is_not_missed_when_it_is_overwritten)
{
    struct agent_fixture *f = begin(UINT64_C(256) << 10, SKEIN_MODE_CIRCULAR);
    struct child child = child_start(f, turns_run);
    ck_assert(child_hear(child.from));
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(f->last, &marks), SKEIN_OK);
    memset(present, 0, sizeof present);
    uint64_t from_ns = truth->began[0];
    ck_assert_uint_eq(past_cut(f, marks, from_ns, truth->ended[100]), 0);
    child_say(child.to);
    ck_assert(child_hear(child.from));
    ck_assert_uint_eq(past_cut(f, marks, from_ns, truth->ended[150]), 0);
    for (int n = 0; n <= 150; n++)
        ck_assert_uint_eq(present[n], 1);
    cut_marks_free(&marks);
    end(f, &child);
}
END_TEST

/* What was gone behind the first window, before the first cut looked, is in the second's gap. */
START_TEST(what_was_gone_behind_an_earlier_window_is_told_by_the_next)
{
    struct agent_fixture *f = begin(UINT64_C(256) << 10, SKEIN_MODE_CIRCULAR);
    struct child child = child_start(f, turns_run);
    ck_assert(child_hear(child.from));
    child_say(child.to);
    ck_assert(child_hear(child.from));
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(f->last, &marks), SKEIN_OK);
    uint64_t from_ns = truth->began[0];
    ck_assert_uint_eq(past_cut(f, marks, from_ns, truth->ended[100]), 1);
    ck_assert_uint_eq(past_cut(f, marks, from_ns, truth->ended[150]), 1);
    ck_assert_uint_eq(past_cut(f, marks, from_ns, truth->ended[150]), 0); /* told */
    cut_marks_free(&marks);
    end(f, &child);
}
END_TEST

/* What happens between the end of a generation and the look at the clock; NULL: nothing. */
static struct child *meanwhile;

void __real_host_page_line(const struct host_page_owner *owner, struct clock_snapshot *begin,
                           struct clock_snapshot *end);
void __wrap_host_page_line(const struct host_page_owner *owner, struct clock_snapshot *begin,
                           struct clock_snapshot *end);
void __wrap_host_page_line(const struct host_page_owner *owner, struct clock_snapshot *begin,
                           struct clock_snapshot *end)
{
    if (meanwhile != NULL) {
        child_say(meanwhile->to);
        ck_assert(child_hear(meanwhile->from));
        for (uint64_t until_ns = now_ns() + 2 * SLACK_NS; now_ns() < until_ns;) {
        }
    }
    __real_host_page_line(owner, begin, end);
}

static void meanwhile_run(int in, int out)
{
    struct crowd others = {.turns = 1, .events = 300};
    events_write(20);
    child_say(out);
    child_hear(in);
    events_write(20);
    child_say(out);
    child_hear(in);
    for (int i = 0; i < 200; i++) {
        crowd_begin(&others, 1);
        crowd_end(&others);
    }
    events_write(3000); /* its own chunk goes too */
    for (int i = 0; i < 200; i++) {
        crowd_begin(&others, 1);
        crowd_end(&others);
    }
    child_say(out);
    child_hear(in);
}

/* A writer that sees the next generation at once is not of this cut, also where the cut reads its
 * clock much later. */
START_TEST(what_came_after_a_generation_ended_is_the_next_cuts_whatever_the_clock_says)
{
    struct agent_fixture *f = begin(UINT64_C(64) << 10, SKEIN_MODE_CIRCULAR);
    struct child child = child_start(f, meanwhile_run);
    ck_assert(child_hear(child.from));
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(f->last, &marks), SKEIN_OK);
    memset(present, 0, sizeof present);
    meanwhile = &child;
    (void)past_cut(f, marks, truth->began[0], now_ns() + 1000000000);
    meanwhile = NULL;
    ck_assert_uint_eq(present[19], 1);
    ck_assert_uint_eq(present[20], 0);
    child_say(child.to);
    ck_assert(child_hear(child.from));
    struct cut_result result;
    const struct cut_request request = {
        .process = f->last, .from_ns = truth->began[0], .to_ns = now_ns(), .marks = marks};
    ck_assert_int_eq(partition_cut(f->host, &request, &result), SKEIN_OK);
    bool told = false;
    for (size_t i = 0; i < result.gap_count; i++)
        told |= gap_covers(&result.gaps[i], 20);
    ck_assert(told);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    end(f, &child);
}
END_TEST

START_TEST(nothing_is_missing_before_the_ring_began)
{
    struct agent_fixture *f = begin(UINT64_C(256) << 10, SKEIN_MODE_CIRCULAR);
    struct child child = child_start(f, slow_thread_run);
    ck_assert(child_hear(child.from));
    const struct cut_request request = {.process = f->last,
                                        .from_ns = f->last->start_ns - 2000000000u,
                                        .to_ns = f->last->recorded_ns - 1000000u};
    struct cut_result result;
    ck_assert_int_eq(partition_cut(f->host, &request, &result), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    end(f, &child);
}
END_TEST

/* ---- records that were never written ---- */

/* All at once, far more than there are chunks: most have neither slot nor chunk, ever. */
static void crowded_run(int in, int out)
{
    static pthread_barrier_t turn;
    struct crowd crowd = {.turn = &turn, .turns = 4, .events = 40};
    pthread_barrier_init(&turn, NULL, 49);
    crowd_begin(&crowd, 48);
    for (unsigned i = 0; i < 4; i++)
        pthread_barrier_wait(&turn);
    child_say(out);
    child_hear(in);
    crowd_end(&crowd);
}

START_TEST(threads_without_slot_and_chunk_are_counted_at_once)
{
    struct agent_fixture *f = begin(UINT64_C(64) << 10, SKEIN_MODE_CIRCULAR);
    struct child child = child_start(f, crowded_run);
    ck_assert(child_hear(child.from));
    for (unsigned i = 0; i < 2; i++) {
        struct judged judged = judge(f, truth->began[0] - 1000000);
        ck_assert_uint_gt(judged.missing, 1000);
        ck_assert_uint_eq(judged.lost, judged.missing);
        ck_assert_uint_eq(judged.reach_ns, 0);
    }
    end(f, &child);
}
END_TEST

static void oneshot_run(int in, int out)
{
    for (unsigned i = 0; i < 3; i++) {
        events_write(30000);
        child_say(out);
        child_hear(in);
    }
}

/* Nearly: a bucket of losses that the window's begin divides is shared out evenly. */
static void lost_check(const struct judged *judged, uint64_t whole)
{
    uint64_t error = judged->lost > judged->missing ? judged->lost - judged->missing
                                                    : judged->missing - judged->lost;
    ck_assert_msg(error <= whole / 20, "%lu are missing, %lu told", (unsigned long)judged->missing,
                  (unsigned long)judged->lost);
}

START_TEST(a_full_oneshot_ring_counts_each_window_for_itself)
{
    struct agent_fixture *f = begin(UINT64_C(256) << 10, SKEIN_MODE_ONESHOT);
    struct child child = child_start(f, oneshot_run);
    uint64_t whole = 0;
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(child_hear(child.from));
        for (unsigned again = 0; again < 2; again++) {
            struct judged judged = judge(f, truth->began[0] - 1000000);
            ck_assert_uint_eq(judged.lost, judged.missing); /* all that was ever lost */
            whole = judged.lost;
            judged = judge(f, truth->began[truth->count / 2]);
            lost_check(&judged, whole);
        }
        child_say(child.to);
    }
    ck_assert_uint_gt(whole, 30000);
    end(f, &child);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("cut_verdict", chunks_of_ended_threads_that_are_used_again_are_told,
                 a_window_behind_all_that_was_overwritten_is_whole,
                 what_an_earlier_cut_has_taken_is_not_missed_when_it_is_overwritten,
                 what_was_gone_behind_an_earlier_window_is_told_by_the_next,
                 what_came_after_a_generation_ended_is_the_next_cuts_whatever_the_clock_says,
                 nothing_is_missing_before_the_ring_began,
                 threads_without_slot_and_chunk_are_counted_at_once,
                 a_full_oneshot_ring_counts_each_window_for_itself, NULL));
}
