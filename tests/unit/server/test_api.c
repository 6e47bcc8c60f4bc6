/* SPDX-License-Identifier: Apache-2.0
 * The HTTP API over a real port: errors, cursors, ranges, slow and drained clients. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture_control.h"
#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "partition_reader.h"
#include "support.h"
#include "trace_file.h"

/* A capture of process 1 with n stored partitions; its path. */
static void capture_with(struct fixture *f, const char *id, unsigned n, size_t noise_bytes,
                         char path[96])
{
    char error[256];
    ck_assert(wire_agent_report(&f->agent, wire_fired(&f->agent, id, 1, NULL, clock_realtime_ns()),
                                error, sizeof error));
    for (unsigned i = 0; i < n; i++)
        wire_agent_upload(&f->agent, 1, i, id, noise_bytes);
    ck_assert(wire_agent_report(&f->agent, wire_target(&f->agent, id, 1, "uploading", n, 1), error,
                                sizeof error));
    snprintf(path, 96, "/api/v1/captures/%s", id);
    wait_for_text(f, path, "targets.0.status", "complete");
}

START_TEST(errors_are_problems_with_the_right_status)
{
    struct fixture f;
    fixture_start(&f);
    expect_problem(&f, "GET", "/nope", NULL, 404, NULL);
    expect_problem(&f, "GET", "/api/v1/agents/zz", NULL, 404, NULL);
    expect_problem(&f, "GET", "/api/v1/captures/zz", NULL, 404, NULL);
    expect_problem(&f, "GET", "/api/v1/partitions/zz", NULL, 404, NULL);
    expect_problem(&f, "GET", "/api/v1/partitions/zz/footer", NULL, 404, NULL);
    expect_problem(&f, "GET", "/api/v1/captures?limit=0", NULL, 400, "limit");
    expect_problem(&f, "GET", "/api/v1/captures?limit=1001", NULL, 400, "limit");
    expect_problem(&f, "GET", "/api/v1/captures?from=yesterday", NULL, 400, "from");
    expect_problem(&f, "GET", "/api/v1/captures?status=done", NULL, 400, "status");
    expect_problem(&f, "GET", "/api/v1/captures?cursor=x", NULL, 400, "cursor");
    expect_problem(&f, "GET", "/api/v1/captures?id=", NULL, 400, "id");
    expect_problem(&f, "GET", "/api/v1/captures?id=01A1", NULL, 400, "id");
    expect_problem(&f, "GET", "/api/v1/partitions?cursor=5-x", NULL, 400, "cursor");
    expect_problem(&f, "GET", "/api/v1/processes?selector=a%20in", NULL, 400, "selector");
    expect_problem(&f, "GET", "/api/v1/agents?page=2", NULL, 400, "page");
    static const char *const windows[] = {"captures", "partitions", "loss", "audit",
                                          "rules/r/history"};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        char path[96];
        snprintf(path, sizeof path, "/api/v1/%s?from=5&to=4", windows[i]);
        expect_problem(&f, "GET", path, NULL, 400, "to");
    }
    static const char *const types[] = {"nope",        "",         "rule.fired,nope",
                                        "rule.fired,", "nope.*,*", "rule.fir"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char path[96];
        snprintf(path, sizeof path, "/api/v1/events?types=%s", types[i]);
        expect_problem(&f, "GET", path, NULL, 400, "types");
    }
    expect_problem(&f, "POST", "/api/v1/captures", "{\"selector\":\"a=b\",\"selector\":\"c=d\"}",
                   400, NULL);
    expect_problem(&f, "POST", "/api/v1/captures", "{\"selector\":\"a=b\",\"pre_ms\":01}", 400,
                   NULL);
    expect_problem(&f, "DELETE", "/api/v1/agents", NULL, 405, NULL);
    expect_problem(&f, "GET", "/api/v1/captures/00:stop", NULL, 405, NULL);
    expect_problem(&f, "POST", "/api/v1/captures", "{\"selector\":\"a=b\"}", 422, "selector");
    expect_problem(&f, "POST", "/api/v1/captures", "{}", 422, "selector");
    expect_problem(&f, "POST", "/api/v1/captures", "{\"selector\":\"a=\",\"pre_ms\":-1}", 422,
                   "pre_ms");
    expect_problem(&f, "POST", "/api/v1/captures", "{\"selector\":\"a=\",\"kind\":\"x\"}", 422,
                   "kind");
    expect_problem(&f, "POST", "/api/v1/captures", "{\"selector\":\"a=\",\"at\":\"x\"}", 422, "at");
    expect_problem(&f, "POST", "/api/v1/captures", "no json", 400, NULL);
    fixture_stop(&f);
}
END_TEST

