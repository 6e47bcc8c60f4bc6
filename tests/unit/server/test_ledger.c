/* SPDX-License-Identifier: Apache-2.0
 *
 * Ledgers balance whatever happens: random reports, stored partitions, deadlines and deletions
 * against a model that counts by itself. SKEIN_TEST_SEED replays a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_control.h"
#include "capture_incident.h"
#include "capture_int.h"
#include "catalog_loss.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "support.h"

#define CAPTURES  4
#define SEQUENCES 12
#define STEPS     1000

/* ---- what the test believes ---- */

struct model {
    struct capture_id id;
    bool known, ended, refused;
    uint64_t epoch;  /* of its own: captures of one process do not share here */
    unsigned listed; /* sequences 0.. that its agent has listed */
    uint64_t events[SEQUENCES];
    bool stored[SEQUENCES];
    uint64_t lost[LOSS_REASONS];
    bool gap;
};

struct world {
    char *folder;
    struct catalog *catalog;
    struct fleet *fleet;
    struct capture_engine *engine;
    struct fleet_agent agent;
    struct process_uid process;
    struct model models[CAPTURES];
    bool full, unwritten; /* unwritten: the next transaction is not committed */
    uint64_t random, epochs;
};

static uint64_t next_random(struct world *w, uint64_t below)
{
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (w->random >> 33) % below;
}

static int purge_nothing(void *context, const struct capture_id *id)
{
    (void)context;
    (void)id;
    return SKEIN_OK;
}

static bool is_full(void *context)
{
    return ((struct world *)context)->full;
}

static void save(void *context)
{
    const struct world *w = context;
    capture_save(w->engine);
    catalog_refuse(w->catalog, w->unwritten ? SKEIN_IO : SKEIN_OK);
}

static void saved(void *context, bool ok)
{
    capture_saved(((struct world *)context)->engine, ok);
}

static void world_start(struct world *w, uint64_t seed)
{
    char error[256];
    log_configure(LOG_LEVEL_ERROR, false);
    memset(w, 0, sizeof *w);
    w->random = seed;
    w->folder = temp_dir_new();
    ck_assert_int_eq(catalog_open(w->folder, &w->catalog, error, sizeof error), SKEIN_OK);
    struct fleet_settings fleet = {.address = "tcp://127.0.0.1:1", .lease_ms = 1000};
    ck_assert_int_eq(fleet_new(&fleet, w->catalog, &w->fleet), SKEIN_OK);
    struct capture_settings settings = {
        .deadline_ms = 1000, .purge = purge_nothing, .is_full = is_full, .context = w};
    ck_assert_int_eq(capture_engine_new(&settings, w->fleet, w->catalog, NULL, &w->engine),
                     SKEIN_OK);
    fleet_set_hooks(w->fleet, &(struct fleet_hooks){.context = w, .save = save, .saved = saved});
    w->agent = (struct fleet_agent){.id = 7, .host = "h"};
    memset(w->process.bytes, 9, sizeof w->process.bytes);
}

static void world_end(struct world *w)
{
    capture_engine_free(&w->engine);
    fleet_free(&w->fleet);
    catalog_close(&w->catalog);
    temp_dir_free(&w->folder);
}

/* ---- what may happen ---- */

static void fire(struct world *w, struct model *m)
{
    *m = (struct model){.id = capture_id_new(), .known = true, .epoch = ++w->epochs};
    struct report_fired fired = {.capture = m->id,
                                 .process = w->process,
                                 .trigger = TRIGGER_HEALTH,
                                 .rule = "",
                                 .policy = "",
                                 .reason = "",
                                 .pid = 1,
                                 .service = "shop",
                                 .labels = "",
                                 .exe = "",
                                 .at_ns = clock_realtime_ns(),
                                 .pre_ms = 1000};
    control_lock(fleet_control(w->fleet));
    ck_assert_int_eq(capture_on_fired(w->engine, &w->agent, &fired, NULL), SKEIN_OK);
    control_unlock(fleet_control(w->fleet));
}

static uint64_t listed_events(const struct model *m)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < m->listed; i++)
        sum += m->events[i];
    return sum;
}

static cJSON *report_json(const struct world *w, const struct model *m, const char *state)
{
    char id[ID_TEXT_BYTES];
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "agent", "0000000000000007");
    id_text(m->id.bytes, id);
    cJSON_AddStringToObject(json, "capture", id);
    id_text(w->process.bytes, id);
    cJSON_AddStringToObject(json, "process", id);
    cJSON_AddStringToObject(json, "state", state);
    cJSON *list = cJSON_AddArrayToObject(json, "partitions");
    if (m->listed > 0) {
        cJSON *range = cJSON_CreateObject();
        json_add_u64(range, "epoch", m->epoch);
        json_add_u64(range, "first", 0);
        json_add_u64(range, "last", m->listed - 1);
        json_add_u64(range, "events", listed_events(m));
        json_add_u64(range, "bytes", m->listed);
        cJSON_AddItemToArray(list, range);
    }
    cJSON *lost = cJSON_AddObjectToObject(cJSON_AddObjectToObject(json, "ledger"), "lost");
    for (int i = 0; i < LOSS_REASONS; i++)
        if (m->lost[i] > 0)
            json_add_u64(lost, loss_text((enum loss_reason)i), m->lost[i]);
    cJSON *gaps = cJSON_AddArrayToObject(json, "gaps"), *gap = cJSON_CreateObject();
    json_add_u64(gap, "from_ns", 1000000000);
    json_add_u64(gap, "to_ns", 2000000000);
    cJSON_AddStringToObject(gap, "reason", "overwritten");
    if (m->gap)
        cJSON_AddItemToArray(gaps, gap);
    else
        cJSON_Delete(gap);
    return json;
}

