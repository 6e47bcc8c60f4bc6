/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens around a process that is watched from outside: rules that it cannot answer, selectors
 * that change, selectors by cgroup and port, who may ask, its vitals, and a stream from which it goes.
 * One thread.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "outside_scene.h"

#define NOBODY "65534"

/* ---- rules ---- */

/* What needs a ring. */
static const struct {
    const char *name, *when, *lacks;
} ring_rules[] = {
    {"heart", "\"health\":{\"every_ms\":200,\"heartbeat\":{\"silent_ms\":400}}", "heartbeats"},
    {"slow", "\"latency\":{\"region\":\"query\",\"over_us\":1}", "events"},
    {"said", "\"log\":{\"level\":\"debug\"}", "events"},
    {"count", "\"counter\":{\"name\":\"depth\",\"above\":0}", "events"},
};
#define RING_RULES (sizeof ring_rules / sizeof *ring_rules)

static void rule_put(const char *name, const char *when)
{
    char path[64], body[512];
    struct buf answer = {0};
    (void)snprintf(path, sizeof path, "/api/v1/rules/%s", name);
    (void)snprintf(body, sizeof body,
                   "{\"name\":\"%s\",\"selector\":\"service=counter\",\"when\":{%s},"
                   "\"capture\":{\"pre_ms\":100}}",
                   name, when);
    int status = whole_http(&w, "PUT", path, body, &answer);
    ck_assert_msg(status == 201, "%d %.*s", status, (int)answer.len, (const char *)answer.data);
    buf_fini(&answer);
}

/* Whether the agent has said, of the one process, that the rule does not look at it. */
static bool does_not_look(void *context)
{
    size_t i = (size_t)(uintptr_t)context;
    cJSON *rule = whole_get(&w, "/api/v1/rules/%s", ring_rules[i].name);
    const cJSON *state = cJSON_GetObjectItem(rule, "state");
    const cJSON *list = cJSON_GetObjectItem(state, "processes");
    const cJSON *process = cJSON_GetArrayItem(list, 0);
    bool said = false;
    if (process != NULL) {
        const char *error = whole_str(process, "last_error");
        said = strstr(error, "watched from outside") != NULL &&
               strstr(error, ring_rules[i].lacks) != NULL;
        ck_assert_str_eq(whole_str(process, "health"), "unknown");
        ck_assert_double_eq(whole_number(process, "fired"), 0);
    }
    cJSON_Delete(rule);
    return said;
}

/* The list of captures, which has one by then. */
static bool has_capture(void *context)
{
    cJSON **list = context;
    cJSON_Delete(*list);
    *list = whole_get(&w, "/api/v1/captures");
    return cJSON_GetArraySize(cJSON_GetObjectItem(*list, "items")) > 0;
}

START_TEST(rules_that_need_a_ring_say_that_they_do_not_look)
{
    both_start(COUNTER);
    counter_start(NULL, NULL);
    whole_wait_live(&w, "service=counter", 1);
    for (size_t i = 0; i < RING_RULES; i++)
        rule_put(ring_rules[i].name, ring_rules[i].when);
    for (size_t i = 0; i < RING_RULES; i++)
        ck_assert_msg(wait_until(does_not_look, (void *)(uintptr_t)i, 0), "%s", ring_rules[i].name);
    /* A check asks the program itself, which needs no ring; three of its failures take longer than
     * each of the others would have taken to fire. */
    char tcp[160];
    (void)snprintf(tcp, sizeof tcp,
                   "\"health\":{\"every_ms\":300,\"failures\":3,\"tcp\":{\"address\":"
                   "\"127.0.0.1:%u\"}}",
                   free_port());
    rule_put("deaf", tcp);
    cJSON *list = NULL;
    ck_assert(wait_until(has_capture, &list, 2 * support_deadline_ms()));
    const cJSON *capture = cJSON_GetArrayItem(cJSON_GetObjectItem(list, "items"), 0);
    ck_assert_str_eq(whole_str(cJSON_GetObjectItem(capture, "trigger"), "rule"), "deaf");
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(list, "items")), 1);
    cJSON *whole = whole_capture_final(&w, whole_str(capture, "capture"));
    no_lie(whole, target_of(whole));
    had(target_of(whole), "threads"); /* a health rule's captures have it */
    cJSON_Delete(whole);
    cJSON_Delete(list);
    for (size_t i = 0; i < RING_RULES; i++)
        ck_assert(does_not_look((void *)(uintptr_t)i));
}
END_TEST

