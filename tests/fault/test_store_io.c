/* SPDX-License-Identifier: Apache-2.0
 *
 * Every write, sync, truncation, creation and removal of the store fails once, at each place in
 * turn, with "input/output error" and with "no space": what was reported durable is there after a
 * restart, and a sync that failed is never believed afterwards. The linker puts the functions below
 * before segment_io's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "index.h"
#include "index_delete.h"
#include "ingest.h"
#include "metrics.h"
#include "partition_make.h"
#include "segment_io.h"
#include "support.h"

int __real_segment_io_write(int fd, const struct iovec *parts, int count, uint64_t offset);
int __real_segment_io_sync(int fd);
int __real_segment_io_truncate(int fd, uint64_t bytes);
int __real_segment_io_create(int folder, const char *name, int *fd);
int __real_segment_io_sync_folder(int folder);
int __real_segment_io_remove(int folder, const char *name);
int __wrap_segment_io_write(int fd, const struct iovec *parts, int count, uint64_t offset);
int __wrap_segment_io_sync(int fd);
int __wrap_segment_io_truncate(int fd, uint64_t bytes);
int __wrap_segment_io_create(int folder, const char *name, int *fd);
int __wrap_segment_io_sync_folder(int folder);
int __wrap_segment_io_remove(int folder, const char *name);

static long calls, fail_at; /* the fail_at-th call from now fails; 0: none */
static long fail_count;     /* and so many behind it */
static int fail_status;
static bool failed_sync_keeps_bytes; /* the page cache keeps what the disk never got */

static int fault(void)
{
    long n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    long at = __atomic_load_n(&fail_at, __ATOMIC_RELAXED);
    long count = __atomic_load_n(&fail_count, __ATOMIC_RELAXED);
    return at && n >= at && n < at + count ? fail_status : SKEIN_OK;
}

static void faults_set(long at, long count, int status)
{
    __atomic_store_n(&calls, 0, __ATOMIC_RELAXED);
    fail_status = status;
    __atomic_store_n(&fail_count, count, __ATOMIC_RELAXED);
    __atomic_store_n(&fail_at, at, __ATOMIC_RELAXED);
}

/* A failed write has written half of its first part. */
int __wrap_segment_io_write(int fd, const struct iovec *parts, int count, uint64_t offset)
{
    int status = fault();
    if (!status)
        return __real_segment_io_write(fd, parts, count, offset);
    struct iovec half = {parts[0].iov_base, parts[0].iov_len / 2};
    (void)__real_segment_io_write(fd, &half, 1, offset);
    return status;
}

int __wrap_segment_io_sync(int fd)
{
    int status = fault();
    return status ? status : __real_segment_io_sync(fd);
}

int __wrap_segment_io_truncate(int fd, uint64_t bytes)
{
    int status = fault();
    if (!status && failed_sync_keeps_bytes)
        return SKEIN_OK; /* says so, and does nothing */
    return status ? status : __real_segment_io_truncate(fd, bytes);
}

int __wrap_segment_io_create(int folder, const char *name, int *fd)
{
    int status = fault();
    *fd = -1;
    return status ? status : __real_segment_io_create(folder, name, fd);
}

int __wrap_segment_io_sync_folder(int folder)
{
    int status = fault();
    return status ? status : __real_segment_io_sync_folder(folder);
}

int __wrap_segment_io_remove(int dir, const char *name)
{
    int status = fault();
    return status ? status : __real_segment_io_remove(dir, name);
}

static char *folder;

static void setup(void)
{
    folder = temp_dir_new();
    memset(&metrics, 0, sizeof metrics);
    failed_sync_keeps_bytes = false;
    faults_set(0, 0, 0);
}

static void teardown(void)
{
    temp_dir_free(&folder);
}

#define KEYS 24
static unsigned found[KEYS];

static int record_count(void *context, const struct store_record *record,
                        const struct store_place *place, const struct partition_footer *footer)
{
    struct buf want = {0}, got = {0};
    (void)footer;
    found[record->key.sequence]++;
    partition_of(&record->key, 1500, &want);
    ck_assert_uint_eq(place->bytes, want.len);
    uint8_t *bytes = buf_reserve(&got, want.len);
    ck_assert_int_eq(store_read(context, place, 0, bytes, want.len), SKEIN_OK);
    ck_assert_int_eq(memcmp(bytes, want.data, want.len), 0);
    buf_fini(&want);
    buf_fini(&got);
    return 0;
}

