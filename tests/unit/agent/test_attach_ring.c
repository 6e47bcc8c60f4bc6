/* SPDX-License-Identifier: Apache-2.0
 * The memory of a ring whose writer is this process and whose agent is, too: it grows with its use,
 * within what cgroups and the host allow, by texts that the test writes in the kernel's place. */
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_fixture.h"
#include "ring_memory.h"
#include "skein/skein.h"
#include "skein_atomic.h"

#define MIB (UINT64_C(1) << 20)

static struct agent_fixture *f;
static char *proc, *cgroups;

static void text_put(const char *folder, const char *path, const char *text)
{
    char name[400];
    for (const char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
        snprintf(name, sizeof name, "%s/%.*s", folder, (int)(slash - path), path);
        mkdir(name, 0755);
    }
    snprintf(name, sizeof name, "%s/%s", folder, path);
    file_write_text(name, text);
}

static void cgroup_put(const char *whose, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/cgroup", whose);
    text_put(proc, path, text);
}

static void meminfo_put(uint64_t total_mib, uint64_t available_mib)
{
    char text[128];
    snprintf(text, sizeof text,
             "MemTotal: %" PRIu64 " kB\nMemFree: 0 kB\nMemAvailable: %" PRIu64 " kB\n",
             total_mib * 1024, available_mib * 1024);
    text_put(proc, "meminfo", text);
}

static void begin(uint64_t ring_bytes)
{
    f = fixture_new(ring_bytes);
    proc = path_join(f->folder, "proc");
    cgroups = path_join(f->folder, "cgroups");
    mkdir(proc, 0755);
    mkdir(cgroups, 0755);
    meminfo_put(16384, 8192);
    f->settings.proc = proc;
    f->settings.cgroups = cgroups;
}

static void own_cgroup_put(const char *text)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    cgroup_put(pid, text);
}

static void attach(void)
{
    const struct skein_options options = {
        .size = sizeof(options), .service = "svc", .agent_socket = f->path};
    fixture_agent_start(f);
    ck_assert_int_eq(skein_start(&options), SKEIN_OK);
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    ck_assert(wait_until(fixture_has_attached, f, 0));
}

static void agent_end(void)
{
    fixture_free(f); /* whose agent reads in both */
    free(proc);
    free(cgroups);
}

static void end(void)
{
    skein_stop();
    agent_end();
}

static struct ring_backing told(void)
{
    struct ring_backing backing;
    ring_backing_load(&f->last->geometry, f->last->page, &backing);
    return backing;
}

static uint64_t used(void)
{
    return ring_memory_used(f->last->ring_fd, f->last->geometry.total);
}

static void events_write(unsigned count)
{
    static uint64_t n;
    for (unsigned i = 0; i < count; i++)
        SKEIN_INSTANT("step", (u64, "n", n++));
}

/* Writes on until the ring has so many big chunks. */
static bool has_big(void *chunks)
{
    events_write(20000);
    return told().big >= *(const uint32_t *)chunks;
}

static bool has_no_more_than(void *chunks)
{
    return told().big <= *(const uint32_t *)chunks;
}

START_TEST(a_ring_gets_memory_as_its_writer_goes_on)
{
    begin(16 * MIB);
    attach();
    ck_assert_uint_eq(f->last->geometry.total, 16 * MIB);
    ck_assert_uint_lt(used(), 3 * MIB);
    uint64_t first = used();
    events_write(1000);
    ck_assert_uint_eq(used(), first); /* what the writer touches was made */
    uint32_t all = ring_big_count(&f->last->geometry);
    ck_assert(wait_until(has_big, &all, 0));
    uint64_t bytes = used();
    ck_assert_uint_gt(bytes, 8 * MIB);
    events_write(5000000);
    ck_assert_uint_eq(used(), bytes);
    struct process_usage usage;
    process_usage(f->last, &usage);
    ck_assert_uint_eq(usage.lost, 0);
    end();
}
END_TEST

/* The loop does not look meanwhile: what the ring has at first has to do. */
static void agent_hold(void *gates)
{
    sem_t *gate = gates;
    sem_post(&gate[0]);
    sem_wait(&gate[1]);
}

static void held_begin(sem_t gates[2])
{
    sem_init(&gates[0], 0, 0);
    sem_init(&gates[1], 0, 0);
    ck_assert_int_eq(loop_post(f->loop, agent_hold, gates), SKEIN_OK);
    sem_wait(&gates[0]);
}

