/* SPDX-License-Identifier: Apache-2.0
 *
 * The spool on a disk that fails: every write, fsync and rename of a session is made to fail in
 * turn (linked with --wrap), and after each the spool is consistent with what it said.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_state.h"
#include "spool.h"
#include "support.h"
#include "target_result.h"

ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int from, const char *a, int into, const char *b);
int __wrap_renameat(int from, const char *a, int into, const char *b);

static unsigned fail_at; /* the nth call from here fails; 0: none */
static int fail_with;
static bool failed;

static bool fails_now(void)
{
    if (fail_at == 0 || --fail_at > 0)
        return false;
    failed = true;
    errno = fail_with;
    return true;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    if (fail_at != 0 && fd > 2) {
        if (fails_now()) {
            if (n > 1) /* a short write first, as a full disk gives */
                (void)__real_write(fd, bytes, n / 2);
            errno = fail_with;
            return -1;
        }
    }
    return __real_write(fd, bytes, n);
}

int __wrap_fsync(int fd)
{
    return fails_now() ? -1 : __real_fsync(fd);
}

int __wrap_renameat(int from, const char *a, int into, const char *b)
{
    return fails_now() ? -1 : __real_renameat(from, a, into, b);
}

static const struct capture_id capture = {{1}};
static const struct process_uid process = {{2}};
#define PARTITIONS 3

static struct spool *open_in(const char *folder)
{
    struct spool_settings settings = {
        .folder = folder, .max_bytes = 1 << 20, .amend = target_result_amend};
    struct spool *spool;
    char error[256] = "";
    int status = spool_open(&settings, &spool, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    return spool;
}

/* Puts partitions and a report; taken[i] says what the spool answered. */
static void session(struct spool *spool, int taken[PARTITIONS])
{
    for (uint64_t i = 0; i < PARTITIONS; i++) {
        char bytes[2000];
        memset(bytes, (int)i, sizeof bytes);
        struct spool_head head = {.capture = capture, .key = {process, 1, i}, .events = 1};
        taken[i] = spool_put(spool, &head, (uint8_t *)bytes, sizeof bytes);
    }
    (void)spool_report_put(spool, SPOOL_TARGET, 0, &capture, &process, "{}", 2);
    spool_release(spool, &capture, &process);
}

static size_t queued(struct spool *spool, const int taken[PARTITIONS])
{
    uint64_t order = 0;
    struct spool_head head;
    size_t n = 0;
    for (; spool_next(spool, order, &order, &head) == SKEIN_OK; n++) {
        ck_assert_int_eq(taken[head.key.sequence], SKEIN_OK);
        int fd;
        char bytes[2001];
        ck_assert_int_eq(spool_open_partition(spool, &head.key, &fd), SKEIN_OK);
        ck_assert_int_eq(pread(fd, bytes, sizeof bytes, SPOOL_FILE_HEAD_BYTES), 2000);
        ck_assert_int_eq(bytes[1999], (char)head.key.sequence);
        close(fd);
    }
    return n;
}

static void one_session(unsigned n, int error)
{
    char *folder = temp_dir_new();
    struct spool *spool = open_in(folder);
    int taken[PARTITIONS];
    failed = false;
    fail_at = n;
    fail_with = error;
    session(spool, taken);
    fail_at = 0;
    size_t expected = 0;
    for (size_t i = 0; i < PARTITIONS; i++)
        expected += taken[i] == SKEIN_OK;
    ck_assert_uint_eq(queued(spool, taken), expected);
    spool_close(&spool);
    /* A restart finds what was promised, and nothing else. */
    spool = open_in(folder);
    spool_release(spool, &capture, &process);
    ck_assert_uint_eq(queued(spool, taken), expected);
    spool_close(&spool);
    temp_dir_free(&folder);
}

START_TEST(whatever_write_fails_the_spool_keeps_what_it_promised)
{
    static const int errors[] = {ENOSPC, EIO, EDQUOT};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        for (unsigned n = 1;; n++) {
            one_session(n, errors[i]);
            if (!failed)
                break;
        }
    }
}
END_TEST

START_TEST(a_full_disk_is_told_from_a_broken_one)
{
    char *folder = temp_dir_new();
    struct spool *spool = open_in(folder);
    int taken[PARTITIONS];
    fail_at = 1;
    fail_with = ENOSPC;
    session(spool, taken);
    ck_assert_int_eq(taken[0], SKEIN_FULL);
    ck_assert_int_eq(taken[1], SKEIN_OK);
    spool_close(&spool);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(no_epoch_is_used_twice_whatever_write_fails)
{
    char *folder = temp_dir_new();
    struct {
        uint64_t agent, epoch;
    } used[64];
    size_t count = 0;
    for (unsigned n = 1, done = 0; done < 2; n++) {
        struct agent_state state;
        char error[256];
        failed = false;
        fail_at = n;
        fail_with = EIO;
        int status = agent_state_open(folder, &state, error, sizeof error);
        fail_at = 0;
        if (!failed)
            done++;
        ck_assert(failed || status == SKEIN_OK);
        if (status != SKEIN_OK)
            continue;
        for (size_t i = 0; i < count; i++)
            ck_assert(used[i].agent != state.agent || used[i].epoch != state.epoch);
        ck_assert_uint_lt(count, 64);
        used[count].agent = state.agent;
        used[count++].epoch = state.epoch;
        agent_state_close(&state);
    }
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("spool faults", whatever_write_fails_the_spool_keeps_what_it_promised,
                              a_full_disk_is_told_from_a_broken_one,
                              no_epoch_is_used_twice_whatever_write_fails, NULL));
}
