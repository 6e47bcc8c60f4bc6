/* SPDX-License-Identifier: Apache-2.0
 * The segment store: what was synced is there after every kind of end, and nothing else is. */
#include "checksum.h"
#include "store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics.h"
#include "partition_make.h"
#include "segment.h"
#include "support.h"

static char *folder;

static struct store *open_store(uint64_t segment_bytes)
{
    char error[256] = "";
    struct store *store;
    struct store_settings settings = {.folder = folder, .segment_bytes = segment_bytes};
    ck_assert_msg(store_open(&settings, &store, error, sizeof error) == SKEIN_OK, "%s", error);
    return store;
}

static char *segment_path(uint64_t number)
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(number, name);
    return path_join(folder, name);
}

static struct store_record record_of(const struct partition_key *key)
{
    return (struct store_record){
        .key = *key, .capture = capture_of(1), .agent = 9, .received_ns = 5};
}

static uint64_t ends[64]; /* where the records that append_range wrote last end, by sequence */

static uint64_t records_before(const uint64_t *all, size_t count, uint64_t at)
{
    uint64_t n = 0;
    while (n < count && all[n] <= at)
        n++;
    return n;
}

/* Appends partitions [from, to) of process 0 without a sync. */
static void append_range(struct store *store, uint64_t from, uint64_t to, size_t noise)
{
    struct buf bytes = {0};
    for (uint64_t i = from; i < to; i++) {
        struct partition_key key = key_of(0, 1, i);
        struct store_record record = record_of(&key);
        struct store_place place;
        partition_of(&key, noise, &bytes);
        ck_assert_int_eq(store_append(store, &record, bytes.data, bytes.len,
                                      checksum64(bytes.data, bytes.len), &place),
                         SKEIN_OK);
        if (i < 64)
            ends[i] = place.offset + segment_pad(place.bytes);
    }
    buf_fini(&bytes);
}

struct seen {
    struct store *store;
    uint64_t partitions, tombstones, captures, next;
    size_t noise;
    bool in_order;
};

/* Every record must be partition_of its key, byte for byte. */
static int see_partition(void *context, const struct store_record *record,
                         const struct store_place *place, const struct partition_footer *footer)
{
    struct seen *seen = context;
    struct buf want = {0}, got = {0};
    partition_of(&record->key, seen->noise, &want);
    ck_assert_uint_eq(place->bytes, want.len);
    ck_assert_uint_eq(footer->partition_bytes, want.len);
    ck_assert_int_eq(memcmp(&footer->key, &record->key, sizeof record->key), 0);
    uint8_t *bytes = buf_reserve(&got, want.len);
    ck_assert_int_eq(store_read(seen->store, place, 0, bytes, want.len), SKEIN_OK);
    ck_assert_int_eq(memcmp(bytes, want.data, want.len), 0);
    ck_assert_int_eq(memcmp(&record->capture, &(struct capture_id[]){capture_of(1)}[0], 16), 0);
    ck_assert_uint_eq(record->agent, 9);
    if (record->key.sequence != seen->next)
        seen->in_order = false;
    seen->next = record->key.sequence + 1;
    seen->partitions++;
    buf_fini(&want);
    buf_fini(&got);
    return 0;
}

static int see_tombstone(void *context, const struct store_record *record, uint64_t segment)
{
    struct seen *seen = context;
    ck_assert_uint_ge(segment, 1);
    seen->tombstones++;
    seen->captures += !capture_id_is_zero(&record->capture);
    return 0;
}

static struct seen scan_all(struct store *store, size_t noise)
{
    struct seen seen = {.store = store, .noise = noise, .in_order = true};
    ck_assert_int_eq(store_scan(store, 0, 0, see_partition, see_tombstone, &seen), SKEIN_OK);
    return seen;
}

static void setup(void)
{
    folder = temp_dir_new();
    memset(&metrics, 0, sizeof metrics);
}

static void teardown(void)
{
    temp_dir_free(&folder);
}

