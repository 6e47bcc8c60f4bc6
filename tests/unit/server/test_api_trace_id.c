/* SPDX-License-Identifier: Apache-2.0
 *
 * From a trace of OpenTelemetry to the partitions and captures that may hold it, and what is said
 * where a footer cannot be read. The truth is what the test has put into each partition.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector_fixture.h"
#include "json.h"
#include "segment.h"
#include "support.h"

#define A      "01a10000000000000000000000000061"
#define B      "01a10000000000000000000000000062"
#define OTHER  "01a10000000000000000000000000063"
#define FIRST  "4bf92f3577b34da6a3ce929d0e0e4736"
#define SECOND "00f067aa0ba902b700f067aa0ba902b7"
#define AT_NS  UINT64_C(1700000000000000000)
#define S      UINT64_C(1000000000)

static uint64_t damaged_offset; /* of a partition in its segment; 0: none */

int __real_store_read(struct store *store, const struct store_place *place, uint64_t from,
                      void *out, size_t n);
int __wrap_store_read(struct store *store, const struct store_place *place, uint64_t from,
                      void *out, size_t n);

/* In front of the store: turns a bit in the footer of one partition. */
int __wrap_store_read(struct store *store, const struct store_place *place, uint64_t from,
                      void *out, size_t n)
{
    int status = __real_store_read(store, place, from, out, n);
    uint64_t at = place->bytes - 60;
    if (status == SKEIN_OK && damaged_offset == place->offset && at >= from && at - from < n)
        ((uint8_t *)out)[at - from] ^= 1;
    return status;
}

static void upload(struct fixture *f, uint32_t process, uint64_t sequence, const char *capture,
                   const char *trace_id)
{
    struct partition_spec spec = {.key = key_of(process, f->agent.epoch, sequence),
                                  .service = process == 1 ? "shop" : "till",
                                  .from_ns = AT_NS + sequence * S,
                                  .to_ns = AT_NS + sequence * S + 1000000,
                                  .trace_id = trace_id};
    struct capture_id id;
    struct buf bytes = {0};
    ck_assert_int_eq(id_parse(capture, id.bytes), SKEIN_OK);
    partition_make(&spec, &bytes);
    ck_assert_int_eq(partition_upload(f->agent.data, &spec.key, &id, &bytes), WIRE_STORED);
    buf_fini(&bytes);
}

/* A capture of one process with these partitions; an id of each, or NULL. */
static void capture_of_process(struct fixture *f, uint32_t process, const char *capture,
                               const char *const *ids, unsigned count)
{
    char error[256];
    ck_assert(wire_agent_report(&f->agent, wire_fired(&f->agent, capture, process, NULL, AT_NS),
                                error, sizeof error));
    for (unsigned i = 0; i < count; i++)
        upload(f, process, i, capture, ids[i]);
    ck_assert(wire_agent_report(&f->agent,
                                wire_target(&f->agent, capture, process, "uploading", count, 1),
                                error, sizeof error));
}

/* A of process 1: nothing, the first trace, nothing, the second; B of process 2: the second alone. */
static void start(struct fixture *f)
{
    static const char *const of_a[] = {NULL, FIRST, NULL, SECOND};
    static const char *const of_b[] = {SECOND, NULL};
    damaged_offset = 0;
    /* Nobody but requests reads: captures are not summed up. */
    fixture_start_with(f, NULL, ",\"analysis\":{\"max_trace_bytes\":0}");
    wire_agent_processes(&f->agent, 1, 1, "shop");
    ck_assert_int_eq(wire_agent_upload(&f->agent, 3, 0, OTHER, 0), WIRE_STORED); /* of neither */
    capture_of_process(f, 1, A, of_a, 4);
    capture_of_process(f, 2, B, of_b, 2);
}

static int items(const cJSON *json)
{
    return cJSON_GetArraySize(at_path(json, "items"));
}

