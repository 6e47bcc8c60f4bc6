/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons over HTTP: made incidents of a service of eight, each beside its baseline; which baseline
 * is taken, and why the others not; samples that are healthy and those that are not; who sees what.
 * The reading process is the test's own (fake_analyst.h).
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "fake_analyst.h"
#include "json.h"
#include "partition_writer.h"
#include "sampling.h"
#include "support.h"

#define CAPTURE "01a10000000000000000000000000051"
#define FIRING  "01a10000000000000000000000000052"
#define EMPTY   "01a10000000000000000000000000053"
#define DIFF    "/api/v1/captures/" CAPTURE "/diff"
#define SECOND  UINT64_C(1000000000)
#define HOUR    (3600 * SECOND)
#define AT_NS   UINT64_C(1700000000000000000)
#define FROM_NS (AT_NS - 5 * SECOND)
#define TICK_NS 64
#define SHARDS  8u

static const struct sampling_plan plan = {1000, 600000};

static const struct partition_event_type request = {
    .name = "request", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16};
static const struct partition_event_type read_call = {
    .name = "read", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = SKEIN_GROUP_IO};
static const struct partition_event_type stall = {
    .name = "fsync", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = SKEIN_GROUP_IO};

/* What a process did in a time. */
struct doing {
    uint32_t process; /* of process_of */
    uint64_t sequence, from_ns, lasts_ns;
    uint64_t read_ns;
    uint64_t stall_ns, stall_for_ns; /* from the begin; 0: none */
};

/* The summary that the collector has of the capture; NULL: none. */
static const struct buf *stored;
static unsigned stored_uses;

int __wrap_aggregate_answer(struct aggregate *aggregate, const struct capture_id *id,
                            enum analyst_kind kind, struct buf *out);
int __wrap_aggregate_answer(struct aggregate *aggregate, const struct capture_id *id,
                            enum analyst_kind kind, struct buf *out)
{
    (void)aggregate;
    (void)id;
    if (stored == NULL || kind != ANALYST_SUMMARY)
        return SKEIN_NOT_FOUND;
    stored_uses++;
    buf_put(out, stored->data, stored->len);
    return out->status;
}

static enum aggregate_state stored_state = AGGREGATE_DONE; /* of it */

enum aggregate_state __wrap_aggregate_state(struct aggregate *aggregate,
                                            const struct capture_id *id,
                                            char reason[AGGREGATE_REASON_BYTES]);
enum aggregate_state __wrap_aggregate_state(struct aggregate *aggregate,
                                            const struct capture_id *id,
                                            char reason[AGGREGATE_REASON_BYTES])
{
    (void)aggregate;
    (void)id;
    reason[0] = '\0';
    return stored_state;
}

static uint64_t random_state = 7;

static uint64_t about(uint64_t ns)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ns * 3 / 4 + (random_state >> 33) % (ns / 2);
}

static void doing_write(const struct doing *d, struct partition_writer *w)
{
    struct partition_thread main_thread = {1, "main", 1}, other = {2, "flush", 1};
    uint32_t types[3] = {(uint32_t)partition_writer_type(w, &request),
                         (uint32_t)partition_writer_type(w, &read_call),
                         (uint32_t)partition_writer_type(w, &stall)};
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &main_thread), 1, 1, false);
    for (uint64_t at = 0; at + 40000000 < d->lasts_ns; at += about(10000000)) {
        uint64_t read = about(d->read_ns) / TICK_NS, end = 1000 + at / TICK_NS + read;
        partition_writer_event(w, types[1], end, read, NULL);
        partition_writer_event(w, types[0], end + 100, read + 200, NULL);
        at += read * TICK_NS;
    }
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &other), 2, 2, false);
    if (d->stall_for_ns > 0)
        partition_writer_event(w, types[2], 1000 + (d->stall_ns + d->stall_for_ns) / TICK_NS,
                               d->stall_for_ns / TICK_NS, NULL);
}

