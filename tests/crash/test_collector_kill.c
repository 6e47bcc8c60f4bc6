/* SPDX-License-Identifier: Apache-2.0
 *
 * kill -9 of a collector at random moments while partitions are uploaded: every acknowledged one is
 * there afterwards, each exactly once, byte for byte. The program runs itself as the collector:
 * test_collector_kill collector FOLDER ADDRESS. SKEIN_CRASH_ROUNDS sets the number of kills.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ingest.h"
#include "partition_make.h"
#include "support.h"

#define KEYS          4000
#define SEGMENT_BYTES (128 << 10)

static int collector_main(const char *folder, const char *address)
{
    char error[256] = "";
    struct store *store;
    struct index *index;
    struct ingest *ingest;
    struct store_settings store_settings = {folder, SEGMENT_BYTES, 0};
    struct ingest_settings settings = {address, 64 << 20, 1, NULL, 50, 0};
    if (store_open(&store_settings, &store, error, sizeof error) < 0 ||
        index_open(folder, store, &index, error, sizeof error) < 0 ||
        ingest_start(&settings, store, index, NULL, &ingest, error, sizeof error) < 0) {
        fprintf(stderr, "collector: %s\n", error);
        return 1;
    }
    for (;;)
        pause();
}

static size_t noise_of(uint64_t sequence)
{
    return sequence % 60 == 59 ? WIRE_CHUNK_MAX * 5 / 2 : sequence % 5 * 3000;
}

static bool acknowledged[KEYS];
static uint64_t first_open,
    next_key; /* all below first_open are acknowledged; next_key was never sent */

static void acks_drain(struct transport *t, int timeout_ms)
{
    struct wire_ack ack;
    while (ack_receive(t, timeout_ms, &ack, NULL)) {
        ck_assert_msg(ack.status != WIRE_REJECTED, "partition %llu rejected",
                      (unsigned long long)ack.key.sequence);
        if (ack.status != WIRE_RETRY)
            acknowledged[ack.key.sequence] = true;
    }
    while (first_open < next_key && acknowledged[first_open])
        first_open++;
}

static bool listens(void *context)
{
    int fd = tcp_connect(*(const uint16_t *)context);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static pid_t collector_spawn(const char *folder, struct transport **t)
{
    char address[64];
    uint16_t port = free_port();
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    const char *argv[] = {"/proc/self/exe", "collector", folder, address, NULL};
    pid_t pid = spawn(argv, NULL);
    ck_assert_msg(wait_until(listens, &port, 0), "no collector");
    ck_assert_int_eq(transport_dial(address, WIRE_CONTROL_MAX, t), SKEIN_OK);
    return pid;
}

static void send_one(struct transport *t, uint64_t sequence)
{
    static struct buf bytes;
    struct partition_key key = key_of(1, 1, sequence);
    struct capture_id capture = capture_of(1);
    partition_of(&key, noise_of(sequence), &bytes);
    partition_send(t, &key, &capture, &bytes);
}

/* Sends what is not acknowledged yet and then new ones, at least two, and is gone at a moment of
 * chance. */
static void round_run(const char *folder)
{
    struct transport *t;
    pid_t pid = collector_spawn(folder, &t);
    long sends = 1 + random() % 30;
    uint64_t sequence = first_open, enough = next_key + 2;
    while ((sends > 0 || next_key < enough) && sequence < KEYS) {
        if (!acknowledged[sequence]) {
            send_one(t, sequence);
            sends--;
        }
        if (sequence == next_key)
            next_key++;
        sequence++;
        acks_drain(t, 0);
    }
    struct timespec chance = {0, random() % 4000000}; /* the moment, not a wait */
    (void)nanosleep(&chance, NULL);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    (void)spawn_wait(pid, 0);
    acks_drain(t, 0);
    transport_free(&t);
}

struct tally {
    struct store *store;
    unsigned count[KEYS];
};

static int record_check(void *context, const struct store_record *record,
                        const struct store_place *place, const struct partition_footer *footer)
{
    struct tally *tally = context;
    uint64_t sequence = record->key.sequence;
    struct buf want = {0}, got = {0};
    (void)footer;
    ck_assert_uint_lt(sequence, KEYS);
    tally->count[sequence]++;
    partition_of(&record->key, noise_of(sequence), &want);
    ck_assert_uint_eq(place->bytes, want.len);
    uint8_t *bytes = buf_reserve(&got, want.len);
    ck_assert_int_eq(store_read(tally->store, place, 0, bytes, want.len), SKEIN_OK);
    ck_assert_int_eq(memcmp(bytes, want.data, want.len), 0);
    buf_fini(&want);
    buf_fini(&got);
    return 0;
}

static void verify(const char *folder)
{
    char error[256] = "";
    static struct tally tally;
    struct index *index;
    struct store_settings settings = {folder, SEGMENT_BYTES, 0};
    memset(&tally, 0, sizeof tally);
    ck_assert_msg(store_open(&settings, &tally.store, error, sizeof error) == SKEIN_OK, "%s",
                  error);
    ck_assert_msg(index_open(folder, tally.store, &index, error, sizeof error) == SKEIN_OK, "%s",
                  error);
    ck_assert_int_eq(store_scan(tally.store, 0, 0, record_check, NULL, &tally), SKEIN_OK);
    for (uint64_t i = 0; i < next_key; i++) {
        struct partition_key key = key_of(1, 1, i);
        unsigned long long n = i;
        ck_assert_msg(tally.count[i] <= 1, "partition %llu is stored %u times", n, tally.count[i]);
        ck_assert_msg(!acknowledged[i] || tally.count[i] == 1,
                      "acknowledged partition %llu is lost", n);
        ck_assert_int_eq(index_find(index, &key, NULL), (int)tally.count[i]);
    }
    index_close(&index);
    store_close(&tally.store);
}

START_TEST(acknowledged_partitions_survive_kills_at_random_moments)
{
    char *folder = temp_dir_new(), *database = path_join(folder, "index.db");
    const char *rounds_text = getenv("SKEIN_CRASH_ROUNDS");
    int rounds = rounds_text ? (int)strtol(rounds_text, NULL, 10) : 110;
    unsigned seed = (unsigned)getpid();
    fprintf(stderr, "seed %u\n", seed);
    srandom(seed);
    for (int i = 0; i < rounds; i++) {
        round_run(folder);
        if (i % 10 == 3)
            verify(folder);
        if (i % 25 == 7) /* the index is a cache: a collector without it makes it anew */
            unlink(database);
    }
    struct transport *t;
    pid_t pid = collector_spawn(folder, &t);
    while (first_open < next_key) {
        for (uint64_t i = first_open; i < next_key; i++)
            if (!acknowledged[i])
                send_one(t, i);
        acks_drain(t, 200);
    }
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    (void)spawn_wait(pid, 0);
    transport_free(&t);
    ck_assert_uint_gt(next_key, (uint64_t)rounds);
    verify(folder);
    free(database);
    temp_dir_free(&folder);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "collector") == 0)
        return collector_main(argv[2], argv[3]);
    Suite *suite = suite_create("collector_kill");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 280);
    tcase_add_test(c, acknowledged_partitions_survive_kills_at_random_moments);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
