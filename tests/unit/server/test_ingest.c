/* SPDX-License-Identifier: Apache-2.0
 * The data port over the real transport: what is acknowledged is stored once, and nobody who sends
 * nonsense stops it. */
#include "index_delete.h"
#include "ingest.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "assembly.h"
#include "checksum.h"
#include "metrics.h"
#include "partition_make.h"
#include "support.h"

#define counter(name) __atomic_load_n(&metrics.name, __ATOMIC_RELAXED)

static char *folder;
static char address[64];
static struct store *store;
static struct index *index_;
static struct ingest *ingest;
static _Atomic uint64_t hook_rows;

static void count_stored(void *context, const struct partition_row *rows, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) /* the row is findable before anybody hears of it */
        ck_assert_int_eq(index_find(index_, &rows[i].record.key, NULL), 1);
    atomic_fetch_add(&hook_rows, count);
}

/* The processes are agent 7's, but for one of a hostile agent. */
static uint64_t agent_by_process(void *context, const struct process_uid *process)
{
    (void)context;
    struct process_uid hostile = process_of(5000);
    return memcmp(process, &hostile, sizeof hostile) == 0 ? 666 : 7;
}

/* Of capture 9: process 1 in one range, process 2 in 150 of one partition each. */
static int64_t ranges_of_ninth(void *context, const struct capture_id *capture,
                               struct partition_range *after, struct partition_range *ranges,
                               size_t room)
{
    (void)context;
    struct capture_id ninth = capture_of(9);
    struct process_uid process = process_of(2);
    bool begins = after->last == 0, second = process_uid_equal(&after->key.process, &process);
    uint64_t at = second ? after->last + 2 : 1;
    size_t count = 0;
    if (!capture_id_equal(capture, &ninth))
        return 0;
    if (begins)
        ranges[count++] = (struct partition_range){key_of(1, 1, 0), 1000000};
    for (; count < room && at < 300; at += 2)
        ranges[count++] = (struct partition_range){key_of(2, 1, at), at};
    if (count > 0)
        *after = ranges[count - 1];
    return (int64_t)count;
}

static bool others_have; /* another capture has every tenth */

/* The last of those that nobody has, and how many they are, until they are deleted. */
static struct partition_key leaving;
static unsigned leaving_count, deletions;

static bool is_anothers(const struct partition_key *key)
{
    return key->sequence % 10 == 5;
}

/* What of a deletion's step 1 or 2 fails. */
static _Atomic bool append_fails, rows_fail;

int __real_store_append_tombstones(struct store *s, const struct store_record *records,
                                   size_t count, size_t *done);
int __wrap_store_append_tombstones(struct store *s, const struct store_record *records,
                                   size_t count, size_t *done);
int __real_index_tombstones_add(struct index *index, const struct store_record *records,
                                size_t count);
int __wrap_index_tombstones_add(struct index *index, const struct store_record *records,
                                size_t count);

int __wrap_store_append_tombstones(struct store *s, const struct store_record *records,
                                   size_t count, size_t *done)
{
    *done = 0;
    return append_fails ? SKEIN_IO : __real_store_append_tombstones(s, records, count, done);
}

int __wrap_index_tombstones_add(struct index *index, const struct store_record *records,
                                size_t count)
{
    return rows_fail ? SKEIN_IO : __real_index_tombstones_add(index, records, count);
}

static int64_t drop_anothers(void *context, struct index_entry *entries, size_t count)
{
    int64_t left = 0;
    (void)context;
    for (size_t i = 0; i < count; i++)
        if (!others_have || !is_anothers(&entries[i].key))
            entries[left++] = entries[i];
    ck_assert_uint_eq(leaving_count, 0);
    leaving_count = (unsigned)left;
    if (left > 0)
        leaving = entries[left - 1].key;
    return left;
}

static void deletion_done(void *context)
{
    (void)context;
    ck_assert_uint_gt(leaving_count, 0);
    ck_assert_int_eq(index_find(index_, &leaving, NULL), append_fails ? 1 : 0);
    leaving_count = 0;
    deletions++;
}

static _Atomic unsigned unknown; /* how often nobody can say what another capture lists */

static int any_wants(void *context, const struct partition_key *key, struct capture_id *capture)
{
    (void)context;
    if (unknown > 0) {
        unknown--;
        return SKEIN_IO;
    }
    if (!others_have || !is_anothers(key))
        return 0;
    *capture = capture_of(2);
    return 1;
}

