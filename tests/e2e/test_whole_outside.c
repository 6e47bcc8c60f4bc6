/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that are watched from outside, through the whole product: found by a selector or named
 * by hand, captured, ended, restarted under. Everywhere it is said that they have no ring. One
 * thread.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outside_scene.h"

static struct load load;

static void load_tear_down(void)
{
    load_free(&load);
    tear_down();
}

START_TEST(a_static_program_that_a_selector_finds_is_captured_from_outside)
{
    char id[ID_TEXT_BYTES];
    both_start(COUNTER);
    counter_start(NULL, NULL);
    whole_wait_live(&w, "service=counter", 1);
    cJSON *list = whole_get(&w, "/api/v1/processes?selector=zone=a");
    const cJSON *process = cJSON_GetArrayItem(cJSON_GetObjectItem(list, "items"), 0);
    ck_assert_str_eq(whole_str(process, "not_recorded"), "watched");
    ck_assert_double_eq(whole_number(process, "pid"), counter);
    ck_assert_double_eq(whole_number(process, "ring_bytes"), 0);
    cJSON_Delete(list);
    cJSON *capture = captured("{\"selector\":\"service=counter\",\"pre_ms\":500,\"post_ms\":500,"
                              "\"threads\":true}",
                              id);
    const cJSON *target = target_of(capture);
    no_lie(capture, target);
    ck_assert_double_eq(counted(capture, "watched"), 1);
    had(target, "threads");
    had(target, "samples"); /* or, where these are refused, each thread's CPU time */
    cJSON_Delete(capture);
}
END_TEST

START_TEST(a_process_that_ends_in_its_capture_is_told_with_its_end)
{
    char id[ID_TEXT_BYTES];
    both_start(COUNTER);
    counter_start(NULL, NULL);
    whole_wait_live(&w, "service=counter", 1);
    struct capture_id capture =
        whole_capture(&w, "{\"selector\":\"service=counter\",\"pre_ms\":100,\"post_ms\":3600000,"
                          "\"threads\":true}");
    id_text(capture.bytes, id);
    counter_end();
    uint64_t ended_ns = clock_realtime_ns();
    char stop[96];
    whole_wait_live(&w, "service=counter", 0);
    (void)snprintf(stop, sizeof stop, "/api/v1/captures/%s:stop", id);
    (void)whole_http(&w, "POST", stop, NULL, NULL);
    cJSON *json = whole_capture_final(&w, id);
    const cJSON *target = target_of(json);
    ck_assert_str_eq(whole_str(target, "status"), "watched");
    const cJSON *gap =
        cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(target, "ledger"), "gaps"), 0);
    uint64_t to_ns = 0;
    ck_assert_int_eq(clock_parse(whole_str(gap, "to"), &to_ns), SKEIN_OK);
    ck_assert_uint_le(to_ns, ended_ns + 60 * SECOND); /* not to the window's end in an hour */
    ck_assert_ptr_null(
        strstr(whole_str(cJSON_GetObjectItem(json, "verdict"), "text"), "nothing lost"));
    cJSON_Delete(json);
}
END_TEST

START_TEST(by_hand_is_watched_until_it_is_undone_also_by_the_next_agent)
{
    char said[512], pid[16], id[ID_TEXT_BYTES];
    both_start(NULL);
    counter_start(NULL, NULL);
    snprintf(pid, sizeof pid, "%d", (int)counter);
    ck_assert_int_eq(watch_process(pid, "--service", "by-hand", said, sizeof said), 0);
    ck_assert_msg(strstr(said, "by-hand") != NULL && strstr(said, pid) != NULL, "%s", said);
    whole_wait_live(&w, "service=by-hand", 1);
    ck_assert_int_ne(watch_process(pid, "--service", "again", said, sizeof said), 0);
    ck_assert_msg(strstr(said, "already") != NULL, "%s", said);
    ck_assert_int_eq(whole_stop(&w.agent), 0);
    whole_agent_start(&w);
    whole_wait_live(&w, "service=by-hand", 1);
    cJSON *capture = captured("{\"selector\":\"service=by-hand\",\"pre_ms\":100}", id);
    no_lie(capture, target_of(capture));
    cJSON_Delete(capture);
    ck_assert_int_eq(watch_process("--stop", pid, NULL, said, sizeof said), 0);
    whole_wait_live(&w, "service=by-hand", 0);
    ck_assert_int_ne(watch_process("--stop", pid, NULL, said, sizeof said), 0);
    counter_end();
    ck_assert_int_ne(watch_process(pid, NULL, NULL, said, sizeof said), 0);
    ck_assert_msg(strstr(said, "no such process") != NULL, "%s", said);
    ck_assert_int_ne(watch_process("2", NULL, NULL, said, sizeof said), 0); /* the kernel's own */
}
END_TEST

