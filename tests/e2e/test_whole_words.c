/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs wrote last, through the whole product: a shell under `skein run` says something on
 * its standard error and ends badly; the capture of that and `skein threads` have it, where it went
 * to a file. One thread.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "whole.h"

#define SECOND UINT64_C(1000000000)

static struct whole w;
static char *gate, *log_file, *out;
static pid_t service;

static void set_up(const char *agent_more)
{
    whole_init(&w, NULL, agent_more);
    gate = whole_path(&w, "gate");
    log_file = whole_path(&w, "stderr.log");
    out = whole_path(&w, "out");
    const char *const fifo[] = {"mkfifo", gate, NULL};
    ck_assert_int_eq(spawn_wait(spawn(fifo, NULL), 0), 0);
    whole_collector_start(&w);
    whole_agent_start(&w);
}

static void tear_down(void)
{
    if (service > 0)
        (void)spawn_stop(service, SIGKILL, 0);
    whole_fini(&w);
    free(gate);
    free(log_file);
    free(out);
}

/* A shell that runs `last` once the gate opens; its words, and those of others, go to `redirect`. */
static void service_start(const char *last, const char *redirect)
{
    char script[1024];
    (void)snprintf(script, sizeof script,
                   "exec %s run --socket %s --service wordy --preload %s -- /bin/sh -c '"
                   "ulimit -c 0; echo it begins >&2; read x < %s; %s' %s",
                   SKEIN_PROGRAM, w.socket, PRELOAD, gate, last, redirect);
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    service = spawn(argv, &(struct spawn_options){.out_file = out});
    whole_wait_live(&w, "service=wordy", 1);
}

static int service_end(void)
{
    int fd = open(gate, O_WRONLY | O_CLOEXEC); /* once it reads */
    ck_assert_int_ge(fd, 0);
    close(fd);
    int status = spawn_wait(service, 0);
    service = 0;
    return status;
}

static cJSON *capture_first(void)
{
    uint64_t until_ns = clock_monotonic_ns() + 60 * SECOND;
    cJSON *list = NULL;
    const cJSON *first = NULL;
    while (first == NULL && clock_monotonic_ns() < until_ns) {
        cJSON_Delete(list);
        list = whole_get(&w, "/api/v1/captures");
        first = cJSON_GetArrayItem(cJSON_GetObjectItem(list, "items"), 0);
    }
    ck_assert_ptr_nonnull(first);
    cJSON *capture = whole_capture_final(&w, whole_str(first, "capture"));
    cJSON_Delete(list);
    return capture;
}

static const char *reason_of(const cJSON *capture)
{
    const cJSON *target = cJSON_GetArrayItem(cJSON_GetObjectItem(capture, "targets"), 0), *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(target, "evidence"))
        if (strcmp(whole_str(item, "kind"), "crash") == 0)
            return whole_str(item, "reason");
    ck_abort_msg("no evidence of the crash");
}

static char *skein_says(const char *command, const cJSON *capture)
{
    char collector[64];
    (void)snprintf(collector, sizeof collector, "http://127.0.0.1:%u", w.http);
    const char *const argv[] = {SKEIN_PROGRAM, command,   whole_str(capture, "capture"),
                                "--collector", collector, NULL};
    ck_assert_int_eq(spawn_wait(spawn(argv, &(struct spawn_options){.out_file = out}), 0), 0);
    return file_read(out, NULL);
}

/* All of its events, as `skein cat` shows them. */
static char *events_shown(const cJSON *capture)
{
    char collector[64];
    char *file = whole_path(&w, "capture.skein");
    (void)snprintf(collector, sizeof collector, "http://127.0.0.1:%u", w.http);
    const char *const fetch[] = {SKEIN_PROGRAM, "fetch", whole_str(capture, "capture"),
                                 "-o",          file,    "--collector",
                                 collector,     NULL};
    const char *const cat[] = {SKEIN_PROGRAM, "cat", "--json", file, NULL};
    ck_assert_int_eq(spawn_wait(spawn(fetch, NULL), 0), 0);
    ck_assert_int_eq(spawn_wait(spawn(cat, &(struct spawn_options){.out_file = out}), 0), 0);
    free(file);
    return file_read(out, NULL);
}

static void must_have(const char *text, const char *part)
{
    ck_assert_msg(text != NULL && strstr(text, part) != NULL, "\"%s\" is not in:\n%s", part, text);
}

