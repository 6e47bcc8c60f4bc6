/* SPDX-License-Identifier: Apache-2.0
 * The footer index: overlap queries against a plain loop, pages, deletion, and making it anew. */
#include "checksum.h"
#include "index_int.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db.h"
#include "index_delete.h"
#include "metrics.h"
#include "no_sync.h"
#include "partition_make.h"
#include "support.h"

#define SECOND UINT64_C(1000000000)
#define T0     (UINT64_C(1700000000) * SECOND)

static char *folder;
static struct store *store;
static struct index *index_;

static void open_index(void)
{
    char error[256] = "";
    ck_assert_msg(index_open(folder, store, &index_, error, sizeof error) == SKEIN_OK, "%s", error);
}

static void open_both(uint64_t segment_bytes)
{
    char error[256] = "";
    char *segments = path_join(folder, "segments");
    struct store_settings settings = {.folder = segments, .segment_bytes = segment_bytes};
    ck_assert_msg(store_open(&settings, &store, error, sizeof error) == SKEIN_OK, "%s", error);
    free(segments);
    open_index();
}

static void close_both(void)
{
    index_close(&index_);
    store_close(&store);
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

/* Stores one partition; adds its row too where asked. */
static void put(const struct partition_spec *spec, const struct capture_id *capture, bool add)
{
    struct buf bytes = {0};
    partition_make(spec, &bytes);
    struct store_record record = {
        .key = spec->key, .capture = *capture, .agent = UINT64_MAX, .received_ns = 7};
    struct store_place place;
    ck_assert_int_eq(store_append(store, &record, bytes.data, bytes.len,
                                  checksum64(bytes.data, bytes.len), &place),
                     SKEIN_OK);
    ck_assert_int_eq(store_sync(store), SKEIN_OK);
    if (add) {
        struct partition_footer footer;
        struct partition_row row;
        size_t need;
        ck_assert_int_eq(partition_footer_get(bytes.data, bytes.len, &footer, &need), SKEIN_OK);
        partition_row_make(&row, &record, &place, &footer, 0);
        ck_assert_int_eq(index_add(index_, &row, 1), SKEIN_OK);
        partition_footer_free(&footer);
    }
    buf_fini(&bytes);
}

#define ROWS 300
static struct partition_spec specs[ROWS];
static const char *const services[] = {"checkout", "cart", "redis"};

/* 300 partitions of 5 processes and 3 services over 3 hours; each 40th lasts 2 to 5 hours. */
static void specs_make(void)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        uint64_t at = T0 + (uint64_t)(i * 7919u % 10800u) * SECOND;
        uint64_t span = i % 40 == 7 ? (7200 + 36 * (uint64_t)i) * SECOND : (i % 30) * SECOND / 10;
        specs[i] = (struct partition_spec){.key = key_of(i % 5, 1 + i % 2, i),
                                           .from_ns = at,
                                           .to_ns = at + span,
                                           .service = services[i % 3],
                                           .labels = i % 2 ? "zone=a,tier=web" : "zone=b"};
    }
}

static void specs_put(void)
{
    specs_make();
    struct capture_id captures[] = {capture_of(1), capture_of(2)};
    for (uint32_t i = 0; i < ROWS; i++)
        put(&specs[i], &captures[i % 7 == 0], true);
}

struct answer {
    uint32_t ids[ROWS]; /* sequence of each row */
    size_t count;
    uint64_t last_to;
    struct partition_key last_key;
};

static int collect(void *context, const struct partition_row *row)
{
    struct answer *a = context;
    uint32_t i = (uint32_t)row->record.key.sequence;
    ck_assert_uint_lt(i, ROWS);
    ck_assert_uint_lt(a->count, ROWS);
    const struct partition_spec *spec = &specs[i];
    ck_assert_int_eq(memcmp(&row->record.key, &spec->key, sizeof spec->key), 0);
    ck_assert_str_eq(row->service, spec->service);
    ck_assert_str_eq(row->labels, spec->labels);
    ck_assert_uint_eq(row->record.agent, UINT64_MAX);
    ck_assert_uint_eq(row->from_ns, spec->from_ns);
    ck_assert_uint_eq(row->to_ns, spec->to_ns);
    ck_assert(a->count == 0 || row->to_ns > a->last_to ||
              (row->to_ns == a->last_to &&
               memcmp(&row->record.key.process, &a->last_key.process, 16) >= 0));
    a->last_to = row->to_ns;
    a->last_key = row->record.key;
    a->ids[a->count++] = i;
    return 0;
}