START_TEST(one_that_ended_while_no_agent_ran_is_a_target_all_the_same)
{
    char said[512], pid[16], id[ID_TEXT_BYTES];
    both_start(NULL);
    counter_start(NULL, NULL);
    snprintf(pid, sizeof pid, "%d", (int)counter);
    ck_assert_int_eq(watch_process(pid, "--service", "by-hand", said, sizeof said), 0);
    whole_wait_live(&w, "service=by-hand", 1);
    ck_assert_int_eq(whole_stop(&w.agent), 0);
    counter_end();
    whole_agent_start(&w);
    whole_wait_live(&w, "service=by-hand", 0);
    cJSON *capture = captured("{\"selector\":\"service=by-hand\",\"pre_ms\":60000}", id);
    no_lie(capture, target_of(capture));
    cJSON_Delete(capture);
}
END_TEST

START_TEST(beyond_the_bound_processes_are_named_as_not_taken)
{
    char id[ID_TEXT_BYTES];
    both_start("\"watch\":{\"select\":[\"counter " OWN "\"],\"max\":200}");
    counter_start("fork", "499");
    whole_wait_live(&w, "service=counter", 500);
    cJSON *capture = captured("{\"selector\":\"service=counter\",\"pre_ms\":10}", id);
    ck_assert_str_eq(whole_str(capture, "status"), "incomplete");
    ck_assert_double_eq(counted(capture, "watched"), 200);
    ck_assert_double_eq(counted(capture, "failed"), 300);
    const cJSON *target;
    unsigned said = 0;
    cJSON_ArrayForEach(target, cJSON_GetObjectItem(capture, "targets")) {
        const cJSON *reason = cJSON_GetObjectItem(target, "reason");
        said += reason != NULL && strstr(reason->valuestring, "watch.max") != NULL;
    }
    ck_assert_uint_eq(said, 300);
    cJSON_Delete(capture);
}
END_TEST

START_TEST(whom_no_selector_names_any_more_is_watched_no_more)
{
    char said[512], pid[16];
    both_start("\"watch\":{\"select\":[\"counter " OWN "\"]}");
    counter_start("fork", "19");
    whole_wait_live(&w, "service=counter", 20);
    w.agent_more = "\"watch\":{\"select\":[\"other " OWN "/none\"]}";
    whole_configure(&w);
    ck_assert_int_eq(kill(w.agent, SIGHUP), 0);
    whole_wait_live(&w, "service=counter", 0);
    snprintf(pid, sizeof pid, "%d", (int)counter);
    ck_assert_int_eq(watch_process(pid, "--service", "by-hand", said, sizeof said), 0);
    whole_wait_live(&w, "service=by-hand", 1);
    w.agent_more = "\"watch\":{\"select\":[\"again " OWN "\"]}";
    whole_configure(&w);
    ck_assert_int_eq(kill(w.agent, SIGHUP), 0);
    whole_wait_live(&w, "service=again", 19);
    whole_wait_live(&w, "service=by-hand", 1); /* whoever is named by hand stays so */
}
END_TEST

static void file_copy(const char *from, const char *to)
{
    size_t n;
    char *bytes = file_read(from, &n);
    file_write(to, bytes, n);
    free(bytes);
}

