/* SPDX-License-Identifier: Apache-2.0
 *
 * The holder: what one agent puts, another takes, with the memory of rings and the ends of processes.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "hold_int.h"
#include "support.h"

static char *folder;
/* Atomic, and for holders, too. */
static struct {
    int seen;          /* what `look` says */
    uint64_t ahead_ns; /* how much later it is than it is */
    uint64_t looks;    /* how often it was asked */
    pid_t holder;      /* who asked last */
} * shared;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    int status = __real_clock_gettime(clock, out);
    if (clock == CLOCK_MONOTONIC && shared != NULL)
        out->tv_sec += (time_t)(__atomic_load_n(&shared->ahead_ns, __ATOMIC_SEQ_CST) / 1000000000u);
    return status;
}

static void setup(void)
{
    folder = temp_dir_new();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne((void *)shared, MAP_FAILED);
    __atomic_store_n(&shared->seen, RING_HOLD_RUNS, __ATOMIC_SEQ_CST);
}

static void teardown(void)
{
    munmap(shared, sizeof *shared);
    shared = NULL;
    temp_dir_free(&folder);
}

struct taken {
    size_t count;
    struct hold_key keys[8];
    char notes[8][32], bytes[8][8];
    uint64_t died_ns[8], runs_ns[8];
};

static void item_take(void *context, const struct hold_item *item)
{
    struct taken *taken = context;
    size_t n = taken->count++;
    ck_assert_uint_lt(n, 8);
    ck_assert_uint_lt(item->note_bytes, 32);
    taken->keys[n] = item->key;
    taken->died_ns[n] = item->died_ns;
    taken->runs_ns[n] = item->runs_ns;
    memcpy(taken->notes[n], item->note, item->note_bytes);
    ck_assert_int_eq(pread(item->fds[0], taken->bytes[n], 7, 0), 7);
    close(item->fds[0]);
    if (item->fds[1] >= 0)
        close(item->fds[1]);
}

static struct taken take(struct ring_hold *hold)
{
    struct taken taken = {.count = 0};
    ring_hold_take(hold, item_take, &taken);
    return taken;
}

static enum ring_hold_look look(const uint8_t *note, size_t note_bytes)
{
    __atomic_store_n(&shared->holder, getpid(), __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&shared->looks, 1, __ATOMIC_SEQ_CST);
    if (note_bytes != strlen("child") || memcmp(note, "child", note_bytes) != 0)
        return RING_HOLD_ELSE;
    return (enum ring_hold_look)__atomic_load_n(&shared->seen, __ATOMIC_SEQ_CST);
}

static struct ring_hold *hold_new(void)
{
    struct ring_hold *hold;
    ck_assert_int_eq(ring_hold_open(folder, look, &hold), SKEIN_OK);
    return hold;
}

static void put(struct ring_hold *hold, uint8_t process, const char *bytes, int pidfd,
                const char *note)
{
    int memory = memfd_create("ring", MFD_CLOEXEC);
    struct stat st;
    ck_assert_int_eq(pwrite(memory, bytes, 7, 0), 7);
    ck_assert_int_eq(fstat(memory, &st), 0);
    struct hold_item item = {.key = {{process}, (uint64_t)st.st_ino},
                             .fds = {memory, pidfd},
                             .note = (const uint8_t *)note,
                             .note_bytes = strlen(note)};
    ring_hold_put(hold, &item);
    close(memory); /* as the agent's death would */
}

static pid_t child_start(int *pidfd)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    *pidfd = (int)syscall(SYS_pidfd_open, child, 0u);
    ck_assert_int_ge(*pidfd, 0);
    return child;
}

START_TEST(what_an_agent_has_put_the_next_one_takes)
{
    struct ring_hold *hold = hold_new();
    ck_assert_uint_eq(take(hold).count, 0);
    put(hold, 1, "first..", -1, "one");
    put(hold, 2, "second.", -1, "two");
    ring_hold_close(&hold);
    hold = hold_new();
    struct taken taken = take(hold);
    ck_assert_uint_eq(taken.count, 2);
    ck_assert_str_eq(taken.notes[0], "one");
    ck_assert_str_eq(taken.bytes[1], "second.");
    ck_assert_uint_eq(taken.died_ns[0], 0);
    ring_hold_drop(hold, &taken.keys[0]);
    ring_hold_close(&hold);
    hold = hold_new();
    taken = take(hold);
    ck_assert_uint_eq(taken.count, 1);
    ck_assert_str_eq(taken.notes[0], "two");
    ring_hold_close(&hold);
}
END_TEST

