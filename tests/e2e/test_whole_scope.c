/* SPDX-License-Identifier: Apache-2.0
 *
 * Of whom a capture speaks, with the whole product: a hundred processes on one host, one that ended
 * before the trigger. The truth is what each process has counted itself, in a file that it maps.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "whole.h"

enum { CROWD = 110, EVENTS_EACH = 30 };

/* A capture of all that there is, which must become complete. */
static cJSON *capture_all(const struct whole *w, const char *service)
{
    char body[128], id[ID_TEXT_BYTES];
    (void)snprintf(body, sizeof body,
                   "{\"selector\":\"service=%s\",\"pre_ms\":600000,\"deadline_ms\":60000}",
                   service);
    struct capture_id capture = whole_capture(w, body);
    id_text(capture.bytes, id);
    cJSON *json = whole_capture_final(w, id);
    const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(json, "verdict");
    ck_assert_msg(strcmp(whole_str(json, "status"), "complete") == 0, "%s",
                  whole_str(verdict, "text"));
    return json;
}

static const cJSON *target_of(const cJSON *capture, pid_t pid)
{
    const cJSON *target;
    cJSON_ArrayForEach(target, cJSON_GetObjectItemCaseSensitive(capture, "targets")) {
        if ((pid_t)whole_number(target, "pid") == pid)
            return target;
    }
    ck_abort_msg("process %d is no target", (int)pid);
}

/* All that a process has counted up to `committed` is in its trace. */
static void check_trace(const struct whole *w, const cJSON *capture, const cJSON *target,
                        uint64_t committed)
{
    char path[160];
    struct buf bytes = {0};
    struct tally tally;
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace?process=%s",
                   whole_str(capture, "capture"), whole_str(target, "process"));
    ck_assert_int_eq(whole_http(w, "GET", path, NULL, &bytes), 200);
    tally_trace(&bytes, &tally);
    buf_fini(&bytes);
    ck_assert_uint_eq(tally.threads[0].holes, 0);
    ck_assert_uint_eq(tally.threads[0].first, 0);
    ck_assert_uint_ge(tally.threads[0].count, committed);
}

START_TEST(a_hundred_processes_of_a_host_with_the_defaults_are_all_recorded)
{
    struct whole w;
    static struct load loads[CROWD];
    uint64_t committed[CROWD];
    struct load_options options = {.service = "crowd", .threads = 1, .burst = 1, .pause_us = 20000};
    whole_init(&w, NULL, NULL);
    whole_collector_start(&w);
    whole_agent_start(&w);
    for (int i = 0; i < CROWD; i++)
        load_start(&w, &options, &loads[i]);
    for (int i = 0; i < CROWD; i++)
        load_wait_attached(&loads[i]);
    for (int i = 0; i < CROWD; i++) {
        load_wait_written(&loads[i], EVENTS_EACH);
        committed[i] = loads[i].page->committed[0];
    }
    cJSON *json = capture_all(&w, "crowd");
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "targets")), CROWD);
    for (int i = 0; i < CROWD; i++)
        check_trace(&w, json, target_of(json, loads[i].pid), committed[i]);
    cJSON_Delete(json);
    for (int i = 0; i < CROWD; i++)
        load_free(&loads[i]);
    whole_fini(&w);
}
END_TEST

START_TEST(an_instance_that_ended_before_the_trigger_is_in_the_capture)
{
    struct whole w;
    struct load old, young;
    struct load_options options = {.service = "turn", .threads = 1, .burst = 5, .pause_us = 1000};
    whole_init(&w, NULL, "\"crash\":{\"capture\":false}");
    whole_collector_start(&w);
    whole_agent_start(&w);
    load_start(&w, &options, &old);
    load_wait_attached(&old);
    load_wait_events(&old, 500);
    pid_t pid = old.pid;
    load_kill(&old, SIGKILL);
    uint64_t committed = old.page->committed[0];
    load_start(&w, &options, &young);
    load_wait_attached(&young);
    load_wait_events(&young, 100);
    cJSON *json = capture_all(&w, "turn");
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "targets")), 2);
    check_trace(&w, json, target_of(json, pid), committed);
    cJSON_Delete(json);
    load_free(&old);
    load_free(&young);
    whole_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_scope");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 280);
    tcase_add_test(tc, a_hundred_processes_of_a_host_with_the_defaults_are_all_recorded);
    tcase_add_test(tc, an_instance_that_ended_before_the_trigger_is_in_the_capture);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
