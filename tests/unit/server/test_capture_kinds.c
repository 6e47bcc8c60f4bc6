/* SPDX-License-Identifier: Apache-2.0
 * What a request may ask for, how long a capture is kept, and partitions that captures share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "db.h"
#include "json.h"
#include "support.h"

#define CAPTURES "/api/v1/captures"

static void begin(struct fixture *f, const char *request, char id[ID_TEXT_BYTES], char path[96])
{
    cJSON *json = call_json(f, "POST", CAPTURES, request, 202);
    snprintf(id, ID_TEXT_BYTES, "%s", text_at(json, "capture"));
    snprintf(path, 96, CAPTURES "/%s", id);
    cJSON_Delete(json);
}

static cJSON *next_command(struct fixture *f)
{
    cJSON *command = wire_agent_command(&f->agent, "capture", (int)support_deadline_ms());
    ck_assert_ptr_nonnull(command);
    wire_agent_ack(&f->agent, command, NULL);
    return command;
}

static void report(struct fixture *f, cJSON *json)
{
    char error[256];
    ck_assert_msg(wire_agent_report(&f->agent, json, error, sizeof error), "%s", error);
}

static int partitions_of(struct fixture *f, const char *capture)
{
    char path[128];
    snprintf(path, sizeof path, "/api/v1/partitions%s%s", capture != NULL ? "?capture=" : "",
             capture != NULL ? capture : "");
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    int count = cJSON_GetArraySize(at_path(json, "items"));
    cJSON_Delete(json);
    return count;
}

static void delete_capture(struct fixture *f, const char *path)
{
    struct http_response response;
    call(f, "DELETE", path, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 204);
    http_response_fini(&response);
}

START_TEST(window_may_be_given_by_its_two_ends)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f,
          "{\"selector\":\"service=shop\",\"from\":\"2026-09-21T14:13:20Z\","
          "\"to\":\"2026-09-21T14:13:22.5Z\"}",
          id, path);
    cJSON *command = next_command(&f);
    ck_assert_double_eq(number_at(command, "pre_ms"), 2500);
    ck_assert_double_eq(number_at(command, "post_ms"), 0);
    cJSON_Delete(command);
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "window.from"), "2026-09-21T14:13:20.000Z");
    ck_assert_str_eq(text_at(json, "window.to"), "2026-09-21T14:13:22.500Z");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(record_takes_what_comes_from_now_on)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, "{\"selector\":\"service=shop\",\"kind\":\"record\",\"for_ms\":7000}", id, path);
    cJSON *command = next_command(&f);
    ck_assert_double_eq(number_at(command, "pre_ms"), 0);
    ck_assert_double_eq(number_at(command, "post_ms"), 7000);
    cJSON_Delete(command);
    fixture_restart(&f);
    wait_for_text(&f, path, "kind", "record");
    fixture_stop(&f);
}
END_TEST

static void expect_wrong(struct fixture *f, const char *members, const char *field)
{
    char body[512];
    snprintf(body, sizeof body, "{\"selector\":\"service=shop\",%s}", members);
    expect_problem(f, "POST", CAPTURES, body, 422, field);
}

START_TEST(wrong_requests_are_refused_with_the_member_that_is_wrong)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    expect_wrong(&f, "\"kind\":\"film\"", "kind");
    expect_wrong(&f, "\"kind\":\"record\"", "for_ms");
    expect_wrong(&f, "\"kind\":\"record\",\"for_ms\":5,\"pre_ms\":5", "pre_ms");
    expect_wrong(&f, "\"for_ms\":5", "for_ms");
    expect_wrong(&f, "\"from\":\"2026-09-21T14:13:20Z\"", "to");
    expect_wrong(&f, "\"to\":\"2026-09-21T14:13:20Z\"", "from");
    expect_wrong(&f, "\"from\":\"2026-09-21T14:13:20Z\",\"to\":\"2026-09-21T14:13:20Z\"", "from");
    expect_wrong(&f, "\"from\":\"2026-09-21T14:13:20Z\",\"to\":\"2026-09-23T14:13:20Z\"", "from");
    expect_wrong(&f,
                 "\"from\":\"2026-09-21T14:13:20Z\",\"to\":\"2026-09-21T14:13:21Z\",\"pre_ms\":1",
                 "from");
    expect_wrong(&f, "\"from\":\"yesterday\",\"to\":\"2026-09-21T14:13:21Z\"", "from");
    expect_wrong(&f, "\"min_targets\":3", "min_targets");
    expect_wrong(&f, "\"min_targets\":2,\"max_targets\":1", "max_targets");
    expect_wrong(&f, "\"ttl_ms\":5", "ttl_ms");
    expect_wrong(&f, "\"pre_ms\":\"1\"", "pre_ms");
    expect_wrong(&f, "\"pre_ms\":\"1 s\"", "pre_ms");
    expect_wrong(&f, "\"pin\":1", "pin");
    cJSON *json = call_json(&f, "GET", CAPTURES, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 0);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* Ends a capture of process 1 with nothing in it. */
