/* SPDX-License-Identifier: Apache-2.0
 * What a change of one target costs in a capture of many: counted, not timed. */
#include <stdio.h>
#include <string.h>

#include "capture_control.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "clock.h"
#include "json.h"
#include "metrics.h"
#include "support.h"

#define EVENTS 5

struct engine {
    char *folder;
    struct catalog *catalog;
    struct fleet *fleet;
    struct capture_engine *e;
    struct fleet_agent agent;
};

static void save(void *context)
{
    struct engine *g = context;
    capture_save(g->e);
}

static void saved(void *context, bool ok)
{
    struct engine *g = context;
    capture_saved(g->e, ok);
}

static void engine_open(struct engine *g)
{
    char error[256] = "";
    struct fleet_settings settings = {.max_agents = 10, .lease_ms = 1000, .heartbeat_ms = 1000};
    struct capture_settings captures = {.deadline_ms = 1000};
    memset(g, 0, sizeof *g);
    g->folder = temp_dir_new();
    g->agent = (struct fleet_agent){.id = 7, .host = "host-a"};
    ck_assert_msg(catalog_open(g->folder, &g->catalog, error, sizeof error) == SKEIN_OK, "%s",
                  error);
    ck_assert_int_eq(fleet_new(&settings, g->catalog, &g->fleet), SKEIN_OK);
    struct fleet_hooks hooks = {.context = g, .save = save, .saved = saved};
    fleet_set_hooks(g->fleet, &hooks);
    ck_assert_int_eq(capture_engine_new(&captures, g->fleet, g->catalog, NULL, &g->e), SKEIN_OK);
    control_lock(fleet_control(g->fleet)); /* there is no other thread */
}

static void engine_close(struct engine *g)
{
    control_unlock(fleet_control(g->fleet));
    capture_engine_free(&g->e);
    fleet_free(&g->fleet);
    catalog_close(&g->catalog);
    temp_dir_free(&g->folder);
}

static struct process_uid process_number(size_t n)
{
    struct process_uid uid = {{0}};
    memcpy(uid.bytes, &n, sizeof n);
    return uid;
}

static void flush(struct engine *g)
{
    ck_assert_int_eq(control_save(fleet_control(g->fleet)), SKEIN_OK);
}

static struct capture *capture_of(struct engine *g, size_t targets)
{
    struct capture_id id = {{1}};
    struct capture *c = capture_new(g->e, &id);
    ck_assert_ptr_nonnull(c);
    c->created_ns = c->at_ns = clock_realtime_ns();
    capture_set_due(c, clock_monotonic_ns() + UINT64_C(3600) * 1000000000u);
    for (size_t i = 0; i < targets; i++) {
        struct fleet_process p = {.uid = process_number(i), .pid = 1 + (uint32_t)i};
        struct capture_target *t = capture_target_add(c, &p.uid, &p, &g->agent);
        ck_assert_ptr_nonnull(t);
        capture_begin_target(g->e, c, t, TARGET_PENDING, "");
    }
    flush(g);
    return c;
}

/* The agent lists one partition of a process. */
static void list_one(struct engine *g, const struct capture *c, size_t process)
{
    struct report_target target;
    struct process_uid uid = process_number(process);
    char id[ID_TEXT_BYTES], text[512], error[256], capture[ID_TEXT_BYTES];
    id_text(uid.bytes, id);
    id_text(c->id.bytes, capture);
    snprintf(
        text, sizeof text,
        "{\"agent\":\"0000000000000007\",\"capture\":\"%s\",\"process\":\"%s\",\"state\":\"uploading\",\"partitions\":"
        "[{\"epoch\":1,\"first\":0,\"last\":0,\"events\":%d,\"bytes\":9}]}",
        capture, id, EVENTS);
    cJSON *json = json_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(report_target_get(json, &target, error, sizeof error) == SKEIN_OK, "%s", error);
    ck_assert_int_eq(capture_on_target(g->e, &g->agent, &target, json), SKEIN_OK);
    report_target_fini(&target);
    cJSON_Delete(json);
}

static void store_one(struct engine *g, const struct capture *c, size_t process)
{
    struct partition_row row = {.events = EVENTS, .place = {.bytes = 9}};
    row.record.capture = c->id;
    row.record.key = (struct partition_key){process_number(process), 1, 0};
    capture_on_stored(g->e, &row, 1);
    capture_take_inbox(g->e);
}

