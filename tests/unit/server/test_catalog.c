/* SPDX-License-Identifier: Apache-2.0
 * What outlives the collector: captures in state.db of this version and of the first one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalog.h"
#include "catalog_capture.h"
#include "catalog_loss.h"
#include "catalog_now.h"
#include "catalog_ranges.h"
#include "catalog_rules.h"
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
    "INSERT INTO targets VALUES('01a10000000000000000000000000001',"
    " '0000000000000000000000000000000b', 7, 140, 43, 'host-b', 'shop', '', '/bin/shop',"
    " 'complete', '', '{\"state\":\"uploading\",\"partitions\":["
    "{\"epoch\":5,\"first\":2,\"last\":4,\"events\":3,\"bytes\":9},"
    "{\"epoch\":\"1152921504606846977\",\"first\":0,\"last\":0}, 7, {\"epoch\":1}]}');"
    "INSERT INTO targets VALUES('01a10000000000000000000000000001',"
    " '0000000000000000000000000000000c', 7, 140, 44, 'host-c', 'shop', '', '/bin/shop',"
    " 'failed', '', ''), ('01a10000000000000000000000000001',"
    " '0000000000000000000000000000000d', 7, 140, 45, 'host-d', 'shop', '', '/bin/shop',"
    " 'failed', '', 'no json');"
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
    if (row->process.bytes[15] != 0xa)
        return 0;
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
        ck_assert_uint_eq(capture.groups, 0);
        ck_assert_int_eq(capture.rank, SHARE_RULED);
        ck_assert_uint_eq(capture.bytes, 1 << 20);
        ck_assert_int_eq(catalog_targets(c, &id, take_target, &target), 4);
        ck_assert(capture_id_equal(&capture.incident, &id));
        ck_assert(target.own);
        ck_assert_uint_eq(target.pid, 42);
        ck_assert(catalog_is_deleted(c, &gone));
        /* The reports of before say what the capture has. */
        struct partition_range ranges[4], after = {.last = 0};
        ck_assert_int_eq(catalog_ranges(c, &id, &after, ranges, 4), 2);
        ck_assert_uint_eq(ranges[0].key.process.bytes[15], 0xb);
        ck_assert_uint_eq(ranges[0].key.epoch, 5);
        ck_assert_uint_eq(ranges[0].key.sequence, 2);
        ck_assert_uint_eq(ranges[0].last, 4);
        ck_assert_uint_eq(ranges[1].key.epoch, UINT64_C(1152921504606846977));
        ck_assert_uint_eq(ranges[1].last, 0);
        catalog_close(&c);
    }
    temp_dir_free(&folder);
}
END_TEST

/* What steps 9 and 10 read, as version 8 had it: ledgers as JSON. Two targets of one capture, one
 * of which has no ledger; a third's capture was evicted; and a ring. The other tables are version
 * 1's. */