static void scan_counts(struct store *store)
{
    memset(found, 0, sizeof found);
    ck_assert_int_eq(store_scan(store, 0, 0, record_count, NULL, store), SKEIN_OK);
}

static struct store *store_of(const char *path)
{
    char error[256] = "";
    struct store *store;
    struct store_settings settings = {.folder = path, .segment_bytes = 12000};
    ck_assert_msg(store_open(&settings, &store, error, sizeof error) == SKEIN_OK, "%s", error);
    return store;
}

/* Groups of two; a group that failed is appended again, as ingest does. Returns whether a fault was
 * met. */
static bool write_groups(struct store *store, bool durable[KEYS])
{
    struct buf bytes = {0};
    bool failed = false;
    for (uint64_t first = 0; first < KEYS; first += 2)
        for (int attempt = 0; attempt < 3 && !durable[first]; attempt++) {
            int status = SKEIN_OK;
            for (uint64_t i = first; !status && i < first + 2; i++) {
                struct store_record record = {.key = key_of(1, 1, i)};
                struct store_place place;
                partition_of(&record.key, 1500, &bytes);
                do { /* nothing of it was written: again */
                    status = store_append(store, &record, bytes.data, bytes.len,
                                          checksum64(bytes.data, bytes.len), &place);
                    failed |= status < 0;
                } while (status == SKEIN_FULL);
            }
            if (!status)
                status = store_sync(store);
            failed |= status < 0;
            durable[first] = durable[first + 1] = !status;
        }
    buf_fini(&bytes);
    return failed;
}

/* Every call fails once in turn. */
static void each_call_fails(int status)
{
    long last = 1;
    for (long n = 1; n <= last; n++) {
        char name[32];
        (void)snprintf(name, sizeof name, "run-%ld", n);
        char *path = path_join(folder, name);
        struct store *store = store_of(path);
        bool durable[KEYS] = {false};
        faults_set(n, 1, status);
        (void)write_groups(store, durable);
        if (__atomic_load_n(&calls, __ATOMIC_RELAXED) > last)
            last = __atomic_load_n(&calls, __ATOMIC_RELAXED);
        faults_set(0, 0, 0);
        for (unsigned i = 0; i < KEYS; i++)
            ck_assert_msg(durable[i], "call %ld: %u never became durable", n, i);
        for (int open = 0; open < 3; open++) {
            scan_counts(store);
            for (unsigned i = 0; i < KEYS; i++)
                ck_assert_msg(found[i] == 1, "call %ld, open %d: %u is there %u times", n, open, i,
                              found[i]);
            store_close(&store);
            store = store_of(path);
        }
        store_close(&store);
        free(path);
    }
    ck_assert_int_gt(last, 40);
}

START_TEST(any_failing_call_loses_and_doubles_nothing)
{
    each_call_fails(SKEIN_IO);
}
END_TEST

START_TEST(any_call_without_space_loses_and_doubles_nothing)
{
    each_call_fails(SKEIN_FULL);
}
END_TEST

/* After a failed sync the bytes can still be read, and the file cannot even be cut: the next
 * segment's header says how far the failed one is to be believed. */
START_TEST(bytes_of_a_failed_sync_are_not_believed_after_a_restart)
{
    failed_sync_keeps_bytes = true;
    each_call_fails(SKEIN_IO);
}
END_TEST

START_TEST(faults_while_opening_are_returned_or_survived)
{
    struct store *store = store_of(folder);
    bool durable[KEYS] = {false};
    (void)write_groups(store, durable);
    store_close(&store);
    char *last = path_join(folder, "0000000004.seg"), error[256];
    size_t n;
    char *whole = file_read(last, &n);
    ck_assert_ptr_nonnull(whole);
    for (long at = 1; at < 6; at++) {
        file_write(last, whole, n - 9); /* torn, so that there is something to repair */
        struct store_settings settings = {.folder = folder, .segment_bytes = 12000};
        faults_set(at, 1, SKEIN_IO);
        int status = store_open(&settings, &store, error, sizeof error);
        faults_set(0, 0, 0);
        if (status == SKEIN_OK) {
            scan_counts(store);
            for (unsigned i = 0; i < KEYS - 4; i++)
                ck_assert_uint_eq(found[i], 1);
            store_close(&store);
        }
    }
    free(whole);
    free(last);
}
END_TEST