START_TEST(a_burst_that_comes_at_once_is_kept)
{
    sem_t gates[2];
    begin(16 * MIB);
    attach();
    held_begin(gates);
    events_write(60000); /* of 12 bytes or more */
    const struct ring_header *header = (const struct ring_header *)(const void *)f->last->ring;
    ck_assert_uint_eq(skein_load64(&header->overwritten_ticks), 0);
    sem_post(&gates[1]);
    struct cut_result result;
    ck_assert_int_eq(fixture_cut(f->host, f->last, NULL, 0, &result), SKEIN_OK);
    ck_assert_uint_eq(result.events, 60000);
    cut_result_fini(&result);
    end();
}
END_TEST

#define THREADS 200

static void *thread_run(void *barrier)
{
    pthread_barrier_wait(barrier);
    SKEIN_INSTANT("begun");
    pthread_barrier_wait(barrier); /* none leaves its chunk to another */
    return NULL;
}

START_TEST(threads_that_begin_at_once_lose_nothing)
{
    sem_t gates[2];
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_attr_t small;
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    begin(16 * MIB);
    attach();
    held_begin(gates);
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], &small, thread_run, &barrier), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    sem_post(&gates[1]);
    struct process_usage usage;
    process_usage(f->last, &usage);
    ck_assert_uint_eq(usage.lost, 0);
    end();
}
END_TEST

/* ---- shares ---- */

#define STRANGERS 3

static struct {
    int ready[2], go[2];
    struct process *rings[STRANGERS];
} strangers;

/* A process of nobody, which writes for ever once it may, as fast as somebody reads of it. */
static pid_t stranger_start(void)
{
    char byte;
    fflush(NULL);
    pid_t child = fork();
    if (child != 0)
        return child;
    const struct skein_options options = {
        .size = sizeof(options), .service = "stranger", .agent_socket = f->path};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setgid(65534) != 0 || setuid(65534) != 0 || skein_start(&options) != SKEIN_OK ||
        skein_wait_attached(support_deadline_ms()) != SKEIN_OK)
        _exit(1);
    close(strangers.go[1]);
    (void)!read(strangers.go[0], &byte, 1);
    for (;;) {
        events_write(20000);
        if (write(strangers.ready[1], "x", 1) != 1)
            _exit(1);
    }
}

/* Reads on, so that they write on, until one gets no more. */
static bool is_held(void *held)
{
    char bytes[4096];
    (void)!read(strangers.ready[0], bytes, sizeof bytes);
    for (int i = 0; i < STRANGERS; i++)
        if (strangers.rings[i]->choice.held != RING_BOUND_NONE)
            *(const struct process **)held = strangers.rings[i];
    return *(const struct process **)held != NULL;
}

static bool next_has_attached(void *number)
{
    return fixture_get(f, &f->attached) > *(const unsigned *)number;
}

START_TEST(what_a_users_rings_grow_to_leaves_others_room)
{
    const struct process *held = NULL;
    pid_t children[STRANGERS];
    uint64_t taken = 0, sizes = 0;
    char why[200];
    if (geteuid() != 0)
        return; /* to be two users needs root */
    begin(64 * MIB);
    f->settings.total_ring_bytes_max = 64 * MIB;
    ck_assert_int_eq(chmod(f->folder, 0755), 0);
    ck_assert_int_eq(pipe(strangers.ready) | pipe(strangers.go), 0);
    fixture_agent_start(f);
    for (int i = 0; i < STRANGERS; i++) {
        unsigned number = (unsigned)i;
        children[i] = stranger_start();
        ck_assert(wait_until(next_has_attached, &number, 0));
        ck_assert_uint_eq(f->last->user, 65534);
        strangers.rings[i] = process_ref(f->last);
        sizes += f->last->geometry.total;
    }
    ck_assert_uint_gt(sizes, 64 * MIB);
    close(strangers.go[1]);
    ck_assert(wait_until(is_held, &held, 0));
    ck_assert_int_eq(held->choice.held, RING_BOUND_USER);
    ring_choice_text(&held->choice, why, sizeof why);
    ck_assert_ptr_nonnull(strstr(why, "its user's share is used up"));
    for (int i = 0; i < STRANGERS; i++)
        taken += ring_memory_used(strangers.rings[i]->ring_fd, strangers.rings[i]->geometry.total);
    ck_assert_uint_le(taken, 56 * MIB + 32 * 4096); /* seven eighths, and pages that parts share */
    for (int i = 0; i < STRANGERS; i++) {
        (void)spawn_stop(children[i], SIGKILL, 0);
        process_unref(&strangers.rings[i]);
    }
    agent_end();
}
END_TEST

static bool is_answered(void *number)
{
    return next_has_attached(number) || fixture_get(f, &f->refused) > 0;
}

