/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at the ring of a traced child for conditions of rules. Scans live on the loop's thread;
 * what they were handed is noted under a lock, for wait_until.
 */
#include "rule_scan.h"

#include <semaphore.h>
#include <stdio.h>

#include "agent_child.h"
#include "clock.h"

enum { SCANS = 5, EVERY_MS = 50 };

struct watched {
    struct bench *bench;
    const char *rule; /* NULL: not started */
    struct rule_scan *scan;
    /* under the bench's lock */
    unsigned looks, hits, unseen;
    char reason[192]; /* of the last hit */
};

struct bench {
    struct agent_fixture *fixture;
    struct child child;
    struct worker *worker;
    struct rule_scanner *scanner;
    struct watched watched[SCANS];
    sem_t done, hold, held;
    pthread_mutex_t lock;
    uint64_t looked; /* under the lock; by the scanner's own count, at the last look */
};

/* ---- on the loop's thread ---- */

static void take(void *context, const struct scan_result *result)
{
    struct watched *w = context;
    ck_assert_int_eq(result->status, SKEIN_OK);
    pthread_mutex_lock(&w->bench->lock);
    w->looks++;
    w->hits += (unsigned)result->hit_count;
    w->unseen += (unsigned)result->unseen;
    w->bench->looked = rule_scanner_looked(w->bench->scanner);
    if (result->hit_count > 0)
        snprintf(w->reason, sizeof w->reason, "%s", result->hits[result->hit_count - 1].reason);
    pthread_mutex_unlock(&w->bench->lock);
}

/* Starts what has a rule and no scan yet, and stops what has none any more. */
static void arrange(void *context)
{
    struct bench *b = context;
    if (b->scanner == NULL)
        ck_assert_int_eq(
            rule_scanner_new(b->fixture->loop, b->worker, b->fixture->host, EVERY_MS, &b->scanner),
            SKEIN_OK);
    for (int i = 0; i < SCANS; i++) {
        struct watched *w = &b->watched[i];
        if (w->rule == NULL)
            rule_scan_stop(&w->scan);
        else if (w->scan == NULL)
            ck_assert_int_eq(
                rule_scan_start(b->scanner, w->rule, b->fixture->last, take, w, &w->scan),
                SKEIN_OK);
    }
    sem_post(&b->done);
}

static void stop_all(void *context)
{
    struct bench *b = context;
    for (int i = 0; i < SCANS; i++)
        rule_scan_stop(&b->watched[i].scan);
    rule_scanner_free(&b->scanner);
    sem_post(&b->done);
}

static void nothing(void *context)
{
    sem_post(&((struct bench *)context)->done);
}

/* ---- the test's side ---- */

static void on_loop(struct bench *b, loop_fn *fn)
{
    ck_assert_int_eq(loop_post(b->fixture->loop, fn, b), SKEIN_OK);
    ck_assert_int_eq(sem_wait(&b->done), 0);
}

static void bench_start(struct bench *b, child_fn *fn)
{
    *b = (struct bench){.fixture = fixture_new(UINT64_C(1) << 18)};
    ck_assert(sem_init(&b->done, 0, 0) == 0 && sem_init(&b->hold, 0, 0) == 0 &&
              sem_init(&b->held, 0, 0) == 0);
    pthread_mutex_init(&b->lock, NULL);
    b->child = child_start(b->fixture, fn);
    ck_assert_int_eq(worker_new(&b->worker), SKEIN_OK);
    for (int i = 0; i < SCANS; i++)
        b->watched[i].bench = b;
}

static void bench_end(struct bench *b)
{
    on_loop(b, stop_all);
    worker_free(&b->worker); /* a look that was under way has come back to the loop */
    on_loop(b, nothing);
    (void)child_end(&b->child);
    fixture_free(b->fixture);
    pthread_mutex_destroy(&b->lock);
    sem_destroy(&b->done);
    sem_destroy(&b->hold);
    sem_destroy(&b->held);
}

static struct watched seen(struct bench *b, int i)
{
    pthread_mutex_lock(&b->lock);
    struct watched w = b->watched[i];
    pthread_mutex_unlock(&b->lock);
    return w;
}

struct want {
    struct bench *bench;
    int i;
    unsigned looks, hits;
};

static bool has_come(void *context)
{
    const struct want *want = context;
    struct watched w = seen(want->bench, want->i);
    return w.looks >= want->looks && w.hits >= want->hits;
}

static void wait_for(struct bench *b, int i, unsigned looks, unsigned hits)
{
    struct want want = {b, i, looks, hits};
    ck_assert_msg(wait_until(has_come, &want, 0), "scan %d: %u looks, %u hits", i, seen(b, i).looks,
                  seen(b, i).hits);
}

static void hold_worker(void *context)
{
    struct bench *b = context;
    sem_post(&b->held);
    sem_wait(&b->hold);
}

static const char needle_rule[] = "{\"name\":\"n\",\"selector\":\"\",\"when\":{\"log\":{"
                                  "\"match\":\"needle\"}}}",
                  slow_rule[] = "{\"name\":\"s\",\"selector\":\"\",\"when\":{\"latency\":{"
                                "\"region\":\"slow\",\"over_us\":1}}}";

/* ---- tests ---- */

static void log_needles(int in, int out)
{
    while (child_hear(in)) {
        SKEIN_LOG(SKEIN_WARN, "a needle");
        child_say(out);
    }
}

static void say_needle(struct bench *b)
{
    child_say(b->child.to);
    ck_assert(child_hear(b->child.from));
}

