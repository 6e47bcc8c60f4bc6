/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread dumps through the whole product: asked for by a request, by nobody, refused by the agent's
 * operator; each capture is as complete as without. One thread.
 */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "whole.h"

static struct whole w;
static struct load load;

static void tear_down(void)
{
    load_free(&load);
    whole_fini(&w);
}

/* A capture with these members; it must end complete. */
static cJSON *captured(const char *members, char id[ID_TEXT_BYTES])
{
    char body[256];
    load_wait_events(&load, 100);
    snprintf(body, sizeof body, "{\"selector\":\"service=shop\",\"pre_ms\":1%s}", members);
    struct capture_id capture = whole_capture(&w, body);
    id_text(capture.bytes, id);
    cJSON *json = whole_capture_final(&w, id);
    ck_assert_str_eq(whole_str(json, "status"), "complete");
    return json;
}

static const cJSON *target_of(const cJSON *capture)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(capture, "targets"), 0);
}

/* NULL: the target has no evidence of the kind. */
static const cJSON *evidence_of(const cJSON *target, const char *kind)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(target, "evidence"))
        if (strcmp(whole_str(item, "kind"), kind) == 0)
            return item;
    return NULL;
}

static cJSON *threads_shown(const char *id)
{
    char collector[64];
    char *file = whole_path(&w, "threads.json");
    snprintf(collector, sizeof collector, "http://127.0.0.1:%u", w.http);
    const char *const argv[] = {SKEIN_PROGRAM, "threads",     id,        "-o",
                                "json",        "--collector", collector, NULL};
    pid_t pid = spawn(argv, &(struct spawn_options){.out_file = file});
    ck_assert_int_eq(spawn_wait(pid, 0), 0);
    size_t n;
    char *text = file_read(file, &n);
    cJSON *json = cJSON_Parse(text);
    ck_assert_msg(json != NULL, "%s", text);
    free(text);
    free(file);
    return json;
}

START_TEST(a_dump_that_is_asked_for_is_beside_the_cuts)
{
    char id[ID_TEXT_BYTES];
    whole_shop(&w, &load, NULL);
    cJSON *capture = captured(",\"threads\":true", id);
    const cJSON *target = target_of(capture), *threads = evidence_of(target, "threads");
    ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(capture, "threads")));
    ck_assert_ptr_nonnull(threads);
    ck_assert_msg(strcmp(whole_str(threads, "state"), "taken") == 0 ||
                      strcmp(whole_str(threads, "state"), "partial") == 0,
                  "%s", whole_str(threads, "state"));
    ck_assert_double_ge(whole_number(threads, "events"), load.threads + 2);
    /* produced = stored: its events are both. */
    const cJSON *ledger = cJSON_GetObjectItem(target, "ledger");
    ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(ledger, "complete")));
    ck_assert_double_eq(whole_number(ledger, "produced"), whole_number(ledger, "stored"));

    cJSON *dumps = threads_shown(id);
    ck_assert_int_eq(cJSON_GetArraySize(dumps), 1);
    const cJSON *dump = cJSON_GetArrayItem(dumps, 0), *group, *thread;
    ck_assert_double_eq(whole_number(dump, "pid"), load.pid);
    bool main_thread = false;
    size_t count = 0;
    cJSON_ArrayForEach(group, cJSON_GetObjectItem(dump, "groups"))
        cJSON_ArrayForEach(thread, cJSON_GetObjectItem(group, "threads")) {
            main_thread = main_thread || (pid_t)whole_number(thread, "tid") == load.pid;
            count++;
        }
    ck_assert(main_thread);
    ck_assert_uint_ge(count, load.threads + 1); /* and perhaps the visitor */
    cJSON_Delete(dumps);
    cJSON_Delete(capture);
}
END_TEST

START_TEST(nobody_is_dumped_unasked)
{
    char id[ID_TEXT_BYTES];
    whole_shop(&w, &load, NULL);
    cJSON *capture = captured("", id);
    ck_assert_ptr_null(cJSON_GetObjectItem(capture, "threads"));
    ck_assert_ptr_null(evidence_of(target_of(capture), "threads"));
    cJSON_Delete(capture);
}
END_TEST

START_TEST(an_operator_may_bar_dumps)
{
    char id[ID_TEXT_BYTES];
    whole_init(&w, NULL, "\"evidence\":{\"no_threads\":true}");
    whole_collector_start(&w);
    whole_agent_start(&w);
    const struct load_options options = {
        .service = "shop", .threads = 2, .burst = 10, .pause_us = 1000};
    load_start(&w, &options, &load);
    load_wait_attached(&load);
    whole_wait_live(&w, "service=shop", 1);
    cJSON *capture = captured(",\"threads\":true", id);
    const cJSON *threads = evidence_of(target_of(capture), "threads");
    ck_assert_ptr_nonnull(threads);
    ck_assert_str_eq(whole_str(threads, "state"), "refused");
    ck_assert_ptr_nonnull(strstr(whole_str(threads, "reason"), "evidence.no_threads"));
    ck_assert_double_eq(whole_number(threads, "events"), 0);
    cJSON_Delete(capture);
}
END_TEST

/* Entries of a folder of the agent's in /proc, or lines of its file. */
static size_t agent_count(const char *name, bool folder)
{
    char path[96];
    size_t count = 0, n;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)w.agent, name);
    DIR *entries = folder ? opendir(path) : NULL;
    while (entries != NULL && readdir(entries) != NULL)
        count++;
    if (entries != NULL)
        closedir(entries);
    char *text = folder ? NULL : file_read(path, &n), *rest = text;
    while (text != NULL && strsep(&rest, " ") != NULL)
        count++;
    free(text);
    return count;
}

struct holds {
    size_t descriptors, threads, children;
};

static struct holds agent_holds(void)
{
    char name[48];
    snprintf(name, sizeof name, "task/%d/children", (int)w.agent);
    return (struct holds){agent_count("fd", true), agent_count("task", true),
                          agent_count(name, false)};
}

static bool holds_no_more(void *context)
{
    const struct holds *before = context, now = agent_holds();
    return now.descriptors <= before->descriptors && now.threads <= before->threads &&
           now.children <= before->children;
}

/* SKEIN_DUMPS makes it longer. */
START_TEST(captures_with_evidence_leave_nothing_behind)
{
    char id[ID_TEXT_BYTES];
    const char *wish = getenv("SKEIN_DUMPS");
    long rounds = wish != NULL ? strtol(wish, NULL, 10) : 20;
    struct holds before = {0};
    whole_shop(&w, &load, NULL);
    for (long i = 0; i < rounds; i++) {
        cJSON_Delete(captured(",\"threads\":true", id));
        struct holds now = agent_holds();
        if (i < rounds / 2) { /* what stays open once is opened by then */
            before.descriptors = MAX(before.descriptors, now.descriptors);
            before.threads = MAX(before.threads, now.threads);
            before.children = MAX(before.children, now.children);
        }
        if (wish != NULL && i % 50 == 0)
            printf("%ld: %zu descriptors, %zu threads, %zu children\n", i, now.descriptors,
                   now.threads, now.children);
    }
    ck_assert(wait_until(holds_no_more, &before, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_threads");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_test(t, a_dump_that_is_asked_for_is_beside_the_cuts);
    tcase_add_test(t, nobody_is_dumped_unasked);
    tcase_add_test(t, an_operator_may_bar_dumps);
    tcase_add_test(t, captures_with_evidence_leave_nothing_behind);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