START_TEST(a_traced_process_keeps_its_ring_where_a_selector_finds_it)
{
    char id[ID_TEXT_BYTES], name[48], more[512];
    (void)snprintf(name, sizeof name, "outside_load_%d", (int)getpid());
    (void)snprintf(more, sizeof more,
                   "\"watch\":{\"select\":[\"outside exe=*/%s\",\"counter " OWN
                   "\"]}," WHOLE_NO_EVIDENCE,
                   name);
    both_start(more);
    char *program = whole_path(&w, name);
    file_copy(WHOLE_LOAD, program);
    ck_assert_int_eq(chmod(program, 0755), 0);
    const struct load_options options = {
        .service = "shop", .program = program, .threads = 1, .burst = 10, .pause_us = 1000};
    load_start(&w, &options, &load);
    load_wait_attached(&load);
    counter_start(NULL, NULL);
    whole_wait_live(&w, "service=counter", 1); /* the search has come round */
    whole_wait_live(&w, "service=outside", 0);
    load_wait_events(&load, 100);
    cJSON *capture = captured("{\"selector\":\"service=shop\",\"pre_ms\":1}", id);
    ck_assert_str_eq(whole_str(capture, "status"), "complete");
    cJSON_Delete(capture);
    /* Of both: what one has does not make the other's. Without evidence there is nothing at all. */
    capture = captured("{\"selector\":\"service in (shop,counter)\",\"pre_ms\":1}", id);
    ck_assert_str_eq(whole_str(capture, "status"), "incomplete");
    ck_assert_double_eq(counted(capture, "watched"), 1);
    ck_assert_double_eq(counted(capture, "complete"), 1);
    ck_assert_ptr_nonnull(
        strstr(whole_str(cJSON_GetObjectItem(capture, "verdict"), "text"), "1 of 2 targets"));
    cJSON_Delete(capture);
    free(program);
}
END_TEST

/* Of the live processes of a service: who has no ring. */
struct ringless {
    size_t with, without;
};

static void ringless_count(void *context, const cJSON *item)
{
    struct ringless *n = context;
    if (strcmp(whole_str(item, "status"), "live") != 0)
        return;
    bool has = cJSON_GetObjectItem(item, "not_recorded") == NULL;
    n->without += !has;
    n->with += has;
}

START_TEST(one_that_attaches_after_all_is_watched_no_more)
{
    char preload[512], socket[256], id[ID_TEXT_BYTES];
    both_start("\"watch\":{\"select\":[\"napper exe=" OUTSIDE_NAPPER "\"]}," WHOLE_NO_EVIDENCE);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", PRELOAD);
    snprintf(socket, sizeof socket, "SKEIN_SOCKET=%s", w.socket);
    /* It attaches with its first sleep of its fifth second: it has been found by then. */
    const char *const env[] = {preload, socket, "SKEIN_SERVICE=late", "SKEIN_ATTACH_MS=5000", NULL};
    const char *const argv[] = {OUTSIDE_NAPPER, "nap", "20", NULL};
    counter = spawn(argv, &(struct spawn_options){.env = env});
    whole_wait_live(&w, "service=napper", 1);
    whole_wait_live(&w, "service=late", 1);
    whole_wait_live(&w, "service=napper", 0);
    struct ringless n = {0, 0};
    (void)whole_list(&w, "/api/v1/processes?selector=service=late", ringless_count, &n);
    ck_assert_uint_eq(n.with, 1);
    ck_assert_uint_eq(n.without, 0);
    /* From when it is attached on it is recorded as any other. */
    cJSON *capture = captured("{\"selector\":\"service=late\",\"pre_ms\":0,\"post_ms\":300}", id);
    ck_assert_str_eq(whole_str(target_of(capture), "status"), "complete");
    ck_assert_double_gt(whole_number(target_of(capture), "events"), 0);
    cJSON_Delete(capture);
}
END_TEST