START_TEST(agents_are_sent_back_while_the_disk_fails_and_served_again_after)
{
    char error[256] = "", address[64];
    struct index *index;
    struct ingest *ingest;
    struct transport *t;
    struct store *store = store_of(folder);
    ck_assert_int_eq(index_open(folder, store, &index, error, sizeof error), SKEIN_OK);
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u", free_port());
    struct ingest_settings settings = {address, 1 << 20, 1, NULL, 50, 0};
    ck_assert_int_eq(ingest_start(&settings, store, index, NULL, &ingest, error, sizeof error),
                     SKEIN_OK);
    ck_assert_int_eq(transport_dial(address, WIRE_CONTROL_MAX, &t), SKEIN_OK);
    struct buf bytes = {0};
    struct capture_id capture = capture_of(1);
    static const int faults[] = {SKEIN_IO, SKEIN_FULL};
    for (uint64_t i = 0; i < 6; i++) {
        struct partition_key key = key_of(1, 1, i);
        struct wire_ack ack;
        partition_of(&key, 1500, &bytes);
        faults_set(1, 1000000, faults[i % 2]);
        partition_send(t, &key, &capture, &bytes);
        ck_assert(ack_receive(t, (int)support_deadline_ms(), &ack, NULL));
        ck_assert_int_eq(ack.status, WIRE_RETRY);
        ck_assert_str_ne(ingest_state(ingest), "ok");
        faults_set(0, 0, 0);
        ck_assert_int_eq(partition_upload(t, &key, &capture, &bytes), WIRE_STORED);
        ck_assert_str_eq(ingest_state(ingest), "ok");
    }
    transport_free(&t);
    ingest_stop(&ingest);
    index_close(&index);
    for (int open = 0; open < 2; open++) {
        scan_counts(store);
        for (unsigned i = 0; i < 6; i++)
            ck_assert_uint_eq(found[i], 1);
        store_close(&store);
        store = store_of(folder);
    }
    store_close(&store);
    buf_fini(&bytes);
}
END_TEST

static unsigned rows_found[2]; /* partitions of the kept capture, of the deleted one alone */

static int row_count(void *context, const struct partition_row *row)
{
    (void)context;
    rows_found[row->record.key.sequence % 2]++;
    return 0;
}

static void index_reopen(const char *path, struct store **store, struct index **index, bool anew)
{
    char error[256] = "", *database = path_join(path, "index.db");
    index_close(index);
    store_close(store);
    if (anew)
        unlink(database);
    free(database);
    *store = store_of(path);
    ck_assert_int_eq(index_open(path, *store, index, error, sizeof error), SKEIN_OK);
    struct partition_query all = {.to_ns = UINT64_MAX};
    rows_found[0] = rows_found[1] = 0;
    ck_assert_int_ge(index_query(*index, &all, row_count, NULL), 0);
}

/* Partitions, even ones of capture 1, odd ones of capture 2; capture 1 has 1, too (listed_drop). */
static void captures_put(struct store *store, struct index *index, uint64_t count)
{
    struct buf bytes = {0};
    for (uint64_t i = 0; i < count; i++) {
        struct store_record record = {.key = key_of(1, 1, i), .capture = capture_of(1 + i % 2)};
        struct store_place place;
        struct partition_footer footer;
        struct partition_row row;
        size_t need;
        partition_of(&record.key, 1500, &bytes);
        ck_assert_int_eq(store_append(store, &record, bytes.data, bytes.len,
                                      checksum64(bytes.data, bytes.len), &place),
                         SKEIN_OK);
        ck_assert_int_eq(store_sync(store), SKEIN_OK);
        ck_assert_int_eq(partition_footer_get(bytes.data, bytes.len, &footer, &need), SKEIN_OK);
        partition_row_make(&row, &record, &place, &footer, 0);
        ck_assert_int_eq(index_add(index, &row, 1), SKEIN_OK);
        partition_footer_free(&footer);
    }
    buf_fini(&bytes);
}

/* Capture 2 lists 1, 3 and 5, the others were sent for it; 1 is in the list of capture 1 as well.
 */