static const char eighth_version[] =
    "ALTER TABLE captures ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN pin INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN expires_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN min_targets INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN max_targets INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN stream_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN known_from_ns INTEGER NOT NULL DEFAULT 0;"
    "UPDATE captures SET rule='ping';"
    "CREATE TABLE aliases(id TEXT PRIMARY KEY, capture TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE once(principal TEXT NOT NULL, key TEXT NOT NULL, checksum INTEGER NOT NULL,"
    " at_ns INTEGER NOT NULL, capture TEXT NOT NULL, PRIMARY KEY(principal, key)) WITHOUT ROWID;"
    "CREATE TABLE damaged(partition TEXT PRIMARY KEY, from_ns INTEGER NOT NULL,"
    " to_ns INTEGER NOT NULL) WITHOUT ROWID;"
    "DROP TABLE targets;"
    "CREATE TABLE targets(capture TEXT NOT NULL, process TEXT NOT NULL, source TEXT NOT NULL,"
    " own INTEGER NOT NULL, agent INTEGER NOT NULL, updated_ns INTEGER NOT NULL,"
    " pid INTEGER NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL, labels TEXT NOT NULL,"
    " exe TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, report TEXT NOT NULL,"
    " times TEXT NOT NULL DEFAULT '', ledger TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY(capture, process, source)) WITHOUT ROWID;"
    "CREATE INDEX targets_late ON targets(process) WHERE status='expired' AND report<>'';"
    "CREATE INDEX targets_by_process ON targets(process, capture, source);"
    "CREATE TABLE losses(process TEXT NOT NULL, capture TEXT NOT NULL, source TEXT NOT NULL,"
    " agent INTEGER NOT NULL, pid INTEGER NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL,"
    " labels TEXT NOT NULL, exe TEXT NOT NULL, ledger TEXT NOT NULL, ring_lost INTEGER NOT NULL,"
    " updated_ns INTEGER NOT NULL, PRIMARY KEY(process, capture, source)) WITHOUT ROWID;"
    "CREATE INDEX losses_by_time ON losses(updated_ns);"
    "INSERT INTO targets VALUES('01a10000000000000000000000000001',"
    " '0000000000000000000000000000000a', '01a10000000000000000000000000001', 1, 7, 140, 42,"
    " 'host-a', 'shop', 'zone=a', '/bin/shop', 'expired', '', '{\"x\":1}', '',"
    " '{\"produced\":1020,\"stored\":1000,\"lost\":{\"ring\":13,\"wire\":7},"
    "\"reasons\":{\"ring_full\":13,\"not_arrived\":7},\"unnamed\":2,"
    "\"implausible\":\"9007199254740993\",\"complete\":false,\"gaps\":["
    "{\"from\":\"1970-01-01T00:00:00.002Z\",\"to\":\"2026-11-22T09:40:01.250Z\","
    "\"reason\":\"not_arrived\"}]}'),"
    "('01a10000000000000000000000000001', '0000000000000000000000000000000b',"
    " '01a10000000000000000000000000001', 1, 7, 140, 43, 'host-a', 'shop', 'zone=a', '/bin/shop',"
    " 'sent', '', '{\"x\":1}', '', '');"
    "INSERT INTO losses VALUES('0000000000000000000000000000000a',"
    " '01a10000000000000000000000000003', '01a10000000000000000000000000003', 7, 42, 'host-a',"
    " 'shop', 'zone=a', '/bin/shop', '{\"produced\":60,\"stored\":50,\"reasons\":{"
    "\"spool_full\":10},\"complete\":false,\"gaps\":[]}', 0, 150),"
    "('0000000000000000000000000000000a', '', '', 7, 42, 'host-a', 'shop', 'zone=a', '/bin/shop',"
    " '', 20, 160);"
    "UPDATE meta SET value=8 WHERE key='schema';";

static struct ledger *take_group(void *ledger, const struct catalog_loss_group *group)
{
    ck_assert_str_eq(group->account.service, "shop");
    return ledger;
}

static void sum_of(struct catalog *c, uint8_t process, uint64_t to_ns, struct ledger *out)
{
    struct process_uid uid = {{0}};
    struct catalog_loss_query query = {
        .by = CATALOG_LOSS_BY_PROCESS, .to_ns = to_ns, .process = &uid};
    uid.bytes[15] = process;
    *out = (struct ledger){.stored = 0};
    ck_assert_int_eq(catalog_loss(c, &query, take_group, out, NULL), SKEIN_OK);
}

static struct ledger *take_rule(void *rules, const struct catalog_loss_group *group)
{
    static struct ledger nobody;
    strcat(strcat(rules, group->name), ";");
    return &nobody;
}