START_TEST(a_process_is_looked_at_once_for_all_its_rules)
{
    struct bench b;
    bench_start(&b, log_needles);
    for (int i = 0; i < SCANS; i++)
        b.watched[i].rule = needle_rule;
    on_loop(&b, arrange);
    say_needle(&b);
    for (int i = 0; i < SCANS; i++)
        wait_for(&b, i, 3, 1);
    pthread_mutex_lock(&b.lock);
    for (int i = 0; i < SCANS; i++) {
        ck_assert_uint_le(b.watched[i].looks, b.looked);
        ck_assert_uint_ge(b.watched[i].looks + 1, b.looked); /* not five times as many */
        ck_assert_uint_eq(b.watched[i].hits, 1);
    }
    pthread_mutex_unlock(&b.lock);
    bench_end(&b);
}
END_TEST

START_TEST(a_rule_that_joins_later_sees_what_comes_then_and_one_that_leaves_nothing)
{
    struct bench b;
    bench_start(&b, log_needles);
    b.watched[0].rule = needle_rule;
    on_loop(&b, arrange);
    say_needle(&b);
    wait_for(&b, 0, 1, 1);
    b.watched[1].rule = needle_rule;
    on_loop(&b, arrange);
    wait_for(&b, 1, 1, 0);
    ck_assert_uint_eq(seen(&b, 1).hits, 0);
    say_needle(&b);
    wait_for(&b, 0, 1, 2);
    wait_for(&b, 1, 1, 1);
    b.watched[0].rule = NULL;
    on_loop(&b, arrange);
    say_needle(&b);
    wait_for(&b, 1, 1, 2);
    ck_assert_uint_eq(seen(&b, 0).hits, 2);
    bench_end(&b);
}
END_TEST

static void open_a_region(int in, int out)
{
    child_hear(in);
    SKEIN_BEGIN("slow", (u64, "n", 1));
    child_say(out);
    child_hear(in);
    SKEIN_INSTANT("between");
    child_say(out);
    child_hear(in);
    SKEIN_END();
    child_say(out);
    child_hear(in);
}

/* The looks in between find it open, and do not count it. */
START_TEST(a_region_over_several_looks_is_measured_from_its_begin)
{
    struct bench b;
    bench_start(&b, open_a_region);
    b.watched[0].rule = slow_rule;
    on_loop(&b, arrange);
    say_needle(&b);
    uint64_t begun_ns = clock_monotonic_ns();
    wait_for(&b, 0, seen(&b, 0).looks + 2, 0);
    say_needle(&b); /* another record of the thread, after a look */
    wait_for(&b, 0, seen(&b, 0).looks + 2, 0);
    ck_assert_uint_eq(seen(&b, 0).hits, 0);
    uint64_t least_ns = clock_monotonic_ns() - begun_ns;
    say_needle(&b);
    wait_for(&b, 0, 0, 1);
    struct watched w = seen(&b, 0);
    const char *took = strstr(w.reason, "took ");
    ck_assert_ptr_nonnull(took);
    ck_assert_msg(strtod(took + 5, NULL) * 1e6 >= (double)least_ns, "%s of %.3f ms", w.reason,
                  (double)least_ns / 1e6);
    wait_for(&b, 0, w.looks + 1, 1);
    ck_assert_uint_eq(seen(&b, 0).hits, 1);
    bench_end(&b);
}
END_TEST

/* Several times the ring, and the needle last. A thread's first chunk is small, and stays longer.
 */
static void wrap_the_ring(int in, int out)
{
    child_hear(in);
    for (uint64_t n = 0; n < 300000; n++) {
        if (n == 20000)
            SKEIN_LOG(SKEIN_WARN, "a needle that is overwritten");
        SKEIN_INSTANT("step", (u64, "n", n));
    }
    SKEIN_LOG(SKEIN_WARN, "a needle");
    child_say(out);
    while (child_hear(in)) {
        SKEIN_LOG(SKEIN_WARN, "another needle");
        child_say(out);
    }
}

START_TEST(a_ring_that_wraps_between_two_looks_is_told_and_what_is_left_is_seen)
{
    struct bench b;
    bench_start(&b, wrap_the_ring);
    b.watched[0].rule = needle_rule;
    on_loop(&b, arrange);
    wait_for(&b, 0, 1, 0);
    ck_assert_uint_eq(seen(&b, 0).unseen, 0);
    ck_assert_int_eq(worker_post(b.worker, NULL, hold_worker, &b), SKEIN_OK);
    sem_wait(&b.held); /* no look comes in between */
    say_needle(&b);
    sem_post(&b.hold);
    wait_for(&b, 0, 1, 1);
    struct watched w = seen(&b, 0);
    ck_assert_uint_eq(w.hits, 1);
    ck_assert_uint_eq(w.unseen, 1);
    ck_assert_ptr_nonnull(strstr(w.reason, ": a needle"));
    ck_assert_ptr_null(strstr(w.reason, "overwritten"));
    say_needle(&b); /* it goes on as before, and the loss is not told again */
    wait_for(&b, 0, w.looks + 1, 2);
    ck_assert_uint_eq(seen(&b, 0).unseen, 1);
    bench_end(&b);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("rule_scan", a_process_is_looked_at_once_for_all_its_rules,
                 a_rule_that_joins_later_sees_what_comes_then_and_one_that_leaves_nothing,
                 a_region_over_several_looks_is_measured_from_its_begin,
                 a_ring_that_wraps_between_two_looks_is_told_and_what_is_left_is_seen, NULL));
}