/* ---- other selectors ---- */

static size_t log_count(const char *text)
{
    char *path = whole_path(&w, "agent.log"), *log = file_read(path, NULL);
    size_t count = 0;
    for (const char *at = log; (at = strstr(at, text)) != NULL; at++)
        count++;
    free(log);
    free(path);
    return count;
}

struct reloads {
    const char *text;
    size_t before;
};

static bool is_logged(void *context)
{
    const struct reloads *r = context;
    return log_count(r->text) > r->before;
}

/* Until the agent says so once more. */
static void reload(const char *members, const char *says)
{
    struct reloads r = {says, log_count(says)};
    w.agent_more = members;
    whole_configure(&w);
    ck_assert_int_eq(kill(w.agent, SIGHUP), 0);
    ck_assert_msg(wait_until(is_logged, &r, 0), "%s", says);
}

#define RELOADED "configuration reloaded"

START_TEST(other_selectors_let_go_of_whom_they_do_not_match)
{
    char id[ID_TEXT_BYTES], said[512], pid[16];
    both_start(COUNTER);
    counter_start(NULL, NULL);
    whole_wait_live(&w, "service=counter", 1);
    /* Another name for the same program: who is watched keeps the one that he has. */
    reload("\"watch\":{\"select\":[\"renamed " OWN "\"]}", RELOADED);
    whole_wait_live(&w, "service=counter", 1);
    whole_wait_live(&w, "service=renamed", 0);
    reload("\"watch\":{\"select\":[\"nobody exe=/nowhere/*\"]}", RELOADED);
    whole_wait_live(&w, "service=counter", 0);
    /* It runs on; what it was is a target of windows that reach back to it. */
    ck_assert_int_eq(kill(counter, 0), 0);
    cJSON *capture = captured("{\"selector\":\"service=counter\",\"pre_ms\":60000}", id);
    no_lie(capture, target_of(capture));
    cJSON_Delete(capture);
    /* By hand it is watched whatever the selectors say. */
    snprintf(pid, sizeof pid, "%d", (int)counter);
    ck_assert_int_eq(watch_process(pid, "--service", "by-hand", said, sizeof said), 0);
    whole_wait_live(&w, "service=by-hand", 1);
    reload("\"watch\":{\"select\":[]}", RELOADED);
    whole_wait_live(&w, "service=by-hand", 1);
    ck_assert_int_eq(watch_process("--stop", pid, NULL, said, sizeof said), 0);
    whole_wait_live(&w, "service=by-hand", 0);
    reload(COUNTER, RELOADED);
    whole_wait_live(&w, "service=counter", 1);
}
END_TEST

START_TEST(selectors_that_are_none_leave_all_as_it_was)
{
    both_start(COUNTER);
    counter_start(NULL, NULL);
    whole_wait_live(&w, "service=counter", 1);
    reload("\"watch\":{\"select\":[\"counter port=0\"]}", "watch.select");
    char *path = whole_path(&w, "agent.log"), *log = file_read(path, NULL);
    ck_assert_ptr_null(strstr(log, "watched no more"));
    free(log);
    free(path);
    whole_wait_live(&w, "service=counter", 1);
    w.agent_more = COUNTER; /* the agent is to end well */
    whole_configure(&w);
}
END_TEST

/* ---- by cgroup ---- */

/* A cgroup of the one hierarchy below our own; NULL: there is none to be had. Its path as a process
 * sees it is in name. */
static char *cgroup_make(char *name, size_t bytes)
{
    static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
    char *own = file_read("/proc/self/cgroup", NULL), *folder = NULL, path[512];
    char *line = strncmp(own, "0::", 3) == 0 ? own : strstr(own, "\n0::");
    if (line != NULL) {
        line = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(name, bytes, "%s/skein-watched-%d", line[1] == '\0' ? "" : line,
                       (int)getpid());
    }
    for (size_t i = 0; line != NULL && folder == NULL && i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/cgroup.procs", mounts[i]);
        bool is_one = access(path, F_OK) == 0;
        (void)snprintf(path, sizeof path, "%s%s", mounts[i], name);
        if (is_one && mkdir(path, 0755) == 0)
            folder = strdup(path);
    }
    free(own);
    return folder;
}

static bool cgroup_enter(const char *folder, pid_t pid)
{
    char path[600], text[16];
    int n = snprintf(text, sizeof text, "%d", (int)pid);
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool entered = fd >= 0 && write(fd, text, (size_t)n) == n;
    if (fd >= 0)
        close(fd);
    return entered;
}

