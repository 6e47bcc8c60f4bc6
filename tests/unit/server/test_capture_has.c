/* SPDX-License-Identifier: Apache-2.0
 * What captures have, asked of the engine: from a capture to its partitions, and from a partition
 * to whoever has it, whether the report is saved yet or not; what a deletion would free. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "capture_control.h"
#include "capture_has.h"
#include "capture_incident.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "catalog_now.h"
#include "catalog_ranges.h"
#include "clock.h"
#include "clock_steps.h"
#include "db.h"
#include "index_delete.h"
#include "json.h"
#include "partition_make.h"
#include "support.h"

#define SECOND UINT64_C(1000000000)

static char *folder;
static struct store *store;
static struct index *index_;
static struct catalog *catalog;
static struct fleet *fleet;
static struct control *control;
static struct capture_engine *engine;
static struct fleet_agent agent = {.id = 7, .host = "host-a"};

static void save(void *context)
{
    (void)context;
    capture_save(engine);
}

static void saved(void *context, bool ok)
{
    (void)context;
    capture_saved(engine, ok);
}

static void setup(void)
{
    char error[256] = "";
    folder = temp_dir_new();
    struct store_settings files = {.folder = folder};
    struct fleet_settings settings = {.max_agents = 10, .lease_ms = 1000, .heartbeat_ms = 1000};
    struct capture_settings captures = {.deadline_ms = 100000};
    ck_assert_msg(store_open(&files, &store, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_msg(index_open(folder, store, &index_, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_msg(catalog_open(folder, &catalog, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_int_eq(fleet_new(&settings, catalog, &fleet), SKEIN_OK);
    struct fleet_hooks hooks = {.save = save, .saved = saved};
    fleet_set_hooks(fleet, &hooks);
    control = fleet_control(fleet);
    ck_assert_int_eq(capture_engine_new(&captures, fleet, catalog, index_, &engine), SKEIN_OK);
}

static void teardown(void)
{
    capture_engine_free(&engine);
    fleet_free(&fleet);
    catalog_close(&catalog);
    index_close(&index_);
    store_close(&store);
    temp_dir_free(&folder);
}

/* A partition of process 1, 100 bytes; told to the engine. sent_for 0: for none. */
static void store_one(uint64_t sequence, const char *service, uint32_t sent_for)
{
    struct partition_row row = {.record = {.key = key_of(1, 1, sequence)},
                                .place = {1, sequence * 1000, 100},
                                .from_ns = sequence * SECOND,
                                .to_ns = sequence * SECOND + 1,
                                .events = 3,
                                .host = "host-a",
                                .service = service,
                                .labels = "",
                                .exe = "/bin/svc"};
    if (sent_for != 0)
        row.record.capture = capture_of(sent_for);
    ck_assert_int_eq(index_add(index_, &row, 1), SKEIN_OK);
    capture_on_stored(engine, &row, 1);
    control_lock(control);
    capture_take_inbox(engine);
    control_unlock(control);
}

/* A capture in memory, running. */
static void begin_of(uint32_t n, uint32_t number)
{
    struct capture_id id = capture_of(n);
    struct process_uid process = process_of(number);
    control_lock(control);
    struct capture *c = capture_new(engine, &id);
    ck_assert_ptr_nonnull(c);
    c->created_ns = c->at_ns = clock_realtime_ns();
    capture_set_due(c, clock_monotonic_ns() + 3600 * SECOND);
    struct fleet_process p = {.uid = process, .pid = 1};
    struct capture_target *t = capture_target_add(c, &process, &p, &agent);
    ck_assert_ptr_nonnull(t);
    capture_begin_target(engine, c, t, TARGET_PENDING, "");
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    control_unlock(control);
}

static void begin(uint32_t n)
{
    begin_of(n, 1);
}

static unsigned json_left; /* until an allocation of JSON fails; 0: none does */
static bool json_failed;

static void *json_allocate(size_t bytes)
{
    json_failed |= json_left == 1;
    return json_left > 0 && --json_left == 0 ? NULL : malloc(bytes);
}

static void json_fails_at(unsigned n)
{
    if (n > 0)
        cJSON_InitHooks(&(cJSON_Hooks){json_allocate, free});
    json_left = n;
    json_failed = false;
}

static bool json_fail_end(void)
{
    json_left = 0;
    cJSON_InitHooks(NULL);
    return json_failed;
}