static struct partition_ranges had; /* what capture 2 has */

static void had_make(void)
{
    for (uint32_t i = 0; i < ROWS; i += 7) {
        const struct partition_range range = {specs[i].key, specs[i].key.sequence};
        ck_assert_int_eq(partition_ranges_add(&had, &range), SKEIN_OK);
    }
    had.high_ns = UINT64_MAX;
    partition_ranges_ready(&had);
}

/* The query's answer is what a plain loop over all rows gives, in one piece and page by page. */
static void check_query(struct partition_query query, const char *service, const char *zone)
{
    bool want[ROWS] = {false};
    size_t wanted = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        want[i] = specs[i].to_ns >= query.from_ns && specs[i].from_ns <= query.to_ns &&
                  (!service || strcmp(service, specs[i].service) == 0) &&
                  (!query.process || process_uid_equal(query.process, &specs[i].key.process)) &&
                  (!query.ranges || i % 7 == 0) && (!zone || strstr(specs[i].labels, zone));
        wanted += want[i];
    }
    struct answer all = {.count = 0}, pages = {.count = 0};
    ck_assert_int_eq(index_query(index_, &query, collect, &all), (int64_t)wanted);
    ck_assert_uint_eq(all.count, wanted);
    for (size_t k = 0; k < all.count; k++)
        ck_assert(want[all.ids[k]]);
    query.limit = 17;
    while (index_query(index_, &query, collect, &pages) == 17) {
        query.after = true;
        query.after_time = pages.last_to;
        query.after_key = pages.last_key;
    }
    ck_assert_uint_eq(pages.count, all.count);
    ck_assert_int_eq(memcmp(pages.ids, all.ids, all.count * sizeof *all.ids), 0);
}

START_TEST(file_is_its_owners_alone)
{
    struct stat about;
    char *path = path_join(folder, "index.db");
    mode_t before = umask(022);
    open_both(1 << 20);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_uint_eq(about.st_mode & 07777, 0600);
    close_both();
    ck_assert_int_eq(chmod(path, 0644), 0); /* as a version before left it */
    open_both(1 << 20);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_uint_eq(about.st_mode & 07777, 0600);
    close_both();
    umask(before);
    free(path);
}
END_TEST