/* Its agent lists more, or has lost more. A target that has ended takes no more reports. */
static void report(struct world *w, struct model *m)
{
    static const enum loss_reason reasons[] = {LOSS_RING_FULL, LOSS_OVERWRITTEN, LOSS_SPOOL_FULL,
                                               LOSS_REJECTED,  LOSS_NAME,        LOSS_UNKNOWN};
    struct report_target target;
    char error[256];
    if (m->listed < SEQUENCES && next_random(w, 3) > 0)
        m->events[m->listed++] = 1 + next_random(w, 1000);
    if (m->listed > 0 && next_random(w, 3) == 0)
        m->lost[reasons[next_random(w, 6)]] += next_random(w, 100);
    m->gap |= m->listed > 0 && next_random(w, 8) == 0;
    cJSON *json = report_json(w, m, m->listed > 0 ? "uploading" : "capturing");
    ck_assert_int_eq(report_target_get(json, &target, error, sizeof error), SKEIN_OK);
    control_lock(fleet_control(w->fleet));
    ck_assert_int_eq(capture_on_target(w->engine, &w->agent, &target, json), SKEIN_OK);
    control_unlock(fleet_control(w->fleet));
    report_target_fini(&target);
    cJSON_Delete(json);
}

static void tick(struct world *w, uint64_t now_ns)
{
    control_lock(fleet_control(w->fleet));
    capture_tick(w->engine, now_ns);
    control_unlock(fleet_control(w->fleet));
}

static void store_one(struct world *w, struct model *m)
{
    unsigned sequence = (unsigned)next_random(w, SEQUENCES);
    if (sequence >= m->listed)
        return; /* what nobody has listed belongs to no target */
    struct partition_row row = {.record.capture = m->id, .events = m->events[sequence]};
    row.record.key = (struct partition_key){w->process, m->epoch, sequence};
    row.place.bytes = 1;
    capture_on_stored(w->engine, &row, 1); /* perhaps again */
    tick(w, 0);
    m->stored[sequence] = true;
}

/* ---- what must hold ---- */

static uint64_t count(const cJSON *object, const char *key)
{
    struct json_reader r = {.error = ""};
    return json_u64(&r, object, "", key, JSON_OPTIONAL, 0, 0, UINT64_MAX);
}

static void check_balance(const cJSON *ledger)
{
    const cJSON *lost = cJSON_GetObjectItem(ledger, "lost"), *item;
    uint64_t places[LOSS_PLACES] = {0}, sum = 0;
    ck_assert_ptr_nonnull(lost);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(ledger, "reasons")) {
        enum loss_reason reason = loss_parse(item->string);
        ck_assert_str_eq(loss_text(reason), item->string);
        ck_assert_int_lt(loss_place(reason), LOSS_PLACES);
        places[loss_place(reason)] += (uint64_t)item->valuedouble;
    }
    for (int i = 0; i < LOSS_PLACES; i++) {
        ck_assert_uint_eq(count(lost, loss_place_text((enum loss_place)i)), places[i]);
        sum += places[i];
    }
    ck_assert_uint_eq(count(ledger, "produced"), count(ledger, "stored") + sum);
    bool missing = sum > 0 || cJSON_GetArraySize(cJSON_GetObjectItem(ledger, "gaps")) > 0;
    ck_assert(!missing || cJSON_IsFalse(cJSON_GetObjectItem(ledger, "complete")));
}

static struct ledger *take_group(void *ledger, const struct catalog_loss_group *group)
{
    ck_assert_uint_eq(group->processes, 1);
    return ledger;
}

/* What is saved as rows is the same ledger. */
static void check_rows(struct world *w, const struct model *m, const cJSON *ledger)
{
    struct ledger rows = {.stored = 0};
    struct catalog_loss_query query = {.to_ns = UINT64_MAX, .capture = &m->id};
    ck_assert_int_eq(catalog_loss(w->catalog, &query, take_group, &rows, NULL), SKEIN_OK);
    cJSON *copy = ledger_json(&rows);
    ck_assert(cJSON_Compare(ledger, copy, true));
    cJSON_Delete(copy);
    ledger_fini(&rows);
}

