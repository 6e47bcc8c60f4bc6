/* SPDX-License-Identifier: Apache-2.0
 * kill -9 of a traced program at random moments: its ring is cut afterwards, everything that was
 * committed is there, and nothing in it is malformed. SKEIN_CRASH_ROUNDS sets how often. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../unit/agent/agent_fixture.h"

static uint64_t *progress;
static uint64_t target;

static bool has_come_far(void *context)
{
    (void)context;
    return __atomic_load_n(progress, __ATOMIC_ACQUIRE) >= target;
}

static struct {
    struct agent_fixture *f;
    unsigned count;
} ends;

static bool has_ended(void *context)
{
    (void)context;
    return fixture_get(ends.f, &ends.f->gone) >= ends.count;
}

/* The steps of a killed process run without a hole up to the last one that was surely committed. */
static void ring_check(struct agent_fixture *f, uint64_t surely)
{
    struct cut_result result;
    ck_assert_int_eq(f->last_state, PROCESS_CRASHED);
    ck_assert_int_eq(fixture_cut(f->host, f->last, NULL, 0, &result), SKEIN_OK);
    struct partition_sum sum = partition_sum_get(&result.bytes);
    ck_assert_msg(sum.last_u64 == surely || sum.last_u64 == surely + 1,
                  "step %llu was committed, the ring ends with %llu", (unsigned long long)surely,
                  (unsigned long long)sum.last_u64);
    ck_assert_uint_eq(result.lost[PARTITION_LOSS_CORRUPT], 0);
    for (size_t i = 0; i < result.gap_count; i++) {
        ck_assert_int_ne(result.gaps[i].reason, PARTITION_LOSS_CORRUPT);
        ck_assert_int_ne(result.gaps[i].reason, PARTITION_LOSS_NAME);
    }
    if (surely < 10000) /* not wrapped yet */
        ck_assert_uint_eq(sum.jumps, 0);
    cut_result_fini(&result);
}

START_TEST(everything_committed_survives_a_kill_at_any_moment)
{
    const char *text = getenv("SKEIN_CRASH_ROUNDS");
    unsigned rounds = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 200, seed = 4711;
    struct agent_fixture *f = fixture_new(UINT64_C(512) << 10);
    char *path = path_join(f->folder, "progress");
    uint8_t zeros[4096] = {0};
    file_write(path, zeros, sizeof(zeros));
    int fd = open(path, O_RDWR | O_CLOEXEC);
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(progress, MAP_FAILED);
    fixture_agent_start(f);
    ends.f = f;
    for (unsigned round = 0; round < rounds; round++) {
        const char *const argv[] = {RING_SUBJECT, f->path, path, NULL};
        *progress = 0;
        target = (uint64_t)rand_r(&seed) % (round % 4 == 0 ? 100 : 30000) + 1;
        pid_t pid = spawn(argv, NULL);
        ck_assert(wait_until(has_come_far, NULL, 0));
        spawn_stop(pid, SIGKILL, 0);
        ends.count = round + 1;
        ck_assert(wait_until(has_ended, NULL, 0));
        ring_check(f, *progress);
    }
    close(fd);
    free(path);
    fixture_free(f);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("ring_kill", everything_committed_survives_a_kill_at_any_moment, NULL));
}