START_TEST(request_id_is_kept_or_made)
{
    struct fixture f;
    struct http_response response;
    char error[128];
    fixture_start(&f);
    call(&f, "GET", "/nope", NULL, "X-Request-Id: job-7.a_B", &response);
    cJSON *json =
        json_parse((const char *)response.body.data, response.body.len, error, sizeof error);
    ck_assert_str_eq(text_at(json, "request_id"), "job-7.a_B");
    cJSON_Delete(json);
    http_response_fini(&response);
    call(&f, "GET", "/nope", NULL, "X-Request-Id: a b", &response);
    json = json_parse((const char *)response.body.data, response.body.len, error, sizeof error);
    ck_assert_uint_eq(strlen(text_at(json, "request_id")), 32);
    cJSON_Delete(json);
    http_response_fini(&response);
    fixture_stop(&f);
}
END_TEST

START_TEST(body_is_refused_above_the_limit_and_without_its_type)
{
    struct fixture f;
    struct http_response response;
    size_t n = (1u << 20) + 1;
    char *body = malloc(n + 1);
    fixture_start(&f);
    memset(body, ' ', n);
    body[n] = '\0';
    expect_problem(&f, "POST", "/api/v1/captures", body, 413, NULL);
    call(&f, "POST", "/api/v1/captures", NULL, "Content-Type: text/plain", &response);
    ck_assert_int_eq(response.status, 415);
    http_response_fini(&response);
    memset(body, 'x', 12000);
    memcpy(body, "/api/v1/", 8);
    body[900] = '\0';
    expect_problem(&f, "GET", body, NULL, 404, NULL);
    free(body);
    fixture_stop(&f);
}
END_TEST

static void *list_fresh(void *fixture)
{
    return call_json(fixture, "GET", "/api/v1/processes?fresh=true", NULL, 200);
}

START_TEST(a_fresh_list_is_asked_of_the_agents)
{
    struct fixture f;
    pthread_t reader;
    void *answer;
    fixture_start(&f);
    expect_problem(&f, "GET", "/api/v1/processes?fresh=1", NULL, 400, "fresh");
    ck_assert_int_eq(pthread_create(&reader, NULL, list_fresh, &f), 0);
    cJSON *command = wire_agent_command(&f.agent, "processes", (int)support_deadline_ms());
    ck_assert_ptr_nonnull(command);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    wire_agent_ack(&f.agent, command, NULL);
    ck_assert_int_eq(pthread_join(reader, &answer), 0);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(answer, "items")), 2);
    cJSON_Delete(answer);
    cJSON_Delete(command);
    fixture_stop(&f);
}
END_TEST

START_TEST(agents_and_processes_are_listed_page_by_page)
{
    struct fixture f;
    char path[160] = "/api/v1/processes?limit=3";
    unsigned seen = 0, pages = 0;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 8, "shop");
    for (;;) {
        cJSON *json = call_json(&f, "GET", path, NULL, 200);
        seen += (unsigned)cJSON_GetArraySize(at_path(json, "items"));
        pages++;
        ck_assert_str_eq(text_at(json, "items.0.service"), "shop");
        ck_assert_str_eq(text_at(json, "items.0.labels.tier"), "front");
        snprintf(path, sizeof path, "/api/v1/processes?limit=3&cursor=%s",
                 text_at(json, "next_cursor"));
        bool last = at_path(json, "next_cursor") == NULL;
        cJSON_Delete(json);
        if (last)
            break;
    }
    ck_assert_uint_eq(seen, 8);
    ck_assert_uint_eq(pages, 3);
    cJSON *json =
        call_json(&f, "GET", "/api/v1/processes?selector=pid%20in%20(101,102)", NULL, 200);
    ck_assert_double_ge(number_at(json, "items.0.age_ms"), 0);
    ck_assert_str_eq(text_at(json, "items.0.title"), "");
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 2);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/agents/0000000000000007", NULL, 200);
    ck_assert_str_eq(text_at(json, "host"), "host-a");
    ck_assert_str_eq(text_at(json, "labels.zone"), "a");
    ck_assert_double_eq(number_at(json, "processes"), 8);
    cJSON_Delete(json);
    /* A shorter list: the others are gone. */
    wire_agent_processes(&f.agent, 1, 2, "shop");
    wait_for_text(&f, "/api/v1/processes?selector=pid%3D105", "items.0.status", "gone");
    fixture_stop(&f);
}
END_TEST