/* The ledger against the model. */
static void check(struct world *w, const struct model *m, bool saved)
{
    cJSON *json;
    if (!m->known)
        return;
    ck_assert_int_eq(capture_get(w->engine, &m->id, NULL, &json), SKEIN_OK);
    const cJSON *target = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "targets"), 0);
    const cJSON *ledger = cJSON_GetObjectItem(target, "ledger");
    const cJSON *reasons = cJSON_GetObjectItem(ledger, "reasons");
    check_balance(ledger);
    check_balance(cJSON_GetObjectItem(json, "ledger"));
    ck_assert(cJSON_Compare(ledger, cJSON_GetObjectItem(json, "ledger"), true));
    uint64_t stored = 0;
    for (unsigned i = 0; i < m->listed; i++)
        stored += m->stored[i] ? m->events[i] : 0;
    ck_assert_uint_eq(count(ledger, "stored"), stored);
    for (int i = 0; i < LOSS_NOT_ARRIVED; i++)
        ck_assert_uint_eq(count(reasons, loss_text((enum loss_reason)i)), m->lost[i]);
    ck_assert_uint_eq(count(ledger, "unnamed"), m->lost[LOSS_NAME]);
    ck_assert_uint_eq(count(reasons, m->refused ? "disk_full" : "not_arrived"),
                      m->ended ? listed_events(m) - stored : 0);
    if (saved)
        check_rows(w, m, ledger);
    cJSON_Delete(json);
}

static bool all_stored(const struct model *m)
{
    for (unsigned i = 0; i < m->listed; i++)
        if (!m->stored[i])
            return false;
    return m->listed > 0;
}

/* Whether all that has happened is saved. */
static bool step(struct world *w)
{
    struct model *m = &w->models[next_random(w, CAPTURES)];
    uint64_t what = next_random(w, 64);
    if (!m->known)
        fire(w, m);
    else if (what < 20 && !all_stored(m))
        report(w, m);
    else if (what < 60)
        store_one(w, m);
    else if (what < 63) {
        w->full = next_random(w, 2) == 0;
        tick(w, UINT64_MAX); /* every deadline is over */
        for (int i = 0; i < CAPTURES; i++) {
            struct model *each = &w->models[i];
            if (each->known && !each->ended)
                each->refused = w->full && each->listed > 0;
            each->ended |= each->known;
        }
    } else {
        w->unwritten = false; /* a deletion saves */
        struct capture_ids ids = {0};
        ck_assert_int_eq(capture_delete(w->engine, &m->id, false, NULL, &ids), SKEIN_OK);
        free(ids.items);
        m->known = false;
    }
    if (next_random(w, 4) != 0)
        return false;
    w->unwritten = next_random(w, 4) == 0;
    control_lock(fleet_control(w->fleet));
    control_mark_dirty(fleet_control(w->fleet));
    ck_assert_int_eq(control_save(fleet_control(w->fleet)), w->unwritten ? SKEIN_IO : SKEIN_OK);
    control_unlock(fleet_control(w->fleet));
    return !w->unwritten;
}

START_TEST(ledgers_balance_whatever_happens)
{
    struct world w;
    const char *given = getenv("SKEIN_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : clock_realtime_ns();
    fprintf(stderr, "SKEIN_TEST_SEED=%llu\n", (unsigned long long)seed);
    world_start(&w, seed);
    for (unsigned i = 0; i < STEPS; i++) {
        bool saved = step(&w);
        for (int k = 0; k < CAPTURES; k++)
            check(&w, &w.models[k], saved);
    }
    world_end(&w);
}
END_TEST

START_TEST(ledger_balances_and_gaps_of_one_reason_meet)
{
    struct ledger sum = {.stored = 12};
    ledger_lose(&sum, LOSS_SPOOL_FULL, 3);
    ledger_lose(&sum, LOSS_NAME, 2);
    ledger_lose(&sum, LOSS_RING_FULL, UINT64_MAX);
    ledger_gap(&sum, &(struct loss_gap){15, 30, LOSS_OVERWRITTEN});
    ledger_gap(&sum, &(struct loss_gap){15, 30, LOSS_SPOOL_FULL});
    ledger_gap(&sum, &(struct loss_gap){30, 40, LOSS_OVERWRITTEN});
    ledger_gap(&sum, &(struct loss_gap){10, 20, LOSS_OVERWRITTEN});
    cJSON *json = ledger_json(&sum);
    check_balance(json);
    ck_assert_uint_eq(count(json, "stored"), 12);
    ck_assert_uint_eq(count(json, "unnamed"), 2);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(json, "gaps")), 2);
    cJSON_Delete(json);
    ledger_fini(&sum);
}
END_TEST

START_TEST(every_reason_of_the_ring_is_in_the_table)
{
#define X(name, value, text)                                                                       \
    ck_assert_str_eq(loss_text(loss_parse(text)), text);                                           \
    ck_assert_str_eq(loss_text(LOSS_##name), text);
    PARTITION_LOSS_LIST(X)
#undef X
}
END_TEST

int main(void)
{
    return suite_run(suite_of("ledger", ledgers_balance_whatever_happens,
                              ledger_balances_and_gaps_of_one_reason_meet,
                              every_reason_of_the_ring_is_in_the_table, NULL));
}