/* Its process may still be being taken apart. */
static bool cgroup_removed(void *folder)
{
    return rmdir(folder) == 0;
}

START_TEST(a_selector_by_cgroup_finds_whom_it_holds_and_nobody_else)
{
    char name[256], more[400], id[ID_TEXT_BYTES];
    char *folder = cgroup_make(name, sizeof name);
    if (folder == NULL) {
        fprintf(stderr, "not shown: no cgroup may be made here (%s)\n", strerror(errno));
        whole_init(&w, NULL, NULL);
        return;
    }
    (void)snprintf(more, sizeof more, "\"watch\":{\"select\":[\"held cgroup=%.*s*\"]}",
                   (int)strlen(name) - 1, name);
    both_start(more);
    counter_start(NULL, NULL);
    pid_t outside = counter;
    counter_start(NULL, NULL);
    pid_t inside = counter;
    bool entered = cgroup_enter(folder, inside);
    if (entered)
        whole_wait_live(&w, "service=held", 1);
    cJSON *list = whole_get(&w, "/api/v1/processes?selector=service=held");
    cJSON *items = cJSON_DetachItemFromObject(list, "items");
    cJSON_Delete(list);
    if (entered) { /* it has gone round: the other one has been looked at, too */
        cJSON *capture = captured("{\"selector\":\"service=held\",\"pre_ms\":100}", id);
        no_lie(capture, target_of(capture));
        cJSON_Delete(capture);
    }
    (void)spawn_stop(outside, SIGKILL, 0);
    counter_end();
    ck_assert(wait_until(cgroup_removed, folder, 0));
    free(folder);
    ck_assert_msg(entered, "a cgroup of our own takes nobody");
    ck_assert_int_eq(cJSON_GetArraySize(items), 1);
    ck_assert_double_eq(whole_number(cJSON_GetArrayItem(items, 0), "pid"), inside);
    cJSON_Delete(items);
}
END_TEST

/* ---- by port ---- */

struct pids {
    uint64_t sum;
    size_t count;
};

static void pid_take(void *context, const cJSON *item)
{
    struct pids *pids = context;
    if (strcmp(whole_str(item, "status"), "live") != 0)
        return;
    pids->sum += (uint64_t)whole_number(item, "pid");
    pids->count++;
}

START_TEST(a_selector_by_port_finds_all_who_share_its_socket)
{
    char more[160], number[16], id[ID_TEXT_BYTES];
    unsigned port = free_port(), other = free_port();
    (void)snprintf(number, sizeof number, "%u", port);
    (void)snprintf(more, sizeof more, "\"watch\":{\"select\":[\"api " OWN " port=%u\"]}", port);
    both_start(more);
    counter_start(NULL, NULL); /* listens nowhere */
    pid_t quiet = counter;
    char elsewhere[16];
    (void)snprintf(elsewhere, sizeof elsewhere, "%u", other);
    counter_start("listen", elsewhere);
    pid_t stranger = counter;
    counter_start("listen", number);
    whole_wait_live(&w, "service=api", 2); /* it and its child */
    struct pids pids = {0, 0};
    (void)whole_list(&w, "/api/v1/processes?selector=service=api", pid_take, &pids);
    ck_assert_uint_eq(pids.count, 2);
    cJSON *capture = captured("{\"selector\":\"service=api\",\"pre_ms\":100}", id);
    ck_assert_double_eq(counted(capture, "watched"), 2);
    cJSON_Delete(capture);
    pid_t listener = counter;
    counter_end(); /* the child goes with it */
    whole_wait_live(&w, "service=api", 0);
    (void)spawn_stop(stranger, SIGKILL, 0);
    (void)spawn_stop(quiet, SIGKILL, 0);
    ck_assert_uint_ge(pids.sum, (uint64_t)listener);
    ck_assert_uint_ne(pids.sum, (uint64_t)quiet + (uint64_t)stranger);
}
END_TEST

/* ---- who may ask ---- */

