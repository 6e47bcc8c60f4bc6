/* SPDX-License-Identifier: Apache-2.0
 *
 * Both daemons as their operator meets them: SIGTERM ends what is under way before the end, SIGHUP
 * reads the settings again, --check-config names the wrong key, exit statuses are 0, 1 and 2.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "whole.h"

static const struct {
    const char *program, *config, *log;
} daemons[] = {{WHOLE_SKEIND, "collector.json", "collector.log"},
               {WHOLE_AGENT, "agent.json", "agent.log"}};
enum { DAEMONS = 2 };

static int run(const struct whole *w, const char *const argv[])
{
    char *out = whole_path(w, "run.log");
    unlink(out);
    struct spawn_options options = {.out_file = out};
    int status = spawn_wait(spawn(argv, &options), 0);
    free(out);
    return status;
}

static void run_said(const struct whole *w, const char *words)
{
    char *out = whole_path(w, "run.log"), *text = file_read(out, NULL);
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(strstr(text, words) != NULL, "\"%s\" is not in: %s", words, text);
    free(text);
    free(out);
}

START_TEST(wrong_settings_are_named_by_their_path)
{
    static const struct {
        const char *text, *path;
    } wrong[DAEMONS][4] = {{{"{\"listen\":{\"htp\":\"127.0.0.1:1\"}}", "listen.htp"},
                            {"{\"store\":{\"min_free_bytes\":-1}}", "store.min_free_bytes"},
                            {"{\"agents\":{\"heartbeat_ms\":\"often\"}}", "agents.heartbeat_ms"},
                            {"{\"log\":{\"level\":\"loud\"}}", "log.level"}},
                           {{"{\"colector\":{}}", "colector"},
                            {"{\"ring\":{\"bytes\":1}}", "ring.bytes"},
                            {"{\"checks\":{\"exec_allow\":\"sh\"}}", "checks.exec_allow"},
                            {"{\"socket\":\"relative\"}", "socket"}}};
    struct whole w;
    whole_init(&w, NULL, NULL);
    char *file = whole_path(&w, "wrong.json");
    for (int d = 0; d < DAEMONS; d++) {
        char *good = whole_path(&w, daemons[d].config);
        const char *const check_good[] = {daemons[d].program, "--config", good, "--check-config",
                                          NULL};
        const char *const check[] = {daemons[d].program, "--config", file, "--check-config", NULL};
        const char *const start[] = {daemons[d].program, "--config", file, NULL};
        ck_assert_int_eq(run(&w, check_good), 0);
        for (int i = 0; i < 4; i++) {
            file_write_text(file, wrong[d][i].text);
            ck_assert_int_eq(run(&w, check), 1);
            run_said(&w, wrong[d][i].path);
            ck_assert_int_eq(run(&w, start), 1);
            run_said(&w, wrong[d][i].path);
        }
        free(good);
    }
    free(file);
    whole_fini(&w);
}
END_TEST

START_TEST(exit_statuses_are_0_1_and_2)
{
    struct whole w;
    whole_init(&w, NULL, NULL);
    for (int d = 0; d < DAEMONS; d++) {
        const char *const help[] = {daemons[d].program, "--help", NULL};
        const char *const version[] = {daemons[d].program, "--version", NULL};
        const char *const unknown[] = {daemons[d].program, "--no-such-option", NULL};
        const char *const argument[] = {daemons[d].program, "argument", NULL};
        const char *const missing[] = {daemons[d].program, "--config", "/nonexistent/x.json", NULL};
        ck_assert_int_eq(run(&w, help), 0);
        ck_assert_int_eq(run(&w, version), 0);
        ck_assert_int_eq(run(&w, unknown), 2);
        ck_assert_int_eq(run(&w, argument), 2);
        ck_assert_int_eq(run(&w, missing), 1);
    }
    whole_fini(&w);
}
END_TEST

START_TEST(a_second_daemon_on_the_same_place_ends_with_status_1)
{
    struct whole w;
    whole_init(&w, NULL, NULL);
    whole_collector_start(&w);
    whole_agent_start(&w);
    for (int d = 0; d < DAEMONS; d++) {
        char *config = whole_path(&w, daemons[d].config);
        const char *const again[] = {daemons[d].program, "--config", config, NULL};
        ck_assert_int_eq(run(&w, again), 1);
        free(config);
    }
    ck_assert_int_eq(whole_http(&w, "GET", "/readyz", NULL, NULL), 200);
    whole_fini(&w);
}
END_TEST

struct target_wait {
    const struct whole *w;
    const char *capture;
};

static bool is_capturing(void *context)
{
    const struct target_wait *wait = context;
    cJSON *json = whole_get(wait->w, "/api/v1/captures/%s", wait->capture);
    const cJSON *target = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "targets"), 0);
    bool capturing = strcmp(whole_str(target, "status"), "capturing") == 0;
    cJSON_Delete(json);
    return capturing;
}

START_TEST(sigterm_finishes_what_is_under_way)
{
    struct whole w;
    struct load load;
    struct load_options options = {.service = "load", .threads = 1, .burst = 5, .pause_us = 1000};
    char id[ID_TEXT_BYTES];
    whole_init(&w, NULL, NULL);
    whole_collector_start(&w);
    whole_agent_start(&w);
    load_start(&w, &options, &load);
    whole_wait_live(&w, "service%3Dload", 1);
    load_wait_attached(&load);
    load_wait_events(&load, 100);
    /* Its post window is far from over: the agent cuts what is there, uploads it, and ends. */
    struct capture_id capture =
        whole_capture(&w, "{\"selector\":\"service=load\",\"pre_ms\":1000,\"post_ms\":600000}");
    id_text(capture.bytes, id);
    struct target_wait wait = {&w, id};
    ck_assert_msg(wait_until(is_capturing, &wait, 0), "not capturing: see %s", w.folder);
    ck_assert_int_eq(whole_stop(&w.agent), 0);
    cJSON *json = whole_get(&w, "/api/v1/partitions?capture=%s", id);
    ck_assert_int_gt(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "items")), 0);
    cJSON_Delete(json);
    ck_assert_int_eq(whole_stop(&w.collector), 0);
    /* All of it is there after the restart, and goes on with the same program. The capture is open
     * for who else may come in its window, until somebody ends it. */
    whole_collector_start(&w);
    json = whole_get(&w, "/api/v1/captures/%s", id);
    ck_assert_str_eq(whole_str(json, "status"), "running");
    ck_assert_str_eq(
        whole_str(cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "targets"), 0),
                  "status"),
        "complete");
    cJSON_Delete(json);
    char path[128];
    snprintf(path, sizeof path, "/api/v1/captures/%s:stop", id);
    ck_assert_int_eq(whole_http(&w, "POST", path, NULL, NULL), 202);
    json = whole_capture_final(&w, id);
    cJSON_Delete(json);
    whole_agent_start(&w);
    whole_wait_live(&w, "service%3Dload", 1);
    whole_serves(&w, "service=load");
    load_free(&load);
    whole_fini(&w);
}
END_TEST

