/* SPDX-License-Identifier: Apache-2.0
 *
 * Slow regions whose cause is made: one key, one thread, one host; and none.
 */
#include <check.h>
#include <cjson/cJSON.h>
#include <string.h>

#include "alloc_fail.h"
#include "incident_make.h"
#include "slow_share.h"
#include "support.h"

#define MS INCIDENT_MS
#define S  INCIDENT_S

static struct skein_trace *trace;
static struct incident *in;

static void begin(uint64_t seed)
{
    in = incident_new(seed);
}

static void trace_open(void)
{
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    const struct buf *bytes = incident_finish(in, 20 * S);
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_msg(skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error) == SKEIN_OK,
                  "%s", error);
}

static void end(struct slow_share **share)
{
    slow_share_free(share);
    skein_trace_free(&trace);
    incident_free(&in);
}

/* Requests of a thousand keys on four threads; those of key 7 take 20 ms, and a few others, too. */
static void requests_make(bool with_cause)
{
    size_t p = incident_process(in, "shop", 100, 3600 * S);
    for (uint64_t at = MS, i = 0; at < 18 * S; at += 4 * MS, i++) {
        int64_t key = i % 121 == 0 ? 7 : (int64_t)incident_random(in, 8, 1000);
        bool slow = (with_cause && key == 7) || incident_random(in, 1, 200) == 1;
        incident_call(in, p, 100 + (uint32_t)(i % 4), &incident_request, at,
                      incident_about(in, slow ? 12 * MS : MS), key, 0, 0);
    }
}

static int share_read(struct slow_share *share, const struct slow_list **list)
{
    const struct skein_query query = {.size = sizeof query};
    struct skein_cursor *cursor;
    struct skein_batch batch;
    int more = 1, status = skein_cursor_new(trace, &query, &cursor);
    while (status == SKEIN_OK && (more = skein_cursor_next(cursor, &batch)) > 0)
        status = slow_share_take(share, trace, &batch);
    skein_cursor_free(&cursor);
    if (more < 0)
        status = more;
    return status == SKEIN_OK ? slow_share_end(share, list) : status;
}

START_TEST(the_key_that_is_slow_is_found)
{
    struct slow_share *share;
    const struct slow_list *list;
    struct buf json = {0};
    begin(3);
    requests_make(true);
    trace_open();
    ck_assert_int_eq(slow_share_new("request", 4 * MS, &share), SKEIN_OK);
    ck_assert_int_eq(share_read(share, &list), SKEIN_OK);
    ck_assert_uint_eq(list->slow + list->rest, 4500); /* each 4 ms of 18 s */
    ck_assert_uint_eq(list->count, 1);
    ck_assert_str_eq(list->values[0].attribute, "argument key");
    ck_assert_str_eq(list->values[0].value, "7");
    ck_assert_uint_eq(list->values[0].slow, 38); /* each 121st */
    ck_assert(list->values[0].lift > 100 && list->values[0].q < 1e-9);
    ck_assert_uint_eq(list->left_out, 0);
    slow_share_json(list, "request", 4 * MS, &json);
    cJSON *root = cJSON_ParseWithLength((const char *)json.data, json.len);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(root, "values")), 1);
    cJSON_Delete(root);
    buf_fini(&json);
    end(&share);
}
END_TEST

START_TEST(without_a_cause_nothing_is_told)
{
    size_t told = 0;
    for (uint64_t seed = 11; seed <= 30; seed++) {
        struct slow_share *share;
        const struct slow_list *list;
        begin(seed);
        requests_make(false);
        trace_open();
        ck_assert_int_eq(slow_share_new("request", 4 * MS, &share), SKEIN_OK);
        ck_assert_int_eq(share_read(share, &list), SKEIN_OK);
        ck_assert_uint_ge(list->slow, SLOW_LEAST);
        ck_assert_uint_gt(list->tests, 10);
        told += list->count > 0;
        end(&share);
    }
    ck_assert_uint_le(told, 3); /* one of twenty is chance */
}
END_TEST

START_TEST(too_few_slow_ones_tell_nothing)
{
    struct slow_share *share;
    const struct slow_list *list;
    begin(5);
    requests_make(true);
    trace_open();
    ck_assert_int_eq(slow_share_new("request", 3600 * S, &share), SKEIN_OK);
    ck_assert_int_eq(share_read(share, &list), SKEIN_OK);
    ck_assert(list->slow == 0 && list->count == 0 && list->tests == 0);
    slow_share_free(&share);
    ck_assert_int_eq(slow_share_new("nothing is called so", 1, &share), SKEIN_OK);
    ck_assert_int_eq(share_read(share, &list), SKEIN_OK);
    ck_assert(list->slow + list->rest == 0);
    end(&share);
}
END_TEST

START_TEST(more_values_than_there_is_room_for_are_counted)
{
    struct slow_share *share;
    const struct slow_list *list;
    begin(6);
    size_t p = incident_process(in, "shop", 100, 3600 * S);
    for (int64_t i = 0; i < SLOW_VALUES + 500; i++)
        incident_call(in, p, 100, &incident_request, (uint64_t)i * MS, MS / 2, i, 0, 0);
    trace_open();
    ck_assert_int_eq(slow_share_new("request", MS, &share), SKEIN_OK);
    ck_assert_int_eq(share_read(share, &list), SKEIN_OK);
    ck_assert_uint_eq(list->left_out, 500);
    ck_assert_uint_eq(list->rest, SLOW_VALUES + 500);
    end(&share);
}
END_TEST

START_TEST(without_memory_it_ends_and_leaves_nothing)
{
    begin(7);
    requests_make(true);
    trace_open();
    for (unsigned n = 1;; n += 1 + n / 8) {
        struct slow_share *share = NULL;
        const struct slow_list *list;
        alloc_fail_at(n);
        int status = slow_share_new("request", 4 * MS, &share);
        if (status == SKEIN_OK)
            status = share_read(share, &list);
        bool failed = alloc_fail_end();
        ck_assert(status == SKEIN_OK || status == SKEIN_NO_MEMORY);
        slow_share_free(&share);
        if (!failed)
            break;
    }
    struct slow_share *none = NULL;
    end(&none);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("slow_share", the_key_that_is_slow_is_found,
                              without_a_cause_nothing_is_told, too_few_slow_ones_tell_nothing,
                              more_values_than_there_is_room_for_are_counted,
                              without_memory_it_ends_and_leaves_nothing, NULL));
}