static void end_empty(struct fixture *f, const char *id, const char *path)
{
    report(f, wire_target(&f->agent, id, 1, "nothing", 0, 0));
    wait_for_text(f, path, "status", "complete");
}

START_TEST(capture_is_deleted_when_its_time_is_over_but_not_while_it_is_pinned)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96], other[ID_TEXT_BYTES], other_path[96];
    const char *request = "{\"selector\":\"service=shop\",\"ttl_ms\":1000,\"pin\":true}";
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, request, id, path);
    begin(&f, "{\"selector\":\"service=shop\",\"ttl_ms\":1000}", other, other_path);
    end_empty(&f, id, path);
    end_empty(&f, other, other_path);
    for (;;) { /* ended later than the pinned one, and goes */
        struct http_response response;
        call(&f, "GET", other_path, NULL, NULL, &response);
        long status = response.status;
        http_response_fini(&response);
        if (status == 404)
            break;
        ck_assert_int_eq(status, 200);
    }
    cJSON *json = call_json(&f, "GET", path, NULL, 200);
    ck_assert(cJSON_IsTrue(at_path(json, "pin")));
    ck_assert_ptr_null(at_path(json, "expires"));
    cJSON_Delete(json);
    json = call_json(&f, "PATCH", path, "{\"pin\":false,\"ttl_ms\":86400000}", 200);
    ck_assert_ptr_nonnull(at_path(json, "expires"));
    cJSON_Delete(json);
    json = call_json(&f, "PATCH", path, "{\"ttl_ms\":null,\"reason\":\"evidence\"}", 200);
    ck_assert_ptr_null(at_path(json, "expires"));
    ck_assert_str_eq(text_at(json, "trigger.reason"), "evidence");
    cJSON_Delete(json);
    expect_problem(&f, "PATCH", path, "{\"color\":1}", 422, "color");
    fixture_stop(&f);
}
END_TEST

START_TEST(captures_share_partitions_and_the_last_one_takes_them_along)
{
    struct fixture f;
    char id[2][ID_TEXT_BYTES], path[2][96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    for (int i = 0; i < 2; i++)
        begin(&f, "{\"selector\":\"service=shop\"}", id[i], path[i]);
    /* Both list the same two; all are sent for the first: one before the second lists them, one
     * after. */
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id[0], 0), WIRE_STORED);
    report(&f, wire_target(&f.agent, id[0], 1, "uploading", 2, 1));
    report(&f, wire_target(&f.agent, id[1], 1, "uploading", 2, 1));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 1, id[0], 0), WIRE_STORED);
    for (int i = 0; i < 2; i++) {
        wait_for_text(&f, path[i], "status", "complete");
        ck_assert_int_eq(partitions_of(&f, id[i]), 2);
    }
    ck_assert_int_eq(partitions_of(&f, NULL), 2);
    delete_capture(&f, path[0]);
    ck_assert_int_eq(partitions_of(&f, id[1]), 2);
    fixture_restart(&f);
    wait_for_text(&f, path[1], "status", "complete");
    delete_capture(&f, path[1]);
    ck_assert_int_eq(partitions_of(&f, NULL), 0);
    fixture_stop(&f);
}
END_TEST

START_TEST(shared_partitions_are_found_again_after_the_index_is_lost)
{
    struct fixture f;
    char id[2][ID_TEXT_BYTES], path[2][96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    for (int i = 0; i < 2; i++)
        begin(&f, "{\"selector\":\"service=shop\"}", id[i], path[i]);
    for (int i = 0; i < 2; i++)
        report(&f, wire_target(&f.agent, id[i], 1, "uploading", 1, 1));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id[0], 0), WIRE_STORED);
    wait_for_text(&f, path[1], "status", "complete");
    char *index = path_join(f.collector.config.folder, "index.db");
    collector_stop(&f.collector);
    ck_assert_int_eq(remove(index), 0);
    free(index);
    fixture_restart(&f);
    delete_capture(&f, path[0]);
    ck_assert_int_eq(partitions_of(&f, id[1]), 1);
    fixture_stop(&f);
}
END_TEST

