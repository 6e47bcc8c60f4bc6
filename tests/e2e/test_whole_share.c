/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures of one process whose windows overlap: what they share is stored once, stays while one of
 * them is left, and is taken anew once all of them were deleted.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "whole.h"

enum { KEYS_MAX = 1000 };

struct keys {
    char text[KEYS_MAX][PARTITION_KEY_TEXT_BYTES];
    size_t count;
};

static void take_key(void *context, const char *key)
{
    struct keys *keys = context;
    ck_assert_uint_lt(keys->count, KEYS_MAX);
    (void)snprintf(keys->text[keys->count++], PARTITION_KEY_TEXT_BYTES, "%s", key);
}

static bool has_key(const struct keys *keys, const char *key)
{
    for (size_t i = 0; i < keys->count; i++)
        if (strcmp(keys->text[i], key) == 0)
            return true;
    return false;
}

static void take_listed(void *context, const cJSON *item)
{
    take_key(context, whole_str(item, "partition"));
}

/* Of a capture of the past, which must become complete. */
static void capture_past(const struct whole *w, unsigned pre_ms, char path[96], struct keys *keys)
{
    char body[128], id[ID_TEXT_BYTES];
    (void)snprintf(body, sizeof body, "{\"selector\":\"service=load\",\"pre_ms\":%u}", pre_ms);
    struct capture_id capture = whole_capture(w, body);
    id_text(capture.bytes, id);
    (void)snprintf(path, 96, "/api/v1/captures/%s", id);
    cJSON *json = whole_capture_final(w, id);
    ck_assert_str_eq(whole_str(json, "status"), "complete");
    keys->count = 0;
    whole_target_keys(cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "targets"), 0),
                      take_key, keys);
    cJSON_Delete(json);
}

/* No number of a thread is missing or comes twice. Returns how many there are. */
static uint64_t trace_events(const struct whole *w, const char *capture)
{
    char path[128];
    struct buf bytes = {0};
    struct tally tally;
    (void)snprintf(path, sizeof path, "%s/trace", capture);
    ck_assert_int_eq(whole_http(w, "GET", path, NULL, &bytes), 200);
    tally_trace(&bytes, &tally);
    buf_fini(&bytes);
    for (unsigned i = 0; i < LOAD_THREADS_MAX; i++)
        ck_assert_uint_eq(tally.threads[i].holes, 0);
    return tally.events;
}

START_TEST(what_captures_share_is_stored_once_and_outlives_each)
{
    struct whole w;
    struct load load;
    struct load_options options = {.service = "load", .threads = 2, .burst = 5, .pause_us = 1000};
    static struct keys first, second, third, fourth, all;
    char path[4][96];
    whole_init(&w, NULL, WHOLE_NO_EVIDENCE);
    whole_collector_start(&w);
    whole_agent_start(&w);
    load_start(&w, &options, &load);
    whole_wait_live(&w, "service%3Dload", 1);
    load_wait_attached(&load);
    load_wait_events(&load, 500);
    capture_past(&w, 120000, path[0], &first);
    load_wait_events(&load, 500);
    capture_past(&w, 1000, path[1], &second);
    ck_assert_uint_gt(second.count, first.count);
    for (size_t i = 0; i < first.count; i++)
        ck_assert(has_key(&second, first.text[i]));
    all.count = 0;
    (void)whole_list(&w, "/api/v1/partitions", take_listed, &all);
    ck_assert_uint_eq(all.count, second.count);
    uint64_t events = trace_events(&w, path[1]);
    ck_assert_uint_gt(events, trace_events(&w, path[0]));
    ck_assert_int_eq(whole_http(&w, "DELETE", path[0], NULL, NULL), 204);
    ck_assert_uint_eq(trace_events(&w, path[1]), events);
    /* What is there no more is not listed: the ring still has it. */
    ck_assert_int_eq(whole_http(&w, "DELETE", path[1], NULL, NULL), 204);
    capture_past(&w, 120000, path[2], &third);
    for (size_t i = 0; i < third.count; i++)
        ck_assert(!has_key(&second, third.text[i]));
    ck_assert_uint_ge(trace_events(&w, path[2]), events);
    /* A window that reaches back further than the chain is cut anew, whole. */
    capture_past(&w, 240000, path[3], &fourth);
    for (size_t i = 0; i < fourth.count; i++)
        ck_assert(!has_key(&third, fourth.text[i]));
    ck_assert_uint_ge(trace_events(&w, path[3]), trace_events(&w, path[2]));
    load_kill(&load, SIGKILL);
    load_free(&load);
    whole_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_share");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 280);
    tcase_add_test(c, what_captures_share_is_stored_once_and_outlives_each);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
