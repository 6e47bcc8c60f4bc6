/* SPDX-License-Identifier: Apache-2.0
 *
 * Who asks for which evidence, through the whole product: a program that nobody changed under
 * `skein run`, and policies, rules and requests of the collector that switch kinds, raise the rate
 * of samples, and read them as profiles. What the agent's configuration has switched off stays off.
 * Where a machine refuses perf events, the tests say so and look at how that is told. One thread.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "whole.h"

#define POLICY   "/api/v1/policies/watch"
#define RULE     "/api/v1/rules/watch"
#define SELECTOR "\"selector\":\"service=burner\""

static struct whole w;
static pid_t burner;
static char *burner_says, *burner_fifo;

/* The collector's and the agent's members, as whole_init's; a program that burns so long, held: not
 * before burner_goes. */
static void begin(const char *collector_more, const char *agent_more, const char *burn_ms,
                  bool held)
{
    whole_init(&w, collector_more, agent_more);
    whole_collector_start(&w);
    whole_agent_start(&w);
    burner_says = whole_path(&w, "burner.out");
    burner_fifo = whole_path(&w, "burner.begin");
    ck_assert_int_eq(mkfifo(burner_fifo, 0600), 0);
    const char *const argv[] = {SKEIN_PROGRAM,
                                "run",
                                "-q",
                                "--preload",
                                SKEIN_PRELOAD,
                                "--socket",
                                w.socket,
                                "--service",
                                "burner",
                                "--",
                                CPU_BURNER,
                                burn_ms,
                                held ? burner_fifo : NULL,
                                NULL};
    burner = spawn(argv, &(struct spawn_options){.out_file = burner_says});
    whole_wait_live(&w, "service%3Dburner", 1);
}

static void start(const char *collector_more, const char *agent_more)
{
    begin(collector_more, agent_more, "1", false);
}

static void tear_down(void)
{
    if (burner > 0)
        (void)spawn_stop(burner, SIGKILL, 0);
    burner = 0;
    free(burner_says);
    free(burner_fifo);
    whole_fini(&w);
}

static bool burner_is_done(void *context)
{
    (void)context;
    char *text = file_read(burner_says, NULL);
    bool done = text != NULL && strstr(text, "\nend\n") != NULL;
    free(text);
    return done;
}

static void put(const char *path, const char *body, int wanted)
{
    struct buf answer = {0};
    int status = whole_http(&w, body != NULL ? "PUT" : "DELETE", path, body, &answer);
    ck_assert_msg(status == wanted, "%s %s: %d %.*s", path, body != NULL ? body : "", status,
                  (int)answer.len, answer.data != NULL ? (const char *)answer.data : "");
    buf_fini(&answer);
}

/* ---- what became of each kind ---- */

/* "threads,vitals", in the order of the report. */
static void kinds_of(const cJSON *capture, char out[128])
{
    const cJSON *item, *target = cJSON_GetArrayItem(cJSON_GetObjectItem(capture, "targets"), 0);
    size_t n = 0;
    out[0] = '\0';
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(target, "evidence"))
        n += (size_t)snprintf(out + n, 128 - n, "%s%s", n > 0 ? "," : "", whole_str(item, "kind"));
}

static const cJSON *evidence_of(const cJSON *capture, const char *kind)
{
    const cJSON *item, *target = cJSON_GetArrayItem(cJSON_GetObjectItem(capture, "targets"), 0);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(target, "evidence"))
        if (strcmp(whole_str(item, "kind"), kind) == 0)
            return item;
    ck_abort_msg("no evidence of the kind %s", kind);
    return NULL;
}

static void expect_kinds(const cJSON *capture, const char *kinds)
{
    char got[128];
    kinds_of(capture, got);
    ck_assert_msg(strcmp(got, kinds) == 0, "capture %s has \"%s\", not \"%s\"",
                  whole_str(capture, "capture"), got, kinds);
}

static void expect_off(const cJSON *capture, const char *kind, const char *parameter)
{
    const cJSON *evidence = evidence_of(capture, kind);
    const char *reason = whole_str(evidence, "reason");
    ck_assert_msg(strstr(reason, "switched off by the agent's configuration: ") != NULL, "%s",
                  reason);
    ck_assert_msg(strstr(reason, parameter) != NULL, "%s", reason);
    ck_assert_double_eq(whole_number(evidence, "events"), 0);
}

static cJSON *snapshot(const char *members)
{
    char body[256], id[ID_TEXT_BYTES];
    (void)snprintf(body, sizeof body, "{" SELECTOR ",\"pre_ms\":60000%s}", members);
    struct capture_id capture = whole_capture(&w, body);
    id_text(capture.bytes, id);
    return whole_capture_final(&w, id);
}