START_TEST(an_item_takes_the_place_of_the_one_of_its_key)
{
    struct ring_hold *hold = hold_new();
    put(hold, 1, "memory.", -1, "lives");
    struct taken taken = take(hold);
    int memory = memfd_create("ring", MFD_CLOEXEC);
    ck_assert_int_eq(pwrite(memory, "memory.", 7, 0), 7);
    const struct hold_item ended = {.key = taken.keys[0],
                                    .fds = {memory, -1},
                                    .died_ns = 77,
                                    .runs_ns = 76,
                                    .note = (const uint8_t *)"ended",
                                    .note_bytes = strlen("ended")};
    ring_hold_put(hold, &ended);
    close(memory);
    taken = take(hold);
    ck_assert_uint_eq(taken.count, 1);
    ck_assert_str_eq(taken.notes[0], "ended");
    ck_assert_uint_eq(taken.died_ns[0], 77);
    ck_assert_uint_eq(taken.runs_ns[0], 76);
    ring_hold_close(&hold);
}
END_TEST

static bool has_died(void *context)
{
    struct taken *taken = context;
    struct ring_hold *hold = hold_new();
    *taken = take(hold);
    ring_hold_close(&hold);
    return taken->died_ns[0] != 0;
}

/* No agent is there when it ends, and none when it is reaped. */
START_TEST(a_death_is_dated_while_no_agent_is_there)
{
    int pidfd;
    pid_t child = child_start(&pidfd);
    struct ring_hold *hold = hold_new();
    put(hold, 1, "memory.", pidfd, "child");
    ck_assert_uint_eq(take(hold).died_ns[0], 0);
    ring_hold_close(&hold);
    close(pidfd);
    uint64_t before_ns = clock_monotonic_ns();
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    struct taken taken;
    ck_assert(wait_until(has_died, &taken, 0));
    ck_assert_uint_ge(taken.died_ns[0], before_ns);
    ck_assert_uint_le(taken.died_ns[0], clock_monotonic_ns());
    ck_assert_str_eq(taken.bytes[0], "memory.");
}
END_TEST

static bool has_looked(void *context)
{
    struct taken *taken = context;
    struct ring_hold *hold = hold_new();
    const uint64_t before_ns = taken->runs_ns[0];
    *taken = take(hold);
    ring_hold_close(&hold);
    return taken->runs_ns[0] > before_ns;
}

/* It goes on looking while no agent is there, and what it says is true of the time that it tells. */
START_TEST(an_exec_while_no_agent_is_there_is_not_taken_for_the_same_program)
{
    int pidfd;
    pid_t child = child_start(&pidfd);
    struct ring_hold *hold = hold_new();
    put(hold, 1, "memory.", pidfd, "child");
    struct taken taken = take(hold);
    ring_hold_close(&hold);
    close(pidfd);
    for (int i = 0; i < 3; i++)
        ck_assert(wait_until(has_looked, &taken, 0));
    __atomic_store_n(&shared->seen, RING_HOLD_ELSE, __ATOMIC_SEQ_CST);
    uint64_t exec_ns = clock_monotonic_ns();
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert(wait_until(has_died, &taken, 0));
    ck_assert_uint_gt(taken.runs_ns[0], 0);
    ck_assert_uint_lt(taken.runs_ns[0], exec_ns);
    ck_assert_uint_ge(taken.died_ns[0], exec_ns);
}
END_TEST

static bool has_gone_on(void *context)
{
    const uint64_t *before = context;
    return __atomic_load_n(&shared->looks, __ATOMIC_SEQ_CST) > *before + 2;
}

/* It is seen to have no memory before it is seen to have ended, which on a busy host takes a while. */
START_TEST(a_process_has_ended_when_it_has_no_program_any_more)
{
    int pidfd;
    pid_t child = child_start(&pidfd);
    struct ring_hold *hold = hold_new();
    put(hold, 1, "memory.", pidfd, "child");
    struct taken taken = take(hold);
    __atomic_store_n(&shared->seen, RING_HOLD_ENDS, __ATOMIC_SEQ_CST);
    uint64_t looks = __atomic_load_n(&shared->looks, __ATOMIC_SEQ_CST);
    ring_hold_close(&hold);
    close(pidfd);
    ck_assert(wait_until(has_gone_on, &looks, 0));
    uint64_t seen_ns = clock_monotonic_ns();
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert(wait_until(has_died, &taken, 0));
    ck_assert_uint_lt(taken.died_ns[0], seen_ns);
}
END_TEST