START_TEST(ledgers_that_were_texts_become_rows)
{
    char *folder = temp_dir_new(), rules[64] = "";
    write_database(folder, first_version);
    write_database(folder, eighth_version);
    for (int i = 0; i < 2; i++) { /* the second time there is nothing left to do */
        struct catalog *c = open_catalog(folder);
        struct capture_id id = capture_number(1);
        struct catalog_target target;
        struct ledger sum;
        ck_assert_int_eq(catalog_targets(c, &id, take_target, &target), 2);
        sum_of(c, 0x0a, UINT64_MAX, &sum);
        ck_assert_uint_eq(sum.stored, 1000);
        ck_assert_uint_eq(sum.events[LOSS_RING_FULL], 20); /* as the ring says */
        ck_assert_uint_eq(sum.events[LOSS_NOT_ARRIVED], 7);
        ck_assert_uint_eq(sum.events[LOSS_SPOOL_FULL], 10);
        ck_assert_uint_eq(sum.events[LOSS_EVICTED], 50);
        ck_assert_uint_eq(sum.events[LOSS_NAME], 2);
        ck_assert_uint_eq(ledger_lost(&sum), 87);
        ck_assert_uint_ge(sum.implausible, UINT64_C(9007199254740992));
        ck_assert(!sum.open);
        ck_assert_uint_eq(sum.gap_count, 1);
        ck_assert_int_eq(sum.gaps[0].reason, LOSS_NOT_ARRIVED);
        ck_assert_uint_eq(sum.gaps[0].from_ns, 2000000);
        ck_assert_uint_eq(sum.gaps[0].to_ns, UINT64_C(1795340401250000000));
        ledger_fini(&sum);
        sum_of(c, 0x0a, 1000, &sum); /* with a time: of captures alone */
        ck_assert_uint_eq(ledger_lost(&sum), 20);
        ledger_fini(&sum);
        sum_of(c, 0x0b, UINT64_MAX, &sum);
        ck_assert(sum.open);
        ck_assert_uint_eq(sum.stored + ledger_lost(&sum), 0);
        rules[0] = '\0';
        struct catalog_loss_query query = {.by = CATALOG_LOSS_BY_RULE, .to_ns = UINT64_MAX};
        ck_assert_int_eq(catalog_loss(c, &query, take_rule, rules, NULL), SKEIN_OK);
        ck_assert_str_eq(rules, ";ping;");
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
    ck_assert_int_eq(catalog_targets(c, &id, take_target, &target), 4);
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
                                  .stream_ms = 5,
                                  .groups = UINT64_C(1) << 63 | 2};
    CATALOG_NOW(c, catalog_put_capture(c, &row));
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
    ck_assert_uint_eq(got.groups, UINT64_C(1) << 63 | 2);
    ck_assert(got.pin);
    catalog_close(&c);
    temp_dir_free(&folder);
}
END_TEST

static int take_id(void *context, const struct capture_id *id)
{
    unsigned *seen = context;
    *seen |= 1u << id->bytes[15];
    return 0;
}

/* What version 8 left of capture 4, which it had merged into 1, and of 3. */
static const char merged_rows[] =
    "INSERT INTO captures SELECT '01a10000000000000000000000000003', created_ns, at_ns, pre_ms,"
    " post_ms, deadline_ns, finished_ns, stopped, own, from_ns, to_ns, status, kind, selector,"
    " trigger_type, rule, process, reason, listing FROM captures;";
static const char merged_by_8[] =
    "CREATE TABLE aliases(id TEXT PRIMARY KEY, capture TEXT NOT NULL) WITHOUT ROWID;"
    "INSERT INTO aliases VALUES"
    " ('01a10000000000000000000000000004', '01a10000000000000000000000000001');"
    "DROP INDEX captures_by_incident; DROP INDEX captures_unlisted;"
    "DROP INDEX captures_by_kind; DROP INDEX captures_by_kind_and_status;"
    "DROP INDEX captures_by_rule; DROP INDEX captures_by_holder;"
    "ALTER TABLE captures DROP COLUMN share_rank; ALTER TABLE captures DROP COLUMN holder;"
    "ALTER TABLE captures DROP COLUMN bytes;"
    "ALTER TABLE captures DROP COLUMN incident; ALTER TABLE captures DROP COLUMN event_groups;"
    "ALTER TABLE rule_history DROP COLUMN incident; ALTER TABLE rule_history DROP COLUMN user;"
    "CREATE TABLE t(capture TEXT NOT NULL, process TEXT NOT NULL, source TEXT NOT NULL,"
    " own INTEGER NOT NULL, agent INTEGER NOT NULL, updated_ns INTEGER NOT NULL,"
    " pid INTEGER NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL, labels TEXT NOT NULL,"
    " exe TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, report TEXT NOT NULL,"
    " times TEXT NOT NULL, ledger TEXT NOT NULL, PRIMARY KEY(capture, process, source));"
    "INSERT INTO t SELECT capture, process, capture, own, agent, updated_ns, pid, host, service,"
    " labels, exe, status, reason, report, times, '' FROM targets;"
    "INSERT INTO t SELECT capture, process, '01a10000000000000000000000000004', 1, agent,"
    " updated_ns, 43, host, service, labels, exe, status, reason, report, times, ''"
    " FROM targets WHERE capture='01a10000000000000000000000000001';"
    "DROP TABLE targets; ALTER TABLE t RENAME TO targets;"
    "DROP TABLE loss; DROP TABLE account; DROP TABLE ranges;"
    "CREATE TABLE losses(process TEXT NOT NULL, capture TEXT NOT NULL, source TEXT NOT NULL,"
    " agent INTEGER NOT NULL, pid INTEGER NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL,"
    " labels TEXT NOT NULL, exe TEXT NOT NULL, ledger TEXT NOT NULL, ring_lost INTEGER NOT NULL,"
    " updated_ns INTEGER NOT NULL, PRIMARY KEY(process, capture, source)) WITHOUT ROWID;"
    "INSERT INTO losses VALUES('0a', 'e1', 'e1', 7, 1, '', '', '', '', '', 0, 1),"
    " ('0a', 'e1', 'e2', 7, 1, '', '', '', '', '', 0, 1), ('0a', '', '', 7, 1, '', '', '', '', '',"
    " 5, 1);"
    "INSERT INTO rule_history(rule, at_ns, process, what, why, capture) VALUES"
    " ('ping', 1, '00000000000000000000000000000000', 'fired', 'a',"
    " '01a10000000000000000000000000001'),"
    " ('ping', 2, '00000000000000000000000000000000', 'merged', 'b',"
    " '01a10000000000000000000000000001'),"
    " ('ping', 3, '00000000000000000000000000000000', 'suppressed', 'c',"
    " '00000000000000000000000000000000');"
    "UPDATE meta SET value=8 WHERE key='schema'";