/* How many allocations a copy takes. */
static unsigned json_copy_count(const cJSON *json)
{
    json_fails_at(UINT_MAX);
    cJSON_Delete(cJSON_Duplicate(json, true));
    unsigned count = UINT_MAX - json_left;
    (void)json_fail_end();
    return count;
}

/* What the engine says to its agent's report; `more`: members. While it takes the report, its nth
 * allocation fails, or the nth of its copy of the JSON (0: none). *failed: whether there was one. */
static int report_taken(uint32_t n, const char *state, const char *more, unsigned nth, bool of_json,
                        bool *failed)
{
    struct report_target target;
    char id[ID_TEXT_BYTES], process[ID_TEXT_BYTES], text[512], error[256];
    id_text(capture_of(n).bytes, id);
    id_text(process_of(1).bytes, process);
    snprintf(text, sizeof text,
             "{\"agent\":\"0000000000000007\",\"capture\":\"%s\",\"process\":\"%s\","
             "\"state\":\"%s\",%s}",
             id, process, state, more);
    cJSON *json = json_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(report_target_get(json, &target, error, sizeof error) == SKEIN_OK, "%s", error);
    unsigned copied = json_copy_count(json);
    control_lock(control);
    json_fails_at(of_json && nth <= copied ? nth : 0);
    alloc_fail_at(of_json ? 0 : nth);
    int status = capture_on_target(engine, &agent, &target, json);
    *failed = alloc_fail_end();
    *failed |= json_fail_end();
    control_unlock(control);
    report_target_fini(&target);
    cJSON_Delete(json);
    return status;
}

/* Its agent lists first..last. Not saved yet. */
static void list(uint32_t n, const char *state, unsigned first, unsigned last)
{
    char ranges[128];
    bool failed;
    snprintf(ranges, sizeof ranges,
             "\"partitions\":[{\"epoch\":1,\"first\":%u,\"last\":%u,\"events\":9,\"bytes\":9}]",
             first, last);
    ck_assert_int_eq(report_taken(n, state, ranges, 0, false, &failed), SKEIN_OK);
}

static void flush(void)
{
    control_lock(control);
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    control_unlock(control);
}

/* Out of memory, as some time after its end. */
static void forget(uint32_t n)
{
    struct capture_id id = capture_of(n);
    control_lock(control);
    struct capture *c = idmap_get(&engine->loaded, id.bytes);
    ck_assert_ptr_nonnull(c);
    ck_assert(c->status != CAPTURE_RUNNING && c->save == SAVE_NOTHING);
    capture_discard(engine, c);
    control_unlock(control);
}

/* Those of 0..9 that nobody has, as bits; sent for a capture (0: none). */
static unsigned unlisted(uint32_t sent_for)
{
    struct index_entry entries[10] = {{.bytes = 1}};
    unsigned bits = 0;
    for (size_t i = 0; i < 10; i++) {
        entries[i].key = key_of(1, 1, i);
        if (sent_for != 0)
            entries[i].sent_for = capture_of(sent_for);
    }
    int64_t n = capture_unlisted(engine, entries, 10);
    capture_deleted(engine); /* of the question alone: nothing is */
    ck_assert_int_ge(n, 0);
    for (int64_t i = 0; i < n; i++)
        bits |= 1u << entries[i].key.sequence;
    return bits;
}

START_TEST(what_is_listed_is_kept_before_it_is_saved_and_when_it_left_memory)
{
    for (uint64_t i = 0; i < 4; i++)
        store_one(i, "shop", 0);
    begin(1);
    ck_assert_uint_eq(unlisted(0), 0x3ff);
    list(1, "uploading", 1, 2);
    ck_assert_uint_eq(unlisted(0), 0x3f9);
    flush();
    ck_assert_uint_eq(unlisted(0), 0x3f9);
    forget(1); /* complete: both were stored */
    ck_assert_uint_eq(unlisted(0), 0x3f9);
    struct capture_id id = capture_of(1);
    CATALOG_NOW(catalog, catalog_delete_capture(catalog, &id, 1));
    ck_assert_uint_eq(unlisted(0), 0x3ff);
}
END_TEST

START_TEST(what_was_sent_for_a_capture_that_runs_waits_for_its_report)
{
    begin(1);
    begin(2);
    ck_assert_uint_eq(unlisted(1), 0);
    ck_assert_uint_eq(unlisted(3), 0x3ff);
    begin_of(3, 2); /* naming a capture of others keeps nothing */
    ck_assert_uint_eq(unlisted(3), 0x3ff);
    store_one(0, "shop", 0);
    list(1, "uploading", 0, 0);
    flush();
    ck_assert_uint_eq(unlisted(1), 0x3fe); /* it has ended */
    ck_assert_uint_eq(unlisted(2), 0);
}
END_TEST