/* It counts from when the agent left, however long the two had nothing to say to each other. */
START_TEST(a_holder_outlives_an_agent_that_was_quiet_for_long)
{
    int pidfd;
    pid_t child = child_start(&pidfd);
    struct ring_hold *hold = hold_new();
    put(hold, 1, "memory.", pidfd, "child");
    ck_assert_uint_eq(take(hold).count, 1);
    uint64_t looks = __atomic_load_n(&shared->looks, __ATOMIC_SEQ_CST);
    __atomic_store_n(&shared->ahead_ns, UINT64_C(3600000000000), __ATOMIC_SEQ_CST);
    ring_hold_close(&hold);
    bool goes_on = wait_until(has_gone_on, &looks, 0);
    hold = hold_new();
    const size_t count = take(hold).count;
    __atomic_store_n(&shared->ahead_ns, 0, __ATOMIC_SEQ_CST); /* libcheck reads this clock, too */
    ck_assert(goes_on);
    ck_assert_uint_eq(count, 1);
    ring_hold_close(&hold);
    close(pidfd);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(packets_that_are_none_are_refused)
{
    int pair[2], fds[HOLD_FDS];
    struct hold_packet packet = {.kind = HOLD_PUT, .note_bytes = 3}, got;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_gt(hold_send(pair[0], &packet, NULL, 0), 0);
    const ssize_t whole = hold_receive(pair[1], &got, fds, 0);
    ck_assert_int_gt(whole, 0);
    for (ssize_t n = 1; n <= whole; n++) { /* one byte less, or of another version */
        struct hold_packet bad = got;
        bad.version = (uint16_t)(n == whole ? HOLD_VERSION + 1 : HOLD_VERSION);
        ck_assert_int_eq(send(pair[0], &bad, (size_t)n, 0), n);
        ck_assert_int_lt(hold_receive(pair[1], &packet, fds, 0), 0);
    }
    got.note_bytes = HOLD_NOTE_MAX + 1;
    ck_assert_int_eq(send(pair[0], &got, (size_t)whole, 0), whole);
    ck_assert_int_lt(hold_receive(pair[1], &packet, fds, 0), 0);
    close(pair[0]);
    ck_assert_int_eq(hold_receive(pair[1], &packet, fds, 0), 0);
    close(pair[1]);
}
END_TEST

START_TEST(a_socket_that_a_dead_holder_left_is_no_obstacle)
{
    char *path = path_join(folder, HOLD_NAME);
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(file);
    free(path);
    struct ring_hold *hold = hold_new();
    put(hold, 1, "memory.", -1, "one");
    ck_assert_uint_eq(take(hold).count, 1);
    ring_hold_close(&hold);
}
END_TEST

/* Lets the holder, which no agent has any more, see its time pass, and waits until it is gone: `end` is
 * the other end of what it alone keeps open. */
static void holder_expire(int end)
{
    struct pollfd closes = {.fd = end, .events = POLLIN};
    __atomic_store_n(&shared->ahead_ns, UINT64_C(3600000000000), __ATOMIC_SEQ_CST);
    int n = poll(&closes, 1, (int)support_deadline_ms());
    __atomic_store_n(&shared->ahead_ns, 0, __ATOMIC_SEQ_CST);
    ck_assert_int_eq(n, 1);
    close(end);
}

/* The end of a pipe whose other one the holder keeps from now on. */
static int put_pipe(struct ring_hold *hold)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    const struct hold_item item = {
        .key = {{9}, 9}, .fds = {ends[1], -1}, .note = (uint8_t[]){1}, .note_bytes = 1};
    ring_hold_put(hold, &item);
    close(ends[1]);
    return ends[0];
}

START_TEST(a_holder_takes_its_socket_away_when_it_ends)
{
    char *path = path_join(folder, HOLD_NAME);
    struct ring_hold *hold = hold_new();
    int end = put_pipe(hold);
    ck_assert_int_eq(access(path, F_OK), 0);
    ring_hold_close(&hold);
    holder_expire(end);
    ck_assert_int_ne(access(path, F_OK), 0);
    free(path);
}
END_TEST

/* As of one that is late: the next agent's holder has the place by then. */
START_TEST(a_holder_leaves_what_another_has_there_alone)
{
    char *path = path_join(folder, HOLD_NAME);
    struct ring_hold *hold = hold_new();
    int end = put_pipe(hold);
    ck_assert_int_eq(unlink(path), 0);
    file_write_text(path, "another's");
    ring_hold_close(&hold);
    holder_expire(end);
    ck_assert_int_eq(access(path, F_OK), 0);
    free(path);
}
END_TEST

/* ---- more than it has room for ---- */

static void item_count(void *context, const struct hold_item *item)
{
    ++*(size_t *)context;
    for (int i = 0; i < HOLD_FDS; i++)
        if (item->fds[i] >= 0)
            close(item->fds[i]);
}