START_TEST(synced_partitions_come_back_after_reopening)
{
    struct store *store = open_store(0);
    append_range(store, 0, 20, 3000);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    struct seen seen = scan_all(store, 3000);
    ck_assert_uint_eq(seen.partitions, 20);
    store_close(&store);
    store = open_store(0);
    append_range(store, 20, 25, 3000);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    seen = scan_all(store, 3000);
    ck_assert_uint_eq(seen.partitions, 25);
    ck_assert(seen.in_order);
    uint64_t segments, bytes, end_segment, end_offset;
    store_totals(store, &segments, &bytes, &end_segment, &end_offset);
    ck_assert_uint_eq(segments, 1);
    ck_assert_uint_eq(end_segment, 1);
    ck_assert_uint_eq(bytes, end_offset);
    store_close(&store);
}
END_TEST

START_TEST(unsynced_partitions_are_not_scanned)
{
    struct store *store = open_store(0);
    append_range(store, 0, 3, 100);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    append_range(store, 3, 5, 100);
    ck_assert_uint_eq(scan_all(store, 100).partitions, 3);
    store_close(&store);
}
END_TEST

START_TEST(second_opener_hears_busy)
{
    struct store *store = open_store(0), *second;
    char error[256] = "";
    struct store_settings settings = {.folder = folder};
    ck_assert_int_eq(store_open(&settings, &second, error, sizeof error), SKEIN_BUSY);
    ck_assert_ptr_null(second);
    ck_assert_ptr_nonnull(strstr(error, "another collector"));
    store_close(&store);
    store = open_store(0);
    store_close(&store);
}
END_TEST

/* A closed segment is read from its tail: the partitions' bytes may even be wrong. */
START_TEST(closed_segments_are_scanned_from_their_tails)
{
    struct store *store = open_store(20000);
    for (uint64_t i = 0; i < 40; i++) {
        append_range(store, i, i + 1, 3000);
        ck_assert_int_eq(store_sync(store), SKEIN_OK);
    }
    uint64_t segments, bytes, end_segment, end_offset;
    store_totals(store, &segments, &bytes, &end_segment, &end_offset);
    ck_assert_uint_gt(segments, 4);
    struct seen seen = scan_all(store, 3000);
    ck_assert_uint_eq(seen.partitions, 40);
    ck_assert(seen.in_order);
    store_close(&store);

    store = open_store(20000);
    seen = scan_all(store, 3000);
    ck_assert_uint_eq(seen.partitions, 40);
    ck_assert(seen.in_order);
    ck_assert_uint_eq(metrics.store_torn_bytes_total, 0);
    ck_assert_uint_eq(metrics.store_damaged_total, 0);
    struct seen later = {.store = store, .noise = 3000};
    ck_assert_int_eq(store_scan(store, end_segment, 0, see_partition, see_tombstone, &later),
                     SKEIN_OK);
    ck_assert_uint_lt(later.partitions, 10);
    struct seen none = {.store = store, .noise = 3000};
    ck_assert_int_eq(
        store_scan(store, end_segment, end_offset, see_partition, see_tombstone, &none), SKEIN_OK);
    ck_assert_uint_eq(none.partitions, 0);
    store_close(&store);
}
END_TEST

START_TEST(file_cut_at_any_place_keeps_the_whole_records_before_it)
{
    struct store *store = open_store(0);
    append_range(store, 0, 6, 700);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    store_close(&store);
    char *path = segment_path(1), *next = segment_path(2);
    size_t n;
    char *whole = file_read(path, &n);
    ck_assert_ptr_nonnull(whole);
    for (size_t cut = 0; cut < n; cut += 1 + cut % 37) {
        file_write(path, whole, cut);
        store = open_store(0);
        struct seen seen = scan_all(store, 700);
        ck_assert_uint_eq(seen.partitions, records_before(ends, 6, cut));
        ck_assert(seen.in_order);
        append_range(store, seen.partitions, seen.partitions + 1,
                     700); /* it goes on where it was cut */
        ck_assert_int_eq(store_sync(store), SKEIN_OK);
        ck_assert_uint_eq(scan_all(store, 700).partitions, seen.partitions + 1);
        store_close(&store);
        unlink(next); /* where nothing of segment 1 was left */
    }
    ck_assert_uint_gt(metrics.store_torn_bytes_total, 0);
    free(next);
    free(whole);
    free(path);
}
END_TEST

