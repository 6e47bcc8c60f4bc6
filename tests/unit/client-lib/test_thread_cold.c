/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads: their slots, names and ends, more of them than slots, operations in progress, and signal
 * handlers that interrupt the tracer or jump out of it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "support.h"
#include "writer_int.h"

static struct fake_agent agent;
static struct fake_ring ring;
static struct decoded_ring decoded;

static void attach(uint64_t bytes)
{
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, SKEIN_MODE_CIRCULAR, bytes);
}

static void decode(void)
{
    ring_decode_free(&decoded);
    ck_assert_msg(ring_decode(ring.ring, &ring.geometry, &decoded), "%s", decoded.error);
}

static struct ring_slot *slot(uint32_t i)
{
    return (struct ring_slot *)(void *)(ring.ring + ring.geometry.slots_off) + i;
}

static void *named_thread(void *context)
{
    skein_thread_name(context);
    SKEIN_INSTANT("alive");
    return NULL;
}

static void run_thread(void *(*body)(void *), void *context)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, body, context), 0);
    pthread_join(thread, NULL);
}

/* How many chunks some thread, or nobody, is writing. */
static uint32_t writing(void)
{
    uint32_t count = 0, small = ring_small_count(&ring.geometry);
    for (uint32_t i = 0; i < small + ring_big_count(&ring.geometry); i++) {
        uint64_t offset = i < small ? ring_small_offset(&ring.geometry, i)
                                    : ring_big_offset(&ring.geometry, i - small);
        const struct ring_chunk *c = (const struct ring_chunk *)(const void *)(ring.ring + offset);
        count += (c->state & RING_CHUNK_STATE_MASK) == RING_CHUNK_WRITING;
    }
    return count;
}

/* How many are on the shelf; nobody is just giving or taking one. */
static uint32_t shelved(void)
{
    uint32_t count = 0;
    for (int i = 0; i < SHELF_MAX; i++) {
        uint64_t word = skein_share_load(&session_current()->shelf[i]);
        ck_assert(!word || word >> 48);
        count += word != 0;
    }
    return count;
}

START_TEST(a_thread_that_ends_retires_its_slot_and_leaves_its_chunk)
{
    char name[] = "worker";
    attach(1 << 20);
    SKEIN_INSTANT("main");
    run_thread(named_thread, name);
    ck_assert_uint_eq(slot(0)->state, 1);
    ck_assert_uint_eq(slot(1)->state, 2);
    ck_assert_str_eq(slot(1)->name, "worker");
    decode();
    const struct decoded_event *e = decoded_nth(&decoded, "alive", 0);
    ck_assert_str_eq(decoded.chunks[e->chunk].head.name, "worker");
    ck_assert_uint_eq(writing(), 2); /* the main thread's, and one for the next */
}
END_TEST

START_TEST(slots_are_reused_with_a_new_incarnation)
{
    char name[] = "short";
    attach(RING_BYTES_MIN);
    for (uint32_t i = 0; i < 3 * ring.geometry.slots; i++)
        run_thread(named_thread, name);
    ck_assert_uint_eq(slot(0)->incarnation, 3);
    decode();
    ck_assert_uint_gt(decoded_count(&decoded, "alive"), 4);
    ck_assert_uint_eq(decoded.lost, 0);
}
END_TEST

struct crowd {
    pthread_barrier_t all_traced;
};

static void *crowd_member(void *context)
{
    struct crowd *crowd = context;
    SKEIN_INSTANT("in the crowd");
    pthread_barrier_wait(&crowd->all_traced);
    return NULL;
}

START_TEST(more_threads_than_slots_still_trace)
{
    enum { EXTRA = 3 };
    struct crowd crowd;
    pthread_t threads[64];
    attach(RING_BYTES_MIN);
    uint32_t count = ring.geometry.slots + EXTRA;
    ck_assert_uint_lt(count, 64);
    pthread_barrier_init(&crowd.all_traced, NULL, count + 1);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, crowd_member, &crowd), 0);
    pthread_barrier_wait(&crowd.all_traced);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "in the crowd"), count);
    uint32_t slotless = 0;
    for (size_t i = 0; i < decoded.chunk_count; i++)
        slotless += decoded.chunks[i].head.slot == RING_SLOT_NONE;
    ck_assert_uint_eq(slotless, EXTRA);
    SKEIN_INSTANT("late"); /* slots are free again */
    decode();
    ck_assert_uint_ne(decoded.chunks[decoded_nth(&decoded, "late", 0)->chunk].head.slot,
                      RING_SLOT_NONE);
}
END_TEST

static unsigned slabs_mapped;