static int count_losses(void *context, struct db_row *row)
{
    (void)row;
    ++*(int *)context;
    return 0;
}

static int take_history(void *context, const struct catalog_history *row)
{
    static const char *const what[] = {"suppressed", "joined", "fired"};
    const struct capture_id first = capture_number(1);
    int *i = context;
    ck_assert_str_eq(row->what, what[*i]);
    ck_assert_int_eq(capture_id_equal(&row->incident, &first), *i > 0);
    ck_assert_int_eq(capture_id_equal(&row->capture, &first), *i == 2);
    ++*i;
    return 0;
}

START_TEST(what_was_merged_becomes_an_incident)
{
    char *folder = temp_dir_new();
    write_database(folder, first_version);
    write_database(folder, merged_rows);
    struct catalog *c = open_catalog(folder);
    catalog_close(&c);
    write_database(folder, merged_by_8);
    c = open_catalog(folder);
    struct capture_id first = capture_number(1), joined = capture_number(4);
    struct catalog_capture capture;
    struct catalog_target target;
    unsigned seen = 0;
    int rows = 0;
    ck_assert_int_eq(catalog_incident(c, &first, take_id, &seen), 2);
    ck_assert_uint_eq(seen, 1u << 1 | 1u << 4);
    ck_assert_int_eq(catalog_capture(c, &joined, take_capture, &capture), 1);
    ck_assert(capture_id_equal(&capture.incident, &first));
    ck_assert(capture.own);
    ck_assert_uint_eq(capture.at_ns, 90);
    ck_assert_int_eq(catalog_targets(c, &joined, take_target, &target), 4);
    ck_assert_uint_eq(target.pid, 43);
    ck_assert_int_eq(catalog_targets(c, &first, take_target, &target), 4);
    ck_assert_uint_eq(target.pid, 42);
    struct partition_range ranges[4], after = {.last = 0}; /* both have what both reported */
    ck_assert_int_eq(catalog_ranges(c, &first, &after, ranges, 4), 2);
    after = (struct partition_range){.last = 0};
    ck_assert_int_eq(catalog_ranges(c, &joined, &after, ranges, 4), 2);
    seen = 0; /* the third had nothing merged into it */
    ck_assert_int_eq(catalog_unlisted(c, take_id, &seen), 2);
    ck_assert_uint_eq(seen, 1u << 1 | 1u << 4);
    struct catalog_history_query history = {"ping", UINT64_MAX, 0, UINT64_MAX, 10};
    ck_assert_int_eq(catalog_history(c, &history, take_history, &rows), 3);
    catalog_close(&c);
    char error[256], *path = path_join(folder, "state.db");
    struct db *db;
    rows = 0;
    ck_assert_int_eq(db_open(path, true, &db, error, sizeof error), SKEIN_OK);
    db_run(db, "SELECT 1 FROM account WHERE kept_ns>0", count_losses, &rows, NULL);
    db_close(&db);
    free(path);
    ck_assert_int_eq(rows, 3);
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
    return suite_run(
        suite_of("catalog", first_version_is_brought_up_with_all_it_holds,
                 ledgers_that_were_texts_become_rows, step_that_was_cut_off_is_taken_again_whole,
                 newer_version_is_refused, bounds_and_retention_of_a_capture_are_kept,
                 what_was_merged_becomes_an_incident, nobody_else_may_read_the_database, NULL));
}