START_TEST(flipped_bits_cost_at_most_the_record_that_they_hit)
{
    struct store *store = open_store(0);
    append_range(store, 0, 8, 600);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    store_close(&store);
    char *path = segment_path(1);
    size_t n;
    char *whole = file_read(path, &n);
    for (size_t at = 0; at < n; at += 1 + at % 53) {
        whole[at] ^= (char)(1 << at % 8);
        file_write(path, whole, n);
        whole[at] ^= (char)(1 << at % 8);
        memset(&metrics, 0, sizeof metrics);
        store = open_store(0);
        struct seen seen = scan_all(store, 600);
        ck_assert_msg(seen.partitions >= 7, "%llu left, byte %zu",
                      (unsigned long long)seen.partitions, at);
        if (seen.partitions < 8)
            ck_assert_uint_gt(metrics.store_damaged_total + metrics.store_torn_bytes_total, 0);
        store_close(&store);
    }
    free(whole);
    free(path);
}
END_TEST

START_TEST(damaged_tail_of_a_closed_segment_costs_nothing)
{
    struct store *store = open_store(4000);
    append_range(store, 0, 8, 600);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    append_range(store, 8, 9, 600); /* closes segment 1, in which 7 ends at ends[7] */
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    ck_assert(store_has_segment(store, 2));
    store_close(&store);
    char *path = segment_path(1);
    size_t n;
    char *whole = file_read(path, &n);
    for (size_t back = 1; back < n - ends[7]; back += 1 + back % 31) {
        whole[n - back] ^= 0x10;
        file_write(path, whole, n);
        whole[n - back] ^= 0x10;
        store = open_store(4000);
        struct seen seen = scan_all(store, 600);
        ck_assert_msg(seen.partitions == 9, "%llu, %zu from the end",
                      (unsigned long long)seen.partitions, back);
        store_close(&store);
        file_write(path, whole, n); /* a recovery may have closed it anew */
    }
    free(whole);
    free(path);
}
END_TEST

START_TEST(empty_segments_are_removed_at_open)
{
    struct store *store = open_store(0);
    append_range(store, 0, 1, 10);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    store_close(&store);
    char *torn = segment_path(2), *foreign = path_join(folder, "notes.txt");
    file_write(torn, "SKNSEG", 6);
    file_write_text(foreign, "mine");
    store = open_store(0);
    ck_assert_int_ne(access(torn, F_OK), 0);
    ck_assert_int_eq(access(foreign, F_OK), 0);
    ck_assert_uint_eq(scan_all(store, 10).partitions, 1);
    append_range(store, 1, 2, 10);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    ck_assert_uint_eq(scan_all(store, 10).partitions, 2);
    store_close(&store);
    free(torn);
    free(foreign);
}
END_TEST

START_TEST(tombstones_are_durable_and_found)
{
    struct store *store = open_store(0);
    append_range(store, 0, 2, 10);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    struct store_record gone[] = {{.key = key_of(1, 1, 0)}, {.capture = capture_of(3)}};
    size_t done;
    ck_assert_int_eq(store_append_tombstones(store, gone, 2, &done), SKEIN_OK);
    ck_assert_uint_eq(done, 2);
    store_close(&store);
    store = open_store(0);
    struct seen seen = scan_all(store, 10);
    ck_assert_uint_eq(seen.partitions, 2);
    ck_assert_uint_eq(seen.tombstones, 2);
    ck_assert_uint_eq(seen.captures, 1);
    store_close(&store);
}
END_TEST

