/* SPDX-License-Identifier: Apache-2.0
 *
 * A traced process is killed by SIGKILL at every test point and at many random moments; then its
 * ring must hold every event that the program saw as written, in order, and at most the one record
 * per thread that it was just writing. A page shared with the parent is the witness.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "support.h"
#include "writer_int.h"

#define WRITERS      2
#define RING_BYTES   (UINT64_C(4) << 20)
#define EVENTS       40000 /* of each writer: fewer than the ring holds */
#define SITES        64
#define RANDOM_KILLS 200 /* that met the program while it wrote; late ones do not count */

struct witness {
    uint64_t done[WRITERS]; /* events whose macro has returned */
    uint64_t shorts;        /* of threads that came and went */
    uint64_t ready;
};

static struct witness *witness;
static struct fake_agent agent;
static struct fake_ring ring;
static const char *kill_at;
static unsigned kill_hit;

void skein_test_point(const char *name)
{
    if (kill_at && strcmp(name, kill_at) == 0 &&
        __atomic_sub_fetch(&kill_hit, 1, __ATOMIC_RELAXED) == 0)
        kill(getpid(), SIGKILL);
}

/* ---- the child ---- */

static struct skein_site sites[SITES];
static char site_names[SITES][24];

static void sites_make(void)
{
    for (unsigned i = 0; i < SITES; i++) {
        snprintf(site_names[i], sizeof site_names[i], "site %u", i);
        sites[i] = (struct skein_site){.name = site_names[i],
                                       .text = "",
                                       .file = "",
                                       .klass = SKEIN_CLASS_INSTANT,
                                       .nargs = 1,
                                       .args = {{SKEIN_T_STR, "s", ""}}};
    }
}

static void *short_thread(void *unused)
{
    static struct skein_site op_site =
        SKEIN_SITE(SKEIN_CLASS_SPAN, SKEIN_GROUP_IO, "op", (i64, "fd"));
    const union skein_value value = {.i64 = 3};
    struct skein_op op = skein_op_enter(&op_site, 3);
    SKEIN_INSTANT("short");
    skein_slot_store64(&witness->shorts, witness->shorts + 1);
    skein_op_leave(&op, 0, &value);
    return unused;
}

/* Now and then what the slow path is for: a new type, a new generation, a thread that comes and
 * goes. */