static void crowd_run(uint32_t count)
{
    static pthread_t threads[256];
    struct crowd crowd;
    pthread_barrier_init(&crowd.all_traced, NULL, count + 1);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, crowd_member, &crowd), 0);
    pthread_barrier_wait(&crowd.all_traced);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&crowd.all_traced);
}

START_TEST(threads_use_again_what_ended_threads_had)
{
    char name[] = "short";
    attach(32 << 20);
    SKEIN_INSTANT("main");
    for (unsigned i = 0; i < 200; i++)
        run_thread(named_thread, name);
    crowd_run(60);
    ck_assert_uint_eq(slabs_mapped, 0);
    crowd_run(150); /* beyond the first 64, and beyond the next */
    ck_assert_uint_ge(slabs_mapped, 2);
    unsigned before = slabs_mapped;
    crowd_run(150);
    ck_assert_uint_eq(slabs_mapped, before);
    decode();
    ck_assert_uint_eq(decoded.lost, 0);
    ck_assert_uint_eq(decoded_count(&decoded, "in the crowd"), 60 + 150 + 150);
}
END_TEST

static pthread_key_t late_key; /* made after the tracer's own: its destructor comes later */
static unsigned late_events;

static void write_late(void *key)
{
    late_events++;
    SKEIN_INSTANT("late");
    pthread_setspecific(late_key, key); /* in the next round, too, where there is one */
}

static void *late_thread(void *unused)
{
    SKEIN_INSTANT("alive");
    pthread_setspecific(late_key, &late_key);
    return unused;
}

START_TEST(what_destructors_write_after_the_end_is_there_or_counted)
{
    attach(1 << 20);
    SKEIN_INSTANT("main");
    ck_assert_int_eq(pthread_key_create(&late_key, write_late), 0);
    for (int i = 0; i < 10; i++)
        run_thread(late_thread, NULL);
    decode();
    const struct ring_header *header = (const struct ring_header *)(const void *)ring.ring;
    ck_assert_uint_ge(late_events, 20);
    ck_assert_uint_ge(decoded_count(&decoded, "late"), late_events / 2);
    ck_assert_uint_eq(decoded_count(&decoded, "late") + header->num_records_dropped, late_events);
    ck_assert_uint_eq(writing(), 1 + shelved());
    ck_assert_uint_eq(slot(0)->state, 1);
    for (uint32_t i = 1; i < ring.geometry.slots; i++)
        ck_assert_uint_ne(slot(i)->state, 1);
}
END_TEST

/* ---- operations ---- */

static struct skein_site op_site =
    SKEIN_SITE(SKEIN_CLASS_SPAN, SKEIN_GROUP_IO, "read", (i64, "fd"), (u64, "bytes"));

START_TEST(an_operation_is_visible_while_it_lasts)
{
    const union skein_value values[2] = {{.i64 = 5}, {.u64 = 100}};
    attach(1 << 20);
    struct skein_op op = skein_op_enter(&op_site, 5);
    ck_assert_uint_ne(slot(0)->op_start, 0);
    ck_assert_int_eq(slot(0)->op_detail, 5);
    ck_assert_uint_ge(slot(0)->op_type, RING_EVENT_FIRST);
    struct skein_op inner = skein_op_enter(&op_site, 6);
    ck_assert_int_eq(slot(0)->op_detail, 5); /* the outermost is shown */
    skein_op_leave(&inner, 0, values);
    ck_assert_uint_ne(slot(0)->op_start, 0);
    skein_op_leave(&op, 0, values);
    ck_assert_uint_eq(slot(0)->op_start, 0);
    decode();
    const struct decoded_event *e = decoded_nth(&decoded, "read", 1);
    ck_assert_uint_eq(e->klass, SKEIN_CLASS_SPAN);
    ck_assert_int_eq(e->args[0].i64, 5);
    ck_assert_uint_eq(e->args[1].u64, 100);
    ck_assert_uint_le(decoded_nth(&decoded, "read", 0)->duration, e->duration);
}
END_TEST

START_TEST(a_short_operation_leaves_no_record)
{
    const union skein_value values[2] = {{.i64 = 5}, {.u64 = 100}};
    attach(1 << 20);
    struct skein_op op = skein_op_enter(&op_site, 5);
    skein_op_leave(&op, UINT64_MAX, values);
    ck_assert_uint_eq(slot(0)->op_start, 0);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "read"), 0);
    ck_assert_uint_eq(skein_threshold_ns(SKEIN_GROUP_IO, 20000), 20000);
    ring.page->threshold_ns[SKEIN_GROUP_IO] = 77;
    ck_assert_uint_eq(skein_threshold_ns(SKEIN_GROUP_IO, 20000), 77);
}
END_TEST