static void collector_open(uint64_t segment_bytes, uint64_t min_free, uint64_t assembling,
                           uint64_t wait_ms)
{
    char error[256] = "";
    struct store_settings store_settings = {folder, segment_bytes, min_free};
    ck_assert_msg(store_open(&store_settings, &store, error, sizeof error) == SKEIN_OK, "%s",
                  error);
    ck_assert_msg(index_open(folder, store, &index_, error, sizeof error) == SKEIN_OK, "%s", error);
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u", free_port());
    struct ingest_settings settings = {address, assembling, wait_ms, NULL, 50, 0};
    struct ingest_hooks hooks = {.stored = count_stored,
                                 .agent_of = agent_by_process,
                                 .wanted = any_wants,
                                 .ranges = ranges_of_ninth,
                                 .unlisted = drop_anothers,
                                 .deleted = deletion_done};
    ck_assert_msg(ingest_start(&settings, store, index_, &hooks, &ingest, error, sizeof error) ==
                      SKEIN_OK,
                  "%s", error);
}

static void collector_close(void)
{
    ingest_stop(&ingest);
    index_close(&index_);
    store_close(&store);
}

static struct transport *dial(void)
{
    struct transport *t;
    ck_assert_int_eq(transport_dial(address, WIRE_CONTROL_MAX, &t), SKEIN_OK);
    return t;
}

static void setup(void)
{
    folder = temp_dir_new();
    memset(&metrics, 0, sizeof metrics);
    atomic_store(&hook_rows, 0);
    others_have = false;
    leaving_count = deletions = 0;
    append_fails = rows_fail = false;
    unknown = 0;
}

static void teardown(void)
{
    temp_dir_free(&folder);
}

/* The stored bytes of a key are these, and it has one row. */
static void check_stored(const struct partition_key *key, const struct buf *want)
{
    struct partition_row row;
    struct buf got = {0};
    ck_assert_int_eq(index_find(index_, key, &row), 1);
    ck_assert_uint_eq(row.place.bytes, want->len);
    ck_assert_uint_eq(row.record.agent, 7);
    uint8_t *bytes = buf_reserve(&got, want->len);
    ck_assert_int_eq(store_read(store, &row.place, 0, bytes, want->len), SKEIN_OK);
    ck_assert_int_eq(memcmp(bytes, want->data, want->len), 0);
    buf_fini(&got);
}

static int count_record(void *context, const struct store_record *record,
                        const struct store_place *place, const struct partition_footer *footer)
{
    (void)record;
    (void)place;
    (void)footer;
    ++*(uint64_t *)context;
    return 0;
}

static uint64_t records_on_disk(void)
{
    uint64_t n = 0;
    ck_assert_int_eq(store_scan(store, 0, 0, count_record, NULL, &n), SKEIN_OK);
    return n;
}

START_TEST(partitions_of_all_sizes_are_stored_and_acknowledged)
{
    static const size_t sizes[] = {0,
                                   1000,
                                   100000,
                                   WIRE_CHUNK_MAX - 20000,
                                   WIRE_CHUNK_MAX + 5000,
                                   3 * WIRE_CHUNK_MAX,
                                   9 * WIRE_CHUNK_MAX};
    collector_open(4 << 20, 0, 64 << 20, 1);
    struct transport *t = dial();
    struct buf bytes = {0};
    struct capture_id capture = capture_of(1);
    const size_t count = sizeof sizes / sizeof *sizes;
    for (uint64_t i = 0; i < count; i++) {
        struct partition_key key = key_of(1, 1, i);
        partition_of(&key, sizes[i], &bytes);
        ck_assert_int_eq(partition_upload(t, &key, &capture, &bytes), WIRE_STORED);
        check_stored(&key, &bytes);
        ck_assert_int_eq(partition_upload(t, &key, &capture, &bytes), WIRE_STORED_BEFORE);
    }
    ck_assert_uint_eq(records_on_disk(), count);
    ck_assert_uint_eq(atomic_load(&hook_rows), count);
    ck_assert_uint_eq(counter(ingest_partitions_total), count);
    ck_assert_uint_eq(counter(ingest_duplicates_total), count);
    ck_assert_str_eq(ingest_state(ingest), "ok");
    buf_fini(&bytes);
    transport_free(&t);
    collector_close();
}
END_TEST