/* ---- captures that begin by themselves ---- */

struct wanted {
    const char *type, *kinds; /* of the trigger; of what became of it */
    cJSON *capture;
};

static void take(void *context, const cJSON *item)
{
    struct wanted *wanted = context;
    char kinds[128];
    if (wanted->capture != NULL || strcmp(whole_str(item, "status"), "running") == 0 ||
        strcmp(whole_str(cJSON_GetObjectItem(item, "trigger"), "type"), wanted->type) != 0)
        return;
    cJSON *capture = whole_get(&w, "/api/v1/captures/%s", whole_str(item, "capture"));
    kinds_of(capture, kinds);
    if (strcmp(kinds, wanted->kinds) == 0)
        wanted->capture = capture;
    else
        cJSON_Delete(capture);
}

static bool is_there(void *context)
{
    struct wanted *wanted = context;
    (void)whole_list(&w, "/api/v1/captures", take, wanted);
    return wanted->capture != NULL;
}

/* The newest one that has ended; it may have begun before a change was pushed. */
static cJSON *ended(const char *type, const char *kinds)
{
    struct wanted wanted = {.type = type, .kinds = kinds};
    ck_assert_msg(wait_until(is_there, &wanted, 0), "no %s with \"%s\": see %s", type, kinds,
                  w.folder);
    return wanted.capture;
}

START_TEST(a_policy_switches_kinds)
{
    start(NULL, NULL);
    put(POLICY, "{" SELECTOR ",\"record_ms\":500,\"every_ms\":1000}", 201);
    cJSON *capture = ended("policy", "");
    cJSON_Delete(capture);
    put(POLICY,
        "{" SELECTOR ",\"record_ms\":500,\"every_ms\":1000,\"evidence\":[\"threads\",\"sched\"]}",
        200);
    capture = ended("policy", "threads,sched");
    ck_assert_double_ge(whole_number(evidence_of(capture, "threads"), "events"), 2);
    const cJSON *verdict = cJSON_GetObjectItem(capture, "verdict");
    ck_assert_msg(cJSON_IsTrue(cJSON_GetObjectItem(verdict, "complete")), "%s: see %s",
                  whole_str(verdict, "text"), w.folder);
    cJSON_Delete(capture);
    /* What the host's owner does not want is not had, whoever asks. */
    put(POLICY,
        "{" SELECTOR ",\"record_ms\":500,\"every_ms\":1000,\"evidence\":[\"vitals\",\"files\"]}",
        200);
    capture = ended("policy", "vitals,files");
    expect_off(capture, "files", "vitals.files");
    expect_off(capture, "vitals", "vitals.host");
    cJSON_Delete(capture);
}
END_TEST

START_TEST(a_rule_says_whether_threads_are_dumped)
{
    static const char rule[] =
        "{" SELECTOR ",\"when\":{\"memory\":{\"above_bytes\":1,\"for_ms\":%u}},"
        "\"capture\":{\"pre_ms\":1000%s}}";
    char body[256];
    start(NULL, NULL);
    (void)snprintf(body, sizeof body, rule, 0u, "");
    put(RULE, body, 201);
    cJSON *capture = ended("memory", "vitals,files,samples,sched");
    ck_assert_ptr_null(cJSON_GetObjectItem(capture, "threads"));
    cJSON_Delete(capture);
    put(RULE, NULL, 204);
    (void)snprintf(body, sizeof body, rule, 1u, ",\"evidence\":[\"sched\"],\"threads\":true");
    put("/api/v1/rules/again", body, 201);
    capture = ended("memory", "threads,sched");
    ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(capture, "threads")));
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(capture, "evidence")), 2);
    cJSON_Delete(capture);
}
END_TEST

START_TEST(a_request_names_the_kinds_it_wants)
{
    start(NULL, NULL);
    cJSON *capture = snapshot(",\"evidence\":[\"sched\"]");
    expect_kinds(capture, "sched");
    cJSON_Delete(capture);
    capture = snapshot(",\"evidence\":[]");
    expect_kinds(capture, "");
    cJSON_Delete(capture);
    capture = snapshot("");
    expect_kinds(capture, "vitals,files,samples,sched");
    cJSON_Delete(capture);
    /* And by hand. */
    char collector[64];
    char *file = whole_path(&w, "taken.json");
    (void)snprintf(collector, sizeof collector, "http://127.0.0.1:%u", w.http);
    const char *const argv[] = {SKEIN_PROGRAM, "snapshot",    "-l",        "service=burner",
                                "--evidence",  "sched",       "--threads", "-o",
                                "json",        "--collector", collector,   NULL};
    ck_assert_int_eq(spawn_wait(spawn(argv, &(struct spawn_options){.out_file = file}), 0), 0);
    char *text = file_read(file, NULL);
    capture = cJSON_Parse(text);
    ck_assert_msg(capture != NULL, "%s", text);
    expect_kinds(capture, "threads,sched");
    cJSON_Delete(capture);
    free(text);
    free(file);
}
END_TEST