/* ---- signal handlers. A test point stands where a signal may strike. ---- */

static const char *strike_at = "";
static unsigned strikes_left, struck;
static sigjmp_buf home;
static bool jump;

void skein_test_point(const char *name)
{
    if (strcmp(name, "slab_mapped") == 0)
        __atomic_fetch_add(&slabs_mapped, 1, __ATOMIC_RELAXED);
    if (strikes_left && strcmp(name, strike_at) == 0) {
        strikes_left--;
        raise(SIGUSR1);
    }
}

static void handler(int signal)
{
    (void)signal;
    struck++;
    SKEIN_REGION("in handler", (u64, "n", struck));
    SKEIN_INSTANT("handled", (u64, "n", struck));
    if (jump)
        siglongjmp(home, 1);
}

static void handle(bool on_stack)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = on_stack ? SA_ONSTACK : 0};
    if (on_stack) {
        static char stack[65536];
        stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};
        ck_assert_int_eq(sigaltstack(&alt, NULL), 0);
    }
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
}

static const char *const points[] = {"record_committed", "chunk_claimed",   "chunk_filled",
                                     "chunk_started",    "chunk_retired",   "table_written",
                                     "table_committed",  "id_published",    "slot_filled",
                                     "slot_live",        "prefix_committed"};

static __attribute__((noinline)) void emit_many(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        if (i % 500 == 0)
            skein_generation_store(&agent.host->generation, 8 + i);
        SKEIN_INSTANT("plain", (u64, "i", i));
    }
}

#define POINTS (sizeof points / sizeof *points)

/* Loop tests: the first half on the ordinary stack, the second on an alternate one. */
START_TEST(a_handler_may_trace_wherever_it_strikes)
{
    const uint64_t total = 3000;
    attach(1 << 20);
    handle(_i >= (int)POINTS);
    strike_at = points[(size_t)_i % POINTS];
    strikes_left = 3;
    emit_many(0, total);
    strikes_left = 0;
    ck_assert_uint_ge(struck, 1);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "plain"), total);
    ck_assert_uint_eq(decoded_count(&decoded, "handled"), struck);
    ck_assert_uint_eq(decoded_count(&decoded, "in handler"), struck);
    ck_assert_uint_eq(decoded.lost, 0);
    bool signal_chunk = false;
    for (size_t c = 0; c < decoded.chunk_count; c++)
        signal_chunk |= decoded.chunks[c].head.flags == RING_SEGMENT_SIGNAL;
    ck_assert(signal_chunk);
    for (uint64_t n = 0; n < total; n += 251)
        ck_assert_uint_eq(decoded_nth(&decoded, "plain", n)->args[0].u64, n);
}
END_TEST

static const char *const life_points[] = {"chunk_taken", "segment_ended", "chunk_started",
                                          "end_written", "chunk_given",   "slot_retired",
                                          "thread_left"};
#define LIFE_POINTS (sizeof life_points / sizeof *life_points)

/* Loop test: a handler strikes while its thread begins, where another has ended, or leaves; what it
 * writes is there or counted. */
START_TEST(a_handler_may_trace_while_its_thread_begins_or_ends)
{
    char name[] = "struck";
    attach(32 << 20);
    handle(false);
    SKEIN_INSTANT("main");
    run_thread(named_thread, name);
    strike_at = life_points[_i];
    strikes_left = 1;
    run_thread(named_thread, name);
    ck_assert_uint_eq(strikes_left, 0);
    ck_assert_uint_eq(struck, 1);
    for (int i = 0; i < 100; i++)
        run_thread(named_thread, name);
    decode();
    uint64_t told = decoded_count(&decoded, "handled") + decoded_count(&decoded, "in handler") +
                    decoded.lost +
                    skein_load64(&((struct ring_header *)(void *)ring.ring)->num_records_dropped);
    ck_assert_uint_ge(told, 2); /* two begins or instants; an end that is lost counts too */
    ck_assert_uint_eq(decoded_count(&decoded, "alive"), 102);
    ck_assert_uint_eq(slabs_mapped, 0);
}
END_TEST

START_TEST(a_jump_out_of_a_handler_does_not_end_tracing)
{
    attach(1 << 20);
    handle(_i == 1);
    jump = true;
    volatile uint64_t from = 0;
    for (volatile size_t p = 0; p < POINTS; p++) {
        strike_at = points[p];
        strikes_left = 2;
        if (sigsetjmp(home, 1) == 0)
            emit_many(from, from + 2000);
        SKEIN_INSTANT("home", (u64, "p", p));
        from += 10000;
    }
    strikes_left = 0;
    struck = 0;
    emit_many(from, from + 1000);
    SKEIN_INSTANT("end");
    decode();
    const struct decoded_event *end = decoded_nth(&decoded, "end", 0);
    ck_assert_ptr_nonnull(end);
    ck_assert_uint_eq(decoded.chunks[end->chunk].head.flags, 0); /* the main lane works again */
    ck_assert_uint_eq(decoded_count(&decoded, "home"), POINTS);
}
END_TEST