START_TEST(partitions_that_may_hold_a_trace_are_listed)
{
    struct fixture f;
    start(&f);
    cJSON *json = call_json(&f, "GET", "/api/v1/partitions?trace_id=" FIRST, NULL, 200);
    ck_assert_int_eq(items(json), 1);
    ck_assert_double_eq(number_at(json, "items.0.sequence"), 1);
    ck_assert_str_eq(text_at(json, "items.0.trace_id.answer"), "perhaps");
    ck_assert_str_eq(text_at(json, "trace_id.id"), FIRST);
    ck_assert_double_eq(number_at(json, "trace_id.footers"), 7);
    ck_assert_double_eq(number_at(json, "trace_id.unread"), 0);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/partitions?trace_id=" SECOND, NULL, 200);
    ck_assert_int_eq(items(json), 2);
    cJSON_Delete(json);
    /* any case, as filters take it; and with the other parameters */
    json = call_json(&f, "GET",
                     "/api/v1/partitions?capture=" A "&trace_id=00F067AA0BA902B700F067AA0BA902B7",
                     NULL, 200);
    ck_assert_int_eq(items(json), 1);
    ck_assert_double_eq(number_at(json, "items.0.sequence"), 3);
    ck_assert_double_eq(number_at(json, "trace_id.footers"), 4);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/partitions?trace_id=" A, NULL, 200); /* nobody's */
    ck_assert_int_eq(items(json), 0);
    ck_assert_ptr_null(at_path(json, "next_cursor"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/partitions", NULL, 200);
    ck_assert_int_eq(items(json), 7);
    ck_assert_ptr_null(at_path(json, "trace_id"));
    ck_assert_ptr_null(at_path(json, "items.0.trace_id"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(a_cursor_goes_on_behind_what_was_looked_at)
{
    struct fixture f;
    char path[256], first[96];
    start(&f);
    cJSON *json = call_json(&f, "GET", "/api/v1/partitions?limit=1&trace_id=" SECOND, NULL, 200);
    ck_assert_int_eq(items(json), 1);
    snprintf(first, sizeof first, "%s", text_at(json, "items.0.partition"));
    snprintf(path, sizeof path, "/api/v1/partitions?limit=1&trace_id=" SECOND "&cursor=%s",
             text_at(json, "next_cursor"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_int_eq(items(json), 1);
    ck_assert_str_ne(text_at(json, "items.0.partition"), first);
    ck_assert_ptr_null(at_path(json, "next_cursor"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(captures_that_may_hold_a_trace_are_listed)
{
    struct fixture f;
    start(&f);
    cJSON *json = call_json(&f, "GET", "/api/v1/captures?trace_id=" FIRST, NULL, 200);
    ck_assert_int_eq(items(json), 1);
    ck_assert_str_eq(text_at(json, "items.0.capture"), A);
    ck_assert_str_eq(text_at(json, "items.0.trace_id.answer"), "perhaps");
    ck_assert_str_eq(text_at(json, "items.0.trace_id.service"), "shop");
    ck_assert_str_eq(text_at(json, "items.0.trace_id.from"), "2023-11-14T22:13:21.000Z");
    ck_assert_ptr_null(at_path(json, "items.0.trace_id.unread"));
    /* the partition that is named is one that holds it */
    char path[256];
    snprintf(path, sizeof path, "/api/v1/partitions/%s/footer",
             text_at(json, "items.0.trace_id.partition"));
    cJSON_Delete(json);
    json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_str_eq(text_at(json, "types.1.name"), "served");
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures?trace_id=" SECOND, NULL, 200);
    ck_assert_int_eq(items(json), 2);
    cJSON_Delete(json);
    /* of the processes that the selector names */
    json = call_json(&f, "GET", "/api/v1/captures?selector=service%3Dshop&trace_id=" SECOND, NULL,
                     200);
    ck_assert_int_eq(items(json), 1);
    ck_assert_str_eq(text_at(json, "items.0.capture"), A);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures?trace_id=" A, NULL, 200);
    ck_assert_int_eq(items(json), 0);
    ck_assert_double_eq(number_at(json, "trace_id.footers"), 6);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures", NULL, 200);
    ck_assert_int_eq(items(json), 2);
    ck_assert_ptr_null(at_path(json, "trace_id"));
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* The place of the nth partition of the capture in its segment. */
static uint64_t offset_of(struct fixture *f, uint32_t process, uint64_t sequence)
{
    struct partition_row row;
    const struct partition_key key = key_of(process, f->agent.epoch, sequence);
    ck_assert_int_eq(index_find(f->collector.index, &key, &row), 1);
    return row.place.offset;
}

START_TEST(a_footer_that_cannot_be_read_is_told)
{
    struct fixture f;
    start(&f);
    damaged_offset = offset_of(&f, 1, 1);
    cJSON *json = call_json(&f, "GET", "/api/v1/partitions?trace_id=" FIRST, NULL, 200);
    ck_assert_int_eq(items(json), 1);
    ck_assert_str_eq(text_at(json, "items.0.trace_id.answer"), "unread");
    ck_assert_double_eq(number_at(json, "trace_id.unread"), 1);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures?trace_id=" FIRST, NULL, 200);
    ck_assert_int_eq(items(json), 1); /* it may be there, for all that anybody knows */
    ck_assert_str_eq(text_at(json, "items.0.capture"), A);
    ck_assert_str_eq(text_at(json, "items.0.trace_id.answer"), "unread");
    ck_assert_double_eq(number_at(json, "items.0.trace_id.unread"), 1);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/captures?trace_id=" SECOND, NULL, 200);
    ck_assert_int_eq(items(json), 2);
    cJSON_Delete(json);
    damaged_offset = 0;
    fixture_stop(&f);
}
END_TEST

START_TEST(ids_that_are_none_are_refused)
{
    static const char *const hostile[] = {"",
                                          "4bf9",
                                          "4bf92f3577b34da6a3ce929d0e0e47360",
                                          "4bf92f3577b34da6a3ce929d0e0e473g",
                                          "0x4bf92f3577b34da6a3ce929d0e0e47",
                                          "4bf92f3577b34da6a3ce929d0e0e47%00",
                                          "%ff%fe92f3577b34da6a3ce929d0e0e4736a",
                                          "4bf92f35-77b3-4da6-a3ce-929d0e0e4736",
                                          "%2b4bf92f3577b34da6a3ce929d0e0e473"};
    struct fixture f;
    char path[160];
    start(&f);
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        snprintf(path, sizeof path, "/api/v1/partitions?trace_id=%s", hostile[i]);
        struct http_response partitions, captures;
        call(&f, "GET", path, NULL, NULL, &partitions);
        snprintf(path, sizeof path, "/api/v1/captures?trace_id=%s", hostile[i]);
        call(&f, "GET", path, NULL, NULL, &captures);
        ck_assert_msg(partitions.status == 400 && captures.status == 400, "%s: %ld and %ld",
                      hostile[i], partitions.status, captures.status);
        http_response_fini(&partitions);
        http_response_fini(&captures);
    }
    expect_problem(&f, "GET", "/api/v1/captures?trace_id=4bf9", NULL, 400, "trace_id");
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "api_trace_id", partitions_that_may_hold_a_trace_are_listed,
        a_cursor_goes_on_behind_what_was_looked_at, captures_that_may_hold_a_trace_are_listed,
        a_footer_that_cannot_be_read_is_told, ids_that_are_none_are_refused, NULL));
}