START_TEST(an_agent_that_takes_none_says_so_to_who_asks_by_name)
{
    start(NULL, WHOLE_NO_EVIDENCE);
    cJSON *capture = snapshot("");
    expect_kinds(capture, "");
    cJSON_Delete(capture);
    capture = snapshot(",\"threads\":true,\"evidence\":[\"samples\"]");
    expect_kinds(capture, "threads,samples");
    expect_off(capture, "threads", "evidence.enabled");
    expect_off(capture, "samples", "evidence.enabled");
    cJSON_Delete(capture);
}
END_TEST

/* ---- how often CPUs are sampled ---- */

static double agent_hz, agent_cpus;

static void agent_take(void *context, const cJSON *item)
{
    (void)context;
    const cJSON *samples = cJSON_GetObjectItem(item, "samples");
    agent_hz = samples != NULL ? whole_number(samples, "hz") : -1;
    agent_cpus = samples != NULL ? whole_number(samples, "cpus") : -1;
}

static bool hz_is(void *context)
{
    (void)whole_list(&w, "/api/v1/agents", agent_take, NULL);
    return agent_hz == *(const double *)context;
}

static void wait_hz(double hz)
{
    ck_assert_msg(wait_until(hz_is, &hz, 0), "%g a second, not %g: see %s", agent_hz, hz, w.folder);
}

/* Why the first agent samples less often than the policy says; "": none does. */
static void slower_why(char why[256])
{
    cJSON *policy = whole_get(&w, POLICY);
    const cJSON *state = cJSON_GetObjectItem(policy, "state");
    const cJSON *slower = cJSON_GetObjectItem(state, "slower_agents");
    const cJSON *host = cJSON_GetArrayItem(cJSON_GetObjectItem(slower, "hosts"), 0);
    (void)snprintf(why, 256, "%s", host != NULL ? whole_str(host, "why") : "");
    cJSON_Delete(policy);
}

static bool is_slower(void *context)
{
    char why[256];
    slower_why(why);
    return strstr(why, context) != NULL;
}

static bool may_sample(void)
{
    wait_hz(99);
    if (agent_cpus == 0)
        printf("this machine refuses perf events\n");
    return agent_cpus > 0;
}

START_TEST(a_policy_raises_the_rate_while_it_is_in_force)
{
    char why[256];
    start(NULL, "\"samples\":{\"max_hz\":400}");
    bool may = may_sample();
    put(POLICY, "{\"selector\":\"service=other\",\"samples_hz\":300}", 201); /* not of this host */
    put("/api/v1/policies/more", "{" SELECTOR ",\"samples_hz\":200}", 201);
    if (!may) {
        put(POLICY, "{" SELECTOR ",\"samples_hz\":300}", 200);
        ck_assert(wait_until(is_slower, (void *)"perf_event_open", 0));
        return;
    }
    wait_hz(200);
    put(POLICY, "{" SELECTOR ",\"samples_hz\":300}", 200);
    wait_hz(300); /* the highest */
    ck_assert(wait_until(is_slower, (void *)"", 0));
    put(POLICY, "{" SELECTOR ",\"samples_hz\":900}", 200);
    wait_hz(400); /* as far as the host's owner lets it */
    slower_why(why);
    ck_assert_msg(strstr(why, "samples.max_hz") != NULL, "%s", why);
    put(POLICY, "{" SELECTOR ",\"samples_hz\":900,\"enabled\":false}", 200);
    wait_hz(200);
    put("/api/v1/policies/more", NULL, 204);
    wait_hz(99);
}
END_TEST

START_TEST(what_is_off_is_not_raised)
{
    start(NULL, "\"samples\":{\"hz\":0}");
    put(POLICY, "{" SELECTOR ",\"samples_hz\":300}", 201);
    ck_assert(wait_until(is_slower, (void *)"switched off by the agent's configuration", 0));
    wait_hz(0);
    cJSON *capture = snapshot(",\"evidence\":[\"samples\"]");
    expect_kinds(capture, "samples");
    expect_off(capture, "samples", "samples.hz is 0");
    cJSON_Delete(capture);
}
END_TEST