/* Of its length, and of another one; while the first waits for its commit, and after it. */
START_TEST(another_partition_under_a_key_that_is_stored_is_no_repeat)
{
    collector_open(4 << 20, 0, 64 << 20, 50);
    struct transport *t = dial();
    struct buf bytes = {0}, other = {0};
    struct capture_id capture = capture_of(1);
    int seen[WIRE_REJECTED + 1] = {0};
    struct partition_key key = key_of(1, 1, 7);
    partition_of(&key, 500, &bytes);
    partition_of(&key, 700, &other);
    partition_send(t, &key, &capture, &bytes);
    partition_send(t, &key, &capture, &other);
    partition_send(t, &key, &capture, &bytes);
    for (unsigned n = 0; n < 3; n++) {
        struct wire_ack ack;
        ck_assert(ack_receive(t, (int)support_deadline_ms(), &ack, NULL));
        seen[ack.status]++;
    }
    ck_assert_int_eq(seen[WIRE_STORED], 1);
    ck_assert_int_eq(seen[WIRE_STORED_BEFORE], 1);
    ck_assert_int_eq(seen[WIRE_REJECTED], 1);
    ck_assert_int_eq(partition_upload(t, &key, &capture, &other), WIRE_REJECTED);
    partition_of(&key, 500, &other);
    ck_assert_int_eq(partition_upload(t, &key, &capture, &other), WIRE_STORED_BEFORE);
    check_stored(&key, &bytes);
    ck_assert_uint_eq(records_on_disk(), 1);
    ck_assert_uint_eq(counter(ingest_duplicates_total), 2);
    ck_assert_uint_eq(counter(ingest_rejected_total), 2);
    buf_fini(&bytes);
    buf_fini(&other);
    transport_free(&t);
    collector_close();
}
END_TEST

START_TEST(many_partitions_share_few_commits)
{
    collector_open(0, 0, 64 << 20, 50);
    struct transport *t = dial();
    struct buf bytes = {0};
    struct capture_id capture = capture_of(1);
    bool stored[400] = {false};
    for (uint64_t i = 0; i < 400; i++) {
        struct partition_key key = key_of((uint32_t)(i % 9), 2, i);
        partition_of(&key, 500, &bytes);
        partition_send(t, &key, &capture, &bytes);
    }
    for (unsigned n = 0; n < 400; n++) {
        struct wire_ack ack;
        uint64_t frame_id = 0;
        ck_assert(ack_receive(t, (int)support_deadline_ms(), &ack, &frame_id));
        ck_assert_int_eq(ack.status, WIRE_STORED);
        ck_assert_uint_eq(frame_id, ack.key.sequence);
        ck_assert(!stored[ack.key.sequence]);
        stored[ack.key.sequence] = true;
    }
    ck_assert_uint_lt(counter(store_commits_total), 200);
    ck_assert_uint_eq(records_on_disk(), 400);
    buf_fini(&bytes);
    transport_free(&t);
    collector_close();
}
END_TEST

START_TEST(a_group_that_is_worth_a_sync_waits_for_no_company)
{
    collector_open(0, 0, 64 << 20, UINT64_C(3600) * 1000);
    struct transport *t = dial();
    struct buf bytes = {0};
    struct capture_id capture = capture_of(1);
    for (uint64_t i = 0; i < 8; i++) {
        struct partition_key key = key_of((uint32_t)i, 1, 1);
        partition_of(&key, 256 << 10, &bytes);
        partition_send(t, &key, &capture, &bytes);
    }
    for (int i = 0; i < 4; i++) {
        struct wire_ack ack;
        ck_assert(ack_receive(t, (int)support_deadline_ms(), &ack, NULL));
        ck_assert_int_eq(ack.status, WIRE_STORED);
    }
    buf_fini(&bytes);
    transport_free(&t);
    collector_close();
}
END_TEST

START_TEST(repeat_inside_a_group_is_stored_once_and_answered_twice)
{
    collector_open(0, 0, 64 << 20, 200);
    struct transport *t = dial();
    struct buf bytes = {0};
    struct capture_id capture = capture_of(1);
    struct partition_key key = key_of(1, 1, 1);
    partition_of(&key, 500, &bytes);
    partition_send(t, &key, &capture, &bytes);
    partition_send(t, &key, &capture, &bytes);
    int seen[4] = {0};
    for (int i = 0; i < 2; i++) {
        struct wire_ack ack;
        ck_assert(ack_receive(t, (int)support_deadline_ms(), &ack, NULL));
        seen[ack.status]++;
    }
    ck_assert_int_eq(seen[WIRE_STORED], 1);
    ck_assert_int_eq(seen[WIRE_STORED_BEFORE], 1);
    ck_assert_uint_eq(records_on_disk(), 1);
    buf_fini(&bytes);
    transport_free(&t);
    collector_close();
}
END_TEST

