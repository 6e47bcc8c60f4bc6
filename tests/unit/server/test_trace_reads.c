/* SPDX-License-Identifier: Apache-2.0
 * What is read of the store for a manifest, a slice, and a trace that is read in any order: counted, not
 * timed. And what a manifest says of clocks. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "capture_has.h"
#include "collector_fixture.h"
#include "partition_make.h"
#include "segment.h"
#include "support.h"
#include "trace_stream.h"

#define CAPTURE    "01a10000000000000000000000000031"
#define OTHER      "01a10000000000000000000000000032"
#define PARTITIONS 6u
#define APART_NS   UINT64_C(3600000000000)
#define AT_NS      UINT64_C(1700000000000000000)
#define OFFSET_NS  INT64_C(-5000000000)

static struct {
    unsigned reads, partitions;
    uint64_t places[64];
} seen;

int __real_store_read(struct store *store, const struct store_place *place, uint64_t from,
                      void *out, size_t n);
int __wrap_store_read(struct store *store, const struct store_place *place, uint64_t from,
                      void *out, size_t n);

/* In front of the store; requests come one after the other. */
int __wrap_store_read(struct store *store, const struct store_place *place, uint64_t from,
                      void *out, size_t n)
{
    unsigned i = 0;
    while (i < seen.partitions && seen.places[i] != place->offset)
        i++;
    bool header = place->bytes == SEGMENT_RECORD_BYTES; /* of the record in front of a partition */
    if (!header && i == seen.partitions && i < 64)
        seen.places[seen.partitions++] = place->offset;
    seen.reads++;
    return __real_store_read(store, place, from, out, n);
}

static void upload(struct fixture *f, uint64_t sequence)
{
    struct partition_spec spec = {.key = key_of(1, f->agent.epoch, sequence),
                                  .from_ns = AT_NS + sequence * APART_NS,
                                  .to_ns = AT_NS + sequence * APART_NS + 1000000,
                                  .clock_offset_ns = OFFSET_NS};
    struct capture_id id;
    struct buf bytes = {0};
    ck_assert_int_eq(id_parse(CAPTURE, id.bytes), SKEIN_OK);
    partition_make(&spec, &bytes);
    ck_assert_int_eq(partition_upload(f->agent.data, &spec.key, &id, &bytes), WIRE_STORED);
    buf_fini(&bytes);
}

/* Its agent says how far the target's times may be off, by the collector's clock of the setting that
 * has so much greater a number than the true one; error_ns 0: it does not say. */
static void start_with(struct fixture *f, uint64_t error_ns, uint64_t setting)
{
    char error[256];
    /* Nobody but requests reads: captures are not summed up. */
    fixture_start_with(f, NULL, ",\"analysis\":{\"max_trace_bytes\":0}");
    wire_agent_processes(&f->agent, 1, 1, "shop");
    ck_assert(wire_agent_report(&f->agent, wire_fired(&f->agent, CAPTURE, 1, NULL, AT_NS), error,
                                sizeof error));
    ck_assert_int_eq(wire_agent_upload(&f->agent, 1, PARTITIONS, OTHER, 0), WIRE_STORED);
    for (uint64_t i = 0; i < PARTITIONS; i++)
        upload(f, i);
    cJSON *report = wire_target(&f->agent, CAPTURE, 1, "uploading", PARTITIONS, 1);
    if (error_ns != 0) {
        cJSON *ack = wire_agent_beat(&f->agent, 0, 0);
        cJSON_AddNumberToObject(report, "clock", number_at(ack, "clock") + (double)setting);
        cJSON_AddNumberToObject(report, "clock_error_ns", (double)error_ns);
        cJSON_Delete(ack);
    }
    ck_assert(wire_agent_report(&f->agent, report, error, sizeof error));
    memset(&seen, 0, sizeof seen);
}

static void start(struct fixture *f)
{
    start_with(f, 0, 0);
}