START_TEST(agents_say_which_cpus_they_sample)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    cJSON *json = call_json(&f, "GET", "/api/v1/agents/0000000000000007", NULL, 200);
    ck_assert_ptr_null(at_path(json, "samples")); /* it has not said */
    cJSON_Delete(json);
    f.agent.samples = "{\"hz\":99,\"cpus\":2,\"bytes\":33554432,\"reach_ms\":19000}";
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 0));
    json = call_json(&f, "GET", "/api/v1/agents/0000000000000007", NULL, 200);
    ck_assert_double_eq(number_at(json, "samples.hz"), 99);
    ck_assert_double_eq(number_at(json, "samples.cpus"), 2);
    ck_assert_double_eq(number_at(json, "samples.bytes"), 33554432);
    ck_assert_double_eq(number_at(json, "samples.reach_ms"), 19000);
    ck_assert_ptr_null(at_path(json, "samples.refused"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/processes", NULL, 200);
    ck_assert_ptr_null(at_path(json, "items.0.samples_refused"));
    cJSON_Delete(json);
    f.agent.samples =
        "{\"hz\":99,\"cpus\":0,\"bytes\":0,\"reach_ms\":0,\"refused\":\"EPERM; needs\"}";
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 0));
    json = call_json(&f, "GET", "/api/v1/agents", NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.samples.refused"), "EPERM; needs");
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/processes", NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.samples_refused"), "EPERM; needs");
    ck_assert_ptr_null(at_path(json, "items.0.refused"));
    cJSON_Delete(json);
    f.agent.refused = "{\"sched\":\"no tracefs\",\"threads\":\"no ptrace\"}";
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 0));
    json = call_json(&f, "GET", "/api/v1/agents", NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.refused.sched"), "no tracefs");
    ck_assert_str_eq(text_at(json, "items.0.refused.threads"), "no ptrace");
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/processes", NULL, 200);
    ck_assert_str_eq(text_at(json, "items.0.refused.sched"), "no tracefs");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(captures_are_walked_newest_first_by_cursor)
{
    struct fixture f;
    char path[200] = "/api/v1/captures?limit=2", last[ID_TEXT_BYTES] = "g", error[256], id[33];
    unsigned seen = 0;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    for (unsigned i = 0; i < 5; i++) {
        snprintf(id, sizeof id, "01a1000000000000000000000000000%u", i);
        ck_assert(wire_agent_report(
            &f.agent, wire_fired(&f.agent, id, 1, NULL, clock_realtime_ns()), error, sizeof error));
    }
    for (bool more = true; more;) {
        cJSON *json = call_json(&f, "GET", path, NULL, 200);
        const cJSON *item, *items = at_path(json, "items");
        cJSON_ArrayForEach(item, items) {
            ck_assert_str_lt(text_at(item, "capture"), last);
            snprintf(last, sizeof last, "%s", text_at(item, "capture"));
            ck_assert_ptr_null(at_path(item, "targets"));
            seen++;
        }
        more = at_path(json, "next_cursor") != NULL;
        snprintf(path, sizeof path, "/api/v1/captures?limit=2&cursor=%s",
                 text_at(json, "next_cursor"));
        cJSON_Delete(json);
    }
    ck_assert_uint_eq(seen, 5);
    cJSON *json = call_json(&f, "GET", "/api/v1/captures?selector=service%3Dshop,!x", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 5);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures?selector=service%3Dother", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 0);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures?status=complete", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 0);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures?to=2020-01-01T00:00:00Z", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 0);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* A GET whose status and length are checked; the body is the caller's. */
static void get_part(const struct fixture *f, const char *path, const char *header, long status,
                     size_t n, struct http_response *out)
{
    call(f, "GET", path, NULL, header, out);
    ck_assert_msg(out->status == status && out->body.len == n, "%s: %ld, %zu bytes",
                  header != NULL ? header : "", out->status, out->body.len);
}

START_TEST(trace_is_downloaded_whole_and_by_ranges)
{
    struct fixture f;
    struct http_response whole, part;
    char path[96], trace[128], header[160], *file, error[256];
    struct trace_file *opened;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    capture_with(&f, "01a10000000000000000000000000009", 3, 700000, path);
    snprintf(trace, sizeof trace, "%s/trace", path);
    call(&f, "GET", trace, NULL, NULL, &whole);
    ck_assert_int_eq(whole.status, 200);
    ck_assert_uint_gt(whole.body.len, 3 * 700000);
    ck_assert_str_ne(whole.etag, "");
    file = path_join(f.folder, "t.skein");
    file_write(file, whole.body.data, whole.body.len);
    ck_assert_int_eq(trace_file_open(file, &opened, error, sizeof error), SKEIN_OK);
    ck_assert_uint_eq(trace_file_count(opened), 3);
    ck_assert_uint_eq(trace_file_torn(opened), 0);
    trace_file_free(&opened);
    free(file);
    /* Parts that begin, end and lie across partitions. */
    for (size_t from = 0; from < whole.body.len; from += 555555) {
        size_t n = whole.body.len - from < 600000 ? whole.body.len - from : 600000;
        snprintf(header, sizeof header, "Range: bytes=%zu-%zu", from, from + n - 1);
        get_part(&f, trace, header, 206, n, &part);
        ck_assert_mem_eq(part.body.data, whole.body.data + from, n);
        http_response_fini(&part);
    }
    get_part(&f, trace, "Range: bytes=-5", 206, 5, &part);
    http_response_fini(&part);
    call(&f, "GET", trace, NULL, "Range: bytes=99999999-", &part);
    ck_assert_int_eq(part.status, 416);
    http_response_fini(&part);
    snprintf(header, sizeof header, "If-None-Match: %s", whole.etag);
    get_part(&f, trace, header, 304, 0, &part);
    http_response_fini(&part);
    http_response_fini(&whole);
    expect_problem(&f, "GET", "/api/v1/captures/01a10000000000000000000000000009/trace?format=x",
                   NULL, 400, "format");
    fixture_stop(&f);
}
END_TEST

/* Partition i holds 0.9 s from second 1700000000 + i on. */
#define SLICE_PATH "/api/v1/captures/01a10000000000000000000000000019/trace"

START_TEST(slice_of_a_trace_holds_what_the_window_needs_and_has_its_own_tag)
{
    struct fixture f;
    struct http_response whole, slice, part;
    char path[96], url[200], header[96], error[256];
    struct partition_reader *reader;
    uint64_t length;
    bool is_table;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    capture_with(&f, "01a10000000000000000000000000019", 4, 100000, path);
    call(&f, "GET", SLICE_PATH, NULL, NULL, &whole);
    snprintf(url, sizeof url, "%s", SLICE_PATH "?from=1700000001500000000&to=1700000002100000000");
    call(&f, "GET", url, NULL, NULL, &slice);
    ck_assert_int_eq(slice.status, 200);
    ck_assert_str_ne(slice.etag, whole.etag);
    ck_assert_uint_lt(slice.body.len, whole.body.len * 6 / 10);
    ck_assert_uint_gt(slice.body.len, whole.body.len * 4 / 10);
    http_response_fini(&slice);
    /* Between two partitions' records: tables alone, of a partition that says that it is a slice.
     */
    snprintf(url, sizeof url, "%s", SLICE_PATH "?from=1700000001900000001&to=1700000001950000000");
    call(&f, "GET", url, NULL, NULL, &slice);
    ck_assert_int_eq(slice.status, 200);
    ck_assert_int_eq(trace_head_get(slice.body.data, slice.body.len, &length, &is_table), SKEIN_OK);
    ck_assert_int_eq(partition_check(slice.body.data, (size_t)length, error, sizeof error),
                     SKEIN_OK);
    ck_assert_int_eq(
        partition_reader_new(slice.body.data, (size_t)length, &reader, error, sizeof error),
        SKEIN_OK);
    ck_assert(partition_reader_footer(reader)->slice);
    partition_reader_free(&reader);
    for (size_t from = 0; from < slice.body.len; from += 33333) {
        size_t n = slice.body.len - from < 50000 ? slice.body.len - from : 50000;
        snprintf(header, sizeof header, "Range: bytes=%zu-%zu", from, from + n - 1);
        get_part(&f, url, header, 206, n, &part);
        ck_assert_str_eq(part.etag, slice.etag);
        ck_assert_mem_eq(part.body.data, slice.body.data + from, n);
        http_response_fini(&part);
    }
    http_response_fini(&slice);
    http_response_fini(&whole);
    expect_problem(&f, "GET", SLICE_PATH "?from=1600000000000000000&to=1600000000000000001", NULL,
                   404, NULL);
    expect_problem(&f, "GET", SLICE_PATH "?from=5&to=4", NULL, 400, "to");
    expect_problem(&f, "GET", SLICE_PATH "?from=noon", NULL, 400, "from");
    fixture_stop(&f);
}
END_TEST

/* Stores a partition of one host for the capture. */
static void upload_of_host(struct fixture *f, uint32_t process, const char *host, uint64_t from_ns,
                           int64_t clock_offset_ns, const char *capture)
{
    struct partition_spec spec = {.key = key_of(process, f->agent.epoch, 0),
                                  .from_ns = from_ns,
                                  .to_ns = from_ns + UINT64_C(900000000),
                                  .host = host,
                                  .clock_offset_ns = clock_offset_ns};
    struct capture_id id;
    struct buf bytes = {0};
    ck_assert_int_eq(id_parse(capture, id.bytes), SKEIN_OK);
    partition_make(&spec, &bytes);
    ck_assert_int_eq(partition_upload(f->agent.data, &spec.key, &id, &bytes), WIRE_STORED);
    buf_fini(&bytes);
}

/* Adds all processes that match to a capture. */
static void extend(struct fixture *f, const char *capture, const char *text)
{
    struct capture_id id;
    struct selector *selector;
    char error[256];
    ck_assert_int_eq(id_parse(capture, id.bytes), SKEIN_OK);
    ck_assert_int_eq(selector_new(text, &selector, error, sizeof error), SKEIN_OK);
    control_lock(fleet_control(f->collector.fleet));
    ck_assert_int_gt(capture_extend(f->collector.captures, &id, selector, 0, 0), 0);
    control_unlock(fleet_control(f->collector.fleet));
    selector_free(&selector);
}

#define HOSTS_CAPTURE "01a10000000000000000000000000029"

START_TEST(slice_over_hosts_whose_clocks_differ_goes_by_the_collectors_time)
{
    struct fixture f;
    struct http_response response;
    char path[96], error[256];
    const uint64_t at = UINT64_C(1700000000000000000);
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 2, "shop");
    capture_with(&f, HOSTS_CAPTURE, 1, 0, path);
    extend(&f, HOSTS_CAPTURE, "service=shop"); /* process 1 is at `at`, by a clock that is right */
    upload_of_host(&f, 2, "host-b", at + UINT64_C(5000000000), -INT64_C(5000000000), HOSTS_CAPTURE);
    ck_assert(wire_agent_report(
        &f.agent, wire_target(&f.agent, HOSTS_CAPTURE, 2, "uploading", 1, 1), error, sizeof error));
    call(&f, "GET",
         "/api/v1/captures/" HOSTS_CAPTURE "/trace?from=1700000000000000000&to=1700000000100000000",
         NULL, NULL, &response);
    ck_assert_int_eq(response.status, 200);
    size_t offset = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t length;
        bool is_table;
        struct partition_reader *reader;
        struct trace_event event;
        const uint8_t *bytes = response.body.data + offset;
        ck_assert_int_eq(trace_head_get(bytes, response.body.len - offset, &length, &is_table),
                         SKEIN_OK);
        ck_assert(!is_table);
        ck_assert_int_eq(partition_reader_new(bytes, (size_t)length, &reader, error, sizeof error),
                         SKEIN_OK);
        ck_assert_int_eq(partition_reader_next(reader, &event), 1);
        ck_assert_uint_eq(event.time_ns, at);
        partition_reader_free(&reader);
        offset += (size_t)length;
    }
    http_response_fini(&response);
    expect_problem(&f, "GET",
                   "/api/v1/captures/" HOSTS_CAPTURE
                   "/trace?from=1700000005000000000&to=1700000005900000000",
                   NULL, 404, NULL);
    cJSON *json = call_json(&f, "GET", "/api/v1/captures/" HOSTS_CAPTURE "/manifest", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "targets")), 2);
    for (unsigned i = 0; i < 2; i++) {
        const cJSON *target = cJSON_GetArrayItem(at_path(json, "targets"), (int)i);
        ck_assert_int_eq(cJSON_GetArraySize(at_path(target, "partitions")), 1);
        ck_assert_str_eq(text_at(target, "partitions.0.from"), "2023-11-14T22:13:20.000Z");
        if (strcmp(text_at(target, "host"), "host-b") == 0)
            ck_assert_double_eq(number_at(target, "partitions.0.clock_offset_ns"), -5e9);
        /* each target, and each partition, is at its address */
        call(&f, "GET", text_at(target, "partitions.0.url"), NULL, NULL, &response);
        ck_assert_int_eq(response.status, 200);
        ck_assert_double_eq(number_at(target, "bytes"), (double)response.body.len);
        http_response_fini(&response);
        call(&f, "GET", text_at(target, "url"), NULL, NULL, &response);
        ck_assert_int_eq(response.status, 200);
        ck_assert_double_le(number_at(target, "bytes"), (double)response.body.len);
        http_response_fini(&response);
    }
    cJSON_Delete(json);
    json = call_json(&f, "GET",
                     "/api/v1/partitions?capture=" HOSTS_CAPTURE
                     "&from=1700000000000000000&to=1700000000100000000",
                     NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 2);
    for (int i = 0; i < 2; i++) {
        const cJSON *item = cJSON_GetArrayItem(at_path(json, "items"), i);
        ck_assert_str_eq(text_at(item, "from"), "2023-11-14T22:13:20.000Z");
        char footer_path[PARTITION_KEY_TEXT_BYTES + 40];
        snprintf(footer_path, sizeof footer_path, "/api/v1/partitions/%s/footer",
                 text_at(item, "partition"));
        cJSON *footer = call_json(&f, "GET", footer_path, NULL, 200);
        ck_assert_str_eq(text_at(footer, "from"), text_at(item, "from"));
        ck_assert_str_eq(text_at(footer, "to"), text_at(item, "to"));
        ck_assert_str_eq(text_at(footer, "window.from"), "2023-11-14T22:13:20.000Z");
        cJSON_Delete(footer);
    }
    cJSON_Delete(json);
    json = call_json(&f, "GET",
                     "/api/v1/partitions?capture=" HOSTS_CAPTURE
                     "&from=1700000005000000000&to=1700000005900000000",
                     NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 0);
    cJSON_Delete(json);
    expect_problem(&f, "GET", "/api/v1/captures/01a1000000000000000000000000ff29/manifest", NULL,
                   404, NULL);
    fixture_stop(&f);
}
END_TEST