START_TEST(chunks_of_two_partitions_mixed_reversed_and_repeated_arrive_whole)
{
    collector_open(0, 0, 64 << 20, 1);
    struct transport *t = dial();
    struct buf bytes[2] = {{0}, {0}};
    struct capture_id capture = capture_of(1);
    struct partition_key keys[2] = {key_of(1, 1, 1), key_of(2, 1, 2)};
    for (int i = 0; i < 2; i++)
        partition_of(&keys[i], 4 * WIRE_CHUNK_MAX, &bytes[i]);
    uint32_t count = chunk_count(bytes[0].len);
    ck_assert_uint_gt(count, 3);
    for (uint32_t n = 0; n < count; n++)
        for (int i = 0; i < 2; i++) {
            uint32_t index = i ? n : count - 1 - n;
            chunk_send(t, &keys[i], &capture, bytes[i].data, bytes[i].len, index, 1);
            if (n < 2)
                chunk_send(t, &keys[i], &capture, bytes[i].data, bytes[i].len, index, 1);
        }
    for (int i = 0; i < 2; i++) {
        struct wire_ack ack;
        ck_assert(ack_receive(t, (int)support_deadline_ms(), &ack, NULL));
        ck_assert_int_eq(ack.status, WIRE_STORED);
    }
    for (int i = 0; i < 2; i++) {
        check_stored(&keys[i], &bytes[i]);
        buf_fini(&bytes[i]);
    }
    transport_free(&t);
    collector_close();
}
END_TEST

START_TEST(what_is_no_partition_or_another_ones_is_rejected)
{
    collector_open(0, 0, 64 << 20, 1);
    struct transport *t = dial();
    struct buf bytes = {0};
    struct capture_id capture = capture_of(1);
    struct partition_key key = key_of(1, 1, 1), other = key_of(1, 1, 2);
    partition_of(&key, 2 * WIRE_CHUNK_MAX, &bytes);
    ck_assert_int_eq(partition_upload(t, &other, &capture, &bytes), WIRE_REJECTED);
    bytes.data[bytes.len - 1] ^= 1;
    ck_assert_int_eq(partition_upload(t, &key, &capture, &bytes), WIRE_REJECTED);
    bytes.len = 700;
    ck_assert_int_eq(partition_upload(t, &key, &capture, &bytes), WIRE_REJECTED);
    ck_assert_uint_eq(counter(ingest_rejected_total), 3);
    ck_assert_uint_eq(records_on_disk(), 0);
    buf_fini(&bytes);
    transport_free(&t);
    collector_close();
}
END_TEST

/* Garbage frames, wrong types, lying chunks and first chunks of thousands of partitions. */
static void garbage_send(struct transport *t, uint32_t i)
{
    size_t n = 1 + i * 2654435761u % 300;
    uint8_t *message;
    if (i % 4 == 3) {
        n = WIRE_HEADER_BYTES + WIRE_CHUNK_HEADER_BYTES + 64;
        message = transport_alloc(n);
        struct wire_chunk chunk = {
            key_of(i % 50, 9, i), capture_of(i), i % 3, i % 5, i * 1000u, i, NULL, 64};
        memset(message, (int)i, n);
        wire_chunk_put(message + WIRE_HEADER_BYTES, &chunk);
        wire_frame_seal(message, WIRE_CHUNK, i, n - WIRE_HEADER_BYTES);
    } else {
        message = transport_alloc(n);
        for (size_t k = 0; k < n; k++)
            message[k] = (uint8_t)(k * 31 + i * 7 + k * k * i);
        if (i % 4 == 1 && n >= 6)
            memcpy(message, "SKN1\1\20", 6);
        if (i % 4 == 2 && n >= WIRE_HEADER_BYTES)
            wire_frame_seal(message, (uint8_t)i, i, n - WIRE_HEADER_BYTES);
    }
    if (transport_send(t, message, NULL, (int)support_deadline_ms()) != SKEIN_OK)
        transport_alloc_free(message);
}

START_TEST(ten_thousand_garbage_messages_leave_it_serving)
{
    collector_open(0, 0, 8 << 20, 1);
    struct transport *hostile = dial(), *t = dial();
    struct buf bytes = {0};
    struct capture_id capture = capture_of(1);
    for (uint32_t i = 0; i < 20000; i++) {
        garbage_send(hostile, i);
        if (i % 4000 == 0) {
            struct partition_key key = key_of(1, 1, i);
            partition_of(&key, 3000, &bytes);
            ck_assert_int_eq(partition_upload(t, &key, &capture, &bytes), WIRE_STORED);
        }
    }
    struct partition_key key = key_of(1, 1, 77777);
    partition_of(&key, 3000, &bytes);
    ck_assert_int_eq(partition_upload(hostile, &key, &capture, &bytes), WIRE_STORED);
    ck_assert_uint_gt(counter(ingest_malformed_total), 10000);
    ck_assert_uint_eq(records_on_disk(), 6);
    buf_fini(&bytes);
    transport_free(&hostile);
    transport_free(&t);
    collector_close();
}
END_TEST