/* `skein watch-process …` as nobody. */
static int nobody_asks(const char *a, const char *b, const char *c, char *said, size_t bytes)
{
    char *file = whole_path(&w, "nobody");
    const char *const argv[] = {WHOLE_CONFINED,
                                "-u",
                                NOBODY,
                                SKEIN_PROGRAM,
                                "watch-process",
                                "--socket",
                                w.socket,
                                a,
                                b,
                                c,
                                NULL};
    (void)remove(file);
    int status = spawn_wait(spawn(argv, &(struct spawn_options){.out_file = file}), 0);
    char *text = file_read(file, NULL);
    snprintf(said, bytes, "%s", text);
    free(text);
    free(file);
    return status;
}

/* It is root's until confined has become nobody. */
static bool nobody_has(void *pid)
{
    char said[512];
    return nobody_asks(pid, "--service", "mine", said, sizeof said) == 0;
}

START_TEST(a_user_may_name_his_own_processes_and_no_others)
{
    char said[512], own[16], roots[16], id[ID_TEXT_BYTES];
    both_start("\"processes\":{\"same_uid_only\":false}");
    if (geteuid() != 0) {
        fprintf(stderr, "not shown: that needs two users\n");
        return;
    }
    ck_assert_int_eq(chmod(w.folder, 0755), 0);
    const char *const argv[] = {WHOLE_CONFINED, "-u", NOBODY, OUTSIDE_COUNTER, NULL};
    pid_t theirs = spawn(argv, &(struct spawn_options){.out_file = NULL});
    counter_start(NULL, NULL);
    snprintf(own, sizeof own, "%d", (int)theirs);
    snprintf(roots, sizeof roots, "%d", (int)counter);
    ck_assert_int_ne(nobody_asks(roots, "--service", "stolen", said, sizeof said), 0);
    ck_assert_msg(strlen(said) > 5 && strstr(said, "no such process") == NULL, "%s", said);
    ck_assert(wait_until(nobody_has, own, 0));
    whole_wait_live(&w, "service=mine", 1);
    whole_wait_live(&w, "service=stolen", 0);
    cJSON *capture =
        captured("{\"selector\":\"service=mine\",\"pre_ms\":100,\"threads\":true}", id);
    no_lie(capture, target_of(capture));
    had(target_of(capture), "threads");
    cJSON_Delete(capture);
    /* What root has watched, nobody else undoes; and root may undo anybody's. */
    ck_assert_int_eq(watch_process(roots, "--service", "roots", said, sizeof said), 0);
    ck_assert_int_ne(nobody_asks("--stop", roots, NULL, said, sizeof said), 0);
    whole_wait_live(&w, "service=roots", 1);
    ck_assert_int_eq(watch_process("--stop", own, NULL, said, sizeof said), 0);
    whole_wait_live(&w, "service=mine", 0);
    ck_assert_int_eq(nobody_asks(own, "--service", "mine", said, sizeof said), 0);
    whole_wait_live(&w, "service=mine", 1);
    ck_assert_int_eq(nobody_asks("--stop", own, NULL, said, sizeof said), 0);
    whole_wait_live(&w, "service=mine", 0);
    (void)spawn_stop(theirs, SIGKILL, 0);
}
END_TEST

/* ---- vitals ---- */

static size_t entries_count(const char *what)
{
    char path[64];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)counter, what);
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static cJSON *vitals_of(const char *id)
{
    char collector[64], *file = whole_path(&w, "vitals");
    (void)snprintf(collector, sizeof collector, "SKEIN_COLLECTOR=http://127.0.0.1:%u", w.http);
    const char *const env[] = {collector, NULL};
    const char *const argv[] = {SKEIN_PROGRAM, "vitals", id, "--all", "-o", "json", NULL};
    (void)remove(file);
    ck_assert_int_eq(
        spawn_wait(spawn(argv, &(struct spawn_options){.env = env, .out_file = file}), 0), 0);
    char *text = file_read(file, NULL);
    cJSON *json = cJSON_Parse(text);
    ck_assert_msg(json != NULL, "%s", text);
    free(text);
    free(file);
    return json;
}

/* The counter of the watched process; NULL. */
static const cJSON *vital(const cJSON *vitals, const char *name)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(vitals, "counters"))
        if (cJSON_GetObjectItem(row, "pid") != NULL &&
            whole_number(row, "pid") == (double)counter &&
            strcmp(whole_str(row, "name"), name) == 0)
            return row;
    return NULL;
}

