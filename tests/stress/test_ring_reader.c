/* SPDX-License-Identifier: Apache-2.0
 * The reader against live writers in the same process, so that a sanitizer sees both: threads of
 * the real library fill a small ring while it is cut again and again, and threads that are born and
 * die share chunks while cuts take parts of these. SKEIN_STRESS_MS sets for how long. */
#include "../unit/agent/agent_fixture.h"
#include "clock.h"
#include "skein/skein.h"

#define WRITERS 3

static bool stop;

static void *write_much(void *context)
{
    uint64_t thread = (uint64_t)(uintptr_t)context;
    skein_thread_name("writer");
    static struct skein_string sym = SKEIN_STRING("an interned string");
    static struct skein_site op_site = {.name = "op",
                                        .text = "",
                                        .file = "",
                                        .klass = SKEIN_CLASS_SPAN,
                                        .nargs = 1,
                                        .args = {{SKEIN_T_I64, "fd", ""}}};
    for (uint64_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        SKEIN_REGION("work", (u64, "thread", thread), (sym, "what", &sym));
        SKEIN_INSTANT("tick", (u64, "i", i));
        struct skein_op op = skein_op_enter(&op_site, (int64_t)i);
        if (i % 64 == 0)
            SKEIN_LOG(SKEIN_INFO, "sixty-four more");
        skein_op_leave(&op, 0, NULL);
    }
    return NULL;
}

static void *write_once(void *context)
{
    SKEIN_INSTANT("brief", (u64, "n", 1));
    return context;
}

/* Threads that come and go, for slots and retired chunks. */
static void *write_briefly(void *context)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, write_once, NULL) != 0)
            break;
        pthread_join(thread, NULL);
    }
    return context;
}

static void cuts_run(struct agent_fixture *f, uint64_t until_ns)
{
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(f->last, &marks), SKEIN_OK);
    uint64_t events = 0;
    while (clock_monotonic_ns() < until_ns || events == 0) {
        struct cut_result result;
        int status = fixture_cut(f->host, f->last, marks, 0, &result);
        ck_assert(status == SKEIN_OK || status == SKEIN_NOT_FOUND);
        if (status == SKEIN_OK)
            events += partition_sum_get(&result.bytes).events;
        ck_assert_uint_eq(result.lost[PARTITION_LOSS_CORRUPT], 0);
        for (size_t i = 0; i < result.gap_count; i++) {
            ck_assert_int_ne(result.gaps[i].reason, PARTITION_LOSS_CORRUPT);
            ck_assert_int_ne(result.gaps[i].reason, PARTITION_LOSS_NAME);
        }
        cut_result_fini(&result);
    }
    cut_marks_free(&marks);
}

START_TEST(cuts_of_a_live_ring_are_sound)
{
    const char *text = getenv("SKEIN_STRESS_MS");
    uint64_t ms = text != NULL ? strtoull(text, NULL, 10) : 1500;
    struct agent_fixture *f = fixture_new(UINT64_C(512) << 10);
    fixture_agent_start(f);
    const struct skein_options options = {
        .size = sizeof(options), .service = "stress", .agent_socket = f->path};
    ck_assert_int_eq(skein_start(&options), SKEIN_OK);
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    ck_assert(wait_until(fixture_has_attached, f, 0));
    pthread_t threads[WRITERS + 1];
    for (uintptr_t i = 0; i < WRITERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_much, (void *)i), 0);
    ck_assert_int_eq(pthread_create(&threads[WRITERS], NULL, write_briefly, NULL), 0);
    cuts_run(f, clock_monotonic_ns() + ms * 1000000);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i <= WRITERS; i++)
        pthread_join(threads[i], NULL);
    skein_stop();
    fixture_free(f);
}
END_TEST

/* ---- threads that share chunks ---- */

#define BRIEF_LANES  4
#define BRIEF_EVENTS 7
#define BRIEF_MAX    (1u << 22)

static uint64_t brief_next;           /* number of the next event */
static uint8_t brief_seen[BRIEF_MAX]; /* how often a cut brought it */

