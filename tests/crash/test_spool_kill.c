/* SPDX-License-Identifier: Apache-2.0
 *
 * kill -9 of a process that fills and empties a spool, at random moments: what it was told is
 * stored is there after it, whole, and nothing that it did not put is.
 *
 * The child writes down what the spool has promised in shared memory, which outlives it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checksum.h"
#include "spool.h"
#include "support.h"
#include "target_result.h"

#define ROUNDS_DEFAULT 60
#define KEYS           100000

/* begun: the put was called; promised: it returned OK; leaving: spool_done was called. */
enum { BEGUN = 1, PROMISED = 2, LEAVING = 4 };
struct shared {
    uint64_t next; /* atomic; the next sequence to use, over all rounds */
    uint8_t state[KEYS];
};

static const struct process_uid process = {{2}};
static char *folder;

static struct spool *open_spool(void)
{
    struct spool_settings settings = {
        .folder = folder, .max_bytes = 64 << 20, .amend = target_result_amend};
    struct spool *spool;
    char error[256] = "";
    if (spool_open(&settings, &spool, error, sizeof error) != SKEIN_OK)
        return NULL;
    return spool;
}

static size_t fill(uint8_t bytes[8192], uint64_t sequence)
{
    size_t n = 1 + (size_t)(sequence * 7919 % 8192);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i ^ sequence);
    return n;
}

static struct capture_id capture_of(uint64_t sequence)
{
    struct capture_id id = {{(uint8_t)(sequence / 3), (uint8_t)(sequence / 3 >> 8), 1}};
    return id;
}

static void put_one(struct spool *spool, struct shared *shared)
{
    uint64_t i = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
    uint8_t bytes[8192];
    if (i >= KEYS)
        _exit(3);
    size_t n = fill(bytes, i);
    struct capture_id capture = capture_of(i);
    struct spool_head head = {.capture = capture, .key = {process, 1, i}, .events = 1};
    shared->state[i] |= BEGUN;
    if (spool_put(spool, &head, bytes, n) != SKEIN_OK)
        _exit(4);
    shared->state[i] |= PROMISED;
    if (i % 3 == 2) {
        if (spool_report_put(spool, SPOOL_TARGET, 0, &capture, &process, "{\"partitions\":[]}",
                             17) != SKEIN_OK)
            _exit(5);
        spool_release(spool, &capture, &process);
    }
}

/* Until it is killed. Stores, and as an uplink would, takes off the older half. */
static void child(struct shared *shared)
{
    struct spool *spool = open_spool();
    if (spool == NULL)
        _exit(2);
    for (unsigned step = 0;; step++) {
        put_one(spool, shared);
        uint64_t order = 0;
        struct spool_head head;
        if (step % 4 == 3 && spool_next(spool, 0, &order, &head) == SKEIN_OK) {
            shared->state[head.key.sequence] |= LEAVING;
            spool_done(spool, &head.key, SPOOL_STORED);
        }
    }
}

struct audit {
    struct shared *shared;
    uint8_t *found;
    struct partition_key *keys;
    size_t count;
};

static void audit_one(void *context, const struct spool_head *head, int held)
{
    struct audit *audit = context;
    (void)held;
    ck_assert_uint_lt(head->key.sequence, KEYS);
    ck_assert(audit->shared->state[head->key.sequence] & BEGUN);
    ck_assert_uint_eq(audit->found[head->key.sequence]++, 0);
    audit->keys[audit->count++] = head->key;
}

static void audit(struct shared *shared)
{
    struct spool *spool = open_spool();
    ck_assert_ptr_nonnull(spool);
    struct audit audit = {.shared = shared,
                          .found = calloc(KEYS, 1),
                          .keys = calloc(KEYS, sizeof(struct partition_key))};
    spool_visit(spool, audit_one, &audit);
    for (size_t i = 0; i < audit.count; i++) {
        int fd;
        uint8_t bytes[8193], expected[8192];
        size_t n = fill(expected, audit.keys[i].sequence);
        ck_assert_int_eq(spool_open_partition(spool, &audit.keys[i], &fd), SKEIN_OK);
        ck_assert_int_eq(pread(fd, bytes, sizeof bytes, SPOOL_FILE_HEAD_BYTES), (ssize_t)n);
        ck_assert_mem_eq(bytes, expected, n);
        close(fd);
    }
    for (size_t i = 0; i < KEYS; i++) {
        if ((shared->state[i] & (PROMISED | LEAVING)) == PROMISED)
            ck_assert_msg(audit.found[i] == 1, "partition %zu was promised and is gone", i);
    }
    free(audit.found);
    free(audit.keys);
    spool_close(&spool);
}

static unsigned rounds(void)
{
    const char *text = getenv("SKEIN_CRASH_ROUNDS");
    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : ROUNDS_DEFAULT;
}

START_TEST(a_killed_spool_keeps_what_it_promised)
{
    folder = temp_dir_new();
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    for (unsigned round = 0; round < rounds(); round++) {
        uint32_t random = 0;
        ck_assert_int_eq(getrandom(&random, sizeof random, 0), sizeof random);
        pid_t pid = fork();
        if (pid == 0)
            child(shared);
        /* The moment is the point of the test, not something that is waited for. */
        struct timespec moment = {.tv_nsec = (long)(random % 30000000)};
        nanosleep(&moment, NULL);
        kill(pid, SIGKILL);
        int status = 0;
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_msg(WIFSIGNALED(status), "the child ended by itself: %d", WEXITSTATUS(status));
        audit(shared);
    }
    ck_assert_uint_gt(shared->next, rounds());
    munmap(shared, sizeof *shared);
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("spool kill", a_killed_spool_keeps_what_it_promised, NULL));
}