static void *jumping_thread(void *context)
{
    if (sigsetjmp(home, 1) == 0) {
        SKEIN_INSTANT("jumped out of");
        emit_many(1, 10000); /* more than a chunk */
    }
    SKEIN_INSTANT("alive");
    return context;
}

static const char *const search_points[] = {"chunk_taken",   "place_held",     "segment_ended",
                                            "chunk_started", "horizon_raised", "chunk_claimed",
                                            "chunk_filled",  "end_written",    "chunk_retired"};
#define SEARCH_POINTS (sizeof search_points / sizeof *search_points)

/* Loop test: what others have written to the chunk stays, others go on, and each chunk is some
 * thread's or the shelf's, or may be claimed. */
START_TEST(a_jump_out_of_the_search_for_a_chunk_loses_nothing_else)
{
    char name[] = "worker";
    attach(2 << 20);
    emit_many(1, 800000); /* so that chunks are used again */
    handle(false);
    jump = true;
    strike_at = search_points[_i];
    for (int i = 0; i < 20; i++) {
        run_thread(named_thread, name);
        strikes_left = 1;
        run_thread(jumping_thread, NULL);
        ck_assert_uint_eq(strikes_left, 0);
    }
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "alive"), 40);
    ck_assert_uint_eq(writing(), 1 + shelved());
}
END_TEST

/* In as many chunks as the ring has, not in the small ones alone. */
START_TEST(threads_that_are_jumped_in_have_the_whole_ring)
{
    attach(1 << 20);
    handle(false);
    jump = true;
    strike_at = "chunk_started";
    uint32_t threads = ring_small_count(&ring.geometry) + 10;
    ck_assert_uint_gt(ring_big_count(&ring.geometry), 12);
    for (uint32_t i = 0; i < threads; i++) {
        strikes_left = 1;
        run_thread(jumping_thread, NULL);
    }
    decode();
    const struct ring_header *header = (const struct ring_header *)(const void *)ring.ring;
    ck_assert_uint_eq(header->overwritten_ticks, 0);
    ck_assert_uint_eq(decoded_count(&decoded, "alive"), threads);
}
END_TEST

/* ---- a handler that forks ---- */

static int gate[2]; /* the child goes on when it is closed */
static pid_t forked;
static bool child_attaches;
static struct fake_ring child_ring;

static void forking_handler(int signal)
{
    char byte;
    (void)signal;
    forked = fork();
    if (forked)
        return;
    close(gate[1]);
    (void)!read(gate[0], &byte, 1);
    if (child_attaches)
        fake_agent_attach_self(&agent, &child_ring, SKEIN_MODE_CIRCULAR, 1 << 20);
    SKEIN_INSTANT("in the handler of the child");
}

/* Its own ring has what it wrote since it has it, but for the record that it was in, and for what
 * it writes while it ends. */
static bool child_is_right(void)
{
    if (!child_attaches)
        return true;
    bool good = ring_decode(child_ring.ring, &child_ring.geometry, &decoded) && !decoded.lost;
    size_t plain = decoded_count(&decoded, "plain");
    for (size_t i = 0; i < plain; i++)
        good &= decoded_nth(&decoded, "plain", i)->args[0].u64 == 1000 - plain + i;
    const struct ring_header *header = (const struct ring_header *)(const void *)child_ring.ring;
    return good && decoded_count(&decoded, "in the handler of the child") +
                           skein_load64(&header->num_records_dropped) ==
                       1;
}

static void in_child_end(void *key)
{
    if (forked)
        return;
    static bool again; /* in the next round, after the tracer's own end of the thread */
    if (again)
        _exit(!child_is_right());
    again = true;
    pthread_setspecific(*(pthread_key_t *)key, key);
}

static void *forking_thread(void *context)
{
    static struct skein_string text = SKEIN_STRING("interned");
    const union skein_value values[2] = {{.i64 = 5}, {.u64 = 100}};
    static pthread_key_t key;
    pthread_key_create(&key, in_child_end);
    pthread_setspecific(key, &key);
    struct skein_op op = skein_op_enter(&op_site, 5);
    SKEIN_INSTANT("alive", (sym, "s", &text));
    emit_many(0, 1000);
    skein_op_leave(&op, 0, values);
    return context;
}