START_TEST(thousands_of_begun_partitions_stay_in_bounded_memory)
{
    const uint64_t bound = 8 << 20;
    collector_open(0, 0, bound, 1);
    struct transport *t = dial();
    struct capture_id capture = capture_of(1);
    uint8_t *junk = calloc(3, WIRE_CHUNK_MAX);
    unsigned retries = 0;
    for (uint32_t i = 0; i < 2000;
         i++) { /* only the short last chunk of each: small messages, large claims */
        struct partition_key key = key_of(i, 1, i);
        chunk_send(t, &key, &capture, junk, 2 * WIRE_CHUNK_MAX + 100, 2, i);
        struct wire_ack ack;
        while (ack_receive(t, 0, &ack, NULL))
            retries += ack.status == WIRE_RETRY;
        ck_assert_uint_le(counter(ingest_assembling_bytes), bound);
    }
    const unsigned let_in = (unsigned)(bound / (ASSEMBLY_BYTES_MIN + 100));
    while (retries < 2000 - let_in) {
        struct wire_ack ack;
        ck_assert(ack_receive(t, (int)support_deadline_ms(), &ack, NULL));
        ck_assert_int_eq(ack.status, WIRE_RETRY);
        ck_assert_uint_gt(ack.retry_ms, 0);
        retries++;
    }
    struct buf bytes = {0}; /* what fits one chunk needs no assembling */
    struct partition_key key = key_of(1, 7, 1);
    partition_of(&key, 3000, &bytes);
    ck_assert_int_eq(partition_upload(t, &key, &capture, &bytes), WIRE_STORED);
    free(junk);
    buf_fini(&bytes);
    transport_free(&t);
    collector_close();
}
END_TEST

/* Small messages, again and again, that announce all the memory that there is, and then real
 * chunks that fill it. */
START_TEST(agent_that_announces_much_does_not_keep_another_out)
{
    enum { PARTITIONS = 12, CHUNKS = 3 };
    const uint64_t bound = 32 << 20;
    collector_open(0, 0, bound, 1);
    struct transport *hostile = dial(), *t = dial();
    struct capture_id capture = capture_of(1);
    uint8_t *junk = calloc(CHUNKS + 1, WIRE_CHUNK_MAX);
    struct buf bytes = {0};
    for (uint32_t round = 0; round < 4 + CHUNKS; round++) {
        uint32_t index = round < 4 ? CHUNKS : round - 4;
        for (uint32_t i = 0; i < PARTITIONS; i++) {
            struct partition_key key = key_of(5000, 1, i);
            chunk_send(hostile, &key, &capture, junk, CHUNKS * WIRE_CHUNK_MAX + 1, index, i);
        }
        struct partition_key key = key_of(1, 1, round);
        partition_of(&key, 4 * WIRE_CHUNK_MAX, &bytes);
        ck_assert_int_eq(partition_upload(t, &key, &capture, &bytes), WIRE_STORED);
        ck_assert_uint_le(counter(ingest_assembling_bytes), bound);
    }
    free(junk);
    buf_fini(&bytes);
    transport_free(&hostile);
    transport_free(&t);
    collector_close();
}
END_TEST

START_TEST(disk_nearly_full_is_retry_and_visible)
{
    collector_open(0, UINT64_MAX / 2, 8 << 20, 1);
    struct transport *t = dial();
    struct buf bytes = {0};
    struct capture_id capture = capture_of(1);
    struct partition_key key = key_of(1, 1, 1);
    struct wire_ack ack;
    partition_of(&key, 3000, &bytes);
    partition_send(t, &key, &capture, &bytes);
    ck_assert(ack_receive(t, (int)support_deadline_ms(), &ack, NULL));
    ck_assert_int_eq(ack.status, WIRE_RETRY);
    ck_assert_uint_gt(ack.retry_ms, 0);
    ck_assert_int_eq(strncmp(ingest_state(ingest), "full: ", 6), 0);
    ck_assert_uint_eq(records_on_disk(), 0);
    buf_fini(&bytes);
    transport_free(&t);
    collector_close();
}
END_TEST

