/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads come and go by thousands while handlers strike them anywhere, at test points and by
 * signals: they write, jump away, end their thread, or fork a child that goes on below. The test
 * keeps its own account of each event, with a time from before it: what returned and is younger
 * than the ring's horizon is there once, or counted; of a child nothing is there; and no chunk is
 * left without an owner. SKEIN_STRESS_TORN sets how many threads; the seed is printed.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "support.h"
#include "writer_int.h"

#define SPAWNERS    4
#define THREADS     4000
#define FORKS       120 /* of each run */
#define EVENTS_MAX  (1u << 22)
#define EVENTS_EACH 40 /* of a thread, about */
#define STRIKE_IN   48 /* test points */
#define SITES       200

enum fate { NONE, BEGUN, RETURNED };

static struct fake_agent agent;
static struct fake_ring ring;
static struct decoded_ring decoded;
static uint8_t fate[EVENTS_MAX], seen[EVENTS_MAX];
static uint64_t before[EVENTS_MAX]; /* ticks */
static uint32_t next_event, forks, children, strikes, jumps, ends, stop;
static unsigned seed;
static bool is_child;

static struct skein_site sites[SITES];
static char site_names[SITES][16];

/* Of a short thread. */
static __thread bool armed; /* a jump may lead home */
static __thread unsigned depth, random_state;
static __thread sigjmp_buf home;

static unsigned draw(unsigned below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

static __attribute__((noinline)) void write_one(void)
{
    uint32_t n = __atomic_fetch_add(&next_event, 1, __ATOMIC_RELAXED);
    if (n >= EVENTS_MAX)
        return;
    const union skein_value value = {.u64 = n};
    const struct skein_view *view = session_view(); /* of a child: NULL */
    before[n] = view ? ticks_now(view) : 0;
    __atomic_store_n(&fate[n], BEGUN, __ATOMIC_RELAXED);
    if (n % 8 == 0)
        skein_emit(&sites[n / 8 % SITES], &value);
    else
        SKEIN_INSTANT("n", (u64, "n", n));
    __atomic_store_n(&fate[n], RETURNED, __ATOMIC_RELAXED);
}

/* ---- what strikes ---- */

static void signal_mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(how, &set, NULL);
}

static void strike_fork(void)
{
    bool was = armed;
    if (__atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED) >= FORKS)
        return;
    armed = false; /* nobody jumps out of fork() */
    pid_t pid = fork();
    if (pid == 0)
        is_child = true;
    else if (pid > 0)
        __atomic_fetch_add(&children, 1, __ATOMIC_RELAXED);
    armed = was;
    if (pid == 0 && draw(2) == 0)
        for (int i = 0; i < 50; i++)
            sched_yield(); /* the parent goes on first */
}

static void strike(void)
{
    if (depth >= 2)
        return;
    depth++;
    __atomic_fetch_add(&strikes, 1, __ATOMIC_RELAXED);
    unsigned what = draw(20);
    if (what < 10)
        write_one();
    else if (what < 13 && armed)
        strike_fork();
    else if (what < 18 && armed) {
        __atomic_fetch_add(&jumps, 1, __ATOMIC_RELAXED);
        siglongjmp(home, 1);
    } else if (what == 18 && armed) {
        armed = false;
        signal_mask(SIG_BLOCK); /* it may not have written anything yet: see thread_say() */
        __atomic_fetch_add(&ends, 1, __ATOMIC_RELAXED);
        pthread_exit(NULL);
    }
    depth--;
}

void skein_test_point(const char *name)
{
    (void)name;
    if (random_state && draw(STRIKE_IN) == 0)
        strike();
}

static void handler(int signal)
{
    int saved = errno;
    (void)signal;
    if (random_state)
        strike();
    errno = saved;
}

/* ---- threads ---- */

static pthread_key_t last_key;

/* A child ends with its one thread, behind the tracer's own end of it. */
static void child_end(void *rounds)
{
    if (!is_child)
        return;
    if (rounds == &last_key)
        _exit(0);
    pthread_setspecific(last_key, &last_key);
}

/* Nobody hears of the end of a thread whose first event comes from a handler that strikes when the
 * C library is done with its keys: so each has one before. */