/* ---- profiles ---- */

/* Opened without waiting: there is an end only where the burner is at the other. */
static bool burner_goes(void *context)
{
    (void)context;
    int fd = open(burner_fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Burns from when CPUs are sampled and the agent knows the burner; back when it has burnt. */
static void start_burning(const char *burn_ms)
{
    begin(NULL, NULL, burn_ms, true);
    (void)may_sample();
    ck_assert(wait_until(burner_goes, NULL, 0));
    ck_assert(wait_until(burner_is_done, NULL, 0));
}

static char *profile_get(const char *id, const char *query, int wanted, size_t *n)
{
    struct buf body = {0};
    char path[160];
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace?%s", id, query);
    int status = whole_http(&w, "GET", path, NULL, &body);
    buf_put_u8(&body, 0);
    ck_assert_msg(status == wanted, "%s: %d %s", query, status, (const char *)body.data);
    *n = body.len - 1;
    return (char *)body.data;
}

static void expect_says(const char *id, const char *query, int status, const char *const *words)
{
    size_t n;
    char *text = profile_get(id, query, status, &n);
    for (; *words != NULL; words++)
        ck_assert_msg(strstr(text, *words) != NULL, "%s: no \"%s\" in\n%s", query, *words, text);
    free(text);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* As pprof's own reader sees it. */
static void pprof_check(const char *id, const char *index, const char *const *words)
{
    const char *go = GO_PROGRAM;
    size_t n;
    char *bytes = profile_get(id, "format=pprof", 200, &n), sample_index[64];
    if (go[0] == '\0') {
        free(bytes);
        return;
    }
    char *file = whole_path(&w, "profile.pb.gz"), *top = whole_path(&w, "top.txt");
    char *home = whole_path(&w, "home");
    char variable[256];
    file_write(file, bytes, n);
    free(bytes);
    (void)snprintf(sample_index, sizeof sample_index, "-sample_index=%s", index);
    (void)snprintf(variable, sizeof variable, "HOME=%s", home);
    const char *const argv[] = {go,           "tool", "pprof", "-symbolize=none", "-top", "-cum",
                                sample_index, file,   NULL};
    (void)remove(top);
    pid_t pid = spawn(argv, &(struct spawn_options){.env = (const char *const[]){variable, NULL},
                                                    .out_file = top});
    int status = spawn_wait(pid, 0);
    char *text = file_read(top, NULL);
    ck_assert_msg(status == 0, "%s", text);
    for (; *words != NULL; words++)
        ck_assert_msg(strstr(text, *words) != NULL, "no \"%s\" in\n%s", *words, text);
    free(text);
    free(file);
    free(top);
    free(home);
}

START_TEST(a_capture_is_served_as_a_profile)
{
    start_burning("1500");
    cJSON *capture = snapshot("");
    const char *id = whole_str(capture, "capture");
    const cJSON *samples = evidence_of(capture, "samples");
    bool sampled = strcmp(whole_str(samples, "state"), "refused") != 0;
    expect_says(id, "format=folded&of=waits", 200, WORDS("burner[", "main", " "));
    expect_says(id, "format=folded&of=wall", 200, WORDS("burner[", "main", " "));
    expect_says(id, "format=folded&of=contention", 404,
                WORDS("has a stack")); /* it takes no lock */
    pprof_check(id, "wait", WORDS("main"));
    if (sampled) {
        expect_says(id, "format=folded", 200, WORDS("burn_much", "burn_other"));
        expect_says(id, "format=folded&of=samples", 200, WORDS("burner["));
        pprof_check(id, "samples", WORDS("burn_much", "burn_other"));
    } else {
        printf("this machine refuses perf events\n");
        expect_says(id, "format=folded&of=samples", 404, WORDS("has a stack"));
    }
    expect_says(id, "format=folded&groups=log", 404, WORDS("nothing-stored", "that is shown"));
    expect_says(id, "format=folded&of=time", 400,
                WORDS("must be samples, waits, wall or contention"));
    expect_says(id, "format=pprof&of=waits", 400, WORDS("format=folded"));
    expect_says(id, "format=svg", 400, WORDS("skein, perfetto, pprof or folded"));
    /* The same by the incident, and by the command line. */
    char path[160], collector[64];
    size_t n, m;
    char *one = profile_get(id, "format=folded&of=waits", 200, &n);
    (void)snprintf(path, sizeof path, "/api/v1/captures/trace?incident=%s&format=folded&of=waits",
                   id);
    struct buf body = {0};
    ck_assert_int_eq(whole_http(&w, "GET", path, NULL, &body), 200);
    ck_assert_msg(body.len == n && memcmp(body.data, one, n) == 0, "%s: not\n%s\nbut\n%.*s", id,
                  one, (int)body.len, (const char *)body.data);
    buf_fini(&body);
    char *file = whole_path(&w, "fetched.folded");
    (void)snprintf(collector, sizeof collector, "http://127.0.0.1:%u", w.http);
    const char *const argv[] = {SKEIN_PROGRAM, "fetch", id,   "-f",          "folded",  "--of",
                                "waits",       "-o",    file, "--collector", collector, NULL};
    ck_assert_int_eq(spawn_wait(spawn(argv, &(struct spawn_options){0}), 0), 0);
    char *fetched = file_read(file, &m);
    ck_assert_uint_eq(m, n);
    ck_assert_mem_eq(fetched, one, n);
    free(fetched);
    free(file);
    free(one);
    cJSON_Delete(capture);
}
END_TEST

/* The numbers of all lines together; 0 where nothing is there. */
static uint64_t folded_sum(const char *id, const char *query)
{
    struct buf body = {0};
    char path[200];
    uint64_t sum = 0;
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace?format=folded&%s", id, query);
    int status = whole_http(&w, "GET", path, NULL, &body);
    ck_assert(status == 200 || status == 404);
    buf_put_u8(&body, 0);
    char *rest = (char *)body.data, *line;
    while (status == 200 && (line = strsep(&rest, "\n")) != NULL)
        sum += *line != '\0' ? strtoull(strrchr(line, ' ') + 1, NULL, 10) : 0;
    buf_fini(&body);
    return sum;
}

START_TEST(a_profile_of_a_window_counts_what_lies_in_it)
{
    static const char *const ofs[] = {"samples", "waits"};
    char until[CLOCK_TEXT_BYTES], before[96], behind[96], whole[64];
    start_burning("1500");
    clock_text(clock_realtime_ns() - UINT64_C(700000000), until); /* in the midst of it */
    cJSON *capture = snapshot("");
    const char *id = whole_str(capture, "capture");
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(whole, sizeof whole, "of=%s", ofs[i]);
        (void)snprintf(before, sizeof before, "of=%s&to=%s", ofs[i], until);
        /* a nanosecond later: both ends belong to it */
        (void)snprintf(behind, sizeof behind, "of=%s&from=%.23s000001Z", ofs[i], until);
        uint64_t all = folded_sum(id, whole), first = folded_sum(id, before);
        uint64_t second = folded_sum(id, behind), rounded = i * 100; /* microseconds of a stack */
        if (all == 0 && i == 0)
            continue; /* no samples on this machine */
        ck_assert_uint_gt(first, 0);
        ck_assert_uint_gt(second, 0);
        ck_assert_uint_le(first + second, all);
        ck_assert_uint_ge(first + second + rounded, all);
    }
    cJSON_Delete(capture);
}
END_TEST

START_TEST(a_profile_beyond_the_bound_is_refused)
{
    start("\"http\":{\"max_profile_bytes\":4096}", NULL);
    ck_assert(wait_until(burner_is_done, NULL, 0));
    cJSON *capture = snapshot("");
    const char *id = whole_str(capture, "capture");
    for (int i = 0; i < 5; i++) /* its place is free again each time */
        expect_says(id, "format=pprof", 422,
                    WORDS("profile-too-large", "http.max_profile_bytes", "process="));
    expect_says(id, "format=folded", 422, WORDS("skein export --to folded"));
    cJSON_Delete(capture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_evidence_choice");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_test(t, a_policy_switches_kinds);
    tcase_add_test(t, a_rule_says_whether_threads_are_dumped);
    tcase_add_test(t, a_request_names_the_kinds_it_wants);
    tcase_add_test(t, an_agent_that_takes_none_says_so_to_who_asks_by_name);
    tcase_add_test(t, a_policy_raises_the_rate_while_it_is_in_force);
    tcase_add_test(t, what_is_off_is_not_raised);
    tcase_add_test(t, a_capture_is_served_as_a_profile);
    tcase_add_test(t, a_profile_beyond_the_bound_is_refused);
    suite_add_tcase(suite, t);
    TCase *window = tcase_create("window");
    tcase_set_timeout(window, 300);
    tcase_add_checked_fixture(window, NULL, tear_down);
    tcase_add_test(window, a_profile_of_a_window_counts_what_lies_in_it);
    suite_add_tcase(suite, window);
    return suite_run(suite);
}