static void doing_upload(struct fixture *f, const struct doing *d, const char *capture)
{
    uint64_t span = d->lasts_ns;
    struct partition_info info = {
        .key = key_of(d->process, f->agent.epoch, d->sequence),
        .pid = 100 + d->process,
        .clock = PARTITION_CLOCK_MONOTONIC,
        .begin = {1000, 5000, 5000, d->from_ns},
        .end = {1000 + span / TICK_NS, 5000 + span, 5000 + span, d->from_ns + span},
        .window_from_ticks = 1000,
        .window_to_ticks = 1000 + span / TICK_NS,
        .host = "host-a",
        .service = "shard",
        .labels = "",
        .exe = "/bin/shard",
    };
    struct partition_writer *w;
    struct capture_id id;
    struct buf bytes = {0};
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    doing_write(d, w);
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
    ck_assert_int_eq(id_parse(capture, id.bytes), SKEIN_OK);
    ck_assert_int_eq(partition_upload(f->agent.data, &info.key, &id, &bytes), WIRE_STORED);
    buf_fini(&bytes);
}

static void report(struct fixture *f, cJSON *json)
{
    char error[256];
    ck_assert_msg(wire_agent_report(&f->agent, json, error, sizeof error), "%s", error);
}

/* The agent tells of one partition of the process, by its number. */
static void reported(struct fixture *f, const char *capture, const struct doing *d)
{
    cJSON *target = wire_target(&f->agent, capture, d->process, "uploading", 1, 1);
    cJSON *range = cJSON_GetArrayItem(cJSON_GetObjectItem(target, "partitions"), 0);
    cJSON_ReplaceItemInObject(range, "first", cJSON_CreateNumber((double)d->sequence));
    cJSON_ReplaceItemInObject(range, "last", cJSON_CreateNumber((double)d->sequence));
    report(f, target);
}

/* A capture at AT_NS of `count` processes; process 5 is as `failing`, the others read for 1 ms. */
static void start(struct fixture *f, uint32_t count, const struct doing *failing)
{
    fake_analyst = (struct fake_analyst){0};
    fixture_start(f);
    f->collector.api.analyst_run = fake_analyst_run; /* before the first request */
    wire_agent_processes(&f->agent, 1, SHARDS, "shard");
    ck_assert_int_eq(wire_agent_upload(&f->agent, 1, 999, EMPTY, 0), WIRE_STORED);
    report(f, wire_fired(&f->agent, CAPTURE, failing->process, NULL, AT_NS));
    for (uint32_t i = 0; i < count; i++) {
        struct doing d = {
            count == 1 ? failing->process : 1 + i, 0, FROM_NS, 6 * SECOND, 1000000, 0, 0};
        if (d.process == failing->process)
            d = *failing;
        doing_upload(f, &d, CAPTURE);
        reported(f, CAPTURE, &d);
    }
    wait_for_text(f, "/api/v1/captures/" CAPTURE, "targets.0.status", "complete");
}

static const cJSON *change_find(const cJSON *diff, const char *kind, const char *name)
{
    const cJSON *change;
    cJSON_ArrayForEach(change, at_path(diff, "changes")) {
        if (strcmp(text_at(change, "kind"), kind) == 0 &&
            strcmp(text_at(change, "name"), name) == 0)
            return change;
    }
    return NULL;
}

static const struct doing slow_shard = {5, 0, FROM_NS, 6 * SECOND, 4000000, 0, 0};
/* From four seconds of the record on, over the failure at five. */
static const struct doing stalled = {5, 0, FROM_NS, 6 * SECOND, 1000000, 4 * SECOND, 1500000000};

/* ---- what is found ---- */

