/* SPDX-License-Identifier: Apache-2.0
 * A planted state that cannot be ends the collector at the next change: one for each state machine.
 * Of what a file says, none is: it is mended. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include "capture_control.h"
#include "capture_int.h"
#include "capture_state.h"
#include "capture_target.h"
#include "catalog_capture.h"
#include "catalog_now.h"
#include "control.h"
#include "http_mhd_int.h"
#include "ingest_commit.h"
#include "ingest_int.h"
#include "store_int.h"
#include "support.h"

START_TEST(a_store_that_is_clean_without_a_segment)
{
    struct store *store;
    char error[256];
    struct store_settings settings = {.folder = temp_dir_new()};
    ck_assert_int_eq(store_open(&settings, &store, error, sizeof error), SKEIN_OK);
    store->state = STORE_CLEAN;
    (void)store_sync(store);
}
END_TEST

START_TEST(an_open_segment_that_another_one_follows)
{
    struct store *store;
    char error[256];
    struct store_settings settings = {.folder = temp_dir_new()};
    const struct store_record tombstone = {.received_ns = 1};
    size_t done;
    ck_assert_int_eq(store_open(&settings, &store, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(store_append_tombstones(store, &tombstone, 1, &done), SKEIN_OK);
    store->segments[store->count - 1].number++;
    (void)store_append_tombstones(store, &tombstone, 1, &done);
}
END_TEST

START_TEST(a_writer_whose_durable_end_is_behind_its_end)
{
    const struct segment_header header = {.number = 1};
    struct segment_writer writer;
    char *folder = temp_dir_new();
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(at, 0);
    segment_writer_init(&writer);
    ck_assert_int_eq(segment_create(&writer, at, &header), SKEIN_OK);
    writer.durable_end = writer.end + 8;
    const struct segment_record tombstone = {.kind = SEGMENT_TOMBSTONE};
    uint64_t offset;
    (void)segment_append(&writer, &tombstone, NULL, &offset);
}
END_TEST

START_TEST(a_group_that_is_written_while_it_collects)
{
    static struct ingest in;
    struct member member = {.len = 1};
    in.groups[1] = (struct group){.state = GROUP_WRITING, .count = 1};
    group_add(&in, &member, 1);
}
END_TEST

START_TEST(an_open_target_of_a_capture_that_has_ended)
{
    struct capture_engine e = {0};
    ck_assert_int_eq(control_new(NULL, &(struct control_hooks){0}, &e.control), SKEIN_OK);
    control_lock(e.control);
    struct capture c = {.status = CAPTURE_COMPLETE, .finished_ns = 1};
    struct capture_target t = {.status = TARGET_PENDING};
    target_set(&e, &c, &t, TARGET_SENT, NULL);
}
END_TEST

START_TEST(a_capture_that_has_miscounted_its_targets)
{
    struct capture c = {.status = CAPTURE_RUNNING, .open_count = 1};
    capture_assert(&c);
}
END_TEST

START_TEST(a_withdrawn_capture_that_is_in_memory_again)
{
    const struct capture_id id = {{1}};
    struct capture_engine e = {0};
    ck_assert_int_eq(control_new(NULL, &(struct control_hooks){0}, &e.control), SKEIN_OK);
    control_lock(e.control);
    struct capture *c = capture_new(&e, &id);
    ck_assert_ptr_nonnull(c);
    capture_withdraw(&e, c);
    ck_assert_ptr_nonnull(capture_new(&e, &id));
    (void)capture_save_deletions(&e);
}
END_TEST

START_TEST(an_answer_that_is_made_while_none_is)
{
    struct http_server server = {.asides = http_asides_new()};
    struct http_exchange x = {.server = &server, .aside = HTTP_ASIDE_RUNS};
    ck_assert_ptr_nonnull(server.asides);
    (void)http_aside_runs(&x);
}
END_TEST

static const struct capture_id capture = {{1}};

/* Rows as no collector writes them: an ended capture without an end, whose target goes on. */
static void put_rows(struct catalog *catalog)
{
    struct catalog_capture row = {.id = capture,
                                  .created_ns = 1,
                                  .status = "complete",
                                  .kind = "snapshot",
                                  .selector = "",
                                  .trigger = "request",
                                  .rule = "",
                                  .process = "",
                                  .reason = "",
                                  .listing = "{}"};
    CATALOG_NOW(catalog, catalog_put_capture(catalog, &row));
    const char *const states[] = {"pending", "uploading", "complete"};
    for (uint8_t i = 0; i < 3; i++) {
        struct catalog_target target = {.capture = capture,
                                        .process = {{i}},
                                        .host = "",
                                        .service = "",
                                        .labels = "",
                                        .exe = "",
                                        .status = states[i],
                                        .reason = "",
                                        .report = i == 2 ? "no report" : "",
                                        .times = ""};
        CATALOG_NOW(catalog, catalog_put_target(catalog, &target));
    }
}

START_TEST(rows_that_contradict_themselves_are_mended)
{
    struct catalog *catalog;
    struct fleet *fleet;
    struct capture_engine *e;
    cJSON *json;
    char error[256], *folder = temp_dir_new();
    struct fleet_settings settings = {.address = "tcp://127.0.0.1:1", .lease_ms = 1000};
    ck_assert_int_eq(catalog_open(folder, &catalog, error, sizeof error), SKEIN_OK);
    put_rows(catalog);
    ck_assert_int_eq(fleet_new(&settings, catalog, &fleet), SKEIN_OK);
    ck_assert_int_eq(capture_engine_new(&(struct capture_settings){0}, fleet, catalog, NULL, &e),
                     SKEIN_OK);
    ck_assert_int_eq(capture_get(e, &capture, NULL, &json), SKEIN_OK);
    const cJSON *targets = cJSON_GetObjectItemCaseSensitive(json, "targets");
    static const char *const expected[] = {"failed", "failed", "complete"};
    for (int i = 0; i < 3; i++) {
        const cJSON *status =
            cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(targets, i), "status");
        ck_assert_str_eq(cJSON_GetStringValue(status), expected[i]);
    }
    cJSON_Delete(json);
    capture_engine_free(&e);
    fleet_free(&fleet);
    catalog_close(&catalog);
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server_invariants");
    TCase *tests = tcase_create("planted");
    tcase_add_test_raise_signal(tests, a_store_that_is_clean_without_a_segment, SIGABRT);
    tcase_add_test_raise_signal(tests, an_open_segment_that_another_one_follows, SIGABRT);
    tcase_add_test_raise_signal(tests, a_writer_whose_durable_end_is_behind_its_end, SIGABRT);
    tcase_add_test_raise_signal(tests, a_group_that_is_written_while_it_collects, SIGABRT);
    tcase_add_test_raise_signal(tests, an_open_target_of_a_capture_that_has_ended, SIGABRT);
    tcase_add_test_raise_signal(tests, a_capture_that_has_miscounted_its_targets, SIGABRT);
    tcase_add_test_raise_signal(tests, a_withdrawn_capture_that_is_in_memory_again, SIGABRT);
    tcase_add_test_raise_signal(tests, an_answer_that_is_made_while_none_is, SIGABRT);
    tcase_add_test(tests, rows_that_contradict_themselves_are_mended);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