static int64_t lists(void *context, const struct capture_id *capture, struct partition_range *after,
                     struct partition_range *ranges, size_t room)
{
    (void)context;
    struct capture_id second = capture_of(2);
    ck_assert_uint_ge(room, 2);
    if (!capture_id_equal(capture, &second) || after->last != 0)
        return 0;
    ranges[0] = (struct partition_range){key_of(1, 1, 1), 1};
    ranges[1] = *after = (struct partition_range){key_of(1, 1, 3), 5};
    return 2;
}

static int64_t listed_drop(void *context, struct index_entry *entries, size_t count)
{
    int64_t kept = 0;
    (void)context;
    for (size_t i = 0; i < count; i++)
        if (entries[i].key.sequence % 2 != 0 && entries[i].key.sequence != 1)
            entries[kept++] = entries[i];
    return kept;
}

static int delete_with_fault(struct store *store, struct index *index, long at, int status)
{
    char error[256] = "", address[64];
    struct ingest *ingest;
    struct capture_id gone = capture_of(2);
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u", free_port());
    struct ingest_settings settings = {address, 1 << 20, 1, NULL, 50, 0};
    struct ingest_hooks hooks = {.ranges = lists, .unlisted = listed_drop};
    ck_assert_int_eq(ingest_start(&settings, store, index, &hooks, &ingest, error, sizeof error),
                     SKEIN_OK);
    faults_set(at, 1, status);
    int deleted = ingest_delete_capture(ingest, &gone);
    faults_set(0, 0, 0);
    ingest_stop(&ingest);
    return deleted;
}

/* Each call of a deletion fails in turn: the index says the same as one that is made anew, what is
 * kept is there, and deleting again deletes all. */
START_TEST(any_failing_call_of_a_deletion_brings_nothing_back)
{
    static const int faults[] = {SKEIN_IO, SKEIN_FULL};
    for (long n = 1; n <= 16; n++) {
        char name[32];
        struct index *index = NULL;
        struct store *store = NULL;
        (void)snprintf(name, sizeof name, "run-%ld", n);
        char *path = path_join(folder, name);
        index_reopen(path, &store, &index, false);
        captures_put(store, index, 12);
        int deleted = delete_with_fault(store, index, (n + 1) / 2, faults[n % 2]);
        index_reopen(path, &store, &index, false);
        unsigned gone = rows_found[1];
        ck_assert_uint_eq(rows_found[0], 6);
        ck_assert_uint_ge(gone, 1);
        ck_assert(deleted < 0 || gone == 1);
        index_reopen(path, &store, &index, true);
        ck_assert_uint_eq(rows_found[0], 6);
        ck_assert_msg(rows_found[1] == gone, "call %ld: %u rows, made anew %u", n, gone,
                      rows_found[1]);
        ck_assert_int_eq(delete_with_fault(store, index, 0, 0), SKEIN_OK);
        for (int anew = 0; anew < 2; anew++) {
            index_reopen(path, &store, &index, anew);
            ck_assert_uint_eq(rows_found[0], 6);
            ck_assert_uint_eq(rows_found[1], 1); /* the shared one */
        }
        index_close(&index);
        store_close(&store);
        free(path);
    }
}
END_TEST

/* ---- compaction ---- */

static bool is_compact(void *context)
{
    uint64_t segment;
    size_t count = 1;
    return index_sparse_segment(context, 95, &segment) == 0 &&
           index_empty_segments(context, &segment, &count) == SKEIN_OK && count == 0;
}

static int row_same(void *context, const struct partition_row *row)
{
    struct buf want = {0};
    partition_of(&row->record.key, 1500, &want);
    ck_assert_uint_eq(row->place.bytes, want.len);
    uint8_t *got = malloc(want.len);
    ck_assert_int_eq(store_read(context, &row->place, 0, got, want.len), SKEIN_OK);
    ck_assert_int_eq(memcmp(got, want.data, want.len), 0);
    free(got);
    buf_fini(&want);
    return 0;
}

static uint64_t bytes_of(struct store *store)
{
    uint64_t segments, bytes, end_segment, end_offset;
    store_totals(store, &segments, &bytes, &end_segment, &end_offset);
    return bytes;
}