/* What is left is not asked for each ring anew, but before rings have taken much of it. */
START_TEST(a_limit_that_is_set_while_the_agent_runs_is_seen_before_it_is_used_up)
{
    pid_t children[8];
    unsigned started = 0;
    if (geteuid() != 0)
        return;
    begin(16 * MIB);
    cgroup_put("self", "0::/agent\n");
    ck_assert_int_eq(chmod(f->folder, 0755), 0);
    ck_assert_int_eq(pipe(strangers.ready) | pipe(strangers.go), 0);
    fixture_agent_start(f);
    while (started < 8 && fixture_get(f, &f->refused) == 0) {
        unsigned number = started;
        children[started++] = stranger_start();
        ck_assert(wait_until(is_answered, &number, 0));
        text_put(cgroups, "agent/memory.max", "104857600\n");
        text_put(cgroups, "agent/memory.current", "104857600\n");
    }
    ck_assert_uint_gt(fixture_get(f, &f->refused), 0);
    ck_assert_uint_lt(started, 6);
    for (unsigned i = 0; i < started; i++)
        (void)spawn_stop(children[i], SIGKILL, 0);
    agent_end();
}
END_TEST

static const struct {
    const char *cgroup, *file, *limit;
    uint64_t limit_bytes, ring_bytes;
} places[] = {
    {"0::/box\n", "box/memory.max", "6291456\n", 6 * MIB, 3 * MIB / 2},
    {"0::/pod/box\n", "pod/memory.max", "6291456\n", 6 * MIB, 3 * MIB / 2}, /* its parent's */
    {"0::/pod/box\n", "pod/box/memory.high", "6291456\n", 6 * MIB, 3 * MIB / 2},
    {"4:cpu,memory:/pod/box\n0::/\n", "memory/pod/memory.limit_in_bytes", "6291456\n", 6 * MIB,
     3 * MIB / 2},
    {"4:memory:/box\n", "memory/box/memory.limit_in_bytes", "9223372036854771712\n", 0, 16 * MIB},
    {"0::/box\n", "box/memory.max", "max\n", 0, 16 * MIB},
    {"0::/box\n", "box/memory.max", "1073741824\n", UINT64_C(1) << 30, 16 * MIB},
    {"0::/box\n", "box/memory.max", "4096\n", 4096, RING_BYTES_MIN},
    {"0::/../box\n", "box/memory.max", "6291456\n", 0, 16 * MIB}, /* not below what we see */
};

START_TEST(a_ring_is_as_large_as_its_cgroup_bears)
{
    begin(16 * MIB);
    own_cgroup_put(places[_i].cgroup);
    text_put(cgroups, places[_i].file, places[_i].limit);
    attach();
    ck_assert_uint_eq(f->last->geometry.total, places[_i].ring_bytes);
    const struct ring_choice *choice = &f->last->choice;
    ck_assert_uint_eq(choice->limit_bytes, places[_i].limit_bytes);
    ck_assert_uint_eq(choice->wished_bytes, 16 * MIB);
    ck_assert_int_eq(choice->size,
                     places[_i].ring_bytes < 16 * MIB ? RING_BOUND_CGROUP : RING_BOUND_NONE);
    end();
}
END_TEST

START_TEST(the_tightest_of_two_limits_counts)
{
    begin(16 * MIB);
    own_cgroup_put("0::/pod/box\n");
    text_put(cgroups, "pod/memory.max", "8388608\n");
    text_put(cgroups, "pod/box/memory.max", "33554432\n");
    attach();
    ck_assert_uint_eq(f->last->geometry.total, 2 * MIB);
    end();
}
END_TEST

/* 1 GiB of the agent's own, of which an eighth is to stay free. */
START_TEST(where_memory_is_short_rings_grow_no_more_and_shrink)
{
    begin(16 * MIB);
    cgroup_put("self", "0::/agent\n");
    text_put(cgroups, "agent/memory.max", "1073741824\n");
    text_put(cgroups, "agent/memory.current", "104857600\n");
    text_put(cgroups, "agent/memory.stat", "inactive_file 0\n");
    attach();
    uint32_t many = 64;
    ck_assert(wait_until(has_big, &many, 0));
    text_put(cgroups, "agent/memory.current", "1052770304\n"); /* 20 MiB are left */
    uint32_t few = 4;
    ck_assert(wait_until(has_no_more_than, &few, 0));
    ck_assert_int_eq(f->last->choice.held, RING_BOUND_MEMORY);
    events_write(1000000);
    ck_assert_uint_le(used(), 3 * MIB); /* small chunks and tables stay */
    struct cut_result result;
    ck_assert_int_eq(fixture_cut(f->host, f->last, NULL, 0, &result), SKEIN_OK);
    ck_assert_uint_gt(result.events, 1000);
    cut_result_fini(&result);
    text_put(cgroups, "agent/memory.current", "1052770304\n");
    text_put(cgroups, "agent/memory.stat", "inactive_file 524288000\n"); /* these can go */
    ck_assert(wait_until(has_big, &many, 0));
    end();
}
END_TEST

