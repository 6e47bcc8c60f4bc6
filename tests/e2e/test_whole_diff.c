/* SPDX-License-Identifier: Apache-2.0
 *
 * A failure beside its baseline, with a program of Debian's: redis-server under `skein run` that stops
 * for two seconds. The capture's file and, by the collector, the capture itself say what is new and
 * since when. One thread.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "json.h"
#include "whole.h"

#define SECOND UINT64_C(1000000000)

static struct whole w;
static char *out, *file;
static char port[8], url[64];
static pid_t redis, sleeper;

static int run(const char *const argv[])
{
    remove(out);
    return spawn_wait(spawn(argv, &(struct spawn_options){.out_file = out}), 0);
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

static void set_up(void)
{
    whole_init(&w, NULL, NULL);
    out = whole_path(&w, "out");
    file = whole_path(&w, "redis.skein");
    whole_collector_start(&w);
    whole_agent_start(&w);
    snprintf(port, sizeof port, "%u", free_port());
    snprintf(url, sizeof url, "http://127.0.0.1:%u", w.http);
}

static void tear_down(void)
{
    if (sleeper > 0)
        (void)spawn_stop(sleeper, SIGKILL, 0);
    if (redis > 0)
        (void)spawn_stop(redis, SIGKILL, 0);
    whole_fini(&w);
    free(file);
    free(out);
}

static bool answers(void *context)
{
    (void)context;
    return RUN("redis-cli", "-p", port, "ping") == 0;
}

static void redis_start(void)
{
    const char *const server[] = {SKEIN_PROGRAM,
                                  "run",
                                  "--socket",
                                  w.socket,
                                  "--service",
                                  "redis",
                                  "--preload",
                                  SKEIN_PRELOAD,
                                  "--",
                                  "redis-server",
                                  "--port",
                                  port,
                                  "--save",
                                  "",
                                  "--dir",
                                  w.folder,
                                  "--enable-debug-command",
                                  "yes",
                                  NULL};
    redis = spawn(server, &(struct spawn_options){.out_file = out});
    whole_wait_live(&w, "service=redis", 1);
    ck_assert(wait_until(answers, NULL, 0));
}

/* Healthy for three seconds, then asleep; what is there of it is captured while it sleeps, or right
 * behind. The capture's id. */
static void stall_capture(char id[ID_TEXT_BYTES])
{
    char error[256];
    const char *const stall[] = {"redis-cli", "-p", port, "debug", "sleep", "2", NULL};
    uint64_t from_ns = clock_monotonic_ns();
    while (clock_monotonic_ns() - from_ns < 3 * SECOND)
        ck_assert_int_eq(RUN("redis-cli", "-p", port, "incr", "counter"), 0);
    sleeper = spawn(stall, &(struct spawn_options){.out_file = out});
    ck_assert_int_eq(spawn_wait(sleeper, 0), 0);
    sleeper = 0;
    int status = RUN(SKEIN_PROGRAM, "snapshot", "-l", "service=redis", "--pre", "8s", "--collector",
                     url, "-o", file, "-o", "json");
    ck_assert(status == 0 || status == 3); /* an early hole of a young process */
    char *said = file_read(out, NULL);
    cJSON *json = json_parse(said, strlen(said), error, sizeof error);
    ck_assert_msg(json != NULL, "%s: %s", error, said);
    snprintf(id, ID_TEXT_BYTES, "%s", whole_str(json, "capture"));
    cJSON_Delete(json);
    free(said);
}

static cJSON *diff_said(void)
{
    char error[256];
    char *said = file_read(out, NULL);
    cJSON *json = json_parse(said, strlen(said), error, sizeof error);
    ck_assert_msg(json != NULL, "%s: %s", error, said);
    free(said);
    return json;
}

static void expect_sleep(const cJSON *diff)
{
    const cJSON *baseline = cJSON_GetObjectItem(diff, "baseline");
    const cJSON *onset = cJSON_GetObjectItem(diff, "onset");
    const cJSON *first = cJSON_GetObjectItem(diff, "changes")->child;
    ck_assert_str_eq(whole_str(baseline, "chosen"), "earlier");
    ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(onset, "found")));
    ck_assert_str_eq(whole_str(onset, "service"), "redis");
    ck_assert_ptr_nonnull(first);
    ck_assert_str_eq(whole_str(first, "name"), "sleep");
    ck_assert(whole_number(cJSON_GetObjectItem(first, "before"), "count") < 1);
}

START_TEST(a_stall_is_found_in_the_file_and_by_the_collector)
{
    char id[ID_TEXT_BYTES], path[128];
    redis_start();
    stall_capture(id);
    ck_assert_int_eq(RUN(SKEIN_PROGRAM, "diff", file, "--json"), 0);
    cJSON *of_file = diff_said();
    expect_sleep(of_file);
    /* the same by the collector, which knows when the snapshot was: behind the stall */
    snprintf(path, sizeof path, "/api/v1/captures/%s/diff", id);
    cJSON *of_capture = whole_get(&w, "%s", path);
    expect_sleep(of_capture);
    ck_assert_str_eq(whole_str(of_capture, "capture"), id);
    /* and as it is typed */
    int status = RUN(SKEIN_PROGRAM, "diff", id, "--collector", url);
    char *said = file_read(out, NULL);
    ck_assert_msg(status == 0, "%d: %s", status, said);
    ck_assert_ptr_nonnull(strstr(said, "baseline: earlier: "));
    ck_assert_ptr_nonnull(strstr(said, " rows compared, "));
    free(said);
    ck_assert_int_eq(RUN(SKEIN_PROGRAM, "diff", id, "--collector", url, "--baseline", "sample"), 1);
    cJSON_Delete(of_capture);
    cJSON_Delete(of_file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_diff");
    TCase *tcase = tcase_create("whole_diff");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, a_stall_is_found_in_the_file_and_by_the_collector);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