static long status_of(struct fixture *f, const char *method, const char *path, const char *more)
{
    struct http_response response;
    char whole[160];
    snprintf(whole, sizeof whole, "%s%s", path, more);
    call(f, method, whole, NULL, NULL, &response);
    long status = response.status;
    http_response_fini(&response);
    return status;
}

/* Nobody knows then whether there is such a capture. */
START_TEST(capture_whose_rows_cannot_be_read_is_an_error_and_not_unknown)
{
    struct fixture f;
    char id[ID_TEXT_BYTES], path[96], error[256];
    struct db *db;
    static const char *const ways[] = {"", "/trace", "/manifest", "/report", "/overview", ":stop"};
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, "{\"selector\":\"service=shop\"}", id, path);
    report(&f, wire_target(&f.agent, id, 1, "uploading", 1, 1));
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id, 0), WIRE_STORED);
    wait_for_text(&f, path, "status", "complete");
    char *state = path_join(f.collector.config.folder, "state.db");
    collector_stop(&f.collector);
    ck_assert_int_eq(db_open(state, true, &db, error, sizeof error), SKEIN_OK);
    ck_assert_int_eq(db_write(db, "ALTER TABLE targets RENAME TO lost", NULL), SKEIN_OK);
    db_close(&db);
    fixture_restart(&f);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        long status = status_of(&f, i == 5 ? "POST" : "GET", path, ways[i]);
        ck_assert_msg(status == 500 || status == 503, "%s: %ld", ways[i], status);
    }
    ck_assert_int_ge(status_of(&f, "DELETE", path, ""), 500);
    ck_assert_int_eq(status_of(&f, "GET", "/api/v1/captures/", "01a10000000000000000000000000099"),
                     404);
    ck_assert_int_eq(partitions_of(&f, NULL), 1); /* they are kept */
    free(state);
    fixture_stop(&f);
}
END_TEST

START_TEST(what_was_sent_for_a_deleted_capture_is_stored_for_another_that_lists_it)
{
    struct fixture f;
    char id[2][ID_TEXT_BYTES], path[2][96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    for (int i = 0; i < 2; i++)
        begin(&f, "{\"selector\":\"service=shop\"}", id[i], path[i]);
    report(&f, wire_target(&f.agent, id[1], 1, "uploading", 2, 2));
    delete_capture(&f, path[0]);
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id[0], 0), WIRE_STORED);
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 1, id[0], 3 << 20),
                     WIRE_STORED); /* in chunks */
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 2, id[0], 0),
                     WIRE_STORED_BEFORE); /* unlisted */
    wait_for_text(&f, path[1], "status", "complete");
    fixture_restart(&f);
    ck_assert_int_eq(partitions_of(&f, id[1]), 2);
    ck_assert_int_eq(partitions_of(&f, NULL), 2);
    delete_capture(&f, path[1]);
    ck_assert_int_eq(partitions_of(&f, NULL), 0);
    fixture_stop(&f);
}
END_TEST

/* The listing is read: a look at the capture itself would bring it back to memory. */
static void completes_out_of_memory(bool deleted)
{
    struct fixture f;
    char id[2][ID_TEXT_BYTES], path[2][96];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    begin(&f, "{\"selector\":\"service=shop\"}", id[0], path[0]);
    begin(&f, "{\"selector\":\"service=shop\",\"deadline_ms\":100}", id[1], path[1]);
    report(&f, wire_target(&f.agent, id[1], 1, "uploading", 1, 2));
    wait_for_text(&f, path[1], "status", "incomplete");
    fixture_restart(&f);
    if (deleted)
        delete_capture(&f, path[0]);
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, id[0], 0), WIRE_STORED);
    wait_for_text(&f, CAPTURES "?status=complete", "items.0.capture", id[1]);
    fixture_stop(&f);
}

START_TEST(late_partition_completes_a_capture_that_has_left_memory)
{
    completes_out_of_memory(false);
    completes_out_of_memory(true);
}
END_TEST

