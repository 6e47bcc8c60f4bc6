/* SPDX-License-Identifier: Apache-2.0
 *
 * kill -9 of a collector at random moments while it deletes captures and compacts, because little
 * is alive or because it has too little disk: no partition of another capture is lost or double,
 * and nothing of a capture whose deletion was reported comes back, also in an index that is made
 * anew. The program runs itself as the collector: test_compact_kill collector FOLDER ADDRESS.
 * SKEIN_CRASH_ROUNDS sets the number of kills.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "checksum.h"
#include "ingest.h"
#include "partition_make.h"
#include "support.h"

#define CAPTURES 60 /* capture 0 is kept */
#define KEYS     1200
#define SEGMENT  40000
#define NOISE    1000

static unsigned capture_of_key(uint64_t sequence)
{
    return sequence % 5 == 0 ? 0 : 1 + (unsigned)(sequence * 7919 % (CAPTURES - 1));
}

/* Without libcheck, whose assertions end a program that runs no tests. */
static bool open_both(const char *folder, struct store **store, struct index **index)
{
    char error[256] = "";
    struct store_settings settings = {folder, SEGMENT, 0};
    bool opened = store_open(&settings, store, error, sizeof error) == SKEIN_OK &&
                  index_open(folder, *store, index, error, sizeof error) == SKEIN_OK;
    if (!opened)
        fprintf(stderr, "%s: %s\n", folder, error);
    return opened;
}

/* Deletes one capture after the other; each is noted in FOLDER/done when its deletion has returned.
 * Compacts what is sparse, or with every second process id all that is worth it. */
static int collector_main(const char *folder, const char *address)
{
    char error[256] = "", path[4096];
    struct store *store;
    struct index *index;
    struct ingest *ingest;
    bool urgent = getpid() % 2 == 0;
    struct ingest_settings settings = {address, 1 << 20, 1, NULL, urgent ? 0 : 90, urgent ? 1 : 0};
    (void)snprintf(path, sizeof path, "%s/done", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    off_t done = lseek(fd, 0, SEEK_END);
    if (fd < 0 || done < 0 || !open_both(folder, &store, &index) ||
        ingest_start(&settings, store, index, NULL, &ingest, error, sizeof error) < 0)
        return 1;
    for (unsigned i = 1 + (unsigned)done; i < CAPTURES; i++) {
        struct capture_id capture = capture_of(i);
        if (ingest_delete_capture(ingest, &capture) < 0 || write(fd, "x", 1) != 1)
            return 1;
    }
    for (;;)
        pause();
}

static void fill(const char *folder)
{
    struct store *store;
    struct index *index;
    struct buf bytes = {0};
    ck_assert(open_both(folder, &store, &index));
    index_close(&index);
    for (uint64_t i = 0; i < KEYS; i++) {
        struct store_record record = {.key = key_of(1, 1, i),
                                      .capture = capture_of(capture_of_key(i))};
        struct store_place place;
        partition_of(&record.key, NOISE, &bytes);
        ck_assert_int_eq(store_append(store, &record, bytes.data, bytes.len,
                                      checksum64(bytes.data, bytes.len), &place),
                         SKEIN_OK);
        if (i % 20 == 19)
            ck_assert_int_eq(store_sync(store), SKEIN_OK);
    }
    store_close(&store);
    buf_fini(&bytes);
}

struct tally {
    struct store *store;
    unsigned count[KEYS];
};

static int row_check(void *context, const struct partition_row *row)
{
    struct tally *tally = context;
    struct buf want = {0}, got = {0};
    uint64_t sequence = row->record.key.sequence;
    must_hold(sequence < KEYS, "partition %u was never sent", (unsigned)sequence);
    tally->count[sequence]++;
    partition_of(&row->record.key, NOISE, &want);
    uint8_t *bytes = buf_reserve(&got, want.len);
    must_hold(row->place.bytes == want.len &&
                  store_read(tally->store, &row->place, 0, bytes, want.len) == SKEIN_OK &&
                  memcmp(bytes, want.data, want.len) == 0,
              "partition %u is not what was sent", (unsigned)sequence);
    buf_fini(&want);
    buf_fini(&got);
    return 0;
}

static size_t captures_done(const char *folder)
{
    size_t n = 0;
    char *path = path_join(folder, "done"), *bytes = file_read(path, &n);
    free(bytes);
    free(path);
    return bytes ? n : 0;
}

static void verify(const char *folder)
{
    static struct tally tally;
    memset(&tally, 0, sizeof tally);
    struct index *index;
    ck_assert(open_both(folder, &tally.store, &index));
    struct partition_query all = {.to_ns = UINT64_MAX};
    ck_assert_int_ge(index_query(index, &all, row_check, &tally), 0);
    size_t done = captures_done(folder);
    for (uint64_t i = 0; i < KEYS; i++) {
        unsigned capture = capture_of_key(i), n = tally.count[i];
        must_hold(n <= 1, "partition %u is there %u times", (unsigned)i, n);
        if (capture > 0 && capture <= done)
            must_hold(n == 0, "partition %u came back", (unsigned)i);
        if (capture == 0 || capture > done + 1) /* done + 1 may be on its way */
            must_hold(n == 1, "partition %u is lost", (unsigned)i);
    }
    index_close(&index);
    store_close(&tally.store);
}

static bool listens(void *context)
{
    int fd = tcp_connect(*(const uint16_t *)context);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

START_TEST(kills_while_deleting_and_compacting_lose_and_bring_back_nothing)
{
    char *folder = temp_dir_new(), *database = path_join(folder, "index.db"), address[64];
    const char *rounds_text = getenv("SKEIN_CRASH_ROUNDS");
    int rounds = rounds_text ? (int)strtol(rounds_text, NULL, 10) : 30;
    unsigned seed = (unsigned)getpid();
    fprintf(stderr, "seed %u\n", seed);
    srandom(seed);
    fill(folder);
    verify(folder);
    for (int i = 0; i < rounds; i++) {
        uint16_t port = free_port();
        (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
        const char *argv[] = {"/proc/self/exe", "collector", folder, address, NULL};
        pid_t pid = spawn(argv, NULL);
        ck_assert_msg(wait_until(listens, &port, 0), "the collector does not come up");
        struct timespec chance = {0, random() % 60000000}; /* the moment, not a wait */
        (void)nanosleep(&chance, NULL);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        (void)spawn_wait(pid, 0);
        if (i % 3 == 1) /* the index is a cache */
            unlink(database);
        verify(folder);
    }
    ck_assert_msg(captures_done(folder) > 0, "nothing was deleted");
    free(database);
    temp_dir_free(&folder);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "collector") == 0)
        return collector_main(argv[2], argv[3]);
    Suite *suite = suite_create("compact_kill");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 280);
    tcase_add_test(c, kills_while_deleting_and_compacting_lose_and_bring_back_nothing);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