/* The newest capture, as soon as there is one. */
static cJSON *capture_first(void)
{
    uint64_t until_ns = clock_monotonic_ns() + 30 * SECOND;
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

START_TEST(a_failing_check_captures_a_service_that_is_only_watched)
{
    char body[512];
    struct buf answer = {0};
    both_start("\"checks\":{\"startup_grace_ms\":0}," COUNTER);
    counter_start(NULL, NULL);
    whole_wait_live(&w, "service=counter", 1);
    (void)snprintf(body, sizeof body,
                   "{\"name\":\"deaf\",\"selector\":\"service=counter\",\"when\":{\"health\":{"
                   "\"every_ms\":200,\"timeout_ms\":5000,\"failures\":1,\"tcp\":{\"address\":"
                   "\"127.0.0.1:%u\"}}},\"capture\":{\"pre_ms\":100,\"post_ms\":0}}",
                   free_port());
    int status = whole_http(&w, "PUT", "/api/v1/rules/deaf", body, &answer);
    ck_assert_msg(status == 201, "%d %.*s", status, (int)answer.len, (const char *)answer.data);
    buf_fini(&answer);
    cJSON *capture = capture_first();
    ck_assert_str_eq(whole_str(cJSON_GetObjectItem(capture, "trigger"), "type"), "health");
    no_lie(capture, target_of(capture));
    had(target_of(capture), "threads");
    cJSON_Delete(capture);
}
END_TEST

START_TEST(one_that_dies_of_a_signal_is_captured_with_its_thread)
{
    both_start(COUNTER);
    counter_start(NULL, NULL);
    pid_t pid = counter;
    whole_wait_live(&w, "service=counter", 1);
    (void)spawn_stop(counter, SIGSEGV, 0);
    counter = 0;
    cJSON *capture = capture_first();
    ck_assert_str_eq(whole_str(cJSON_GetObjectItem(capture, "trigger"), "type"), "crash");
    const cJSON *target = target_of(capture);
    no_lie(capture, target);
    const cJSON *evidence = evidence_of(target, "crash");
    ck_assert_ptr_nonnull(evidence);
    if (strcmp(whole_str(evidence, "state"), "refused") == 0) {
        fprintf(stderr, "not shown: %s\n", whole_str(evidence, "reason"));
    } else {
        char text[64];
        (void)snprintf(text, sizeof text, "SIGSEGV (sent by kill) of thread %d", (int)pid);
        had(target, "crash");
        ck_assert_msg(strstr(whole_str(evidence, "reason"), text) != NULL, "%s",
                      whole_str(evidence, "reason"));
    }
    cJSON_Delete(capture);
}
END_TEST

/* ---- skein run ---- */

static pid_t run(const char *program, const char *how, const char *number, const char *out)
{
    const char *const argv[] = {SKEIN_PROGRAM, "run",       "--socket", w.socket, "--service",
                                "ran",         "--preload", PRELOAD,    "--",     program,
                                how,           number,      NULL};
    return spawn(argv, &(struct spawn_options){.out_file = out});
}

START_TEST(skein_run_names_a_static_program_as_the_tracer_would)
{
    both_start(NULL);
    const char *const argv[] = {SKEIN_PROGRAM, "run", "--socket",      w.socket, "--preload",
                                PRELOAD,       "--",  OUTSIDE_COUNTER, NULL};
    const char *const env[] = {"SKEIN_SERVICE=of-the-unit", "SKEIN_LABELS=zone=b", NULL};
    counter = spawn(argv, &(struct spawn_options){.env = env});
    whole_wait_live(&w, "service=of-the-unit,zone=b", 1);
}
END_TEST

START_TEST(skein_run_has_a_static_program_watched)
{
    both_start(NULL);
    char *out = whole_path(&w, "out");
    size_t n;
    ck_assert_int_eq(spawn_wait(run(OUTSIDE_COUNTER, "exit", "7", out), 0), 7);
    char *text = file_read(out, &n);
    ck_assert_msg(strstr(text, "watches it from outside") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "counted nothing\n") != NULL, "%s", text);
    free(text);
    counter = run(OUTSIDE_COUNTER, NULL, NULL, out);
    whole_wait_live(&w, "service=ran", 1);
    cJSON *list = whole_get(&w, "/api/v1/processes?selector=service=ran&gone=false");
    const cJSON *process = cJSON_GetArrayItem(cJSON_GetObjectItem(list, "items"), 0);
    ck_assert_double_eq(whole_number(process, "pid"), counter);
    ck_assert_str_eq(whole_str(process, "not_recorded"), "watched");
    ck_assert_ptr_nonnull(strstr(whole_str(process, "exe"), "outside_counter"));
    cJSON_Delete(list);
    free(out);
}
END_TEST