START_TEST(manifest_reads_nothing_of_the_store)
{
    struct fixture f;
    start(&f);
    cJSON *json = call_json(&f, "GET", "/api/v1/captures/" CAPTURE "/manifest", NULL, 200);
    const cJSON *partitions = at_path(json, "targets.0.partitions");
    ck_assert_int_eq(cJSON_GetArraySize(partitions), PARTITIONS);
    ck_assert_double_eq(number_at(json, "targets.0.partitions.0.clock_offset_ns"),
                        (double)OFFSET_NS);
    ck_assert_str_eq(text_at(json, "targets.0.partitions.0.from"), "2023-11-14T22:13:15.000Z");
    ck_assert_uint_eq(seen.reads, 0);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

static const cJSON *clock_error_at(struct fixture *f, const char *path, cJSON **json)
{
    cJSON_Delete(*json);
    *json = call_json(f, "GET", path, NULL, 200);
    return at_path(*json, strstr(path, "/partitions") != NULL ? "items.0.clock_error_ns"
                                                              : "targets.0.clock_error_ns");
}

START_TEST(a_target_says_how_far_its_times_may_be_off)
{
    static const char *const paths[] = {
        "/api/v1/captures/" CAPTURE, "/api/v1/captures/" CAPTURE "/manifest",
        "/api/v1/captures/" CAPTURE "/overview", "/api/v1/partitions?limit=2&capture=" CAPTURE};
    struct fixture f;
    cJSON *json = NULL;
    start_with(&f, _i == 0 ? 0 : 812345, _i == 2 ? 1 : 0);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const cJSON *told = clock_error_at(&f, paths[i], &json);
        if (_i == 1)
            ck_assert_msg(told != NULL && told->valuedouble == 812345, "%s", paths[i]);
        else /* its agent did not say, or by a setting that nobody knows */
            ck_assert_msg(told == NULL, "%s", paths[i]);
    }
    /* a partition by itself is of no capture's window */
    ck_assert_ptr_null(clock_error_at(&f, "/api/v1/partitions", &json));
    ck_assert_int_gt(cJSON_GetArraySize(at_path(json, "items")), 0);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(slice_reads_only_the_partitions_of_its_window)
{
    struct fixture f;
    struct http_response response;
    char path[160];
    start(&f);
    uint64_t from = AT_NS + 3 * APART_NS - (uint64_t)-OFFSET_NS;
    snprintf(path, sizeof path, "/api/v1/captures/" CAPTURE "/trace?from=%llu&to=%llu",
             (unsigned long long)from, (unsigned long long)from + 10);
    call(&f, "GET", path, NULL, NULL, &response);
    ck_assert_int_eq(response.status, 200);
    ck_assert_uint_gt(seen.reads, 0);
    ck_assert_uint_eq(seen.partitions, 1);
    http_response_fini(&response);
    fixture_stop(&f);
}
END_TEST

START_TEST(a_source_verifies_each_partition_once)
{
    struct fixture f;
    struct partition_ranges *ranges;
    struct trace_stream *stream;
    struct capture_id id;
    uint8_t byte;
    start(&f);
    ck_assert_int_eq(id_parse(CAPTURE, id.bytes), SKEIN_OK);
    ck_assert_int_eq(capture_ranges(f.collector.captures, &id, 1, NULL, &ranges), SKEIN_OK);
    const struct trace_stream_query query = {
        .ranges = ranges, .format = TRACE_SKEIN, .skip_damaged = true, .source = true};
    ck_assert_int_eq(trace_stream_open(f.collector.index, &query, &stream), SKEIN_OK);
    ck_assert_uint_eq(seen.partitions,
                      PARTITIONS); /* all of them, before the first byte is asked */
    unsigned before = seen.reads;
    uint64_t last = trace_stream_bytes(stream) / 2;
    for (unsigned i = 0; i < 100; i++) /* to and fro between two partitions */
        ck_assert_int_eq(trace_stream_give(stream, i % 2 == 0 ? 0 : last, &byte, 1), SKEIN_OK);
    ck_assert_uint_eq(seen.reads - before, 100);
    trace_stream_free(&stream);
    partition_ranges_unref(&ranges);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_of("trace_reads", manifest_reads_nothing_of_the_store,
                            slice_reads_only_the_partitions_of_its_window,
                            a_source_verifies_each_partition_once, NULL);
    TCase *c = tcase_create("clocks");
    tcase_add_loop_test(c, a_target_says_how_far_its_times_may_be_off, 0, 3);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
