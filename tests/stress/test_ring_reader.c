/* SPDX-License-Identifier: Apache-2.0
 * The reader against live writers in the same process, so that a sanitizer sees both: threads of
 * the real library fill a small ring while it is cut again and again. SKEIN_STRESS_MS sets for how
 * long. */
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

int main(void)
{
    return suite_run(suite_of("ring_reader", cuts_of_a_live_ring_are_sound, NULL));
}