START_TEST(deleted_capture_is_gone_and_is_not_stored_again)
{
    collector_open(1, 0, 8 << 20, 1);
    struct transport *t = dial();
    struct buf bytes = {0};
    struct capture_id gone = capture_of(1), kept = capture_of(2), none = {{0}};
    for (uint64_t i = 0; i < 6; i++) {
        struct partition_key key = key_of(1, 1, i);
        partition_of(&key, 300, &bytes);
        ck_assert_int_eq(partition_upload(t, &key, i % 2 ? &gone : &kept, &bytes), WIRE_STORED);
    }
    ck_assert_int_eq(ingest_delete_capture(ingest, &gone), SKEIN_OK);
    ck_assert_int_eq(ingest_delete_capture(ingest, &none), SKEIN_INVALID);
    ck_assert_uint_eq(records_on_disk(), 3); /* each had a segment of its own */
    for (uint64_t i = 1; i < 9; i += 2) {    /* 7 comes for the first time, too late */
        struct partition_key key = key_of(1, 1, i);
        partition_of(&key, 300, &bytes);
        ck_assert_int_eq(partition_upload(t, &key, &gone, &bytes), WIRE_STORED_BEFORE);
        ck_assert_int_eq(index_find(index_, &key, NULL), 0);
    }
    ck_assert_uint_eq(records_on_disk(), 3);
    collector_close();
    collector_open(1, 0, 8 << 20, 1);
    struct partition_key key = key_of(1, 1, 2);
    ck_assert_int_eq(index_find(index_, &key, NULL), 1);
    ck_assert_int_eq(index_capture_deleted(index_, &gone), 1);
    buf_fini(&bytes);
    transport_free(&t);
    collector_close();
}
END_TEST

START_TEST(late_partition_of_a_deleted_capture_waits_until_it_is_known_who_else_lists_it)
{
    collector_open(1 << 20, 0, 8 << 20, 1);
    struct transport *t = dial();
    struct buf bytes = {0};
    struct capture_id gone = capture_of(1);
    others_have = true;
    ck_assert_int_eq(ingest_delete_capture(ingest, &gone), SKEIN_OK);
    for (uint64_t i = 4; i < 6; i++) {
        struct partition_key key = key_of(1, 1, i);
        partition_of(&key, 300, &bytes);
        uint64_t retries = counter(ingest_retries_total);
        unknown = 2;
        ck_assert_int_eq(partition_upload(t, &key, &gone, &bytes),
                         i == 5 ? WIRE_STORED : WIRE_STORED_BEFORE);
        ck_assert_uint_eq(counter(ingest_retries_total), retries + 2);
        ck_assert_str_eq(ingest_state(ingest), "ok"); /* the index can be asked */
        ck_assert_int_eq(index_find(index_, &key, NULL), i == 5);
    }
    buf_fini(&bytes);
    transport_free(&t);
    collector_close();
}
END_TEST

/* Sent for a capture, 0 for none; found when the index opens. */
static void put_many(uint32_t process, uint64_t count, uint32_t sent_for)
{
    struct buf bytes = {0};
    for (uint64_t i = 0; i < count; i++) {
        struct store_record record = {.key = key_of(process, 1, i)};
        struct store_place place;
        if (sent_for != 0)
            record.capture = capture_of(sent_for);
        partition_of(&record.key, 1, &bytes);
        ck_assert_int_eq(store_append(store, &record, bytes.data, bytes.len,
                                      checksum64(bytes.data, bytes.len), &place),
                         SKEIN_OK);
    }
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    buf_fini(&bytes);
}

static int count_left(void *context, const struct partition_row *row)
{
    const struct partition_key *key = &row->record.key;
    struct process_uid second = process_of(2), fourth = process_of(4);
    bool listed = !process_uid_equal(&key->process, &fourth) &&
                  (!process_uid_equal(&key->process, &second) || key->sequence % 2 != 0);
    ck_assert(!listed || is_anothers(key));
    ++*(uint64_t *)context;
    return 0;
}

START_TEST(a_deletion_takes_all_that_is_its_alone_in_as_many_turns_as_it_needs)
{
    char error[256] = "";
    struct store_settings settings = {folder, 1 << 20, 0};
    struct capture_id gone = capture_of(9);
    struct partition_query all = {.to_ns = UINT64_MAX};
    uint64_t left = 0, again = 0;
    others_have = true;
    ck_assert_int_eq(store_open(&settings, &store, error, sizeof error), SKEIN_OK);
    put_many(1, 2500, 0); /* by one range, more than a batch */
    put_many(2, 300, 0);  /* by many ranges; even ones are in none */
    put_many(3, 1500, 9); /* in none, but sent for it */
    put_many(4, 20, 2);
    store_close(&store);
    collector_open(1 << 20, 0, 8 << 20, 1);
    ck_assert_int_eq(ingest_delete_capture(ingest, &gone), SKEIN_OK);
    ck_assert_int_ge(index_query(index_, &all, count_left, &left), 0);
    ck_assert_uint_eq(left, 250 + 150 + 30 + 150 + 20);
    ck_assert_uint_ge(deletions, 4);
    ck_assert_int_eq(ingest_delete_capture(ingest, &gone), SKEIN_OK);
    ck_assert_int_eq(index_rebuild(index_), SKEIN_OK);
    ck_assert_int_ge(index_query(index_, &all, count_left, &again), 0);
    ck_assert_uint_eq(again, left);
    collector_close();
}
END_TEST