static uint64_t rows_of(uint32_t n, uint64_t *low_ns, uint64_t *high_ns)
{
    struct partition_ranges *ranges;
    struct capture_id id = capture_of(n);
    ck_assert_int_eq(capture_ranges(engine, &id, 1, NULL, &ranges), SKEIN_OK);
    uint64_t named = ranges->partitions;
    *low_ns = ranges->low_ns;
    *high_ns = ranges->high_ns;
    partition_ranges_unref(&ranges);
    return named;
}

START_TEST(ranges_say_between_which_times_the_stored_lie)
{
    uint64_t low, high;
    struct partition_ranges *none, *held, *both;
    const struct capture_id ids[] = {capture_of(1), capture_of(9), capture_of(2)};
    begin(1);
    ck_assert_uint_eq(rows_of(1, &low, &high), 0);
    ck_assert_uint_gt(low, high);
    list(1, "capturing", 2, 6);
    ck_assert_uint_eq(rows_of(1, &low, &high), 5);
    ck_assert_uint_gt(low, high);
    store_one(5, "shop", 0);
    store_one(3, "shop", 0);
    store_one(7, "shop", 0); /* not its */
    ck_assert_uint_eq(rows_of(1, &low, &high), 5);
    ck_assert_uint_eq(low, 3 * SECOND + 1);
    ck_assert_uint_eq(high, 5 * SECOND + 1);
    /* who asked before goes on with what was there; who asks next sees the change */
    ck_assert_int_eq(capture_ranges(engine, ids, 1, NULL, &held), SKEIN_OK);
    list(1, "capturing", 2, 7);
    ck_assert_uint_eq(rows_of(1, &low, &high), 6);
    ck_assert_uint_eq(high, 7 * SECOND + 1);
    ck_assert_uint_eq(held->partitions, 5);
    ck_assert_uint_eq(held->high_ns, 5 * SECOND + 1);
    partition_ranges_unref(&held);
    /* of one process alone, which may have nothing */
    const struct process_uid own = key_of(1, 1, 0).process, other = key_of(2, 1, 0).process;
    ck_assert_int_eq(capture_ranges(engine, ids, 1, &own, &held), SKEIN_OK);
    ck_assert_uint_eq(held->partitions, 6);
    partition_ranges_unref(&held);
    ck_assert_int_eq(capture_ranges(engine, ids, 1, &other, &held), SKEIN_OK);
    ck_assert_uint_eq(held->partitions, 0);
    partition_ranges_unref(&held);
    ck_assert_int_eq(capture_ranges(engine, &ids[1], 1, NULL, &none), SKEIN_NOT_FOUND);
    ck_assert_ptr_null(none);
    /* of several captures together, each once, and nothing of one that is not there */
    begin(2);
    list(2, "capturing", 5, 8);
    ck_assert_int_eq(capture_ranges(engine, ids, 3, NULL, &both), SKEIN_OK);
    ck_assert_uint_eq(both->count, 1);
    ck_assert_uint_eq(both->partitions, 7);
    ck_assert_uint_eq(both->high_ns, 7 * SECOND + 1);
    partition_ranges_unref(&both);
}
END_TEST

static struct capture *loaded(uint32_t n)
{
    struct capture_id id = capture_of(n);
    struct capture *c = idmap_get(&engine->loaded, id.bytes);
    ck_assert_ptr_nonnull(c);
    return c;
}

static int capture_drop(uint32_t n)
{
    const struct capture_id id = capture_of(n);
    struct capture_ids ids = {0};
    int status = capture_delete(engine, &id, false, NULL, &ids);
    ck_assert_uint_eq(ids.count, 1);
    free(ids.items);
    return status;
}

static int purge_nothing(void *context, const struct capture_id *id)
{
    (void)context;
    (void)id;
    return SKEIN_IO; /* later */
}

START_TEST(what_is_listed_and_not_saved_yet_goes_with_its_capture)
{
    struct capture_id id = capture_of(1);
    struct partition_range range = {.last = 0}, after = {.last = 0};
    engine->settings.purge = purge_nothing;
    store_one(1, "shop", 9); /* sent for one that is gone */
    begin(1);
    list(1, "capturing", 1, 1);
    ck_assert_int_eq(capture_drop(1), SKEIN_IO);
    ck_assert_int_eq(catalog_ranges(catalog, &id, &after, &range, 1), 1);
    ck_assert_uint_eq(range.last, 1);
}
END_TEST