START_TEST(queries_answer_what_a_plain_loop_finds)
{
    open_both(0);
    specs_put();
    had_make();
    struct process_uid process = process_of(3);
    char error[128];
    struct selector *cart, *nobody, *zone;
    ck_assert_int_eq(selector_new("service=cart", &cart, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(selector_new("service=nobody", &nobody, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(selector_new("zone=a,service in (cart,redis),service in (redis)", &zone, error,
                                  sizeof error),
                     SKEIN_OK);
    for (uint64_t step = 0; step < 12; step++) {
        uint64_t from = step == 0 ? 0 : T0 + step * 1300 * SECOND;
        uint64_t to = step == 0 ? UINT64_MAX : from + (step % 4) * 400 * SECOND;
        struct partition_query query = {.from_ns = from, .to_ns = to};
        check_query(query, NULL, NULL);
        query.selector = cart;
        check_query(query, "cart", NULL);
        query.process = &process;
        check_query(query, "cart", NULL);
        query.ranges = &had;
        check_query(query, "cart", NULL);
        query = (struct partition_query){.from_ns = from, .to_ns = to, .ranges = &had};
        check_query(query, NULL, NULL);
        query = (struct partition_query){.from_ns = from, .to_ns = to, .selector = nobody};
        check_query(query, "nobody", NULL);
        query.selector = zone;
        check_query(query, "redis", "zone=a");
    }
    selector_free(&cart);
    selector_free(&nobody);
    selector_free(&zone);
    partition_ranges_fini(&had);
    close_both();
}
END_TEST

START_TEST(selector_sees_labels_and_the_built_in_ones)
{
    static const struct {
        const char *text;
        uint64_t rows;
    } cases[] = {{"", ROWS},
                 {"zone=b", ROWS / 2},
                 {"tier", ROWS / 2},
                 {"!tier", ROWS / 2},
                 {"pid=100", ROWS},
                 {"exe=svc", ROWS},
                 {"host in (host-a)", ROWS},
                 {"service=cart", ROWS / 3}};
    open_both(0);
    specs_put();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[128];
        struct selector *selector;
        ck_assert_int_eq(selector_new(cases[i].text, &selector, error, sizeof error), SKEIN_OK);
        struct partition_query query = {.selector = selector, .to_ns = UINT64_MAX};
        struct answer a = {.count = 0};
        ck_assert_msg(index_query(index_, &query, collect, &a) == (int64_t)cases[i].rows, "%s: %zu",
                      cases[i].text, a.count);
        selector_free(&selector);
    }
    close_both();
}
END_TEST

START_TEST(key_is_found_once_and_a_double_is_counted)
{
    open_both(0);
    specs_make();
    struct capture_id capture = capture_of(1);
    put(&specs[5], &capture, true);
    put(&specs[5], &capture, true);
    struct partition_row row;
    ck_assert_int_eq(index_find(index_, &specs[5].key, &row), 1);
    ck_assert_uint_eq(row.to_ns, specs[5].to_ns);
    ck_assert_int_eq(index_find(index_, &specs[6].key, &row), 0);
    ck_assert_int_eq(index_find(index_, &specs[5].key, NULL), 1);
    ck_assert_uint_eq(metrics.store_doubles_total, 1);
    struct partition_query all = {.to_ns = UINT64_MAX};
    struct answer a = {.count = 0};
    ck_assert_int_eq(index_query(index_, &all, collect, &a), 1);
    close_both();
}
END_TEST

static size_t rows_now(void)
{
    struct partition_query all = {.to_ns = UINT64_MAX};
    struct answer a = {.count = 0};
    int64_t n = index_query(index_, &all, collect, &a);
    ck_assert_int_ge(n, 0);
    return (size_t)n;
}

START_TEST(index_that_is_behind_follows_the_store_at_open)
{
    open_both(0);
    specs_make();
    struct capture_id capture = capture_of(1);
    for (uint32_t i = 0; i < 10; i++)
        put(&specs[i], &capture, i < 6);
    ck_assert_uint_eq(rows_now(), 6);
    close_both();
    open_both(0);
    ck_assert_uint_eq(rows_now(), 10);
    ck_assert_uint_eq(metrics.store_doubles_total, 0);
    close_both();
}
END_TEST

static void damage_remove(const char *path)
{
    unlink(path);
}

static void damage_garbage(const char *path)
{
    char junk[20000];
    memset(junk, 0x5a, sizeof junk);
    file_write(path, junk, sizeof junk);
}

static void damage_truncate(const char *path)
{
    ck_assert_int_eq(truncate(path, 5000), 0);
}

static void damage_empty(const char *path)
{
    file_write(path, "", 0);
}

/* As the version before this one left it: its tables are others. */
static void damage_schema(const char *path)
{
    struct db *db;
    char error[256];
    ck_assert_int_eq(db_open(path, false, &db, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(db_exec(db, "DROP TABLE label; DROP TABLE series; DROP TABLE bucket;"
                                 "CREATE TABLE series(id INTEGER PRIMARY KEY, first INTEGER,"
                                 " last INTEGER, rows INTEGER, longest INTEGER);"
                                 "PRAGMA user_version=5;"),
                     SKEIN_OK);
    db_close(&db);
}

START_TEST(lost_or_damaged_database_is_made_anew)
{
    static void (*const damages[])(const char *) = {damage_remove, damage_garbage, damage_truncate,
                                                    damage_empty, damage_schema};
    open_both(20000);
    specs_put();
    close_both();
    char *path = path_join(folder, "index.db"), *wal = path_join(folder, "index.db-wal");
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        unlink(wal);
        damages[i](path);
        open_both(20000);
        ck_assert_msg(rows_now() == ROWS, "damage %zu", i);
        close_both();
    }
    free(path);
    free(wal);
}
END_TEST

START_TEST(damage_is_noted_on_disk_by_who_heals_or_closes)
{
    char *marker = path_join(folder, "index.rebuild");
    open_both(20000);
    specs_put();
    ck_assert_int_eq(index_result(index_, SKEIN_CORRUPT), SKEIN_IO);
    ck_assert_int_ne(access(marker, F_OK), 0); /* a question writes nothing */
    ck_assert_int_eq(index_heal(index_), SKEIN_OK);
    ck_assert_uint_eq(metrics.index_rebuilds_total, 1);
    ck_assert_int_ne(access(marker, F_OK), 0);
    const struct partition_range range = {key_of(2, 1, 2), 42};
    ck_assert_int_eq(index_range(index_, &range, NULL, NULL), 5);
    ck_assert_uint_eq(rows_now(), ROWS);
    ck_assert_int_eq(index_result(index_, SKEIN_CORRUPT), SKEIN_IO);
    close_both();
    ck_assert_int_eq(access(marker, F_OK), 0);
    open_both(20000);
    ck_assert_int_ne(access(marker, F_OK), 0);
    ck_assert_uint_eq(rows_now(), ROWS);
    close_both();
    free(marker);
}
END_TEST

START_TEST(index_of_another_store_is_made_anew)
{
    open_both(0);
    specs_make();
    struct capture_id capture = capture_of(1);
    for (uint32_t i = 0; i < 10; i++)
        put(&specs[i], &capture, true);
    close_both();
    char *segment = path_join(folder, "segments/0000000001.seg");
    unlink(segment);
    open_both(0);
    ck_assert_uint_eq(rows_now(), 0);
    put(&specs[3], &capture, true);
    ck_assert_uint_eq(rows_now(), 1);
    close_both();
    free(segment);
}
END_TEST

static void tombstones_put(const struct store_record *records, size_t count)
{
    size_t done;
    ck_assert_int_eq(store_append_tombstones(store, records, count, &done), SKEIN_OK);
    ck_assert_uint_eq(done, count);
    ck_assert_int_eq(index_tombstones_add(index_, records, count), SKEIN_OK);
}

/* As ingest does, where others have `kept` (NULL: nothing). Returns how many partitions went with
 * the capture that they were sent for. */
static size_t capture_delete(const struct capture_id *capture, const struct partition_range *kept)
{
    struct index_entry entries[ROWS];
    struct store_record records[ROWS + 1] = {{.agent = 0}};
    uint64_t after = 0;
    size_t gone = 0;
    int64_t n = index_sent_for(index_, capture, &after, entries, ROWS);
    ck_assert_int_ge(n, 0);
    for (int64_t i = 0; i < n; i++) {
        const struct partition_key *key = &entries[i].key;
        ck_assert(capture_id_equal(&entries[i].sent_for, capture));
        ck_assert_uint_gt(entries[i].bytes, 0);
        if (!kept || !process_uid_equal(&key->process, &kept->key.process) ||
            key->epoch != kept->key.epoch || key->sequence > kept->last)
            records[gone++].key = *key;
    }
    records[gone].capture = *capture;
    tombstones_put(records, gone + 1);
    return gone;
}

static size_t sent_for(const struct capture_id *capture)
{
    struct index_entry entries[ROWS];
    size_t count = 0;
    uint64_t after = 0;
    int64_t n;
    while ((n = index_sent_for(index_, capture, &after, entries, 13)) > 0) /* page by page */
        count += (size_t)n;
    ck_assert_int_eq(n, 0);
    return count;
}

START_TEST(rebuild_gives_the_same_rows)
{
    open_both(30000);
    specs_put();
    struct capture_id capture = capture_of(2), kept = capture_of(1);
    ck_assert_uint_eq(capture_delete(&capture, NULL), (ROWS + 6) / 7);
    size_t before = rows_now();
    ck_assert_uint_eq(before, ROWS - (ROWS + 6) / 7);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(index_rebuild(index_), SKEIN_OK);
        ck_assert_uint_eq(rows_now(), before);
        ck_assert_uint_eq(sent_for(&kept), before);
        ck_assert_uint_eq(sent_for(&capture), 0);
        ck_assert_int_eq(index_capture_deleted(index_, &capture), 1);
    }
    close_both();
}
END_TEST

static int key_keep(void *context, const struct partition_row *row)
{
    struct store_record **record = context;
    (*record)++->key = row->record.key;
    return 0;
}

START_TEST(what_others_have_stays_and_what_was_deleted_stays_deleted)
{
    open_both(0);
    specs_make();
    struct capture_id first = capture_of(1), none = {{0}};
    for (uint32_t i = 0; i < 20; i++) { /* of process 1, epoch 1: sequences 6 and 16; no capture */
        put(&specs[i], i == 16 ? &none : &first, true);
    }
    struct partition_key six = specs[6].key, sixteen = specs[16].key;
    struct partition_range seconds = {key_of(1, 1, 0), 10}, all = {key_of(1, 1, 0), UINT64_MAX};
    ck_assert_uint_eq(sent_for(&first), 19);
    ck_assert_uint_eq(capture_delete(&first, &seconds), 18);
    ck_assert_uint_eq(rows_now(), 2);
    ck_assert_uint_eq(sent_for(&first), 1);
    ck_assert_int_eq(index_rebuild(index_), SKEIN_OK);
    ck_assert_uint_eq(rows_now(), 2);
    ck_assert_int_eq(index_capture_deleted(index_, &first), 1);
    struct store_record records[4] = {{.agent = 0}}, *end = records;
    ck_assert_int_eq(index_range(index_, &all, key_keep, &end), 2);
    tombstones_put(records, 2);
    ck_assert_uint_eq(rows_now(), 0);
    ck_assert_int_eq(index_rebuild(index_), SKEIN_OK);
    ck_assert_uint_eq(rows_now(), 0);
    /* A deleted partition may be stored again, for another capture. */
    struct capture_id third = capture_of(3);
    put(&specs[6], &third, true);
    ck_assert_int_eq(index_rebuild(index_), SKEIN_OK);
    ck_assert_uint_eq(sent_for(&third), 1);
    ck_assert_int_eq(index_find(index_, &six, NULL), 1);
    ck_assert_int_eq(index_find(index_, &sixteen, NULL), 0);
    close_both();
}
END_TEST

START_TEST(the_oldest_are_given_by_when_they_came)
{
    open_both(0);
    specs_put(); /* all were received at 7 */
    struct index_entry entries[64];
    uint64_t after = 0;
    size_t count = 0;
    ck_assert_int_eq(index_oldest(index_, 7, &after, entries, 64), 0);
    ck_assert_uint_eq(after, 0);
    do {
        int64_t n = index_oldest(index_, 8, &after, entries, 64);
        ck_assert_int_ge(n, 0);
        for (int64_t i = 0; i < n; i++)
            ck_assert_uint_eq(entries[i].key.sequence, count++);
    } while (after != 0);
    ck_assert_uint_eq(count, ROWS);
    close_both();
}
END_TEST

/* As the version before this one left it. What stands in a row alone says whether it was read. */
START_TEST(the_version_before_is_brought_up_without_the_store)
{
    struct db *db;
    char error[256], *path = path_join(folder, "index.db");
    struct capture_id capture = capture_of(2);
    struct partition_row row;
    open_both(0);
    specs_put();
    close_both();
    ck_assert_int_eq(db_open(path, false, &db, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(db_exec(db, "DROP INDEX by_capture;"
                                 "CREATE TABLE member(capture BLOB, to_ns INTEGER, key BLOB,"
                                 " PRIMARY KEY(capture, to_ns, key)) WITHOUT ROWID;"
                                 "CREATE INDEX member_of ON member(key);"
                                 "INSERT INTO member SELECT capture, to_ns, key FROM partitions;"
                                 "UPDATE partitions SET pid = 4242; PRAGMA user_version=6;"),
                     SKEIN_OK);
    /* Another, unknown to state.db by now, had what was sent for one that is gone. */
    ck_assert_int_eq(db_exec(db, "UPDATE member SET capture=(SELECT max(capture) FROM member)"
                                 " WHERE key=(SELECT min(key) FROM partitions"
                                 " WHERE capture<>(SELECT max(capture) FROM member))"),
                     SKEIN_OK);
    db_close(&db);
    for (int again = 0; again < 2; again++) {
        open_both(0);
        ck_assert_uint_eq(rows_now(), ROWS);
        ck_assert_uint_eq(sent_for(&capture), (ROWS + 6) / 7 + 1);
        ck_assert_int_eq(index_find(index_, &specs[5].key, &row), 1);
        ck_assert_uint_eq(row.pid, 4242);
        close_both();
    }
    free(path);
}
END_TEST

START_TEST(later_record_of_a_key_is_the_rows)
{
    open_both(1);
    specs_make();
    struct capture_id capture = capture_of(1);
    struct partition_row row;
    put(&specs[0], &capture, true);
    put(&specs[1], &capture, true);
    put(&specs[0], &capture, true);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(index_find(index_, &specs[0].key, &row), 1);
        ck_assert_uint_eq(row.place.segment, 3);
        uint64_t empty[4];
        size_t count = 4;
        ck_assert_int_eq(index_empty_segments(index_, empty, &count), SKEIN_OK);
        ck_assert_uint_eq(count, 1);
        ck_assert_uint_eq(empty[0], 1);
        ck_assert_int_eq(index_rebuild(index_), SKEIN_OK);
    }
    /* What is followed twice changes nothing. */
    ck_assert_int_eq(index_follow(index_), SKEIN_OK);
    ck_assert_uint_eq(rows_now(), 2);
    close_both();
}
END_TEST

static void segment_remove(uint64_t segment)
{
    struct store_record records[64];
    int64_t n = index_tombstones_in(index_, segment, records, 64);
    ck_assert_int_ge(n, 0);
    tombstones_put(records, (size_t)n);
    ck_assert_int_eq(store_remove_segment(store, segment), SKEIN_OK);
}

START_TEST(deleted_capture_frees_the_segments_that_held_nothing_else)
{
    open_both(1); /* each group a segment of its own */
    specs_make();
    struct capture_id kept = capture_of(1), gone = capture_of(2);
    for (uint32_t i = 0; i < 12; i++)
        put(&specs[i], i % 3 ? &gone : &kept, true);
    uint64_t empty[64];
    size_t count = 64;
    ck_assert_uint_eq(capture_delete(&gone, NULL), 8);
    ck_assert_int_eq(index_empty_segments(index_, empty, &count), SKEIN_OK);
    ck_assert_uint_eq(count, 8);
    ck_assert_uint_eq(rows_now(), 4);
    for (size_t i = 0; i < count; i++) {
        segment_remove(empty[i]);
        if (i > 0) /* the first is forgotten by the next open */
            ck_assert_int_eq(index_segment_removed(index_, empty[i]), SKEIN_OK);
    }
    ck_assert_int_eq(index_find(index_, &specs[1].key, NULL), 0);
    ck_assert_int_eq(index_find(index_, &specs[0].key, NULL), 1);
    close_both();
    open_both(1);
    ck_assert_uint_eq(rows_now(), 4);
    /* The tombstones' segment is free once it is no longer the last one; the capture's alone is
     * appended again. */
    put(&specs[21], &kept, true);
    count = 64;
    ck_assert_int_eq(index_empty_segments(index_, empty, &count), SKEIN_OK);
    ck_assert_uint_eq(count, 1);
    struct store_record records[64];
    ck_assert_int_eq(index_tombstones_in(index_, empty[0], records, 64), 1);
    ck_assert(capture_id_equal(&records[0].capture, &gone));
    segment_remove(empty[0]);
    ck_assert_int_eq(index_segment_removed(index_, empty[0]), SKEIN_OK);
    ck_assert_int_eq(index_rebuild(index_), SKEIN_OK);
    ck_assert_uint_eq(rows_now(), 5);
    ck_assert_int_eq(index_capture_deleted(index_, &gone), 1);
    /* A segment of nothing but needed tombstones stays: moving it would gain nothing. */
    put(&specs[22], &kept, true);
    count = 64;
    ck_assert_int_eq(index_empty_segments(index_, empty, &count), SKEIN_OK);
    ck_assert_uint_eq(count, 0);
    close_both();
}
END_TEST

START_TEST(tombstone_is_kept_while_its_partition_is_on_disk)
{
    open_both(5000);
    specs_make();
    struct capture_id kept = capture_of(1), gone = capture_of(2);
    put(&specs[0], &kept, true);
    for (uint32_t i = 1; rows_now() < 4 || i < 5; i++)
        put(&specs[i], &gone, true);
    size_t deleted = capture_delete(&gone, NULL);
    ck_assert_uint_gt(deleted, 0);
    ck_assert_uint_eq(rows_now(), 1);
    struct store_record records[64];
    uint64_t segments, bytes, end_segment, end_offset;
    store_totals(store, &segments, &bytes, &end_segment, &end_offset);
    ck_assert_uint_gt(segments, 1);
    int64_t needed = index_tombstones_in(index_, end_segment, records, 64);
    ck_assert_int_gt(needed, 1); /* the capture's, and those of partitions in other segments */
    ck_assert_int_le(needed, (int64_t)deleted + 1);
    close_both();
}
END_TEST

static int nested_find(void *context, const struct partition_row *row)
{
    ++*(int *)context;
    ck_assert_int_eq(index_find(index_, &row->record.key, NULL), 1);
    struct partition_query one = {.process = &row->record.key.process, .to_ns = UINT64_MAX};
    struct answer a = {.count = 0};
    ck_assert_int_gt(index_query(index_, &one, collect, &a), 0);
    return *(int *)context == 200;
}

START_TEST(callback_may_use_the_index_and_stop)
{
    int rows = 0;
    open_both(0);
    specs_put();
    struct partition_query all = {.to_ns = UINT64_MAX};
    ck_assert_int_eq(index_query(index_, &all, nested_find, &rows), 200);
    close_both();
}
END_TEST

static int range_check(void *context, const struct partition_row *row)
{
    uint64_t *next = context, events = row->events, bytes = row->place.bytes;
    const struct partition_key *key = &row->record.key;
    ck_assert_uint_eq(key->sequence % 5, 2); /* of this process alone, and of epoch 1 */
    ck_assert_uint_eq(key->epoch, 1);
    ck_assert_uint_gt(key->sequence, *next);
    ck_assert_uint_gt(bytes, events);
    *next = key->sequence;
    return key->sequence == 122;
}

START_TEST(a_range_of_sequences_is_given_in_order)
{
    open_both(1 << 20);
    specs_put();
    uint64_t last = 1;
    struct partition_range range = {key_of(2, 1, 2), 42};
    ck_assert_int_eq(index_range(index_, &range, range_check, &last), 5); /* 2, 12 ... 42 */
    ck_assert_uint_eq(last, 42);
    range.last = 1;
    ck_assert_int_eq(index_range(index_, &range, range_check, &last), 0);
    range.last = UINT64_MAX;
    ck_assert_int_gt(index_range(index_, &range, range_check, &(uint64_t){0}), 5);
    range.key.epoch = 3;
    ck_assert_int_eq(index_range(index_, &range, range_check, &last), 0);
    close_both();
}
END_TEST

static void *brief_ask(void *context)
{
    const struct partition_range range = {key_of(2, 1, 2), 42};
    struct index_entry entries[4];
    struct capture_id capture = capture_of(2);
    int64_t *answers = context;
    uint64_t after = 0;
    no_sync(true);
    answers[0] = index_range(index_, &range, NULL, NULL);
    answers[1] = index_sent_for(index_, &capture, &after, entries, 4);
    no_sync(false);
    return NULL;
}

/* As the control lock's holder asks while the ingest thread adds or deletes. */
START_TEST(brief_questions_wait_for_no_transaction)
{
    pthread_t other;
    int64_t answers[2] = {0};
    open_both(1 << 20);
    specs_put();
    ck_assert_int_eq(db_begin(index_->write), SKEIN_OK);
    ck_assert_int_gt(db_run(index_->write, "DELETE FROM partitions", NULL, NULL, NULL), 0);
    ck_assert_int_eq(pthread_create(&other, NULL, brief_ask, answers), 0);
    pthread_join(other, NULL);
    ck_assert_int_eq(answers[0], 5); /* what is committed */
    ck_assert_int_eq(answers[1], 4);
    ck_assert_int_eq(db_end(index_->write, SKEIN_OK), SKEIN_OK);
    (void)brief_ask(answers);
    ck_assert_int_eq(answers[0], 0);
    ck_assert_int_eq(answers[1], 0);
    close_both();
}
END_TEST

#define LONG_RANGE 1000

static int next_check(void *context, const struct partition_row *row)
{
    uint64_t *next = context;
    ck_assert_uint_eq(row->record.key.sequence, (*next)++);
    return *next == 700;
}

START_TEST(a_long_range_is_given_whole_and_in_order)
{
    struct partition_row *rows = calloc(LONG_RANGE, sizeof *rows);
    struct partition_range range = {key_of(2, 1, 0), UINT64_MAX};
    uint64_t next = 0;
    ck_assert_ptr_nonnull(rows);
    for (uint64_t i = 0; i < LONG_RANGE; i++)
        rows[i] = (struct partition_row){.record.key = key_of(2, 1, i),
                                         .place = {.segment = 1, .bytes = 8},
                                         .host = "",
                                         .service = "",
                                         .labels = "",
                                         .exe = ""};
    open_both(1 << 20);
    ck_assert_int_eq(index_add(index_, rows, LONG_RANGE), SKEIN_OK);
    ck_assert_int_eq(index_range(index_, &range, NULL, NULL), LONG_RANGE);
    ck_assert_int_eq(index_range(index_, &range, next_check, &next), 700);
    range.last = 255;
    ck_assert_int_eq(index_range(index_, &range, NULL, NULL), 256);
    close_both();
    free(rows);
}
END_TEST

START_TEST(row_made_of_the_store_has_clock_and_span_of_its_partition)
{
    struct capture_id capture = capture_of(1);
    struct partition_spec spec = {.key = key_of(1, 1, 1),
                                  .from_ns = T0,
                                  .to_ns = T0 + SECOND,
                                  .clock_offset_ns = -7 * (int64_t)SECOND};
    struct partition_row row;
    open_both(1 << 20);
    put(&spec, &capture, false);
    ck_assert_int_eq(index_follow(index_), SKEIN_OK);
    ck_assert_int_eq(index_find(index_, &spec.key, &row), 1);
    ck_assert_int_eq(row.clock_offset_ns, spec.clock_offset_ns);
    ck_assert_uint_eq(row.from_ns, T0 - 7 * SECOND);
    ck_assert_uint_eq(row.to_ns, T0 - 6 * SECOND);
    ck_assert_uint_le(row.spans_from_ns, row.from_ns);
    ck_assert_uint_ge(row.spans_to_ns, row.to_ns);
    close_both();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index_sqlite");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 280);
    tcase_add_test(c, file_is_its_owners_alone);
    tcase_add_test(c, queries_answer_what_a_plain_loop_finds);
    tcase_add_test(c, selector_sees_labels_and_the_built_in_ones);
    tcase_add_test(c, key_is_found_once_and_a_double_is_counted);
    tcase_add_test(c, index_that_is_behind_follows_the_store_at_open);
    tcase_add_test(c, lost_or_damaged_database_is_made_anew);
    tcase_add_test(c, damage_is_noted_on_disk_by_who_heals_or_closes);
    tcase_add_test(c, index_of_another_store_is_made_anew);
    tcase_add_test(c, rebuild_gives_the_same_rows);
    tcase_add_test(c, deleted_capture_frees_the_segments_that_held_nothing_else);
    tcase_add_test(c, tombstone_is_kept_while_its_partition_is_on_disk);
    tcase_add_test(c, what_others_have_stays_and_what_was_deleted_stays_deleted);
    tcase_add_test(c, the_oldest_are_given_by_when_they_came);
    tcase_add_test(c, the_version_before_is_brought_up_without_the_store);
    tcase_add_test(c, later_record_of_a_key_is_the_rows);
    tcase_add_test(c, callback_may_use_the_index_and_stop);
    tcase_add_test(c, a_range_of_sequences_is_given_in_order);
    tcase_add_test(c, a_long_range_is_given_whole_and_in_order);
    tcase_add_test(c, brief_questions_wait_for_no_transaction);
    tcase_add_test(c, row_made_of_the_store_has_clock_and_span_of_its_partition);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
