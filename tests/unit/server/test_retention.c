/* SPDX-License-Identifier: Apache-2.0
 * Which captures go, in what order and why, and which never do; and what a full disk refuses. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector_fixture.h"
#include "json.h"
#include "support.h"

#define PART 100000 /* about the bytes of a capture */

struct begun {
    char id[ID_TEXT_BYTES], path[96];
};

/* A capture of one process, running. */
static struct begun begin(struct fixture *f, uint32_t process, const char *members)
{
    struct begun b;
    char body[256], uid[ID_TEXT_BYTES];
    struct process_uid of = process_of(process);
    id_text(of.bytes, uid);
    snprintf(body, sizeof body, "{\"selector\":\"process=%s\"%s}", uid, members);
    cJSON *json = call_json(f, "POST", "/api/v1/captures", body, 202);
    snprintf(b.id, sizeof b.id, "%s", text_at(json, "capture"));
    snprintf(b.path, sizeof b.path, "/api/v1/captures/%s", b.id);
    cJSON_Delete(json);
    return b;
}

static void list(struct fixture *f, uint32_t process, const struct begun *b)
{
    char error[256];
    ck_assert_msg(wire_agent_report(&f->agent,
                                    wire_target(&f->agent, b->id, process, "uploading", 1, 1),
                                    error, sizeof error),
                  "%s", error);
}

/* One that has ended, with a partition of `bytes`; everything is of the service svc. */
static struct begun complete(struct fixture *f, uint32_t process, const char *members, size_t bytes)
{
    struct begun b = begin(f, process, members);
    list(f, process, &b);
    ck_assert_int_eq(wire_agent_upload(&f->agent, process, 0, b.id, bytes), WIRE_STORED);
    return b;
}

static struct fixture *asked; /* of the conditions below */

static long status_of(struct fixture *f, const struct begun *b)
{
    struct http_response response;
    call(f, "GET", b->path, NULL, NULL, &response);
    long status = response.status;
    http_response_fini(&response);
    return status;
}

static bool is_gone(void *context)
{
    return status_of(asked, context) == 404;
}

static void wait_gone(struct fixture *f, const struct begun *b)
{
    struct begun gone = *b;
    asked = f;
    ck_assert_msg(wait_until(is_gone, &gone, 0), "%s is still there", b->path);
}

static void expect_there(struct fixture *f, const struct begun *b)
{
    ck_assert_int_eq(status_of(f, b), 200);
}

/* Noted after the capture has gone. */
static void expect_audited(struct fixture *f, const struct begun *b, const char *why)
{
    char path[160];
    snprintf(path, sizeof path, "/api/v1/audit?actor=retention&object=%s", b->id);
    wait_for_text(f, path, "items.0.action", "retention.delete");
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.result"), "ok");
    ck_assert_msg(strstr(text_at(json, "items.0.detail"), why) != NULL, "%s",
                  text_at(json, "items.0.detail"));
    cJSON_Delete(json);
}