static void something_rare(uint64_t i)
{
    static struct skein_string text = SKEIN_STRING("interned");
    const union skein_value value = {.str = "text"};
    pthread_t thread;
    if (i % 97 == 0)
        skein_emit(&sites[i / 97 % SITES], &value);
    if (i % 501 == 0)
        SKEIN_INSTANT("sym", (sym, "s", &text));
    if (i % 1009 == 0)
        skein_generation_store(&agent.host->generation, 8 + i);
    if (i % 401 == 0 && pthread_create(&thread, NULL, short_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

static void *writer(void *context)
{
    uint64_t t = (uint64_t)(uintptr_t)context;
    for (uint64_t i = 0; i < EVENTS; i++) {
        SKEIN_REGION("step", (u64, "i", i));
        SKEIN_INSTANT("n", (u64, "t", t), (u64, "i", i));
        skein_slot_store64(&witness->done[t], i + 1);
        if (t == 0)
            something_rare(i);
    }
    return NULL;
}

static void child_run(void)
{
    pthread_t threads[WRITERS];
    sites_make();
    if (thread_cold_init() || session_attach(ring.ring_fd, agent.host_fd, ring.page_fd, "victim"))
        _exit(1);
    skein_slot_store64(&witness->ready, 1);
    for (uintptr_t t = 0; t < WRITERS; t++)
        if (pthread_create(&threads[t], NULL, writer, (void *)t))
            _exit(1);
    for (int t = 0; t < WRITERS; t++)
        pthread_join(threads[t], NULL);
    _exit(0);
}

/* ---- the parent ---- */

static void begin(void)
{
    witness =
        mmap(NULL, sizeof *witness, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(witness, MAP_FAILED);
    fake_agent_init(&agent, 7);
    fake_ring_init(&ring, SKEIN_MODE_CIRCULAR, RING_BYTES);
}

static void end(void)
{
    fake_ring_fini(&ring);
    fake_agent_fini(&agent);
    munmap(witness, sizeof *witness);
}

static pid_t child_start(void)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        child_run();
    return pid;
}

/* True if it was killed. */
static bool child_end(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void check_ring(void)
{
    static struct decoded_ring decoded;
    uint64_t next[WRITERS] = {0};
    ck_assert_msg(ring_decode(ring.ring, &ring.geometry, &decoded), "%s", decoded.error);
    for (size_t i = 0; i < decoded.event_count; i++) {
        const struct decoded_event *e = &decoded.events[i];
        if (e->kind != DECODED_EVENT || strcmp(e->name, "n") != 0)
            continue;
        uint64_t t = e->args[0].u64;
        must_hold(t < WRITERS && e->args[1].u64 == next[t], "event %zu: number %llu of writer %llu",
                  i, (unsigned long long)e->args[1].u64, (unsigned long long)t);
        next[t]++;
    }
    for (int t = 0; t < WRITERS; t++) {
        ck_assert_uint_ge(next[t], witness->done[t]);
        ck_assert_uint_le(next[t], witness->done[t] + 1);
    }
    ck_assert_uint_ge(decoded_count(&decoded, "short"), witness->shorts);
    ck_assert_uint_le(decoded_count(&decoded, "short"), witness->shorts + 1);
    ck_assert_uint_eq(decoded.lost, 0);
    ring_decode_free(&decoded);
}

static const char *const points[] = {"horizon_raised",
                                     "end_written",
                                     "chunk_claimed",
                                     "chunk_filled",
                                     "chunk_started",
                                     "chunk_retired",
                                     "chunk_given",
                                     "chunk_taken",
                                     "segment_ended",
                                     "table_half_emptied",
                                     "epoch_begun",
                                     "epoch_switched",
                                     "table_written",
                                     "table_committed",
                                     "id_published",
                                     "slot_filled",
                                     "slot_live",
                                     "slot_retired",
                                     "thread_left",
                                     "op_filled",
                                     "op_shown",
                                     "op_hidden",
                                     "prefix_committed",
                                     "record_committed",
                                     "process_record_filled",
                                     "session_published"};
static const unsigned hits[] = {1, 2, 9};
#define POINTS (sizeof points / sizeof *points)

START_TEST(a_kill_at_any_side_effect_leaves_a_readable_ring)
{
    for (size_t h = 0; h < sizeof hits / sizeof *hits; h++) {
        begin();
        kill_at = points[_i];
        kill_hit = hits[h];
        bool killed = child_end(child_start());
        ck_assert_msg(killed || hits[h] > 1, "never came by %s", points[_i]);
        check_ring();
        end();
    }
}
END_TEST

START_TEST(a_kill_at_any_moment_loses_nothing_that_was_written)
{
    unsigned seed = (unsigned)time(NULL) ^ (unsigned)getpid(), killed = 0;
    for (int n = 0; killed < RANDOM_KILLS && n < 10 * RANDOM_KILLS; n++) {
        begin();
        uint64_t after = (uint64_t)rand_r(&seed) % (EVENTS / 8);
        unsigned turns = (unsigned)rand_r(&seed) % 3000;
        pid_t pid = child_start();
        siginfo_t ended = {0};
        while (skein_slot_load64(&witness->done[n % WRITERS]) < after && !ended.si_pid) {
            sched_yield();
            ck_assert_int_eq(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
        }
        for (volatile unsigned i = 0; i < turns; i++) {
        }
        kill(pid, SIGKILL);
        killed += child_end(pid);
        check_ring();
        end();
    }
    ck_assert_msg(killed == RANDOM_KILLS, "only %u were killed while writing, seed %u", killed,
                  seed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer_kill");
    TCase *tests = tcase_create("kill");
    tcase_add_loop_test(tests, a_kill_at_any_side_effect_leaves_a_readable_ring, 0, (int)POINTS);
    tcase_add_test(tests, a_kill_at_any_moment_loses_nothing_that_was_written);
    tcase_set_timeout(tests, 280);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