static bool has_refused(void *fixture)
{
    struct agent_fixture *of = fixture;
    return fixture_get(of, &of->refused) > 0;
}

START_TEST(without_room_nobody_gets_a_ring_and_the_agent_lives)
{
    begin(16 * MIB);
    meminfo_put(1024, 20); /* 32 are to stay free */
    const struct skein_options options = {
        .size = sizeof(options), .service = "svc", .agent_socket = f->path};
    fixture_agent_start(f);
    ck_assert_int_eq(skein_start(&options), SKEIN_OK);
    ck_assert(wait_until(has_refused, f, 0));
    ck_assert(!fixture_has_attached(f));
    meminfo_put(1024, 600);
    ck_assert_int_eq(skein_wait_attached(support_deadline_ms()), SKEIN_OK);
    end();
}
END_TEST

/* Whatever is in the ring: the agent makes no more than the ring has. */
START_TEST(a_ring_that_lies_gets_no_more_than_it_has)
{
    begin(16 * MIB);
    attach();
    struct ring_header *header = (struct ring_header *)(void *)f->last->ring;
    header->big_cursor = UINT64_MAX;
    header->small_cursor = UINT64_MAX / 2;
    header->durable_data_end = UINT64_MAX;
    uint32_t all = ring_big_count(&f->last->geometry);
    struct ring_backing whole = ring_backing_whole(&f->last->geometry);
    while (told().big < all || told().table < whole.table)
        sched_yield();
    ck_assert_uint_le(used(), 16 * MIB);
    end();
}
END_TEST

/* Big chunks up to the last that a writer has ever taken. */
static uint32_t big_in_use(void)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < ring_big_count(&f->last->geometry); i++) {
        const struct ring_chunk *chunk =
            (const void *)(f->last->ring + ring_big_offset(&f->last->geometry, i));
        last = (chunk->state & RING_CHUNK_STATE_MASK) != RING_CHUNK_FREE ? i + 1 : last;
    }
    return last;
}

/* Writes on until its writer has taken so many: what it may take comes first, and need not be taken. */
static bool has_in_use(void *chunks)
{
    events_write(20000);
    return big_in_use() >= *(const uint32_t *)chunks;
}

static bool has_attached_again(void *fixture)
{
    struct agent_fixture *of = fixture;
    return fixture_get(of, &of->attached) >= 2;
}

START_TEST(a_ring_that_is_taken_over_keeps_what_it_has_in_use)
{
    begin(16 * MIB);
    attach();
    uint32_t many = 40; /* any ring has memory for four at first */
    ck_assert(wait_until(has_in_use, &many, 0));
    const struct ring_header *header = (const struct ring_header *)(const void *)f->last->ring;
    uint64_t ticks = header->overwritten_ticks;
    uint32_t in_use = big_in_use();
    fixture_agent_stop(f);
    process_unref(&f->last);
    fixture_agent_start(f);
    ck_assert(wait_until(has_attached_again, f, 0));
    ck_assert_uint_eq(f->last->geometry.total, 16 * MIB);
    ck_assert_uint_ge(told().big, in_use);
    ck_assert_uint_ge(((struct ring_header *)(void *)f->last->ring)->overwritten_ticks, ticks);
    uint32_t all = ring_big_count(&f->last->geometry);
    ck_assert(wait_until(has_big, &all, 0));
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_of(
        "attach_ring", a_ring_gets_memory_as_its_writer_goes_on, a_burst_that_comes_at_once_is_kept,
        threads_that_begin_at_once_lose_nothing, what_a_users_rings_grow_to_leaves_others_room,
        a_limit_that_is_set_while_the_agent_runs_is_seen_before_it_is_used_up,
        the_tightest_of_two_limits_counts, where_memory_is_short_rings_grow_no_more_and_shrink,
        without_room_nobody_gets_a_ring_and_the_agent_lives,
        a_ring_that_lies_gets_no_more_than_it_has,
        a_ring_that_is_taken_over_keeps_what_it_has_in_use, NULL);
    TCase *cgroup = tcase_create("cgroup");
    tcase_add_loop_test(cgroup, a_ring_is_as_large_as_its_cgroup_bears, 0,
                        sizeof places / sizeof places[0]);
    suite_add_tcase(suite, cgroup);
    return suite_run(suite);
}