static unsigned purges;

/* The first time: another thread deletes the partitions as well, and is faster; then one comes late
 * behind both. */
static int purge_overtaken(void *context, const struct capture_id *capture)
{
    (void)context;
    if (purges++ > 0)
        return SKEIN_OK;
    capture_unlocked(engine);
    control_lock(control);
    ck_assert_uint_eq(engine->purge.count, 0);
    ck_assert_int_eq(capture_purge_soon(engine, capture), 0);
    control_unlock(control);
    return SKEIN_OK;
}

START_TEST(what_comes_late_while_two_delete_is_deleted_again)
{
    engine->settings.purge = purge_overtaken;
    begin(1);
    ck_assert_int_eq(capture_drop(1), SKEIN_OK);
    ck_assert_uint_eq(purges, 2);
    ck_assert(capture_is_purging(engine));
    engine->next_purge_ns = 0;
    capture_unlocked(engine);
    ck_assert_uint_eq(purges, 3);
    ck_assert(!capture_is_purging(engine));
}
END_TEST

static bool is_complete(uint32_t n)
{
    control_lock(control);
    bool complete = loaded(n)->status == CAPTURE_COMPLETE;
    control_unlock(control);
    return complete;
}

/* Between the question who has it and its tombstone an agent lists it. */
START_TEST(what_is_being_deleted_is_counted_for_nobody_that_lists_it_now)
{
    struct index_entry entry = {.key = key_of(1, 1, 1)};
    store_one(2, "shop", 0);
    store_one(1, "shop", 0);
    begin(1);
    begin(2);
    begin(3);
    list(1, "uploading", 2, 2);
    ck_assert(is_complete(1));
    ck_assert_int_eq(capture_unlisted(engine, &entry, 1), 1);
    list(2, "uploading", 1, 2);
    ck_assert(!is_complete(2));
    /* Its tombstone is written; it is sent again, and stored. */
    capture_deleted(engine);
    list(3, "uploading", 1, 2);
    ck_assert(is_complete(3));
    /* Or its deletion has failed: it was there all the time. */
    control_lock(control);
    capture_take_inbox(engine);
    control_unlock(control);
    ck_assert(is_complete(2));
}
END_TEST