START_TEST(a_setuid_program_is_watched_for_root_alone)
{
    char id[ID_TEXT_BYTES], said[512], pid[16];
    both_start("\"processes\":{\"same_uid_only\":false}");
    char *program = whole_path(&w, "setuid_counter"), *out = whole_path(&w, "out");
    if (geteuid() == 0) {
        file_copy(OUTSIDE_COUNTER, program);
        ck_assert_int_eq(chown(program, 65534, 65534), 0);
        ck_assert_int_eq(chmod(program, 04755), 0);
        counter = run(program, NULL, NULL, out);
        whole_wait_live(&w, "service=ran", 1);
        cJSON *capture =
            captured("{\"selector\":\"service=ran\",\"pre_ms\":100,\"threads\":true}", id);
        no_lie(capture, target_of(capture));
        had(target_of(capture), "threads");
        cJSON_Delete(capture);
        snprintf(pid, sizeof pid, "%d", (int)counter);
        ck_assert_int_eq(watch_process("--stop", pid, NULL, said, sizeof said), 0);
        pid_t asker = fork();
        if (asker == 0) { /* no assertion in here */
            const char *const argv[] = {SKEIN_PROGRAM, "watch-process", "--socket", w.socket, pid,
                                        NULL};
            if (chmod(w.folder, 0755) != 0 || setgid(1) != 0 || setuid(65534) != 0)
                _exit(99);
            execv(SKEIN_PROGRAM, (char *const *)(uintptr_t)argv);
            _exit(98);
        }
        int status = spawn_wait(asker, 0);
        ck_assert_msg(status == 1, "%d", status); /* nobody's own process, but a setuid program */
        whole_wait_live(&w, "service=setuid_counter", 0);
    }
    free(program);
    free(out);
}
END_TEST

/* ---- the same pid ---- */

static bool next_pid_set(pid_t pid)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%d", (int)pid - 1);
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    bool set = fd >= 0 && write(fd, text, (size_t)n) == n;
    if (fd >= 0)
        close(fd);
    return set;
}

START_TEST(another_process_with_the_pid_is_not_the_one_that_was_watched)
{
    char said[512], pid[16];
    both_start(NULL);
    counter_start(NULL, NULL);
    pid_t first = counter, second = 0;
    snprintf(pid, sizeof pid, "%d", (int)first);
    ck_assert_int_eq(watch_process(pid, "--service", "by-hand", said, sizeof said), 0);
    whole_wait_live(&w, "service=by-hand", 1);
    counter_end();
    for (int i = 0; i < 50 && second != first && next_pid_set(first); i++) {
        counter_end();
        counter_start(NULL, NULL);
        second = counter;
    }
    whole_wait_live(&w, "service=by-hand", 0);
    if (second != first)
        return; /* not allowed here, or others take pids as fast */
    ck_assert_int_ne(watch_process("--stop", pid, NULL, said, sizeof said), 0);
    ck_assert_int_eq(watch_process(pid, "--service", "by-hand", said, sizeof said), 0);
    cJSON *list = whole_get(&w, "/api/v1/processes?selector=service=by-hand");
    const cJSON *items = cJSON_GetObjectItem(list, "items");
    (void)items;
    cJSON_Delete(list);
    whole_wait_live(&w, "service=by-hand", 1);
    list = whole_get(&w, "/api/v1/processes?selector=service=by-hand");
    items = cJSON_GetObjectItem(list, "items");
    ck_assert_int_eq(cJSON_GetArraySize(items), 2); /* one gone, one live, of one pid */
    ck_assert_str_ne(whole_str(cJSON_GetArrayItem(items, 0), "process"),
                     whole_str(cJSON_GetArrayItem(items, 1), "process"));
    cJSON_Delete(list);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_outside");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, NULL, load_tear_down);
    tcase_add_test(t, a_static_program_that_a_selector_finds_is_captured_from_outside);
    tcase_add_test(t, a_process_that_ends_in_its_capture_is_told_with_its_end);
    tcase_add_test(t, by_hand_is_watched_until_it_is_undone_also_by_the_next_agent);
    tcase_add_test(t, one_that_ended_while_no_agent_ran_is_a_target_all_the_same);
    tcase_add_test(t, beyond_the_bound_processes_are_named_as_not_taken);
    tcase_add_test(t, whom_no_selector_names_any_more_is_watched_no_more);
    tcase_add_test(t, a_traced_process_keeps_its_ring_where_a_selector_finds_it);
    tcase_add_test(t, one_that_attaches_after_all_is_watched_no_more);
    tcase_add_test(t, a_failing_check_captures_a_service_that_is_only_watched);
    tcase_add_test(t, one_that_dies_of_a_signal_is_captured_with_its_thread);
    tcase_add_test(t, skein_run_has_a_static_program_watched);
    tcase_add_test(t, skein_run_names_a_static_program_as_the_tracer_would);
    tcase_add_test(t, a_setuid_program_is_watched_for_root_alone);
    tcase_add_test(t, another_process_with_the_pid_is_not_the_one_that_was_watched);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