static const char *const fork_points[] = {
    "record_committed", "chunk_claimed",   "chunk_filled",  "chunk_started", "chunk_retired",
    "table_written",    "table_committed", "id_published",  "slot_filled",   "slot_live",
    "prefix_committed", "chunk_taken",     "segment_ended", "end_written",   "chunk_given",
    "slot_retired",     "thread_left",     "op_filled",     "op_shown",      "horizon_raised"};
#define FORK_POINTS (sizeof fork_points / sizeof *fork_points)

/* Loop test: the child, which goes on below the handler, changes no byte of its parent's ring; the
 * second half with a ring of its own, that it has from the handler on. */
START_TEST(a_child_of_a_handler_leaves_its_parents_ring_alone)
{
    char name[] = "before";
    attach(RING_BYTES_MIN);
    struct sigaction action = {.sa_handler = forking_handler};
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    ck_assert_int_eq(pipe(gate), 0);
    emit_many(0, 30000); /* so that chunks are used again */
    forked = -1;
    run_thread(named_thread, name);
    child_attaches = _i >= (int)FORK_POINTS;
    strike_at = fork_points[(size_t)_i % FORK_POINTS];
    strikes_left = 1;
    run_thread(forking_thread, NULL);
    ck_assert_uint_eq(strikes_left, 0);
    ck_assert_int_gt(forked, 0);
    run_thread(named_thread, name); /* where the child may believe to be, too */
    uint8_t *before = malloc(ring.geometry.total);
    ck_assert_ptr_nonnull(before);
    memcpy(before, ring.ring, ring.geometry.total);
    close(gate[1]);
    int status = -1;
    ck_assert_int_eq(waitpid(forked, &status, 0), forked);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_mem_eq(before, ring.ring, ring.geometry.total);
    free(before);
    decode();
    ck_assert_uint_eq(decoded.lost, 0);
}
END_TEST

static void in_a_handler_in_a_handler(int signal)
{
    (void)signal;
    SKEIN_INSTANT("deepest");
}

START_TEST(a_handler_within_a_handler_is_counted)
{
    attach(1 << 20);
    handle(false);
    struct sigaction deeper = {.sa_handler = in_a_handler_in_a_handler, .sa_flags = SA_NODEFER};
    SKEIN_INSTANT("plain", (u64, "i", 0));
    ck_assert_int_eq(sigaction(SIGUSR1, &deeper, NULL), 0);
    strike_at = "record_committed";
    strikes_left = 2; /* the record in the handler is struck again */
    SKEIN_INSTANT("struck");
    SKEIN_INSTANT("plain", (u64, "i", 1));
    SKEIN_INSTANT("plain", (u64, "i", 2));
    strikes_left = 1;
    SKEIN_INSTANT("struck"); /* its handler opens the signal lane again, which tells the loss */
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "deepest"), 2);
    ck_assert_uint_eq(decoded.lost, 1);
}
END_TEST

int main(void)
{
    Suite *suite =
        suite_of("thread_cold", a_thread_that_ends_retires_its_slot_and_leaves_its_chunk,
                 slots_are_reused_with_a_new_incarnation, more_threads_than_slots_still_trace,
                 threads_use_again_what_ended_threads_had, an_operation_is_visible_while_it_lasts,
                 a_short_operation_leaves_no_record, NULL);
    /* It delivers signals later, not where they strike, and is gone before the last destructors. */
    if (!SKEIN_UNDER_TSAN) {
        TCase *signals = tcase_create("signals");
        tcase_add_test(signals, what_destructors_write_after_the_end_is_there_or_counted);
        tcase_add_test(signals, a_handler_within_a_handler_is_counted);
        tcase_add_loop_test(signals, a_handler_may_trace_wherever_it_strikes, 0, 2 * (int)POINTS);
        tcase_add_loop_test(signals, a_handler_may_trace_while_its_thread_begins_or_ends, 0,
                            (int)LIFE_POINTS);
        tcase_add_loop_test(signals, a_jump_out_of_the_search_for_a_chunk_loses_nothing_else, 0,
                            (int)SEARCH_POINTS);
        tcase_add_test(signals, threads_that_are_jumped_in_have_the_whole_ring);
        tcase_add_loop_test(signals, a_jump_out_of_a_handler_does_not_end_tracing, 0, 2);
        tcase_add_loop_test(signals, a_child_of_a_handler_leaves_its_parents_ring_alone, 0,
                            2 * (int)FORK_POINTS);
        suite_add_tcase(suite, signals);
    }
    return suite_run(suite);
}