START_TEST(perfetto_and_partitions_and_footers_are_served)
{
    struct fixture f;
    struct http_response response;
    char path[96], url[200];
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    capture_with(&f, "01a10000000000000000000000000008", 2, 0, path);
    snprintf(url, sizeof url, "%s/trace?format=perfetto", path);
    call(&f, "GET", url, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 200);
    ck_assert_uint_gt(response.body.len, 20);
    http_response_fini(&response);
    cJSON *json = call_json(&f, "GET", "/api/v1/partitions?limit=1", NULL, 200);
    char key[PARTITION_KEY_TEXT_BYTES];
    snprintf(key, sizeof key, "%s", text_at(json, "items.0.partition"));
    ck_assert_str_eq(text_at(json, "items.0.agent"), "0000000000000007");
    snprintf(url, sizeof url, "/api/v1/partitions?cursor=%s", text_at(json, "next_cursor"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", url, NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "items")), 1);
    ck_assert_str_ne(text_at(json, "items.0.partition"), key);
    cJSON_Delete(json);
    snprintf(url, sizeof url, "/api/v1/partitions/%s", key);
    call(&f, "GET", url, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 200);
    char error[256];
    struct partition_reader *reader;
    ck_assert_int_eq(
        partition_reader_new(response.body.data, response.body.len, &reader, error, sizeof error),
        SKEIN_OK);
    partition_reader_free(&reader);
    http_response_fini(&response);
    snprintf(url, sizeof url, "/api/v1/partitions/%s/footer", key);
    json = call_json(&f, "GET", url, NULL, 200);
    ck_assert_str_eq(text_at(json, "partition"), key);
    ck_assert(number_at(json, "events") >= 1);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* Reads until the connection ends; false when it does not in time. */
static bool ends_in_time(int fd)
{
    char sink[4096];
    uint64_t end = clock_monotonic_ns() + support_deadline_ms() * UINT64_C(1000000);
    while (clock_monotonic_ns() < end) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n = poll(&p, 1, 100) > 0 ? recv(fd, sink, sizeof sink, 0) : 1;
        if (n == 0 || (n < 0 && errno != EINTR))
            return true;
    }
    return false;
}

START_TEST(client_that_trickles_is_cut_off)
{
    struct fixture f;
    fixture_start_with(&f, NULL, ",\"http\":{\"drain_ms\":2000,\"threads\":2,\"receive_ms\":1000}");
    int silent = tcp_connect(f.http_port), half = tcp_connect(f.http_port);
    static const char head[] =
        "POST /api/v1/captures HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        "100\r\nContent-Type: application/json\r\n\r\n{";
    ck_assert_int_eq(send(half, head, sizeof head - 1, MSG_NOSIGNAL), sizeof head - 1);
    ck_assert(ends_in_time(silent));
    ck_assert(ends_in_time(half));
    close(silent);
    close(half);
    cJSON_Delete(call_json(&f, "GET", "/healthz", NULL, 200));
    fixture_stop(&f);
}
END_TEST

static void *stop_collector(void *context)
{
    struct fixture *f = context;
    collector_stop(&f->collector);
    return NULL;
}

/* Reads the answer's head into `head` and returns the body's length as it says. */
static size_t read_head(int fd, char *head, size_t n)
{
    size_t got = 0;
    while (got + 1 < n && (got < 4 || memcmp(head + got - 4, "\r\n\r\n", 4) != 0)) {
        ck_assert_int_eq(recv(fd, head + got, 1, 0), 1);
        got++;
    }
    head[got] = '\0';
    const char *length = strstr(head, "Content-Length: ");
    ck_assert_msg(length != NULL, "%s", head);
    return strtoul(length + strlen("Content-Length: "), NULL, 10);
}

START_TEST(running_download_finishes_when_the_collector_stops)
{
    struct fixture f;
    char path[96], text[256], head[2048];
    static char sink[65536];
    pthread_t stopper;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    capture_with(&f, "01a10000000000000000000000000007", 4, 5000000, path);
    int fd = tcp_connect(f.http_port), small = 65536;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    int n = snprintf(text, sizeof text, "GET %s/trace HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    ck_assert_int_eq(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
    size_t left = read_head(fd, head, sizeof head);
    ck_assert_uint_gt(left, 20000000);
    ck_assert_int_eq(pthread_create(&stopper, NULL, stop_collector, &f), 0);
    while (left > 0) {
        ssize_t got = recv(fd, sink, sizeof sink, 0);
        ck_assert_msg(got > 0, "cut off with %zu bytes to come", left);
        left -= (size_t)got;
    }
    close(fd);
    pthread_join(stopper, NULL);
    fixture_stop(&f);
}
END_TEST

START_TEST(clock_offset_is_the_least_delayed_of_the_heartbeats)
{
    struct fixture f;
    fixture_start(&f);
    for (uint64_t delay = 5; delay > 0; delay--)
        cJSON_Delete(wire_agent_beat(
            &f.agent, clock_realtime_ns() - (UINT64_C(3600) + delay) * 1000000000u, 0));
    cJSON *json = call_json(&f, "GET", "/api/v1/agents/0000000000000007", NULL, 200);
    double offset = number_at(json, "clock_offset_ns");
    ck_assert_msg(offset >= 3601e9 && offset < 3602e9, "offset %f", offset);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* What the agent is told to be off by, after a heartbeat that says so; -1: nothing. */
static double clock_error_told(struct fixture *f, const char *says)
{
    f->agent.clock = says;
    cJSON_Delete(wire_agent_beat(&f->agent, 0, 0));
    cJSON *json = call_json(f, "GET", "/api/v1/agents/0000000000000007", NULL, 200);
    const cJSON *told = at_path(json, "clock_error_ns");
    double error_ns = told != NULL ? told->valuedouble : -1;
    cJSON_Delete(json);
    return error_ns;
}

START_TEST(clock_error_grows_with_time_and_is_told_only_where_it_is_known)
{
    struct fixture f;
    char says[160];
    fixture_start(&f);
    cJSON *ack = wire_agent_beat(&f.agent, 0, 0);
    const uint64_t number = (uint64_t)number_at(ack, "clock");
    cJSON_Delete(ack);
    ck_assert_double_eq(clock_error_told(&f, NULL), -1);
    ck_assert_double_eq(clock_error_told(&f, "{\"clock_offset_ns\":5}"), -1);
    snprintf(says, sizeof says,
             "{\"clock_offset_ns\":5,\"clock_error_ns\":400000,\"clock\":%" PRIu64 "}", number);
    ck_assert_double_gt(clock_error_told(&f, says), 400000);
    cJSON *first = call_json(&f, "GET", "/api/v1/agents", NULL, 200);
    const uint64_t since_ns = clock_monotonic_ns();
    while (clock_monotonic_ns() < since_ns + 2000000) /* a thousandth of it is seen */
        ;
    cJSON *second = call_json(&f, "GET", "/api/v1/agents", NULL, 200);
    ck_assert_double_ge(number_at(second, "items.0.clock_error_ns"),
                        number_at(first, "items.0.clock_error_ns") + 2000);
    cJSON_Delete(first);
    cJSON_Delete(second);
    /* Of a setting of our clock that we do not know; and what no clock can be off by. */
    ck_assert_double_eq(clock_error_told(&f, "{\"clock_offset_ns\":5,\"clock_error_ns\":400000,"
                                             "\"clock\":17}"),
                        -1);
    snprintf(says, sizeof says,
             "{\"clock_offset_ns\":5,\"clock_error_ns\":\"18446744073709551615\","
             "\"clock\":%" PRIu64 "}",
             number);
    ck_assert_double_eq(clock_error_told(&f, says), -1);
    fixture_stop(&f);
}
END_TEST

START_TEST(readiness_and_metrics_are_served)
{
    struct fixture f;
    struct http_response response;
    fixture_start(&f);
    cJSON *json = call_json(&f, "GET", "/readyz", NULL, 200);
    ck_assert(cJSON_IsTrue(at_path(json, "ready")));
    ck_assert_str_eq(text_at(json, "checks.store"), "ok");
    cJSON_Delete(json);
    call(&f, "GET", "/metrics", NULL, NULL, &response);
    buf_put_u8(&response.body, 0);
    ck_assert_ptr_nonnull(strstr((char *)response.body.data, "\nskein_agents_known 1\n"));
    http_response_fini(&response);
    call(&f, "HEAD", "/api/v1/agents", NULL, NULL, &response);
    ck_assert_int_eq(response.status, 200);
    ck_assert_uint_eq(response.body.len, 0);
    http_response_fini(&response);
    fixture_stop(&f);
}
END_TEST

/* Nothing is saved without the lock, and a prober must not wait for a disk. */
START_TEST(readiness_writes_nothing_and_waits_for_nobody)
{
    struct fixture f;
    fixture_start(&f);
    struct control *control = fleet_control(f.collector.fleet);
    control_lock(control);
    control_mark_dirty(control);
    cJSON_Delete(call_json(&f, "GET", "/readyz", NULL, 200));
    control_unlock(control);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "api", errors_are_problems_with_the_right_status, request_id_is_kept_or_made,
        body_is_refused_above_the_limit_and_without_its_type, a_fresh_list_is_asked_of_the_agents,
        agents_and_processes_are_listed_page_by_page, agents_say_which_cpus_they_sample,
        captures_are_walked_newest_first_by_cursor, trace_is_downloaded_whole_and_by_ranges,
        slice_of_a_trace_holds_what_the_window_needs_and_has_its_own_tag,
        slice_over_hosts_whose_clocks_differ_goes_by_the_collectors_time,
        perfetto_and_partitions_and_footers_are_served, client_that_trickles_is_cut_off,
        running_download_finishes_when_the_collector_stops,
        clock_offset_is_the_least_delayed_of_the_heartbeats,
        clock_error_grows_with_time_and_is_told_only_where_it_is_known,
        readiness_and_metrics_are_served, readiness_writes_nothing_and_waits_for_nobody, NULL));
}