/* POST with a key; the capture's id, or "" where the status is another one than 202. */
static long post_once(struct fixture *f, const char *path, const char *body, const char *key,
                      char id[ID_TEXT_BYTES])
{
    struct http_response response;
    char error[128];
    call(f, "POST", path, body, key, &response);
    cJSON *json =
        json_parse((const char *)response.body.data, response.body.len, error, sizeof error);
    ck_assert_ptr_nonnull(json);
    snprintf(id, ID_TEXT_BYTES, "%s", response.status == 202 ? text_at(json, "capture") : "");
    cJSON_Delete(json);
    long status = response.status;
    http_response_fini(&response);
    return status;
}

START_TEST(repeated_request_begins_one_capture_also_after_a_restart)
{
    struct fixture f;
    char first[ID_TEXT_BYTES], id[ID_TEXT_BYTES], path[96];
    const char *body = "{\"selector\":\"service=shop\",\"deadline_ms\":20000}";
    const char *key = "Idempotency-Key: a-1";
    fixture_start(&f);
    /* One that fails leaves no key. */
    ck_assert_int_eq(post_once(&f, CAPTURES, body, key, id), 422);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    ck_assert_int_eq(post_once(&f, CAPTURES, body, key, first), 202);
    ck_assert_int_eq(post_once(&f, CAPTURES, body, key, id), 202);
    ck_assert_str_eq(id, first);
    ck_assert_int_eq(post_once(&f, CAPTURES, "{\"selector\":\"service=shop\"}", key, id), 422);
    ck_assert_int_eq(post_once(&f, CAPTURES, body, "Idempotency-Key: a 1", id), 400);
    fixture_restart(&f);
    ck_assert_int_eq(post_once(&f, CAPTURES, body, key, id), 202);
    ck_assert_str_eq(id, first);
    cJSON_Delete(wire_agent_hello(&f.agent));
    wire_agent_processes(&f.agent, 1, 1, "shop");
    ck_assert_int_eq(post_once(&f, CAPTURES, body, "Idempotency-Key: a-2", id), 202);
    ck_assert_str_ne(id, first);
    snprintf(path, sizeof path, CAPTURES "/%s", first);
    delete_capture(&f, path);
    ck_assert_int_eq(post_once(&f, CAPTURES, body, key, id), 409);
    fixture_stop(&f);
}
END_TEST

START_TEST(repeated_trigger_is_answered_as_the_one_that_fired)
{
    struct fixture f;
    char first[ID_TEXT_BYTES], id[ID_TEXT_BYTES], path[96];
    static const char trigger[] = "/api/v1/triggers/deploy", body[] = "{\"reason\":\"deployed\"}";
    const char *key = "Idempotency-Key: t-1";
    fixture_start(&f);
    cJSON_Delete(call_json(&f, "PUT", "/api/v1/rules/deploy",
                           "{\"selector\":\"service=shop\",\"when\":{\"webhook\":{}}}", 201));
    /* Nobody matches: it leaves no key. */
    ck_assert_int_eq(post_once(&f, trigger, body, key, id), 200);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    ck_assert_int_eq(post_once(&f, trigger, body, key, first), 202);
    ck_assert_int_eq(post_once(&f, trigger, body, key, id), 202);
    ck_assert_str_eq(id, first);
    fixture_restart(&f);
    ck_assert_int_eq(post_once(&f, trigger, body, key, id), 202);
    ck_assert_str_eq(id, first);
    ck_assert_int_eq(post_once(&f, trigger, "{}", key, id), 422);
    snprintf(path, sizeof path, CAPTURES "/%s", first);
    delete_capture(&f, path);
    ck_assert_int_eq(post_once(&f, trigger, body, key, id), 409);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "capture_kinds", window_may_be_given_by_its_two_ends, record_takes_what_comes_from_now_on,
        wrong_requests_are_refused_with_the_member_that_is_wrong,
        capture_is_deleted_when_its_time_is_over_but_not_while_it_is_pinned,
        captures_share_partitions_and_the_last_one_takes_them_along,
        shared_partitions_are_found_again_after_the_index_is_lost,
        capture_whose_rows_cannot_be_read_is_an_error_and_not_unknown,
        what_was_sent_for_a_deleted_capture_is_stored_for_another_that_lists_it,
        late_partition_completes_a_capture_that_has_left_memory,
        repeated_request_begins_one_capture_also_after_a_restart,
        repeated_trigger_is_answered_as_the_one_that_fired, NULL));
}