START_TEST(the_last_words_of_a_program_that_ended_badly_are_in_its_capture)
{
    static const struct {
        const char *last;
        int status;
        const char *reason;
    } ends[] = {{"echo no room for order 7 >&2; exit 3", 3, "it ended by itself, with status 3"},
                {"echo no room for order 7 >&2; kill -ABRT $$", 128 + 6, ""}};
    char redirect[300], line[400];
    set_up("\"crash\":{\"cooldown_ms\":0}");
    (void)snprintf(redirect, sizeof redirect, "2>> %s", log_file);
    service_start(ends[_i].last, redirect);
    ck_assert_int_eq(service_end(), ends[_i].status);
    cJSON *capture = capture_first();
    must_have(reason_of(capture), ends[_i].reason);
    must_have(reason_of(capture), "last words: 30 bytes");
    (void)snprintf(line, sizeof line, "its last words, 2 lines of %s", log_file);
    for (int i = 0; i < 2; i++) {
        char *text = skein_says(i == 0 ? "threads" : "what", capture);
        must_have(text, line);
        must_have(text, "\n        | it begins\n        | no room for order 7\n");
        free(text);
    }
    cJSON_Delete(capture);
}
END_TEST

START_TEST(words_that_went_into_a_pipe_are_all_with_its_reader)
{
    set_up("\"crash\":{\"cooldown_ms\":0}");
    service_start("echo no room for order 7 >&2; exit 3", "2>&1 | cat");
    (void)service_end();
    char *text = file_read(out, NULL);
    must_have(text, "it begins\nno room for order 7\n");
    free(text);
    cJSON *capture = capture_first();
    must_have(reason_of(capture), "no last words: standard error was a pipe");
    text = skein_says("threads", capture);
    must_have(text, "no last words: standard error was a pipe\n");
    free(text);
    cJSON_Delete(capture);
}
END_TEST

START_TEST(privacy_keeps_words_out_of_captures)
{
    char redirect[300];
    set_up("\"crash\":{\"cooldown_ms\":0},\"evidence\":{\"privacy\":\"hash\"}");
    (void)snprintf(redirect, sizeof redirect, "2>> %s", log_file);
    service_start("echo no room for order 7 >&2; exit 3", redirect);
    ck_assert_int_eq(service_end(), 3);
    cJSON *capture = capture_first();
    must_have(reason_of(capture), "no last words: left out by evidence.privacy");
    char *text = skein_says("threads", capture);
    ck_assert_ptr_null(strstr(text, "last words"));
    free(text);
    text = events_shown(capture);
    must_have(text, "wordy");
    ck_assert_ptr_null(strstr(text, "no room"));
    ck_assert_ptr_null(strstr(text, "crash.words"));
    ck_assert_ptr_null(strstr(text, "crash.stderr"));
    free(text);
    cJSON_Delete(capture);
}
END_TEST

/* Of what a script starts a failing status is an answer; its own is a service's. */
START_TEST(what_a_script_starts_makes_no_capture_by_failing)
{
    static const char rule[] =
        "{\"name\":\"ends\",\"selector\":\"service=wordy\",\"when\":{\"crash\":{}},"
        "\"capture\":{\"pre_ms\":500,\"post_ms\":0},\"limits\":{\"cooldown_ms\":0}}";
    set_up("\"crash\":{\"cooldown_ms\":0}");
    struct buf answer = {0};
    ck_assert_int_eq(whole_http(&w, "PUT", "/api/v1/rules/ends", rule, &answer), 201);
    buf_fini(&answer);
    service_start("for i in 1 2 3 4 5 6 7 8 9; do SKEIN_ATTACH_MS=0 cat < /; done; exit 4", "2>&1");
    ck_assert_int_eq(service_end(), 4);
    cJSON *capture = capture_first();
    must_have(whole_str(cJSON_GetObjectItem(capture, "trigger"), "reason"), "ended with status 4");
    cJSON_Delete(capture);
    capture = whole_get(&w, "/api/v1/captures");
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(capture, "items")), 1);
    cJSON_Delete(capture);
    capture = whole_get(&w, "/api/v1/rules/ends");
    const cJSON *state = cJSON_GetObjectItem(capture, "state");
    must_have(whole_str(state, "last_not_fired_why"),
              "ended with status 1: it was not started as the service, and lived for less than a "
              "second");
    ck_assert_double_eq(whole_number(state, "fired"), 1);
    cJSON_Delete(capture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("words");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, NULL, tear_down);
    tcase_set_timeout(all, 0);
    tcase_add_loop_test(all, the_last_words_of_a_program_that_ended_badly_are_in_its_capture, 0, 2);
    tcase_add_test(all, words_that_went_into_a_pipe_are_all_with_its_reader);
    tcase_add_test(all, privacy_keeps_words_out_of_captures);
    tcase_add_test(all, what_a_script_starts_makes_no_capture_by_failing);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