/* 24 partitions of which every other one is deleted. */
static void half_dead_put(struct store *store, struct index *index)
{
    struct capture_id gone = capture_of(2);
    struct index_entry entries[16];
    struct store_record records[16];
    size_t done;
    uint64_t after = 0;
    captures_put(store, index, 24);
    int64_t count = index_sent_for(index, &gone, &after, entries, 16);
    ck_assert_int_eq(count, 12);
    count = listed_drop(NULL, entries, (size_t)count);
    ck_assert_int_eq(count, 11);
    memset(records, 0, sizeof records);
    for (int64_t i = 0; i < count; i++)
        records[i].key = entries[i].key;
    ck_assert_int_eq(store_append_tombstones(store, records, (size_t)count, &done), SKEIN_OK);
    ck_assert_int_eq(index_tombstones_add(index, records, done), SKEIN_OK);
}

/* Compacts with the at-th call failing (0: none); the calls that it took. */
static long compact_with_fault(struct store *store, struct index *index, long at, int status)
{
    char error[256] = "", address[64];
    struct ingest *ingest;
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u", free_port());
    struct ingest_settings settings = {address, 1 << 20, 1, NULL, 95, 0};
    faults_set(at, 1, status);
    ck_assert_int_eq(ingest_start(&settings, store, index, NULL, &ingest, error, sizeof error),
                     SKEIN_OK);
    ck_assert_msg(wait_until(is_compact, index, 0), "call %ld: it is not compacted", at);
    ingest_stop(&ingest);
    long made = __atomic_load_n(&calls, __ATOMIC_RELAXED);
    faults_set(0, 0, 0);
    return made;
}

/* Whatever fails, what is alive stays and is there once, the room is given back, and an index that
 * is made anew says the same. Returns the calls that it took. */
static long compaction_run(long n)
{
    static const int faults[] = {SKEIN_IO, SKEIN_FULL};
    char name[32];
    struct index *index = NULL;
    struct store *store = NULL;
    (void)snprintf(name, sizeof name, "run-%ld", n);
    char *path = path_join(folder, name);
    index_reopen(path, &store, &index, false);
    half_dead_put(store, index);
    uint64_t before = bytes_of(store);
    long made = compact_with_fault(store, index, n, faults[n % 2]);
    ck_assert_uint_lt(bytes_of(store), before);
    for (int anew = 0; anew < 2; anew++) {
        index_reopen(path, &store, &index, anew);
        ck_assert_msg(rows_found[0] == 12 && rows_found[1] == 1,
                      "call %ld, anew %d: %u and %u rows", n, anew, rows_found[0], rows_found[1]);
        struct partition_query all = {.to_ns = UINT64_MAX};
        ck_assert_int_eq(index_query(index, &all, row_same, store), 13);
    }
    index_close(&index);
    store_close(&store);
    free(path);
    return made;
}

/* In a process of its own; an assertion that fails there ends it with 1. */
static pid_t compaction_fork(long n)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)compaction_run(n);
        _exit(0);
    }
    return pid;
}

/* The store waits for a second before it tries again: the runs wait side by side. */
START_TEST(any_failing_call_of_a_compaction_is_made_up_for)
{
    enum { SIDE_BY_SIDE = 12 };
    pid_t runs[SIDE_BY_SIDE] = {0};
    long last = compaction_run(0);
    ck_assert_int_gt(last, 10);
    for (long n = 1; n < last + 1 + SIDE_BY_SIDE; n++) {
        pid_t *run = &runs[n % SIDE_BY_SIDE];
        if (n > SIDE_BY_SIDE) {
            long earlier = n - SIDE_BY_SIDE;
            ck_assert_msg(spawn_wait(*run, 0) == 0, "the run with call %ld failing", earlier);
        }
        *run = n <= last ? compaction_fork(n) : 0;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_io");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 500);
    tcase_add_test(c, any_failing_call_loses_and_doubles_nothing);
    tcase_add_test(c, any_call_without_space_loses_and_doubles_nothing);
    tcase_add_test(c, bytes_of_a_failed_sync_are_not_believed_after_a_restart);
    tcase_add_test(c, faults_while_opening_are_returned_or_survived);
    tcase_add_test(c, agents_are_sent_back_while_the_disk_fails_and_served_again_after);
    tcase_add_test(c, any_failing_call_of_a_deletion_brings_nothing_back);
    tcase_add_test(c, any_failing_call_of_a_compaction_is_made_up_for);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