START_TEST(copy_is_the_same_record_and_damage_is_not_copied)
{
    struct store *store = open_store(1);
    struct buf bytes = {0};
    struct partition_key key = key_of(1, 1, 0);
    struct store_record record = {
        .key = key, .capture = capture_of(1), .agent = 9, .received_ns = 1};
    struct store_place place[2], copy;
    partition_of(&key, 500, &bytes);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(store_append(store, &record, bytes.data, bytes.len,
                                      checksum64(bytes.data, bytes.len), &place[i]),
                         SKEIN_OK);
        ck_assert_int_eq(store_sync(store), SKEIN_OK);
    }
    copy = place[0];
    ck_assert_int_eq(store_copy(store, &key, &copy), SKEIN_OK);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    ck_assert_uint_gt(copy.segment, place[1].segment);
    struct seen seen = scan_all(store, 500);
    ck_assert_uint_eq(seen.partitions, 3);
    struct partition_key other = key_of(1, 1, 7);
    copy = place[0];
    ck_assert_int_eq(store_copy(store, &other, &copy), SKEIN_CORRUPT);
    char *path = path_join(folder, "0000000001.seg");
    size_t n;
    char *whole = file_read(path, &n);
    whole[place[0].offset + 100] ^= 1;
    file_write(path, whole, n);
    ck_assert_int_eq(store_copy(store, &key, &copy), SKEIN_CORRUPT);
    ck_assert_int_eq(store_remove_segment(store, 1), SKEIN_OK);
    ck_assert_int_eq(store_copy(store, &key, &copy), SKEIN_NOT_FOUND);
    free(whole);
    free(path);
    store_close(&store);
    buf_fini(&bytes);
}
END_TEST

/* Any byte of the record, of the partition's beginning and end, and a file that ends too early. */
START_TEST(every_changed_byte_is_noticed_before_it_is_handed_out)
{
    struct store *store = open_store(0);
    append_range(store, 0, 2, 300000);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    char *path = segment_path(1);
    size_t n;
    char *whole = file_read(path, &n);
    struct partition_key key = key_of(0, 1, 0), other = key_of(0, 1, 1);
    struct store_place place = {1, SEGMENT_HEADER_BYTES + SEGMENT_RECORD_BYTES, 0};
    place.bytes = (uint64_t)(unsigned char)whole[SEGMENT_HEADER_BYTES + 72] |
                  (uint64_t)(unsigned char)whole[SEGMENT_HEADER_BYTES + 73] << 8 |
                  (uint64_t)(unsigned char)whole[SEGMENT_HEADER_BYTES + 74] << 16;
    ck_assert_int_eq(store_verify(store, &key, &place), SKEIN_OK);
    ck_assert_int_eq(store_verify(store, &other, &place), SKEIN_CORRUPT);
    uint64_t end = place.offset + place.bytes;
    for (uint64_t at = SEGMENT_HEADER_BYTES; at < end; at += at < place.offset + 64 ? 1 : 9973) {
        whole[at] ^= 1;
        file_write(path, whole, n);
        ck_assert_int_eq(store_verify(store, &key, &place), SKEIN_CORRUPT);
        whole[at] ^= 1;
    }
    whole[end - 1] ^= 1;
    file_write(path, whole, n);
    ck_assert_int_eq(store_verify(store, &key, &place), SKEIN_CORRUPT);
    whole[end - 1] ^= 1;
    file_write(path, whole, (size_t)end - 1);
    ck_assert_int_eq(store_verify(store, &key, &place), SKEIN_CORRUPT);
    file_write(path, whole, 0);
    ck_assert_int_eq(store_verify(store, &key, &place), SKEIN_CORRUPT);
    place.segment = 2;
    ck_assert_int_eq(store_verify(store, &key, &place), SKEIN_NOT_FOUND);
    free(whole);
    free(path);
    store_close(&store);
}
END_TEST