static void thread_say(void)
{
    unsigned state = random_state;
    signal_mask(SIG_BLOCK);
    random_state = 0;
    write_one();
    random_state = state;
    signal_mask(SIG_UNBLOCK);
}

static void *short_thread(void *context)
{
    volatile unsigned left; /* over a jump */
    pthread_setspecific(last_key, &armed);
    random_state = (unsigned)(uintptr_t)context | 1;
    left = draw(16) == 0 ? 20 * EVENTS_EACH : 1 + draw(EVENTS_EACH);
    if (sigsetjmp(home, 1)) {
        depth = 0;
        left = left / 2;
    }
    armed = true;
    signal_mask(SIG_UNBLOCK);
    while (left) {
        left--;
        write_one();
    }
    armed = false;
    thread_say();
    return NULL;
}

static void *spawner(void *context)
{
    unsigned state = (unsigned)(uintptr_t)context;
    const char *wanted = getenv("SKEIN_STRESS_TORN");
    unsigned threads = wanted ? (unsigned)strtoul(wanted, NULL, 10) : THREADS;
    for (unsigned i = 0; i < threads / SPAWNERS; i++) {
        pthread_t two[2];
        for (int k = 0; k < 2; k++) {
            state = state * 1103515245u + 12345u;
            ck_assert_int_eq(
                pthread_create(&two[k], NULL, short_thread, (void *)(uintptr_t)(state | 1)), 0);
        }
        for (int k = 0; k < 2; k++)
            pthread_join(two[k], NULL);
    }
    return NULL;
}

/* Signals go to whichever thread has not blocked them. */
static void *sniper(void *unused)
{
    while (!skein_load32(&stop)) {
        kill(getpid(), SIGUSR2);
        for (int i = 0; i < 20; i++)
            sched_yield();
    }
    return unused;
}

/* Every word of a ring may be read at any time. */
static void *reader(void *unused)
{
    static struct decoded_ring now;
    for (uint64_t rounds = 0; !skein_load32(&stop); rounds++) {
        bool good = ring_decode(ring.ring, &ring.geometry, &now);
        ck_assert_msg(good, "%s", now.error);
        ring_decode_free(&now);
        skein_generation_store(&agent.host->generation, 8 + rounds);
    }
    return unused;
}

/* ---- the account ---- */

static uint32_t chunks_writing(void)
{
    uint32_t count = 0, small = ring_small_count(&ring.geometry);
    for (uint32_t i = 0; i < small + ring_big_count(&ring.geometry); i++) {
        uint64_t offset = i < small ? ring_small_offset(&ring.geometry, i)
                                    : ring_big_offset(&ring.geometry, i - small);
        const struct ring_chunk *c = (const struct ring_chunk *)(const void *)(ring.ring + offset);
        count += (skein_chunk_load(&c->state) & RING_CHUNK_STATE_MASK) == RING_CHUNK_WRITING;
    }
    return count;
}

static uint32_t chunks_shelved(void)
{
    uint32_t count = 0;
    for (int i = 0; i < SHELF_MAX; i++) {
        uint64_t word = skein_share_load(&session_current()->shelf[i]);
        ck_assert_msg(!word || word >> 48, "place %d is held by a thread that is gone", i);
        count += word != 0;
    }
    return count;
}

/* How much of it: all that was not lost, what the ring had room for at first, or at last. */
enum kept { ALL, FIRST, LAST };