/* Runs a statement on state.db while the engine has it open. */
static void catalog_spoil(const char *sql)
{
    struct db *db;
    char path[512], error[256] = "";
    (void)snprintf(path, sizeof path, "%s/state.db", folder);
    ck_assert_int_eq(db_open(path, true, &db, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(db_exec(db, sql), SKEIN_OK);
    db_close(&db);
}

START_TEST(an_incident_of_which_one_cannot_be_loaded_stays_as_it_is)
{
    struct capture_id first = capture_of(1);
    struct capture_ids ids = {0};
    bool pin = true;
    struct capture_change change = {.pin = &pin};
    cJSON *json;
    for (uint32_t n = 1; n <= 2; n++) {
        begin(n);
        control_lock(control);
        loaded(n)->incident = first;
        control_unlock(control);
        list(n, "nothing", 1, 1);
    }
    flush();
    forget(2);
    catalog_spoil("ALTER TABLE loss RENAME TO unknown");
    ck_assert_int_eq(capture_change(engine, &first, true, NULL, &change, &ids, &json), SKEIN_IO);
    ck_assert_uint_eq(ids.count, 0);
    control_lock(control);
    ck_assert(!loaded(1)->pin);
    control_unlock(control);
    free(ids.items);
}
END_TEST

static size_t owners_of(uint64_t sequence)
{
    struct partition_key key = key_of(1, 1, sequence);
    struct capture_ids ids = {0};
    control_lock(control);
    ck_assert_int_eq(capture_owners(engine, &key, &ids), SKEIN_OK);
    control_unlock(control);
    free(ids.items);
    return ids.count;
}

START_TEST(owners_are_found_once_in_memory_and_out_of_it)
{
    for (uint64_t i = 0; i < 4; i++)
        store_one(i, "shop", 0);
    for (uint32_t n = 1; n <= 3; n++) {
        begin(n);
        list(n, "uploading", n - 1, n);
        if (n == 2)
            flush();
    }
    forget(1);
    ck_assert_uint_eq(owners_of(0), 1);
    ck_assert_uint_eq(owners_of(1), 2);
    ck_assert_uint_eq(owners_of(2), 2);
    ck_assert_uint_eq(owners_of(3), 1);
    ck_assert_uint_eq(owners_of(4), 0);
    forget(2);
    ck_assert_uint_eq(owners_of(2), 2);
}
END_TEST

static void check_frees(uint32_t n, const char *service, uint64_t now, uint64_t later)
{
    struct capture_id id = capture_of(n);
    uint64_t got_now, got_later;
    ck_assert_int_eq(capture_frees(engine, &id, service, &got_now, &got_later), SKEIN_OK);
    ck_assert_uint_eq(got_now, now);
    ck_assert_uint_eq(got_later, later);
}

static void pin(uint32_t n, bool pinned)
{
    struct capture_id id = capture_of(n);
    struct capture_change change = {.pin = &pinned};
    struct capture_ids ids = {0};
    cJSON *json;
    ck_assert_int_eq(capture_change(engine, &id, false, NULL, &change, &ids, &json), SKEIN_OK);
    ck_assert_uint_eq(ids.count, 1);
    cJSON_Delete(json);
    free(ids.items);
}

START_TEST(a_deletion_frees_now_what_is_alone_and_later_what_nobody_protected_has)
{
    store_one(1, "shop", 0);
    store_one(2, "shop", 0);
    store_one(3, "cart", 0);
    for (uint32_t n = 1; n <= 3; n++) {
        begin(n);
        list(n, "uploading", n, 3 - (n == 2)); /* 1 has all, 2 has 2, 3 has 3 */
    }
    flush();
    check_frees(1, NULL, 100, 300);
    pin(3, true);
    check_frees(1, NULL, 100, 200);
    check_frees(1, "shop", 100, 200);
    check_frees(1, "cart", 0, 0);
    check_frees(2, NULL, 0, 100);
    check_frees(4, NULL, 0, 0);
    pin(3, false);
    pin(2, true);
    check_frees(1, NULL, 100, 200);
    begin(5); /* one that runs protects what it has, too */
    list(5, "capturing", 1, 1);
    flush();
    check_frees(1, NULL, 0, 100);
}
END_TEST

START_TEST(a_deletion_frees_what_was_sent_for_it_and_nobody_listed)
{
    store_one(1, "shop", 1);
    store_one(2, "cart", 1);
    store_one(3, "shop", 1);
    begin(2);
    list(2, "uploading", 3, 3); /* and its own list never came */
    flush();
    check_frees(1, NULL, 200, 300);
    check_frees(1, "shop", 100, 200);
    begin(1);
    list(1, "uploading", 1, 2); /* listed, each counts once */
    flush();
    check_frees(1, NULL, 200, 300);
    pin(2, true);
    check_frees(1, NULL, 200, 200);
}
END_TEST

static void damage_one(uint64_t sequence)
{
    struct partition_row row = {.record = {.key = key_of(1, 1, sequence)}};
    capture_on_damaged(engine, &row);
    control_lock(control);
    capture_take_damages(engine);
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    control_unlock(control);
}

static bool is_damaged(uint64_t sequence)
{
    const struct partition_key key = key_of(1, 1, sequence);
    return damage_find(&engine->damages, &key) != NULL;
}

START_TEST(damage_is_known_in_whatever_order_it_was_found)
{
    static const uint64_t found[] = {4, 2, 300, 2, 3};
    struct capture_settings settings = {.deadline_ms = 100000};
    struct store_record gone = {.key = key_of(1, 1, 3)};
    for (uint64_t i = 1; i <= 4; i++)
        store_one(i, "shop", 0);
    store_one(300, "shop", 0);
    begin(1);
    list(1, "uploading", 1, 4);
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        damage_one(found[i]);
    control_lock(control);
    ck_assert_uint_eq(loaded(1)->targets[0]->damaged_count, 3);
    ck_assert(loaded(1)->status == CAPTURE_INCOMPLETE);
    control_unlock(control);
    ck_assert_int_eq(index_tombstones_add(index_, &gone, 1), SKEIN_OK);
    for (unsigned round = 0; round < 2; round++) { /* what is deleted is whole, and forgotten */
        capture_engine_free(&engine);
        ck_assert_int_eq(capture_engine_new(&settings, fleet, catalog, index_, &engine), SKEIN_OK);
        ck_assert_uint_eq(engine->damages.count, 3);
        ck_assert_uint_eq(engine->mended.count, round == 0);
        ck_assert(is_damaged(2) && is_damaged(4) && is_damaged(300));
        ck_assert(!is_damaged(1) && !is_damaged(3) && !is_damaged(301));
        flush();
    }
}
END_TEST

/* Its deadline comes. */
static void expire(uint32_t n)
{
    control_lock(control);
    loaded(n)->due_ns = 1;
    capture_tick(engine, clock_monotonic_ns());
    ck_assert(loaded(n)->status == CAPTURE_INCOMPLETE);
    ck_assert(loaded(n)->targets[0]->status == TARGET_EXPIRED);
    ck_assert_uint_eq(loaded(n)->targets[0]->stored_events, 0);
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    control_unlock(control);
}

static uint64_t saved_of(uint32_t n)
{
    struct partition_range ranges[8], after = {.last = 0};
    struct capture_id id = capture_of(n);
    int64_t count = catalog_ranges(catalog, &id, &after, ranges, 8);
    uint64_t named = 0;
    ck_assert_int_ge(count, 0);
    for (int64_t i = 0; i < count; i++)
        named += ranges[i].last - ranges[i].key.sequence + 1;
    return named;
}

/* Its host dies before it reports. */
START_TEST(what_was_sent_for_a_target_that_never_reported_is_its_captures)
{
    uint64_t low, high;
    begin(1);
    begin_of(2, 2);
    store_one(1, "shop", 1);
    store_one(2, "shop", 1);
    store_one(3, "shop", 0);
    store_one(4, "shop", 2); /* which does not have its process */
    ck_assert_uint_eq(rows_of(1, &low, &high), 2);
    expire(1);
    expire(2);
    for (unsigned round = 0; round < 2; round++) { /* in memory, and loaded again */
        ck_assert_uint_eq(rows_of(1, &low, &high), 2);
        ck_assert_uint_eq(low, 1 * SECOND + 1);
        ck_assert_uint_eq(high, 2 * SECOND + 1);
        ck_assert_uint_eq(rows_of(2, &low, &high), 0);
        ck_assert_uint_eq(owners_of(2), 1);
        ck_assert_uint_eq(owners_of(4), 0);
        ck_assert_uint_eq(unlisted(1), 0x3f9);
        ck_assert_uint_eq(unlisted(0), 0x3f9);
        ck_assert_uint_eq(saved_of(1), 2);
        forget(1);
    }
    check_frees(1, NULL, 200, 200);
    store_one(7, "shop", 1); /* late, from its spool */
    flush();
    ck_assert_uint_eq(rows_of(1, &low, &high), 3);
    ck_assert_uint_eq(high, 7 * SECOND + 1);
    ck_assert_uint_eq(saved_of(1), 3);
    control_lock(control);
    ck_assert(loaded(1)->status == CAPTURE_INCOMPLETE);
    ck_assert_uint_eq(loaded(1)->targets[0]->stored_count, 0);
    control_unlock(control);
    list(1, "uploading", 1, 2); /* late, too: what it lists is what there is */
    flush();
    ck_assert(is_complete(1));
    ck_assert_uint_eq(rows_of(1, &low, &high), 2);
    ck_assert_uint_eq(saved_of(1), 2);
    ck_assert_uint_eq(unlisted(1), 0x3f9);
}
END_TEST

/* Until version 11 state.db did not say it; the index always has. */
START_TEST(what_was_sent_for_an_older_versions_capture_is_taken_when_it_is_asked_for)
{
    uint64_t low, high;
    struct capture_id id = capture_of(1);
    struct process_uid process = process_of(1);
    begin(1);
    store_one(1, "shop", 1);
    expire(1);
    for (unsigned round = 0; round < 2; round++) {
        forget(1);
        CATALOG_NOW(catalog, catalog_put_ranges(catalog, &id, &process, NULL, 0));
        if (round == 0)
            ck_assert_uint_eq(unlisted(1), 0x3fd);
        else
            ck_assert_uint_eq(rows_of(1, &low, &high), 1);
        flush();
        ck_assert_uint_eq(saved_of(1), 1);
    }
    forget(1);
    (void)rows_of(1, &low, &high);
    control_lock(control);
    ck_assert_int_eq(loaded(1)->save, SAVE_NOTHING); /* once */
    control_unlock(control);
}
END_TEST

/* ---- reports of another setting of the clock ---- */

static int64_t clock_set_by_ns;
uint64_t __real_clock_realtime_ns(void);
uint64_t __wrap_clock_realtime_ns(void);

uint64_t __wrap_clock_realtime_ns(void)
{
    return __real_clock_realtime_ns() + (uint64_t)clock_set_by_ns;
}

/* Its agent lists partition 1 of a window that ends at 100 s, by an offset that it measured under
 * this setting. */
static void list_window(uint32_t n, uint64_t clock)
{
    struct report_target target;
    char id[ID_TEXT_BYTES], process[ID_TEXT_BYTES], text[512], error[256];
    id_text(capture_of(n).bytes, id);
    id_text(process_of(1).bytes, process);
    snprintf(text, sizeof text,
             "{\"agent\":\"0000000000000007\",\"capture\":\"%s\",\"process\":\"%s\","
             "\"state\":\"uploading\",\"clock\":%" PRIu64 ",\"clock_offset_ns\":1000000000,"
             "\"window\":{\"from_ns\":90000000000,\"to_ns\":100000000000},\"partitions\":"
             "[{\"epoch\":1,\"first\":1,\"last\":1,\"events\":3,\"bytes\":100}]}",
             id, process, clock);
    cJSON *json = json_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(report_target_get(json, &target, error, sizeof error) == SKEIN_OK, "%s", error);
    control_lock(control);
    ck_assert_int_eq(capture_on_target(engine, &agent, &target, json), SKEIN_OK);
    control_unlock(control);
    report_target_fini(&target);
    cJSON_Delete(json);
}

static uint64_t window_end_of(uint32_t n)
{
    control_lock(control);
    struct capture_id id = capture_of(n);
    const struct capture *c = capture_find(engine, &id);
    ck_assert_ptr_nonnull(c);
    uint64_t end_ns = c->targets[0]->facts.to_ns;
    control_unlock(control);
    return end_ns;
}

/* Somebody sets the clock ahead by 20 s between the agent's measurement and the capture. */
START_TEST(a_report_is_moved_once_to_the_clock_of_its_capture)
{
    const uint64_t before = clock_setting(NULL);
    clock_set_by_ns = 20 * (int64_t)SECOND;
    ck_assert_uint_ne(clock_setting(NULL), before);
    begin(1);
    list_window(1, before);
    const uint64_t end_ns = window_end_of(1);
    ck_assert_uint_ge(end_ns, 120 * SECOND);
    ck_assert_uint_le(end_ns, 122 * SECOND);
    control_lock(control);
    engine->inbox_overflow = true; /* notes of stored partitions are lost */
    capture_take_inbox(engine);
    control_unlock(control);
    ck_assert_uint_eq(window_end_of(1), end_ns);
    store_one(1, "shop", 1);
    ck_assert(is_complete(1));
    flush();
    forget(1);
    ck_assert_uint_eq(window_end_of(1), end_ns);
    clock_set_by_ns = 0;
}
END_TEST

/* The window held no record, and a gap: who is told that it was taken forgets it. */
START_TEST(a_gap_that_memory_had_no_room_for_is_reported_again)
{
    static const char gap[] = "\"gaps\":[{\"from_ns\":1,\"to_ns\":2,\"reason\":\"overwritten\"}]";
    uint32_t id = 1;
    for (unsigned of_json = 0; of_json < 2; of_json++) {
        bool failed = true;
        for (unsigned nth = 1; failed; nth++, id++) {
            begin(id);
            int status = report_taken(id, "nothing", gap, nth, of_json != 0, &failed);
            const struct capture_target *t = loaded(id)->targets[0];
            ck_assert_int_eq(status, t->facts.gap_count == 1 ? SKEIN_OK : SKEIN_AGAIN);
            ck_assert(failed || status == SKEIN_OK);
            ck_assert_int_eq(t->status, status == SKEIN_OK ? TARGET_NOTHING : TARGET_PENDING);
            ck_assert(!t->whole);
        }
        ck_assert_uint_gt(id, 2);
    }
}
END_TEST

/* Whoever hears that a partition is not wanted acknowledges it, and its agent deletes it. */
START_TEST(a_partition_is_unwanted_only_where_all_that_is_listed_is_known)
{
    struct partition_key saved = key_of(1, 1, 1), news = key_of(1, 1, 2), none = key_of(1, 1, 3);
    struct capture_id capture, first = capture_of(1), second = capture_of(2);
    store_one(1, "shop", 0);
    begin(1);
    list(1, "uploading", 1, 1);
    flush();
    forget(1);
    begin(2);
    list(2, "capturing", 2, 2); /* not saved yet */
    ck_assert_int_eq(capture_wants(engine, &none, &capture), 0);
    ck_assert_int_eq(capture_wants(engine, &saved, &capture), 1);
    ck_assert(capture_id_equal(&capture, &first));
    catalog_spoil("ALTER TABLE ranges RENAME TO unknown");
    ck_assert_int_lt(capture_wants(engine, &saved, &capture), 0);
    ck_assert_int_lt(capture_wants(engine, &none, &capture), 0);
    ck_assert_int_eq(capture_wants(engine, &news, &capture), 1);
    ck_assert(capture_id_equal(&capture, &second));
    catalog_spoil("ALTER TABLE unknown RENAME TO ranges");
    ck_assert_int_eq(capture_wants(engine, &none, &capture), 0);
    catalog_note_damage(catalog); /* rows may be missing */
    ck_assert_int_eq(capture_wants(engine, &none, &capture), SKEIN_IO);
    ck_assert_int_eq(capture_wants(engine, &saved, &capture), 1);
}
END_TEST

/* The index alone knows of it: the note was lost. */
START_TEST(a_stored_partition_whose_note_was_lost_is_counted)
{
    begin(1);
    list(1, "uploading", 1, 1);
    ck_assert(!is_complete(1));
    struct partition_row row = {.record = {.key = key_of(1, 1, 1)},
                                .place = {1, 1000, 100},
                                .events = 3,
                                .host = "host-a",
                                .service = "shop",
                                .labels = "",
                                .exe = "/bin/svc"};
    ck_assert_int_eq(index_add(index_, &row, 1), SKEIN_OK);
    control_lock(control);
    engine->inbox_overflow = true;
    capture_take_inbox(engine);
    control_unlock(control);
    ck_assert(is_complete(1));
}
END_TEST

/* Another one of the two is not stored: the target stays as it is, and its row is to say more. */
START_TEST(what_was_counted_after_a_lost_note_is_saved)
{
    begin(1);
    list(1, "uploading", 1, 2);
    flush();
    struct partition_row row = {.record = {.key = key_of(1, 1, 1)},
                                .place = {1, 1000, 100},
                                .events = 3,
                                .host = "host-a",
                                .service = "shop",
                                .labels = "",
                                .exe = "/bin/svc"};
    ck_assert_int_eq(index_add(index_, &row, 1), SKEIN_OK);
    control_lock(control);
    ck_assert_int_eq(loaded(1)->save, SAVE_NOTHING);
    engine->inbox_overflow = true;
    capture_take_inbox(engine);
    ck_assert_uint_eq(loaded(1)->targets[0]->stored_count, 1);
    ck_assert_int_eq(loaded(1)->targets[0]->save, SAVE_CHANGED);
    ck_assert_int_eq(control_save(control), SKEIN_OK);
    engine->inbox_overflow = true; /* nothing new: nothing to save */
    capture_take_inbox(engine);
    ck_assert_int_eq(loaded(1)->save, SAVE_NOTHING);
    control_unlock(control);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_has");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, what_is_listed_is_kept_before_it_is_saved_and_when_it_left_memory);
    tcase_add_test(c, what_was_sent_for_a_capture_that_runs_waits_for_its_report);
    tcase_add_test(c, what_is_listed_and_not_saved_yet_goes_with_its_capture);
    tcase_add_test(c, what_comes_late_while_two_delete_is_deleted_again);
    tcase_add_test(c, what_is_being_deleted_is_counted_for_nobody_that_lists_it_now);
    tcase_add_test(c, an_incident_of_which_one_cannot_be_loaded_stays_as_it_is);
    tcase_add_test(c, ranges_say_between_which_times_the_stored_lie);
    tcase_add_test(c, owners_are_found_once_in_memory_and_out_of_it);
    tcase_add_test(c, a_deletion_frees_now_what_is_alone_and_later_what_nobody_protected_has);
    tcase_add_test(c, a_deletion_frees_what_was_sent_for_it_and_nobody_listed);
    tcase_add_test(c, damage_is_known_in_whatever_order_it_was_found);
    tcase_add_test(c, what_was_sent_for_a_target_that_never_reported_is_its_captures);
    tcase_add_test(c, what_was_sent_for_an_older_versions_capture_is_taken_when_it_is_asked_for);
    tcase_add_test(c, a_report_is_moved_once_to_the_clock_of_its_capture);
    tcase_add_test(c, a_stored_partition_whose_note_was_lost_is_counted);
    tcase_add_test(c, what_was_counted_after_a_lost_note_is_saved);
    tcase_add_test(c, a_gap_that_memory_had_no_room_for_is_reported_again);
    tcase_add_test(c, a_partition_is_unwanted_only_where_all_that_is_listed_is_known);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