START_TEST(closed_segments_can_be_removed_and_the_last_cannot)
{
    struct store *store = open_store(2000);
    for (uint64_t i = 0; i < 6; i++) {
        append_range(store, i, i + 1, 3000);
        ck_assert_int_eq(store_sync(store), SKEIN_OK);
    }
    ck_assert_int_eq(store_remove_segment(store, 6), SKEIN_BUSY);
    ck_assert_int_eq(store_remove_segment(store, 7), SKEIN_NOT_FOUND);
    ck_assert_int_eq(store_remove_segment(store, 3), SKEIN_OK);
    ck_assert(!store_has_segment(store, 3));
    uint8_t byte;
    struct store_place gone = {3, SEGMENT_HEADER_BYTES + SEGMENT_RECORD_BYTES, 100};
    ck_assert_int_eq(store_read(store, &gone, 0, &byte, 1), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(scan_all(store, 3000).partitions, 5);
    store_close(&store);
    store = open_store(2000);
    ck_assert_uint_eq(scan_all(store, 3000).partitions, 5);
    store_close(&store);
}
END_TEST

START_TEST(reads_outside_a_partition_are_refused)
{
    struct store *store = open_store(0);
    struct buf bytes = {0};
    struct partition_key key = key_of(1, 1, 1);
    struct store_record record = record_of(&key);
    struct store_place place;
    partition_of(&key, 100, &bytes);
    ck_assert_int_eq(store_append(store, &record, bytes.data, bytes.len,
                                  checksum64(bytes.data, bytes.len), &place),
                     SKEIN_OK);
    uint8_t out[4];
    ck_assert_int_eq(store_read(store, &place, bytes.len - 4, out, 4), SKEIN_OK);
    ck_assert_int_eq(memcmp(out, bytes.data + bytes.len - 4, 4), 0);
    ck_assert_int_eq(store_read(store, &place, bytes.len - 3, out, 4), SKEIN_INVALID);
    ck_assert_int_eq(store_read(store, &place, UINT64_MAX, out, 4), SKEIN_INVALID);
    ck_assert_int_eq(store_read(store, &place, bytes.len, out, 0), SKEIN_OK);
    buf_fini(&bytes);
    store_close(&store);
}
END_TEST

START_TEST(what_is_no_partition_is_not_appended)
{
    struct store *store = open_store(0);
    struct partition_key key = key_of(1, 1, 1);
    struct store_record record = record_of(&key);
    struct store_place place;
    char junk[300];
    memset(junk, 'x', sizeof junk);
    ck_assert_int_eq(store_append(store, &record, junk, sizeof junk, 0, &place), SKEIN_INVALID);
    ck_assert_int_eq(store_append(store, &record, junk, 1, 0, &place), SKEIN_INVALID);
    ck_assert_int_eq(store_append(store, &record, junk, 0, 0, &place), SKEIN_INVALID);
    append_range(store, 0, 1, 10);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    ck_assert_uint_eq(scan_all(store, 10).partitions, 1);
    store_close(&store);
}
END_TEST

START_TEST(append_is_refused_below_the_free_bytes_wanted)
{
    char error[256];
    struct store *store;
    struct store_settings settings = {.folder = folder, .min_free_bytes = UINT64_MAX / 2};
    ck_assert_int_eq(store_open(&settings, &store, error, sizeof error), SKEIN_OK);
    struct buf bytes = {0};
    struct partition_key key = key_of(1, 1, 1);
    struct store_record record = record_of(&key);
    struct store_place place;
    partition_of(&key, 100, &bytes);
    ck_assert_int_eq(store_append(store, &record, bytes.data, bytes.len,
                                  checksum64(bytes.data, bytes.len), &place),
                     SKEIN_FULL);
    buf_fini(&bytes);
    store_close(&store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_files");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, synced_partitions_come_back_after_reopening);
    tcase_add_test(c, unsynced_partitions_are_not_scanned);
    tcase_add_test(c, second_opener_hears_busy);
    tcase_add_test(c, closed_segments_are_scanned_from_their_tails);
    tcase_add_test(c, file_cut_at_any_place_keeps_the_whole_records_before_it);
    tcase_add_test(c, flipped_bits_cost_at_most_the_record_that_they_hit);
    tcase_add_test(c, damaged_tail_of_a_closed_segment_costs_nothing);
    tcase_add_test(c, empty_segments_are_removed_at_open);
    tcase_add_test(c, tombstones_are_durable_and_found);
    tcase_add_test(c, every_changed_byte_is_noticed_before_it_is_handed_out);
    tcase_add_test(c, copy_is_the_same_record_and_damage_is_not_copied);
    tcase_add_test(c, closed_segments_can_be_removed_and_the_last_cannot);
    tcase_add_test(c, reads_outside_a_partition_are_refused);
    tcase_add_test(c, what_is_no_partition_is_not_appended);
    tcase_add_test(c, append_is_refused_below_the_free_bytes_wanted);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
