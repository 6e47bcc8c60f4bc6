/* SPDX-License-Identifier: Apache-2.0
 * What outlives the collector: captures in state.db of this version and of the first one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalog.h"
#include "catalog_capture.h"
#include "db.h"
#include "support.h"

/* state.db as version 1 made it, with one capture of an agent's own and its target. */
static const char first_version[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE captures(id TEXT PRIMARY KEY, created_ns INTEGER NOT NULL,"
    " at_ns INTEGER NOT NULL, pre_ms INTEGER NOT NULL, post_ms INTEGER NOT NULL,"
    " deadline_ns INTEGER NOT NULL, finished_ns INTEGER NOT NULL, stopped INTEGER NOT NULL,"
    " own INTEGER NOT NULL, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,"
    " status TEXT NOT NULL, kind TEXT NOT NULL, selector TEXT NOT NULL, trigger_type TEXT NOT NULL,"
    " rule TEXT NOT NULL, process TEXT NOT NULL, reason TEXT NOT NULL, listing TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE INDEX captures_by_time ON captures(created_ns, id);"
    "CREATE INDEX captures_by_status ON captures(status, created_ns, id);"
    "CREATE TABLE targets(capture TEXT NOT NULL, process TEXT NOT NULL,"
    " agent INTEGER NOT NULL, updated_ns INTEGER NOT NULL, pid INTEGER NOT NULL,"
    " host TEXT NOT NULL, service TEXT NOT NULL, labels TEXT NOT NULL, exe TEXT NOT NULL,"
    " status TEXT NOT NULL, reason TEXT NOT NULL, report TEXT NOT NULL,"
    " PRIMARY KEY(capture, process)) WITHOUT ROWID;"
    "CREATE TABLE deleted(id TEXT PRIMARY KEY, at_ns INTEGER NOT NULL,"
    " purged INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE rules(name TEXT PRIMARY KEY, json TEXT NOT NULL,"
    " fired INTEGER NOT NULL, suppressed INTEGER NOT NULL, last_fired_ns INTEGER NOT NULL,"
    " last_capture TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE firings(rule TEXT NOT NULL, process TEXT NOT NULL,"
    " at_ns INTEGER NOT NULL, PRIMARY KEY(rule, process)) WITHOUT ROWID;"
    "CREATE TABLE agents(agent INTEGER PRIMARY KEY, epoch INTEGER NOT NULL,"
    " last_seen_ns INTEGER NOT NULL, clock_offset_ns INTEGER NOT NULL, host TEXT NOT NULL,"
    " version TEXT NOT NULL, labels TEXT NOT NULL);"
    "INSERT INTO meta VALUES('schema', 1), ('collector', 77);"
    "INSERT INTO captures VALUES('01a10000000000000000000000000001', 100, 90, 5, 0, 200, 150, 0, 1,"
    " 85, 90, 'complete', 'snapshot', 'service=shop', 'health', 'ping', '', 'why', '{}');"
    "INSERT INTO targets VALUES('01a10000000000000000000000000001',"
    " '0000000000000000000000000000000a', 7, 140, 42, 'host-a', 'shop', 'zone=a', '/bin/shop',"
    " 'complete', '', '{\"x\":1}');"
    "INSERT INTO deleted VALUES('01a10000000000000000000000000002', 120, 1);";

static struct capture_id capture_number(unsigned n)
{
    struct capture_id id = {{1, 0xa1}};
    id.bytes[15] = (uint8_t)n;
    return id;
}

static void write_database(const char *folder, const char *sql)
{
    struct db *db;
    char error[256], *path = path_join(folder, "state.db");
    ck_assert_msg(db_open(path, true, &db, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_msg(db_exec(db, sql) == SKEIN_OK, "%s", db_error(db));
    db_close(&db);
    free(path);
}

static struct catalog *open_catalog(const char *folder)
{
    struct catalog *c;
    char error[256] = "";
    ck_assert_msg(catalog_open(folder, &c, error, sizeof error) == SKEIN_OK, "%s", error);
    return c;
}

static int take_capture(void *context, const struct catalog_capture *row)
{
    struct catalog_capture *out = context;
    *out = *row;
    ck_assert_str_eq(row->selector, "service=shop");
    return 0;
}

static int take_target(void *context, const struct catalog_target *row)
{
    struct catalog_target *out = context;
    *out = *row;
    ck_assert_str_eq(row->host, "host-a");
    ck_assert_str_eq(row->report, "{\"x\":1}");
    return 0;
}

START_TEST(first_version_is_brought_up_with_all_it_holds)
{
    char *folder = temp_dir_new();
    write_database(folder, first_version);
    for (int i = 0; i < 2; i++) { /* the second time there is nothing left to do */
        struct catalog *c = open_catalog(folder);
        struct capture_id id = capture_number(1), gone = capture_number(2);
        struct catalog_capture capture;
        struct catalog_target target;
        ck_assert_uint_eq(catalog_collector(c), 77);
        ck_assert_int_eq(catalog_capture(c, &id, take_capture, &capture), 1);
        ck_assert(capture.own && !capture.pin);
        ck_assert_uint_eq(capture.at_ns, 90);
        ck_assert_uint_eq(capture.ttl_ms + capture.expires_ns + capture.min_targets, 0);
        ck_assert_int_eq(catalog_targets(c, &id, take_target, &target), 1);
        ck_assert(capture_id_equal(&target.source, &id));
        ck_assert(target.own);
        ck_assert_uint_eq(target.pid, 42);
        ck_assert(catalog_is_deleted(c, &gone));
        catalog_close(&c);
    }
    temp_dir_free(&folder);
}
END_TEST

START_TEST(step_that_was_cut_off_is_taken_again_whole)
{
    char *folder = temp_dir_new(), error[256];
    struct catalog *c;
    write_database(folder, first_version);
    /* Something stands in the step's way: nothing of it may stay behind. */
    write_database(folder, "CREATE TABLE targets_2(x)");
    ck_assert_int_ne(catalog_open(folder, &c, error, sizeof error), SKEIN_OK);
    write_database(folder, "DROP TABLE targets_2");
    c = open_catalog(folder);
    struct capture_id id = capture_number(1);
    struct catalog_target target;
    ck_assert_int_eq(catalog_targets(c, &id, take_target, &target), 1);
    catalog_close(&c);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(newer_version_is_refused)
{
    char *folder = temp_dir_new(), error[256];
    struct catalog *c = open_catalog(folder);
    catalog_close(&c);
    write_database(folder, "UPDATE meta SET value=1000 WHERE key='schema'");
    ck_assert_int_eq(catalog_open(folder, &c, error, sizeof error), SKEIN_VERSION);
    ck_assert_ptr_nonnull(strstr(error, "newer"));
    temp_dir_free(&folder);
}
END_TEST

static void put_capture(struct catalog *c, unsigned n)
{
    struct catalog_capture row = {.id = capture_number(n),
                                  .created_ns = n,
                                  .at_ns = n,
                                  .status = "running",
                                  .kind = "snapshot",
                                  .selector = "service=shop",
                                  .trigger = "schedule",
                                  .rule = "",
                                  .process = "",
                                  .reason = "",
                                  .listing = "{}",
                                  .ttl_ms = 1000 + n,
                                  .pin = true,
                                  .expires_ns = 2000 + n,
                                  .min_targets = 3,
                                  .max_targets = 4,
                                  .stream_ms = 5};
    ck_assert_int_eq(catalog_put_capture(c, &row), SKEIN_OK);
}

START_TEST(bounds_and_retention_of_a_capture_are_kept)
{
    char *folder = temp_dir_new();
    struct catalog *c = open_catalog(folder);
    struct catalog_capture got;
    struct capture_id id = capture_number(1);
    put_capture(c, 1);
    catalog_close(&c);
    c = open_catalog(folder);
    ck_assert_int_eq(catalog_capture(c, &id, take_capture, &got), 1);
    ck_assert_uint_eq(got.ttl_ms, 1001);
    ck_assert_uint_eq(got.expires_ns, 2001);
    ck_assert_uint_eq(got.min_targets, 3);
    ck_assert_uint_eq(got.max_targets, 4);
    ck_assert_uint_eq(got.stream_ms, 5);
    ck_assert(got.pin);
    catalog_close(&c);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(aliases_lead_on_and_are_deleted_with_their_capture)
{
    char *folder = temp_dir_new();
    struct catalog *c = open_catalog(folder);
    struct capture_id a = capture_number(1), b = capture_number(2), d = capture_number(3), into;
    struct catalog_capture got;
    put_capture(c, 1);
    put_capture(c, 2);
    put_capture(c, 3);
    ck_assert(!catalog_alias(c, &a, &into));
    ck_assert_int_eq(catalog_put_alias(c, &a, &b), SKEIN_OK);
    ck_assert_int_eq(catalog_put_alias(c, &b, &d), SKEIN_OK);
    ck_assert_int_eq(catalog_capture(c, &a, take_capture, &got), 0);
    catalog_close(&c);
    c = open_catalog(folder);
    ck_assert(catalog_alias(c, &a, &into) && capture_id_equal(&into, &d));
    ck_assert(catalog_alias(c, &b, &into) && capture_id_equal(&into, &d));
    ck_assert_int_eq(catalog_delete_capture(c, &d, 9), SKEIN_OK);
    ck_assert(!catalog_alias(c, &a, &into));
    ck_assert(catalog_is_deleted(c, &a) && catalog_is_deleted(c, &b) && catalog_is_deleted(c, &d));
    catalog_close(&c);
    temp_dir_free(&folder);
}
END_TEST

START_TEST(nobody_else_may_read_the_database)
{
    char *folder = temp_dir_new(), *path = path_join(folder, "state.db");
    struct stat about;
    mode_t before = umask(0);
    struct catalog *c = open_catalog(folder);
    umask(before);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_int_eq(about.st_mode & 0777, 0600);
    catalog_close(&c);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("catalog", first_version_is_brought_up_with_all_it_holds,
                              step_that_was_cut_off_is_taken_again_whole, newer_version_is_refused,
                              bounds_and_retention_of_a_capture_are_kept,
                              aliases_lead_on_and_are_deleted_with_their_capture,
                              nobody_else_may_read_the_database, NULL));
}