START_TEST(a_slow_shard_of_eight_is_found_beside_its_neighbours)
{
    struct fixture f;
    start(&f, SHARDS, &slow_shard);
    cJSON *json = call_json(&f, "GET", DIFF "?baseline=neighbours", NULL, 200);
    ck_assert_str_eq(text_at(json, "baseline.chosen"), "neighbours");
    ck_assert_str_eq(text_at(json, "baseline.why"),
                     "the other processes of its service (7), at the same time");
    ck_assert_double_eq(number_at(json, "before.processes"), 7);
    ck_assert_double_eq(number_at(json, "after.processes"), 1);
    ck_assert_str_eq(text_at(json, "changes.0.name"), "read");
    ck_assert(cJSON_IsTrue(at_path(json, "changes.0.sure")));
    ck_assert_ptr_nonnull(strstr(text_at(json, "changes.0.words"), "shard: read took longer"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(healthy_beside_its_neighbours_is_the_same)
{
    static const struct doing healthy = {5, 0, FROM_NS, 6 * SECOND, 1000000, 0, 0};
    struct fixture f;
    start(&f, SHARDS, &healthy);
    cJSON *json = call_json(&f, "GET", DIFF "?baseline=neighbours", NULL, 200);
    const cJSON *change;
    cJSON_ArrayForEach(change, at_path(json, "changes"))
        ck_assert(!cJSON_IsTrue(at_path(change, "sure")));
    ck_assert_str_eq(text_at(json, "outcome"), "same");
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(auto_takes_earlier_and_says_when_it_began)
{
    struct fixture f;
    start(&f, 1, &stalled);
    cJSON *json = call_json(&f, "GET", DIFF, NULL, 200);
    ck_assert_str_eq(text_at(json, "baseline.chosen"), "earlier");
    ck_assert_str_eq(text_at(json, "baseline.asked"), "auto");
    ck_assert(cJSON_IsTrue(at_path(json, "onset.found")));
    ck_assert_str_eq(text_at(json, "onset.name"), "fsync");
    ck_assert_str_eq(text_at(json, "onset.at"), "2023-11-14T22:13:19.000Z");
    ck_assert_str_eq(text_at(json, "onset.failure"), "2023-11-14T22:13:20.000Z");
    ck_assert_str_eq(text_at(json, "changes.0.name"), "fsync");
    ck_assert_double_eq(number_at(json, "changes.0.before.count"), 0);
    ck_assert_double_eq(number_at(json, "changes.0.after.count"), 1);
    ck_assert_uint_eq(fake_analyst.runs, 3);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* By retention, or with another capture that had it, too. */
START_TEST(a_partition_that_is_deleted_meanwhile_is_told)
{
    struct fixture f;
    struct http_response response;
    start(&f, 1, &stalled);
    fake_analyst.status = SKEIN_NOT_FOUND; /* as its source says of a partition that is gone */
    call(&f, "GET", DIFF, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 503);
    buf_put_u8(&response.body, 0);
    ck_assert_ptr_nonnull(
        strstr((const char *)response.body.data, "deleted while it was read; ask again"));
    http_response_fini(&response);
    fake_analyst.status = SKEIN_OK;
    cJSON_Delete(call_json(&f, "GET", DIFF, NULL, 200));
    fixture_stop(&f);
}
END_TEST

START_TEST(a_summary_that_is_kept_is_not_made_again)
{
    struct fixture f;
    struct buf kept = {0}, broken = {0};
    start(&f, 1, &stalled);
    fake_analyst.kept = &kept; /* of the whole capture: it is read first */
    cJSON *made = call_json(&f, "GET", DIFF, NULL, 200);
    ck_assert_uint_eq(fake_analyst.runs, 3);
    stored = &kept;
    cJSON *again = call_json(&f, "GET", DIFF, NULL, 200);
    ck_assert_uint_eq(fake_analyst.runs, 5);
    ck_assert_uint_eq(stored_uses, 1);
    ck_assert(cJSON_Compare(made, again, true));
    /* not where partitions have come since, for a part of it, and where it is broken */
    unsigned runs = fake_analyst.runs;
    stored_state = AGGREGATE_PENDING;
    cJSON_Delete(call_json(&f, "GET", DIFF, NULL, 200));
    ck_assert_uint_eq(stored_uses, 1);
    ck_assert_uint_eq(fake_analyst.runs, runs + 3);
    fake_analyst.runs = runs;
    stored_state = AGGREGATE_DONE;
    cJSON_Delete(call_json(&f, "GET", DIFF "?from=1", NULL, 200));
    ck_assert_uint_eq(stored_uses, 1);
    buf_put(&broken, kept.data, kept.len / 2);
    stored = &broken;
    cJSON_Delete(call_json(&f, "GET", DIFF, NULL, 200));
    ck_assert_uint_eq(fake_analyst.runs, 11);
    stored = NULL;
    cJSON_Delete(made);
    cJSON_Delete(again);
    buf_fini(&kept);
    buf_fini(&broken);
    fixture_stop(&f);
}
END_TEST

/* ---- samples ---- */

/* A policy's sample of process 3, two hours before the failure, in which it does as `d`. */
static void sample_make(struct fixture *f, uint64_t begin_ns, uint64_t sequence,
                        char id[ID_TEXT_BYTES])
{
    struct capture_id capture = sampling_capture(&plan, "all", 1, begin_ns);
    const struct doing d = {3, sequence, begin_ns, SECOND, 1000000, 0, 0};
    char path[96];
    id_text(capture.bytes, id);
    cJSON *fired = wire_fired(&f->agent, id, 3, NULL, begin_ns);
    cJSON_ReplaceItemInObject(fired, "trigger", cJSON_CreateString("policy"));
    cJSON_AddStringToObject(fired, "policy", "all");
    cJSON_ReplaceItemInObject(fired, "pre_ms", cJSON_CreateNumber(0));
    cJSON_ReplaceItemInObject(fired, "post_ms", cJSON_CreateNumber(1000));
    report(f, fired);
    doing_upload(f, &d, id);
    reported(f, id, &d);
    snprintf(path, sizeof path, "/api/v1/captures/%s", id);
    wait_for_text(f, path, "status", "complete");
}

static void policy_put(struct fixture *f)
{
    cJSON_Delete(call_json(f, "PUT", "/api/v1/policies/all",
                           "{\"selector\":\"\",\"record_ms\":1000,\"every_ms\":600000}", 201));
}

START_TEST(the_newest_healthy_sample_older_than_an_hour_is_taken)
{
    struct fixture f;
    char old[ID_TEXT_BYTES], newer[ID_TEXT_BYTES], newest[ID_TEXT_BYTES], error[256];
    start(&f, 1, &slow_shard);
    policy_put(&f);
    expect_problem(&f, "GET", DIFF "?baseline=sample", NULL, 422, "baseline");
    sample_make(&f, AT_NS - 3 * HOUR, 10, old);
    sample_make(&f, AT_NS - 2 * HOUR, 11, newer);
    sample_make(&f, AT_NS - HOUR / 2, 12, newest);
    cJSON *json = call_json(&f, "GET", DIFF "?baseline=sample", NULL, 200);
    ck_assert_str_eq(text_at(json, "baseline.capture"), newer); /* the newest is of the last hour */
    ck_assert_ptr_nonnull(change_find(json, "wait", "read"));
    ck_assert(cJSON_IsTrue(at_path(change_find(json, "wait", "read"), "sure")));
    cJSON_Delete(json);
    /* within it a rule fired for a process of the service */
    cJSON_Delete(call_json(&f, "PUT", "/api/v1/rules/r",
                           "{\"selector\":\"\",\"when\":{\"crash\":{}}}", 201));
    ck_assert(wire_agent_report(&f.agent,
                                wire_fired(&f.agent, FIRING, 2, "r", AT_NS - 2 * HOUR + SECOND),
                                error, sizeof error));
    json = call_json(&f, "GET", DIFF "?baseline=sample", NULL, 200);
    ck_assert_str_eq(text_at(json, "baseline.capture"), old);
    cJSON_Delete(json);
    /* one picked by hand is taken as it is */
    char path[128];
    snprintf(path, sizeof path, DIFF "?with=%s", newer);
    json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "baseline.chosen"), "given");
    ck_assert_str_eq(text_at(json, "baseline.capture"), newer);
    ck_assert_ptr_nonnull(change_find(json, "wait", "read"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(without_a_baseline_each_reason_is_told)
{
    static const struct doing brief = {5, 0, AT_NS - SECOND / 2, SECOND / 2, 1000000, 0, 0};
    struct fixture f;
    struct http_response response;
    start(&f, 1, &brief);
    call(&f, "GET", DIFF, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 422);
    buf_put_u8(&response.body, 0);
    const char *body = (const char *)response.body.data;
    ck_assert_ptr_nonnull(strstr(body, "urn:skein:problem:no-match"));
    ck_assert_ptr_nonnull(strstr(body, "earlier: there is"));
    ck_assert_ptr_nonnull(strstr(body, "sample: no policy's sample of shard"));
    ck_assert_ptr_nonnull(strstr(body, "neighbours: it is the only process"));
    http_response_fini(&response);
    fixture_stop(&f);
}
END_TEST

START_TEST(wrong_requests_are_refused)
{
    struct fixture f;
    start(&f, 1, &stalled);
    expect_problem(&f, "GET", DIFF "?from=5&to=0", NULL, 400, "to");
    expect_problem(&f, "GET", DIFF "?baseline_from=5&baseline_to=0", NULL, 400, "baseline_to");
    expect_problem(&f, "GET", DIFF "?baseline_from=5&baseline_to=4", NULL, 400, "baseline_to");
    expect_problem(&f, "GET", DIFF "?baseline=given", NULL, 400, "baseline");
    expect_problem(&f, "GET", DIFF "?baseline=", NULL, 400, "baseline");
    expect_problem(&f, "GET", DIFF "?with=x", NULL, 400, "with");
    expect_problem(&f, "GET", DIFF "?with=" CAPTURE "&baseline=auto", NULL, 400, "with");
    expect_problem(&f, "GET", DIFF "?with=" FIRING, NULL, 404, "with");
    expect_problem(&f, "GET", DIFF "?process=01a10000000000000000000000000099", NULL, 400,
                   "process");
    expect_problem(&f, "GET", DIFF "?from=5&to=4", NULL, 400, "to");
    expect_problem(&f, "GET", DIFF "?baseline_from=5&baseline_to=4", NULL, 400, "baseline_to");
    expect_problem(&f, "GET", DIFF "?at=soon", NULL, 400, "at");
    expect_problem(&f, "GET", DIFF "?format=x", NULL, 400, "format");
    expect_problem(&f, "GET", "/api/v1/captures/" FIRING "/diff", NULL, 404, NULL);
    expect_problem(&f, "GET", DIFF "?from=5&to=6", NULL, 404, NULL); /* nothing is stored of it */
    fixture_stop(&f);
}
END_TEST

START_TEST(what_reading_fails_with_is_told)
{
    static const struct {
        int status;
        long answer;
    } failures[] = {{SKEIN_TOO_LARGE, 422}, {SKEIN_TIMEOUT, 422},     {SKEIN_CLOSED, 503},
                    {SKEIN_CORRUPT, 500},   {SKEIN_UNSUPPORTED, 503}, {SKEIN_NO_MEMORY, 503}};
    struct fixture f;
    start(&f, 1, &stalled);
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        fake_analyst.status = failures[i].status;
        fake_analyst.error = "words of the reader";
        expect_problem(&f, "GET", DIFF, NULL, failures[i].answer, NULL);
    }
    f.collector.api.analyst_run = NULL;
    expect_problem(&f, "GET", DIFF, NULL, 503, NULL);
    f.collector.api.analyst_run = fake_analyst_run;
    fake_analyst.status = SKEIN_OK; /* and its place is free again */
    cJSON_Delete(call_json(&f, "GET", DIFF, NULL, 200));
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "api_diff", a_slow_shard_of_eight_is_found_beside_its_neighbours,
        healthy_beside_its_neighbours_is_the_same, auto_takes_earlier_and_says_when_it_began,
        a_partition_that_is_deleted_meanwhile_is_told, a_summary_that_is_kept_is_not_made_again,
        the_newest_healthy_sample_older_than_an_hour_is_taken,
        without_a_baseline_each_reason_is_told, wrong_requests_are_refused,
        what_reading_fails_with_is_told, NULL));
}