static void check_account(enum kept kept)
{
    const struct ring_header *header = (const struct ring_header *)(const void *)ring.ring;
    uint64_t horizon = header->overwritten_ticks, dropped = header->num_records_dropped;
    uint64_t missing = 0, torn = 0;
    ck_assert_msg(ring_decode(ring.ring, &ring.geometry, &decoded), "%s", decoded.error);
    ck_assert_uint_lt(next_event, EVENTS_MAX);
    for (size_t i = 0; i < decoded.event_count; i++) {
        const struct decoded_event *e = &decoded.events[i];
        if (e->kind != DECODED_EVENT)
            continue;
        uint64_t n = e->args[0].u64;
        const char *name = n % 8 == 0 ? site_names[n / 8 % SITES] : "n";
        must_hold(n < next_event && fate[n] != NONE && !seen[n], "event %llu is there %u times",
                  (unsigned long long)n, n < EVENTS_MAX ? seen[n] + 1u : 1u);
        must_hold(strcmp(e->name, name) == 0, "event %llu is named %s", (unsigned long long)n,
                  e->name);
        seen[n] = 1;
    }
    for (uint32_t n = 0; n < next_event; n++) {
        missing += fate[n] == RETURNED && !seen[n] && before[n] > horizon;
        torn += fate[n] == BEGUN;
    }
    fprintf(stderr,
            "%u events, %u strikes: %u jumps, %u ends, %u children; %llu missing, %llu counted, "
            "%llu torn, %s\n",
            next_event, strikes, jumps, ends, children, (unsigned long long)missing,
            (unsigned long long)dropped, (unsigned long long)torn,
            horizon ? "overwritten" : "nothing overwritten");
    ck_assert_uint_le(missing, dropped);
    ck_assert((kept == LAST) == (horizon != 0));
    ck_assert((kept == FIRST) == (dropped > next_event / 2));
    if (kept != LAST)
        ck_assert_uint_le(dropped, missing + torn);
    ck_assert_uint_eq(chunks_writing(), chunks_shelved());
    ring_decode_free(&decoded);
}

static void begin(enum kept kept)
{
    uint8_t mode = kept == FIRST ? SKEIN_MODE_ONESHOT : SKEIN_MODE_CIRCULAR;
    uint64_t bytes = kept == ALL ? UINT64_C(256) << 20 : UINT64_C(512) << 10;

    const char *wanted = getenv("SKEIN_STRESS_SEED");
    seed = wanted ? (unsigned)strtoul(wanted, NULL, 10) : (unsigned)time(NULL) ^ (unsigned)getpid();
    fprintf(stderr, "seed %u\n", seed);
    for (unsigned i = 0; i < SITES; i++) {
        snprintf(site_names[i], sizeof site_names[i], "site %u", i);
        sites[i] = (struct skein_site){.name = site_names[i],
                                       .text = "",
                                       .file = "",
                                       .klass = SKEIN_CLASS_INSTANT,
                                       .nargs = 1,
                                       .args = {{SKEIN_T_U64, "n", ""}}};
    }
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, mode, bytes);
    ck_assert_int_eq(pthread_key_create(&last_key, child_end), 0);
    struct sigaction action = {.sa_handler = handler};
    ck_assert_int_eq(sigaction(SIGUSR2, &action, NULL), 0);
    signal_mask(SIG_BLOCK);
}

static void *ending_thread(void *unused)
{
    pthread_exit(unused); /* loads what a later one needs */
}

/* Loop test: over `enum kept`. */
START_TEST(whatever_strikes_threads_their_events_are_there_or_counted)
{
    pthread_t spawners[SPAWNERS], shooting, reading;
    begin((enum kept)_i);
    ck_assert_int_eq(pthread_create(&spawners[0], NULL, ending_thread, NULL), 0);
    pthread_join(spawners[0], NULL);
    for (unsigned i = 0; i < SPAWNERS; i++)
        ck_assert_int_eq(
            pthread_create(&spawners[i], NULL, spawner, (void *)(uintptr_t)(seed + i * 7919u)), 0);
    ck_assert_int_eq(pthread_create(&reading, NULL, reader, NULL), 0);
    if (!SKEIN_UNDER_TSAN) /* which delivers signals later, not where they strike */
        ck_assert_int_eq(pthread_create(&shooting, NULL, sniper, NULL), 0);
    for (unsigned i = 0; i < SPAWNERS; i++)
        pthread_join(spawners[i], NULL);
    skein_store32(&stop, 1);
    pthread_join(reading, NULL);
    if (!SKEIN_UNDER_TSAN)
        pthread_join(shooting, NULL);
    for (uint32_t i = 0; i < children; i++) {
        int status = -1;
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ended with %#x",
                      (unsigned)status);
    }
    check_account((enum kept)_i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer_torn");
    TCase *tests = tcase_create("torn");
    tcase_add_loop_test(tests, whatever_strikes_threads_their_events_are_there_or_counted, 0, 3);
    tcase_set_timeout(tests, 300);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