/* What `unlisted` has left is not counted as stored meanwhile. */
START_TEST(what_a_failed_deletion_leaves_is_there_as_before)
{
    char error[256] = "";
    struct store_settings settings = {folder, 1 << 20, 0};
    struct capture_id gone = capture_of(9);
    ck_assert_int_eq(store_open(&settings, &store, error, sizeof error), SKEIN_OK);
    put_many(3, 10, 9);
    store_close(&store);
    collector_open(1 << 20, 0, 8 << 20, 1);
    append_fails = true;
    ck_assert_int_eq(ingest_delete_capture(ingest, &gone), SKEIN_IO);
    ck_assert_uint_eq(leaving_count, 0);
    ck_assert_uint_eq(deletions, 1);
    append_fails = false;
    rows_fail = true; /* their tombstones are durable: they are no longer there, once it follows */
    ck_assert_int_eq(ingest_delete_capture(ingest, &gone), SKEIN_IO);
    ck_assert_uint_eq(leaving_count, 10);
    ck_assert_uint_eq(deletions, 1);
    rows_fail = false;
    ck_assert_int_eq(ingest_delete_capture(ingest, &gone), SKEIN_OK);
    ck_assert_uint_eq(leaving_count, 0);
    ck_assert_uint_eq(deletions, 2);
    ck_assert_int_eq(index_find(index_, &leaving, NULL), 0);
    collector_close();
}
END_TEST

START_TEST(strays_go_the_oldest_first_and_what_is_young_or_anothers_stays)
{
    char error[256] = "";
    struct store_settings settings = {folder, 1 << 20, 0};
    struct partition_query all = {.to_ns = UINT64_MAX};
    uint64_t after = 0, bytes = 0, gone = 0, left = 0;
    int64_t n;
    others_have = true;
    ck_assert_int_eq(store_open(&settings, &store, error, sizeof error), SKEIN_OK);
    put_many(1, 1000, 1); /* received at 0 */
    store_close(&store);
    collector_open(1 << 20, 0, 8 << 20, 1);
    ck_assert_int_eq(ingest_delete_strays(ingest, &after, 0, &bytes), 0);
    ck_assert_uint_eq(after, 0);
    do {
        n = ingest_delete_strays(ingest, &after, 1, &bytes);
        ck_assert_int_ge(n, 0);
        gone += (uint64_t)n;
    } while (after != 0);
    ck_assert_uint_eq(gone, 900);
    ck_assert_uint_gt(bytes, 900 * 100);
    ck_assert_int_ge(index_query(index_, &all, count_left, &left), 0);
    ck_assert_uint_eq(left, 100);
    collector_close();
}
END_TEST

static bool store_is_small(void *context)
{
    return counter(store_bytes) <= *(const uint64_t *)context;
}

/* Nine of ten partitions are deleted from each segment: what is left moves together, and the disk
 * holds no more than twice what is alive, and the open segment. */
START_TEST(sparse_segments_are_compacted_and_their_disk_is_given_back)
{
    const uint64_t segment = 60000;
    collector_open(segment, 0, 8 << 20, 1);
    struct transport *t = dial();
    struct buf bytes = {0};
    struct capture_id gone = capture_of(1), kept = capture_of(2);
    uint64_t alive = 0;
    for (uint64_t i = 0; i < 120; i++) {
        struct partition_key key = key_of(1, 1, i);
        partition_of(&key, 3000, &bytes);
        ck_assert_int_eq(partition_upload(t, &key, i % 10 ? &gone : &kept, &bytes), WIRE_STORED);
        alive += i % 10 ? 0 : bytes.len;
    }
    uint64_t before = counter(store_bytes), goal = 2 * alive + segment;
    ck_assert_uint_gt(before, 2 * goal);
    ck_assert_int_eq(ingest_delete_capture(ingest, &gone), SKEIN_OK);
    ck_assert_msg(wait_until(store_is_small, &goal, 0), "%llu bytes, goal %llu",
                  (unsigned long long)counter(store_bytes), (unsigned long long)goal);
    for (int again = 0; again < 2; again++) {
        for (uint64_t i = 0; i < 120; i++) {
            struct partition_key key = key_of(1, 1, i);
            struct partition_row row;
            ck_assert_int_eq(index_find(index_, &key, &row), i % 10 == 0);
            if (i % 10)
                continue;
            partition_of(&key, 3000, &bytes);
            uint8_t *got = malloc(bytes.len);
            ck_assert_uint_eq(row.place.bytes, bytes.len);
            /* it may be moved again meanwhile */
            ck_assert_int_eq(index_read(index_, &key, &row.place, 0, got, bytes.len), SKEIN_OK);
            ck_assert_int_eq(memcmp(got, bytes.data, bytes.len), 0);
            free(got);
        }
        ck_assert_int_eq(index_rebuild(index_), SKEIN_OK);
        ck_assert_int_eq(index_capture_deleted(index_, &gone), 1);
    }
    buf_fini(&bytes);
    transport_free(&t);
    collector_close();
}
END_TEST