static void *brief_events(void *context)
{
    for (int i = 0; i < BRIEF_EVENTS; i++) {
        uint64_t n = __atomic_fetch_add(&brief_next, 1, __ATOMIC_RELAXED);
        if (n < BRIEF_MAX)
            SKEIN_INSTANT("numbered", (u64, "n", n));
    }
    return context;
}

/* Each lane has one at a time, so chunks are given and taken between them all. */
static void *brief_lane(void *context)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, brief_events, NULL) != 0)
            break;
        pthread_join(thread, NULL);
    }
    return context;
}

static void brief_count(const struct buf *bytes)
{
    char error[256] = "";
    struct partition_reader *reader = NULL;
    struct trace_event event;
    ck_assert_int_eq(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof(error)),
                     SKEIN_OK);
    while (partition_reader_next(reader, &event) == 1)
        if (event.kind == TRACE_INSTANT && strcmp(event.type->name, "numbered") == 0)
            ck_assert_uint_eq(++brief_seen[event.args[0].u64], 1); /* nothing comes twice */
    partition_reader_free(&reader);
}

/* Cuts what there is, or some parts of it while it grows. True if it says that something is
 * missing. */
static bool brief_cut(struct agent_fixture *f, struct cut_marks *marks)
{
    const struct cut_request request = {.process = f->last,
                                        .to_ns = UINT64_MAX / 2,
                                        .marks = marks,
                                        .epoch = 1,
                                        .host = "stress",
                                        .max_bytes = 20000}; /* in parts */
    bool gaps = false, more = true;
    for (int part = 0; more && (part < 20 || __atomic_load_n(&stop, __ATOMIC_RELAXED)); part++) {
        struct cut_result result;
        int status = partition_cut(f->host, &request, &result);
        ck_assert(status == SKEIN_OK || status == SKEIN_NOT_FOUND);
        if (status == SKEIN_OK)
            brief_count(&result.bytes);
        ck_assert_uint_eq(result.lost[PARTITION_LOSS_CORRUPT], 0);
        gaps = gaps || result.gap_count > 0;
        more = status == SKEIN_OK && result.more;
        cut_result_fini(&result);
    }
    return gaps;
}

START_TEST(cuts_of_shared_chunks_bring_each_record_once)
{
    const char *text = getenv("SKEIN_STRESS_MS");
    uint64_t ms = text != NULL ? strtoull(text, NULL, 10) : 1500;
    struct agent_fixture *f = fixture_new(UINT64_C(4) << 20);
    fixture_agent_start(f);
    const struct skein_options options = {
        .size = sizeof(options), .service = "stress", .agent_socket = f->path};
    ck_assert_int_eq(skein_start(&options), SKEIN_OK);
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    ck_assert(wait_until(fixture_has_attached, f, 0));
    pthread_t lanes[BRIEF_LANES];
    for (int i = 0; i < BRIEF_LANES; i++)
        ck_assert_int_eq(pthread_create(&lanes[i], NULL, brief_lane, NULL), 0);
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(f->last, &marks), SKEIN_OK);
    bool gaps = false;
    uint64_t until = clock_monotonic_ns() + ms * 1000000;
    while (clock_monotonic_ns() < until)
        gaps = brief_cut(f, marks) || gaps;
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < BRIEF_LANES; i++)
        pthread_join(lanes[i], NULL);
    gaps = brief_cut(f, marks) || gaps;
    uint64_t missing = 0, count = brief_next < BRIEF_MAX ? brief_next : BRIEF_MAX;
    for (uint64_t n = 0; n < count; n++)
        missing += brief_seen[n] == 0;
    ck_assert_msg(missing == 0 || gaps, "%lu of %lu are missing, and no gap was told",
                  (unsigned long)missing, (unsigned long)count);
    cut_marks_free(&marks);
    skein_stop();
    fixture_free(f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("ring_reader", cuts_of_a_live_ring_are_sound,
                              cuts_of_shared_chunks_bring_each_record_once, NULL));
}