struct listed {
    char text[4096];
};

static int take_listing(void *context, const struct catalog_capture *row)
{
    struct listed *listed = context;
    snprintf(listed->text, sizeof listed->text, "%s", row->listing);
    return 1;
}

START_TEST(change_of_one_target_looks_at_a_bounded_number_of_them)
{
    enum { TARGETS = 10000, CHANGES = 2 * TARGETS, ROUND = 50 };
    struct engine g;
    struct listed listed = {""};
    engine_open(&g);
    struct capture *c = capture_of(&g, TARGETS);
    uint64_t before = metrics.capture_work_total;
    for (size_t i = 0; i < TARGETS; i++) {
        list_one(&g, c, i);
        if (i % ROUND == 0)
            flush(&g);
    }
    for (size_t i = 0; i < TARGETS; i++) {
        ck_assert_int_eq(c->status, CAPTURE_RUNNING);
        store_one(&g, c, i);
        if (i % ROUND == 0)
            flush(&g);
    }
    flush(&g);
    ck_assert_int_eq(c->status, CAPTURE_COMPLETE);
    /* Its row, and a share of the listings: one for every 64th part of the targets. */
    ck_assert_uint_le(metrics.capture_work_total - before, (uint64_t)CHANGES * (1 + 64) + TARGETS);
    ck_assert_int_eq(catalog_capture(g.catalog, &c->id, take_listing, &listed), 1);
    ck_assert_msg(strstr(listed.text, "complete: 10000 of 10000 targets, 50000 events") != NULL,
                  "%s", listed.text);
    engine_close(&g);
}
END_TEST

/* The longest that one of `agents` is told to wait before it uploads, and how many that are told to
 * begin at once. */
static uint64_t longest_wait(uint64_t agents, uint64_t left_ms, uint64_t *at_once)
{
    struct engine g;
    struct capture_id id = {{1}};
    uint64_t longest = 0;
    engine_open(&g);
    struct capture *c = capture_new(g.e, &id);
    ck_assert_ptr_nonnull(c);
    capture_set_due(c, clock_monotonic_ns() + left_ms * 1000000u);
    for (uint64_t i = 0; i < agents; i++) {
        struct fleet_process p = {.uid = process_number((size_t)i), .pid = 1};
        struct fleet_agent agent = {.id = i + 1, .host = "host"};
        ck_assert_ptr_nonnull(capture_target_add(c, &p.uid, &p, &agent));
    }
    *at_once = 0;
    for (uint64_t i = 0; i < agents; i++) {
        uint64_t after_ms = capture_upload_after_ms(c, i + 1);
        longest = after_ms > longest ? after_ms : longest;
        *at_once += after_ms == 0;
    }
    engine_close(&g);
    return longest;
}

START_TEST(uploads_of_more_than_a_thousand_agents_are_spread)
{
    uint64_t at_once;
    ck_assert_uint_eq(longest_wait(1000, 3600000, &at_once), 0);
    ck_assert_uint_eq(longest_wait(5000, 3600000, &at_once), 2000);
    ck_assert_uint_le(at_once, 3);
    ck_assert_uint_le(longest_wait(5000, 4000, &at_once), 1000);
    ck_assert_uint_eq(longest_wait(5000, 0, &at_once), 0);
}
END_TEST

START_TEST(listing_that_lacks_changes_is_made_anew_by_the_clock)
{
    enum { TARGETS = 1000 };
    struct engine g;
    struct listed listed = {""};
    engine_open(&g);
    struct capture *c = capture_of(&g, TARGETS);
    list_one(&g, c, 1);
    flush(&g);
    ck_assert_uint_eq(c->behind, 1);
    c->listed_ns = 0; /* long ago */
    capture_tick(g.e, clock_monotonic_ns());
    flush(&g);
    ck_assert_uint_eq(c->behind, 0);
    ck_assert_int_eq(catalog_capture(g.catalog, &c->id, take_listing, &listed), 1);
    ck_assert_ptr_nonnull(strstr(listed.text, "\"uploading\":1"));
    engine_close(&g);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("capture_work",
                              change_of_one_target_looks_at_a_bounded_number_of_them,
                              uploads_of_more_than_a_thousand_agents_are_spread,
                              listing_that_lacks_changes_is_made_anew_by_the_clock, NULL));
}