START_TEST(address_in_use_is_said)
{
    char error[256] = "";
    collector_open(0, 0, 8 << 20, 1);
    struct ingest_settings settings = {address, 1 << 20, 1, NULL, 50, 0};
    struct ingest *second;
    ck_assert_int_lt(ingest_start(&settings, store, index_, NULL, &second, error, sizeof error), 0);
    ck_assert_ptr_null(second);
    ck_assert_ptr_nonnull(strstr(error, address));
    collector_close();
}
END_TEST

START_TEST(stop_commits_what_is_whole)
{
    collector_open(0, 0, 8 << 20, 3600 * 1000);
    struct transport *t = dial();
    struct buf bytes = {0};
    struct capture_id capture = capture_of(1);
    for (uint64_t i = 0; i < 2;
         i++) { /* a second connection's stored partition shows that the first is in the group */
        struct partition_key key = key_of(1, 1, i);
        partition_of(&key, 17 * (size_t)WIRE_CHUNK_MAX * i + 300, &bytes);
        partition_send(t, &key, &capture, &bytes);
    }
    struct wire_ack ack;
    for (int i = 0; i < 2; i++)
        ck_assert(ack_receive(t, (int)support_deadline_ms(), &ack, NULL)); /* the group was full */
    struct partition_key key = key_of(1, 1, 5);
    partition_of(&key, 300, &bytes);
    partition_send(t, &key, &capture, &bytes);
    struct partition_key junk_key =
        key_of(1, 1, 6); /* answered at once, behind the one that waits */
    uint8_t junk[100] = {0};
    chunk_send(t, &junk_key, &capture, junk, sizeof junk, 0, 1);
    ck_assert(ack_receive(t, (int)support_deadline_ms(), &ack, NULL));
    ck_assert_int_eq(ack.status, WIRE_REJECTED);
    ingest_stop(&ingest);
    ck_assert_int_eq(index_find(index_, &key, NULL), 1);
    transport_free(&t);
    collector_close();
    buf_fini(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, partitions_of_all_sizes_are_stored_and_acknowledged);
    tcase_add_test(c, another_partition_under_a_key_that_is_stored_is_no_repeat);
    tcase_add_test(c, many_partitions_share_few_commits);
    tcase_add_test(c, a_group_that_is_worth_a_sync_waits_for_no_company);
    tcase_add_test(c, repeat_inside_a_group_is_stored_once_and_answered_twice);
    tcase_add_test(c, chunks_of_two_partitions_mixed_reversed_and_repeated_arrive_whole);
    tcase_add_test(c, what_is_no_partition_or_another_ones_is_rejected);
    tcase_add_test(c, ten_thousand_garbage_messages_leave_it_serving);
    tcase_add_test(c, thousands_of_begun_partitions_stay_in_bounded_memory);
    tcase_add_test(c, agent_that_announces_much_does_not_keep_another_out);
    tcase_add_test(c, disk_nearly_full_is_retry_and_visible);
    tcase_add_test(c, deleted_capture_is_gone_and_is_not_stored_again);
    tcase_add_test(c,
                   late_partition_of_a_deleted_capture_waits_until_it_is_known_who_else_lists_it);
    tcase_add_test(c, what_a_failed_deletion_leaves_is_there_as_before);
    tcase_add_test(c, a_deletion_takes_all_that_is_its_alone_in_as_many_turns_as_it_needs);
    tcase_add_test(c, strays_go_the_oldest_first_and_what_is_young_or_anothers_stays);
    tcase_add_test(c, sparse_segments_are_compacted_and_their_disk_is_given_back);
    tcase_add_test(c, address_in_use_is_said);
    tcase_add_test(c, stop_commits_what_is_whole);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