static bool has_vitals(void *context)
{
    char id[ID_TEXT_BYTES];
    cJSON *capture = captured("{\"selector\":\"service=counter\",\"pre_ms\":10000}", id);
    cJSON *vitals = vitals_of(id);
    const cJSON *user = vital(vitals, "proc.cpu.user");
    /* One thread counts without a pause. Two looks make a rate. */
    bool has = user != NULL && whole_number(user, "max") > 0;
    no_lie(capture, target_of(capture));
    cJSON_Delete(capture);
    *(cJSON **)context = vitals;
    if (!has)
        cJSON_Delete(vitals);
    return has;
}

START_TEST(its_vitals_are_those_that_the_kernel_has_of_it)
{
    cJSON *vitals;
    whole_init(&w, NULL, COUNTER);
    w.vitals = true;
    whole_configure(&w);
    whole_collector_start(&w);
    whole_agent_start(&w);
    counter_start(NULL, NULL);
    whole_wait_live(&w, "service=counter", 1);
    ck_assert(wait_until(has_vitals, &vitals, 3 * support_deadline_ms()));
    const cJSON *threads = vital(vitals, "proc.threads");
    const cJSON *descriptors = vital(vitals, "proc.descriptors");
    ck_assert(threads != NULL && descriptors != NULL);
    ck_assert_double_eq(whole_number(threads, "max"), (double)entries_count("task"));
    ck_assert_double_eq(whole_number(descriptors, "max"), (double)entries_count("fd"));
    ck_assert_double_le(whole_number(vital(vitals, "proc.cpu.user"), "max"), 150); /* one thread */
    ck_assert_ptr_nonnull(vital(vitals, "thread.run"));
    cJSON_Delete(vitals);
}
END_TEST

/* ---- a stream ---- */

static void stream_stop(const char *id)
{
    char stop[96];
    (void)snprintf(stop, sizeof stop, "/api/v1/captures/%s:stop", id);
    (void)whole_http(&w, "POST", stop, NULL, NULL);
}

static uint64_t gap_end_ns(const cJSON *target)
{
    const cJSON *ledger = cJSON_GetObjectItem(target, "ledger");
    const cJSON *gap = cJSON_GetArrayItem(cJSON_GetObjectItem(ledger, "gaps"), 0);
    uint64_t to_ns = 0;
    ck_assert_int_eq(clock_parse(whole_str(gap, "to"), &to_ns), SKEIN_OK);
    return to_ns;
}

/* by_end: it ends; else it is undone. */
static void goes_from_a_stream(bool by_end)
{
    char id[ID_TEXT_BYTES], said[512], pid[16];
    both_start(NULL);
    counter_start(NULL, NULL);
    snprintf(pid, sizeof pid, "%d", (int)counter);
    ck_assert_int_eq(watch_process(pid, "--service", "streamed", said, sizeof said), 0);
    whole_wait_live(&w, "service=streamed", 1);
    struct capture_id capture =
        whole_capture(&w, "{\"selector\":\"service=streamed\",\"kind\":\"stream\"}");
    id_text(capture.bytes, id);
    if (by_end)
        counter_end();
    else
        ck_assert_int_eq(watch_process("--stop", pid, NULL, said, sizeof said), 0);
    uint64_t gone_ns = clock_realtime_ns();
    whole_wait_live(&w, "service=streamed", 0);
    stream_stop(id);
    cJSON *json = whole_capture_final(&w, id);
    no_lie(json, target_of(json));
    ck_assert_double_eq(counted(json, "watched"), 1);
    ck_assert_uint_le(gap_end_ns(target_of(json)), gone_ns + 5 * SECOND);
    cJSON_Delete(json);
}

START_TEST(a_stream_from_which_it_ends_is_told_with_its_end)
{
    goes_from_a_stream(true);
}
END_TEST

START_TEST(a_stream_of_one_that_is_undone_is_told_until_then)
{
    goes_from_a_stream(false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_watched");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_test(t, rules_that_need_a_ring_say_that_they_do_not_look);
    tcase_add_test(t, other_selectors_let_go_of_whom_they_do_not_match);
    tcase_add_test(t, selectors_that_are_none_leave_all_as_it_was);
    tcase_add_test(t, a_selector_by_cgroup_finds_whom_it_holds_and_nobody_else);
    tcase_add_test(t, a_selector_by_port_finds_all_who_share_its_socket);
    tcase_add_test(t, a_user_may_name_his_own_processes_and_no_others);
    tcase_add_test(t, its_vitals_are_those_that_the_kernel_has_of_it);
    tcase_add_test(t, a_stream_from_which_it_ends_is_told_with_its_end);
    tcase_add_test(t, a_stream_of_one_that_is_undone_is_told_until_then);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