/* The collector hangs, so the agent waits for it as long as it may: its timers are due then. What it
 * has freed by then is filled with what nobody can use. */
START_TEST(an_end_that_takes_long_runs_nothing_that_is_gone)
{
    static const char *const under[] = {
        "env", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=170", NULL};
    struct whole w;
    struct load load;
    struct load_options options = {.service = "load", .threads = 1, .burst = 5, .pause_us = 1000};
    char id[ID_TEXT_BYTES];
    whole_init(&w, NULL, "\"drain_ms\":2500");
    w.agent_under = under;
    whole_collector_start(&w);
    whole_agent_start(&w);
    load_start(&w, &options, &load);
    whole_wait_live(&w, "service%3Dload", 1);
    load_wait_attached(&load);
    struct capture_id capture =
        whole_capture(&w, "{\"selector\":\"service=load\",\"pre_ms\":1000,\"post_ms\":600000}");
    id_text(capture.bytes, id);
    struct target_wait wait = {&w, id};
    ck_assert_msg(wait_until(is_capturing, &wait, 0), "not capturing: see %s", w.folder);
    ck_assert_int_eq(kill(w.collector, SIGSTOP), 0);
    int status = whole_stop(&w.agent);
    ck_assert_int_eq(kill(w.collector, SIGCONT), 0);
    ck_assert_int_eq(status, 0);
    load_free(&load);
    whole_fini(&w);
}
END_TEST

struct words {
    const struct whole *w;
    const char *log, *text;
};

static bool log_has(void *context)
{
    const struct words *words = context;
    char *path = whole_path(words->w, words->log), *text = file_read(path, NULL);
    bool has = text && strstr(text, words->text);
    free(text);
    free(path);
    return has;
}

START_TEST(sighup_reads_the_settings_again)
{
    struct whole w;
    whole_init(&w, NULL, NULL);
    whole_collector_start(&w);
    whole_agent_start(&w);
    for (int d = 0; d < DAEMONS; d++) {
        pid_t pid = d == 0 ? w.collector : w.agent;
        struct words json = {&w, daemons[d].log, "\n{"};
        struct words refused = {&w, daemons[d].log, "log.level"};
        ck_assert(!log_has(&json));
        w.collector_more = w.agent_more = "\"log\":{\"form\":\"json\"}";
        whole_configure(&w);
        ck_assert_int_eq(kill(pid, SIGHUP), 0);
        ck_assert_msg(wait_until(log_has, &json, 0), "%s is not JSON: see %s", json.log, w.folder);
        w.collector_more = w.agent_more = "\"log\":{\"level\":\"loud\"}";
        whole_configure(&w);
        ck_assert_int_eq(kill(pid, SIGHUP), 0);
        ck_assert_msg(wait_until(log_has, &refused, 0), "no word of it: see %s", w.folder);
        ck_assert_int_eq(kill(pid, 0), 0);
    }
    ck_assert_int_eq(whole_http(&w, "GET", "/readyz", NULL, NULL), 200);
    whole_fini(&w);
}
END_TEST

/* Keys and tokens are in their memory. */
START_TEST(daemon_that_is_killed_by_a_fault_leaves_no_core)
{
    struct whole w;
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    char folder[PATH_MAX], path[64];
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    whole_init(&w, NULL, NULL);
    ck_assert_int_eq(chdir(w.folder), 0); /* where a core would be, by the kernel's usual setting */
    if (setrlimit(RLIMIT_CORE, &all) != 0)
        fprintf(stderr, "not shown: cores are barred here\n");
    whole_collector_start(&w);
    whole_agent_start(&w);
    for (int d = 0; d < DAEMONS; d++) {
        pid_t *pid = d == 0 ? &w.collector : &w.agent;
        int status = 0;
        snprintf(path, sizeof path, "/proc/%d/limits", (int)*pid);
        char *limits = file_read(path, NULL);
        ck_assert_ptr_nonnull(limits);
        const char *line = strstr(limits, "Max core file size");
        ck_assert_ptr_nonnull(line);
        ck_assert_msg(strncmp(line + 18 + strspn(line + 18, " "), "0 ", 2) == 0, "%.60s", line);
        free(limits);
        ck_assert_int_eq(kill(*pid, SIGSEGV), 0);
        ck_assert_int_eq(waitpid(*pid, &status, 0), *pid);
        ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
        ck_assert(!WCOREDUMP(status));
        *pid = 0;
    }
    ck_assert_int_eq(chdir(folder), 0);
    whole_fini(&w);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "whole_daemons", wrong_settings_are_named_by_their_path, exit_statuses_are_0_1_and_2,
        a_second_daemon_on_the_same_place_ends_with_status_1, sigterm_finishes_what_is_under_way,
        an_end_that_takes_long_runs_nothing_that_is_gone, sighup_reads_the_settings_again,
        daemon_that_is_killed_by_a_fault_leaves_no_core, NULL));
}