static size_t taken_count(struct ring_hold *hold)
{
    size_t count = 0;
    ring_hold_take(hold, item_count, &count);
    return count;
}

static void put_key(struct ring_hold *hold, const struct hold_key *key, const char *note)
{
    int memory = memfd_create("ring", MFD_CLOEXEC);
    ck_assert_int_eq(pwrite(memory, note, 7, 0), 7);
    const struct hold_item item = {.key = *key,
                                   .fds = {memory, -1},
                                   .note = (const uint8_t *)note,
                                   .note_bytes = strlen(note)};
    ring_hold_put(hold, &item);
    close(memory);
}

START_TEST(one_that_a_holder_has_no_descriptor_for_is_left_out_alone)
{
    const struct rlimit few = {64, 64};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct ring_hold *hold = hold_new();
    for (uint8_t i = 0; i < 100; i++)
        put_key(hold, &(struct hold_key){{i}, i}, "another");
    size_t kept = taken_count(hold);
    ck_assert_uint_ge(kept, 32);
    ck_assert_uint_lt(kept, 64);
    /* The agent is not thrown out: it may replace one, make room, use that. */
    put_key(hold, &(struct hold_key){{0}, 0}, "its end");
    ck_assert_uint_eq(taken_count(hold), kept);
    ring_hold_drop(hold, &(struct hold_key){{1}, 1});
    ck_assert_uint_eq(taken_count(hold), kept - 1);
    put_key(hold, &(struct hold_key){{200}, 200}, "another");
    ck_assert_uint_eq(taken_count(hold), kept);
    ring_hold_close(&hold);
    hold = hold_new(); /* and the next one comes in */
    ck_assert_uint_eq(taken_count(hold), kept);
    ring_hold_close(&hold);
}
END_TEST

static bool is_settled(void *context)
{
    return ring_hold_settle(context);
}

START_TEST(a_holder_that_is_behind_hears_later_what_it_is_to_drop)
{
    enum { RINGS = 20, DROPS = 1500 };
    int pidfd;
    pid_t child = child_start(&pidfd);
    struct ring_hold *hold = hold_new();
    put(hold, 1, "memory.", pidfd, "child");
    ck_assert_uint_eq(taken_count(hold), 1);
    uint64_t looks = __atomic_load_n(&shared->looks, __ATOMIC_SEQ_CST);
    ring_hold_close(&hold);
    ck_assert(wait_until(has_gone_on, &looks, 0));
    hold = hold_new();
    for (size_t i = 0; i < RINGS; i++)
        put_key(hold, &(struct hold_key){{7}, i}, "a ring.");
    ck_assert_uint_eq(taken_count(hold), RINGS + 1);
    pid_t holder = __atomic_load_n(&shared->holder, __ATOMIC_SEQ_CST);
    ck_assert_int_eq(kill(holder, SIGSTOP), 0);
    for (size_t i = DROPS; i > 0; i--) /* those that it has are the last */
        ring_hold_drop(hold, &(struct hold_key){{7}, i - 1});
    const bool settled = ring_hold_settle(hold);
    ck_assert_int_eq(kill(holder, SIGCONT),
                     0); /* before anything may fail: it would stay stopped */
    ck_assert(!settled);
    ck_assert(wait_until(is_settled, hold, 0));
    ck_assert_uint_eq(taken_count(hold), 1);
    ring_hold_close(&hold);
    close(pidfd);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring_hold");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 280);
    tcase_add_test(tc, what_an_agent_has_put_the_next_one_takes);
    tcase_add_test(tc, an_item_takes_the_place_of_the_one_of_its_key);
    tcase_add_test(tc, a_death_is_dated_while_no_agent_is_there);
    tcase_add_test(tc, an_exec_while_no_agent_is_there_is_not_taken_for_the_same_program);
    tcase_add_test(tc, a_holder_outlives_an_agent_that_was_quiet_for_long);
    tcase_add_test(tc, a_process_has_ended_when_it_has_no_program_any_more);
    tcase_add_test(tc, packets_that_are_none_are_refused);
    tcase_add_test(tc, a_socket_that_a_dead_holder_left_is_no_obstacle);
    tcase_add_test(tc, a_holder_takes_its_socket_away_when_it_ends);
    tcase_add_test(tc, a_holder_leaves_what_another_has_there_alone);
    tcase_add_test(tc, one_that_a_holder_has_no_descriptor_for_is_left_out_alone);
    tcase_add_test(tc, a_holder_that_is_behind_hears_later_what_it_is_to_drop);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