START_TEST(the_oldest_go_until_a_service_has_what_it_may)
{
    struct fixture f;
    struct begun b[6];
    fixture_start_with(&f, NULL, ",\"retention\":{\"services\":{\"svc\":350000,\"other\":1}}");
    wire_agent_processes(&f.agent, 1, 6, "shop");
    struct begun running = begin(&f, 6, "");
    ck_assert_int_eq(wire_agent_upload(&f.agent, 6, 0, running.id, 1000), WIRE_STORED);
    for (uint32_t i = 0; i < 5; i++)
        b[i] = complete(&f, i + 1, i == 0 ? ",\"pin\":true" : "", PART);
    wait_gone(&f, &b[1]);
    wait_gone(&f, &b[2]);
    expect_audited(&f, &b[1], "retention.services: svc has ");
    expect_audited(&f, &b[2], "retention.services: svc has ");
    expect_there(&f, &running);
    expect_there(&f, &b[0]);
    expect_there(&f, &b[3]);
    expect_there(&f, &b[4]);
    cJSON *json = call_json(&f, "GET", "/api/v1/storage", NULL, 200);
    ck_assert_str_eq(text_at(json, "status"), "ok");
    ck_assert_str_eq(text_at(json, "quota.status"), "ok");
    ck_assert_str_eq(text_at(json, "services.0.service"), "svc");
    ck_assert_double_eq(number_at(json, "services.0.max_bytes"), 350000);
    ck_assert_double_le(number_at(json, "services.0.bytes"), 350000);
    ck_assert_double_gt(number_at(json, "services.0.bytes"), 3 * PART);
    ck_assert_double_gt(number_at(json, "dead_bytes"), 2 * PART);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

static bool has_no_stray(void *context)
{
    cJSON *json = call_json(context, "GET", "/api/v1/partitions", NULL, 200);
    int left = cJSON_GetArraySize(at_path(json, "items"));
    cJSON_Delete(json);
    return left == 2;
}

START_TEST(what_no_capture_lists_goes_before_any_capture)
{
    struct fixture f;
    fixture_start_with(&f, NULL,
                       ",\"retention\":{\"max_bytes\":300000},"
                       "\"agents\":{\"heartbeat_ms\":200,\"keep_gone_ms\":0}");
    wire_agent_processes(&f.agent, 1, 5, "shop");
    struct begun a = complete(&f, 1, "", PART), b = complete(&f, 2, "", PART);
    for (uint32_t i = 3; i <= 5; i++) /* for the capture of another process */
        ck_assert_int_eq(wire_agent_upload(&f.agent, i, 0, a.id, PART), WIRE_STORED);
    ck_assert_msg(wait_until(has_no_stray, &f, 0), "partitions that no capture has are kept");
    expect_there(&f, &a);
    expect_there(&f, &b);
    wait_for_text(&f, "/api/v1/audit?actor=retention&object=partitions", "items.0.action",
                  "retention.delete");
    fixture_stop(&f);
}
END_TEST

/* Without state.db nobody knows what captures have. */
START_TEST(nothing_is_a_stray_while_the_state_is_lost)
{
    struct fixture f;
    fixture_start_with(&f, NULL,
                       ",\"retention\":{\"max_bytes\":300000},"
                       "\"agents\":{\"heartbeat_ms\":200,\"keep_gone_ms\":0}");
    char *lost = path_join(f.collector.config.folder, "state.db.lost");
    file_write(lost, "", 0);
    wire_agent_processes(&f.agent, 1, 5, "shop");
    struct begun a = complete(&f, 1, ",\"pin\":true", PART);
    struct begun b = complete(&f, 2, ",\"pin\":true", PART);
    for (uint32_t i = 3; i <= 5; i++)
        ck_assert_int_eq(wire_agent_upload(&f.agent, i, 0, a.id, PART), WIRE_STORED);
    wait_for_text(&f, "/api/v1/storage", "quota.status", "exceeded");
    cJSON *json = call_json(&f, "GET", "/api/v1/partitions", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 5);
    cJSON_Delete(json);
    ck_assert_int_eq(remove(lost), 0);
    ck_assert_msg(wait_until(has_no_stray, &f, 0), "partitions that no capture has are kept");
    expect_there(&f, &b);
    free(lost);
    fixture_stop(&f);
}
END_TEST

static int64_t find_none_slowly(void *context, uint64_t *after, uint64_t before_ns, uint64_t *bytes)
{
    (void)before_ns;
    (void)bytes;
    ++*(unsigned *)context;
    (void)poll(NULL, 0, 500);
    *after = 0;
    return 0;
}

START_TEST(a_walk_that_found_no_stray_is_not_repeated_at_once)
{
    struct fixture f;
    static const struct config_map none;
    unsigned walks = 0;
    fixture_start(&f);
    struct collector *c = &f.collector;
    struct retention_settings settings = {.max_bytes = 250000,
                                          .services = &none,
                                          .delete_strays = find_none_slowly,
                                          .context = &walks};
    struct retention *retention;
    wire_agent_processes(&f.agent, 1, 4, "shop");
    struct begun first = complete(&f, 1, "", PART), second = complete(&f, 2, "", PART);
    complete(&f, 3, "", PART);
    ck_assert_int_eq(retention_start(&settings, c->store, c->index, c->catalog, c->captures,
                                     c->audit, &retention),
                     SKEIN_OK);
    wait_gone(&f, &first);
    complete(&f, 4, "", PART);
    wait_gone(&f, &second); /* the quota is exceeded again, and met */
    retention_stop(&retention);
    ck_assert_uint_eq(walks, 1);
    fixture_stop(&f);
}
END_TEST

START_TEST(where_all_is_pinned_nothing_goes_and_the_status_says_so)
{
    struct fixture f;
    fixture_start_with(&f, NULL, ",\"retention\":{\"services\":{\"svc\":50000}}");
    wire_agent_processes(&f.agent, 1, 2, "shop");
    struct begun old = complete(&f, 1, ",\"pin\":true", PART);
    struct begun young = complete(&f, 2, ",\"pin\":true", 1000);
    wait_for_text(&f, "/api/v1/storage", "quota.status", "exceeded");
    cJSON *json = call_json(&f, "GET", "/api/v1/storage", NULL, 200);
    ck_assert_ptr_nonnull(strstr(text_at(json, "quota.reason"), "retention.services.svc"));
    ck_assert_ptr_nonnull(strstr(text_at(json, "quota.reason"), "pinned"));
    cJSON_Delete(json);
    expect_there(&f, &old);
    cJSON_Delete(call_json(&f, "PATCH", old.path, "{\"pin\":false}", 200));
    wait_gone(&f, &old);
    wait_for_text(&f, "/api/v1/storage", "quota.status", "ok");
    expect_there(&f, &young);
    fixture_stop(&f);
}
END_TEST

/* 1 and 2 have the same partition, 3 and 4 (pinned) another: without 1 and 2 it is enough, 1 alone
 * would free nothing; deleting 3 never would. */
START_TEST(shared_bytes_go_with_their_last_capture_and_none_goes_for_nothing)
{
    struct fixture f;
    struct begun b[4];
    fixture_start_with(&f, NULL, ",\"retention\":{\"services\":{\"svc\":150000}}");
    wire_agent_processes(&f.agent, 1, 2, "shop");
    for (uint32_t i = 0; i < 4; i++)
        b[3 - i] = begin(&f, 1 + i / 2, i == 0 ? ",\"pin\":true" : ""); /* the oldest is pinned */
    for (uint32_t i = 0; i < 4; i++)
        list(&f, 1 + i / 2, &b[3 - i]);
    ck_assert_int_eq(wire_agent_upload(&f.agent, 1, 0, b[3].id, PART), WIRE_STORED);
    wait_for_text(&f, b[2].path, "status", "complete");
    ck_assert_int_eq(wire_agent_upload(&f.agent, 2, 0, b[1].id, PART), WIRE_STORED);
    wait_gone(&f, &b[0]);
    wait_gone(&f, &b[1]);
    expect_audited(&f, &b[1], "freed 0 bytes"); /* older than b[0], and deleted before it */
    expect_there(&f, &b[2]);
    expect_there(&f, &b[3]);
    wait_for_text(&f, "/api/v1/storage", "quota.status", "ok");
    fixture_stop(&f);
}
END_TEST

static bool fits(void *context)
{
    cJSON *json = call_json(asked, "GET", "/api/v1/storage", NULL, 200);
    bool does = number_at(json, "bytes") <= *(const double *)context;
    cJSON_Delete(json);
    return does;
}

/* Pinned ones lie between the others in every segment: without moving them nothing is freed. */
START_TEST(segments_shrink_to_what_they_may_take)
{
    enum { COUNT = 40, MAX_BYTES = 6 << 20 };
    struct fixture f;
    struct begun b[COUNT];
    fixture_start_with(&f,
                       "\"min_free_bytes\":0,\"segment_bytes\":1048576,\"compact_below_percent\":0",
                       ",\"retention\":{\"max_bytes\":6291456}");
    wire_agent_processes(&f.agent, 1, COUNT, "shop");
    for (uint32_t i = 0; i < COUNT; i++)
        b[i] = complete(&f, i + 1, i % 4 == 0 ? ",\"pin\":true" : "", 3 * PART);
    asked = &f;
    ck_assert_msg(wait_until(fits, &(double){MAX_BYTES}, 0),
                  "the segments take more than they may");
    expect_audited(&f, &b[1], "retention.max_bytes: ");
    expect_there(&f, &b[COUNT - 1]);
    for (uint32_t i = 0; i < COUNT; i += 4) {
        char path[128];
        struct http_response response;
        snprintf(path, sizeof path, "%s/trace", b[i].path);
        call(&f, "GET", path, NULL, NULL, &response);
        ck_assert_int_eq(response.status, 200);
        ck_assert_uint_gt(response.body.len, 3 * PART);
        http_response_fini(&response);
    }
    fixture_stop(&f);
}
END_TEST

START_TEST(captures_that_say_nothing_are_kept_as_long_as_the_settings_say)
{
    struct fixture f;
    fixture_start_with(&f, NULL, ",\"retention\":{\"ttl_ms\":1}");
    wire_agent_processes(&f.agent, 1, 2, "shop");
    struct begun own = complete(&f, 1, ",\"ttl_ms\":86400000", 0);
    struct begun none = complete(&f, 2, "", 0);
    wait_gone(&f, &none);
    expect_audited(&f, &none, "ttl_ms: it ended at ");
    cJSON *json = call_json(&f, "GET", own.path, NULL, 200);
    ck_assert_double_eq(number_at(json, "ttl_ms"), 86400000);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(a_full_disk_refuses_new_captures_and_partitions_and_says_why)
{
    struct fixture f;
    struct buf bytes = {0};
    struct wire_ack ack;
    uint64_t frame;
    struct partition_key key = key_of(1, 1, 0);
    struct capture_id capture = capture_of(1);
    fixture_start_with(&f, "\"min_free_bytes\":\"9000000000000000000\"", NULL);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    wait_for_text(&f, "/api/v1/storage", "status", "full");
    wait_for_text(&f, "/readyz", "checks.store",
                  "full: agents keep their data until there is room, see store.min_free_bytes");
    cJSON_Delete(call_json(&f, "GET", "/readyz", NULL, 503));
    expect_problem(&f, "POST", "/api/v1/captures", "{\"selector\":\"service=shop\"}", 507, NULL);
    partition_of(&key, 0, &bytes);
    struct transport *data;
    char address[64];
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", f.data_port);
    ck_assert_int_eq(transport_dial(address, WIRE_DATA_MAX, &data), SKEIN_OK);
    partition_send(data, &key, &capture, &bytes);
    ck_assert(ack_receive(data, (int)support_deadline_ms(), &ack, &frame));
    ck_assert_int_eq(ack.status, WIRE_RETRY);
    ck_assert_uint_ge(ack.retry_ms, 1000);
    transport_free(&data);
    buf_fini(&bytes);
    fixture_stop(&f);
}
END_TEST

/* ---- whose captures go ---- */

enum { NOBODY = 65534, OTHER = 1000 };

/* What an agent began by itself for a process of the user. */
static struct begun fire(struct fixture *f, uint32_t process, uint32_t user, const char *trigger,
                         size_t bytes)
{
    struct begun b;
    char error[256] = "";
    snprintf(b.id, sizeof b.id, "0199000000000000%016x", process);
    snprintf(b.path, sizeof b.path, "/api/v1/captures/%s", b.id);
    cJSON *report = wire_fired(&f->agent, b.id, process, NULL, 0);
    cJSON_ReplaceItemInObject(report, "trigger", cJSON_CreateString(trigger));
    cJSON_AddNumberToObject(report, "uid", user);
    ck_assert_msg(wire_agent_report(&f->agent, report, error, sizeof error), "%s", error);
    list(f, process, &b);
    ck_assert_int_eq(wire_agent_upload(&f->agent, process, 0, b.id, bytes), WIRE_STORED);
    return b;
}

/* The quotas that a flood can fill, the triggers that it can have, and how much of it passes by. */
static const struct {
    const char *quota, *bound, *trigger, *of;
} floods[] = {
    {"{\"services\":{\"svc\":900000}}", "retention.services: ", "application",
     "of captures that programs asked for, user 65534 on "},
    {"{\"services\":{\"svc\":900000}}", "retention.services: ", "crash",
     "of captures of rules and crashes, user 65534 on "},
    {"{\"max_bytes\":900000}", "retention.max_bytes: ", "application",
     "of captures that programs asked for, user 65534 on "},
    {"{\"max_bytes\":900000}", "retention.max_bytes: ", "crash",
     "of captures of rules and crashes, user 65534 on "},
};

START_TEST(flood_of_a_user_pushes_out_its_own_captures_alone)
{
    enum { FLOOD = 24 };
    struct fixture f;
    struct begun flood[FLOOD];
    char members[128];
    snprintf(members, sizeof members, ",\"retention\":%s", floods[_i].quota);
    fixture_start_with(&f, "\"min_free_bytes\":0,\"segment_bytes\":1048576", members);
    wire_agent_processes(&f.agent, 1, 4 + FLOOD, "svc");
    const struct begun kept[] = {
        complete(&f, 1, "", PART / 2),               /* a person's */
        fire(&f, 2, OTHER, "application", PART / 2), /* as another user's program asked */
        fire(&f, 3, OTHER, "crash", PART / 2),       /* for a crash of his */
        fire(&f, 4, 0, "crash", PART / 2),           /* and of root's */
    };
    for (uint32_t i = 0; i < FLOOD; i++)
        flood[i] = fire(&f, 5 + i, NOBODY, floods[_i].trigger, PART);
    for (uint32_t i = 0; i < FLOOD / 2; i++)
        wait_gone(&f, &flood[i]);
    expect_audited(&f, &flood[0], floods[_i].bound);
    expect_audited(&f, &flood[0], floods[_i].of);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        expect_there(&f, &kept[i]);
    expect_there(&f, &flood[FLOOD - 1]);
    fixture_stop(&f);
}
END_TEST

/* After a restart it is still known whose they are. */
START_TEST(whose_a_capture_is_outlives_the_collector)
{
    struct fixture f;
    fixture_start_with(&f, "\"min_free_bytes\":0,\"segment_bytes\":1048576",
                       ",\"retention\":{\"services\":{\"svc\":450000}}");
    wire_agent_processes(&f.agent, 1, 8, "svc");
    struct begun rare = fire(&f, 1, OTHER, "application", PART);
    struct begun first = fire(&f, 2, NOBODY, "application", PART);
    (void)fire(&f, 3, NOBODY, "application", PART);
    fixture_restart(&f);
    f.agent.epoch++;
    cJSON_Delete(wire_agent_hello(&f.agent));
    wire_agent_processes(&f.agent, 1, 8, "svc");
    for (uint32_t i = 4; i <= 8; i++)
        (void)fire(&f, i, NOBODY, "application", PART);
    wait_gone(&f, &first);
    expect_there(&f, &rare);
    fixture_stop(&f);
}
END_TEST

/* ---- what is known of captures ---- */

#define ROWS_MAX (UINT64_C(4) << 20) /* the least that state.db may take */
#define BEGUN    1500                /* some 5 KiB each */

static bool rows_fit(void *context)
{
    cJSON *json = call_json(context, "GET", "/api/v1/storage", NULL, 200);
    bool fit = number_at(json, "catalog_bytes") <= (double)ROWS_MAX;
    cJSON_Delete(json);
    return fit;
}

/* An agent that reports captures without an end fills no disk, though nothing of them is stored. */
START_TEST(captures_without_a_byte_go_where_too_much_is_known)
{
    struct fixture f;
    char capture[40], error[256], members[128], path[96];
    snprintf(members, sizeof members, ",\"retention\":{\"max_bytes\":%llu}",
             (unsigned long long)(2 * ROWS_MAX));
    fixture_start_with(&f, NULL, members);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    struct begun other = fire(&f, 2, OTHER, "application", 0);
    for (unsigned i = 0; i < BEGUN; i++) {
        snprintf(capture, sizeof capture, "0199000000000001%016x", i);
        ck_assert(wire_agent_report(&f.agent, wire_fired(&f.agent, capture, 1, "", 0), error,
                                    sizeof error));
        ck_assert(wire_agent_report(&f.agent, wire_target(&f.agent, capture, 1, "nothing", 0, 0),
                                    error, sizeof error));
    }
    ck_assert(wait_until(rows_fit, &f, 0));
    snprintf(path, sizeof path, "/api/v1/captures/%s", capture);
    cJSON_Delete(call_json(&f, "GET", path, NULL, 200)); /* the newest is there */
    expect_there(&f, &other);                            /* and what another user has */
    cJSON *audit = call_json(&f, "GET", "/api/v1/audit?action=retention.delete&limit=1", NULL, 200);
    ck_assert_ptr_nonnull(strstr(text_at(audit, "items.0.detail"), "what is known of captures"));
    cJSON_Delete(audit);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("retention");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 280);
    tcase_add_test(c, the_oldest_go_until_a_service_has_what_it_may);
    tcase_add_test(c, what_no_capture_lists_goes_before_any_capture);
    tcase_add_test(c, nothing_is_a_stray_while_the_state_is_lost);
    tcase_add_test(c, a_walk_that_found_no_stray_is_not_repeated_at_once);
    tcase_add_test(c, where_all_is_pinned_nothing_goes_and_the_status_says_so);
    tcase_add_test(c, shared_bytes_go_with_their_last_capture_and_none_goes_for_nothing);
    tcase_add_test(c, segments_shrink_to_what_they_may_take);
    tcase_add_test(c, captures_that_say_nothing_are_kept_as_long_as_the_settings_say);
    tcase_add_loop_test(c, flood_of_a_user_pushes_out_its_own_captures_alone, 0,
                        sizeof floods / sizeof *floods);
    tcase_add_test(c, whose_a_capture_is_outlives_the_collector);
    tcase_add_test(c, captures_without_a_byte_go_where_too_much_is_known);
    tcase_add_test(c, a_full_disk_refuses_new_captures_and_partitions_and_says_why);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
