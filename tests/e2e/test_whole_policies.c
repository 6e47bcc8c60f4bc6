/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling policies through both daemons: samples arrive by themselves, a change of one field is
 * pushed and acknowledged, a budget stops them, event groups are for who reads, and restarts of
 * either daemon change nothing.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "whole.h"

#define PATH "/api/v1/policies/all"

struct setup {
    struct whole w;
    struct load loads[2];
};

static void setup_start(struct setup *s)
{
    struct load_options options = {.service = "load", .threads = 1, .burst = 5, .pause_us = 1000};
    memset(s, 0, sizeof *s);
    whole_init(&s->w, NULL, NULL);
    whole_collector_start(&s->w);
    whole_agent_start(&s->w);
    for (size_t i = 0; i < 2; i++)
        load_start(&s->w, &options, &s->loads[i]);
    whole_wait_live(&s->w, "service%3Dload", 2);
}

static void setup_end(struct setup *s)
{
    for (size_t i = 0; i < 2; i++)
        load_free(&s->loads[i]);
    whole_fini(&s->w);
}

static void put(const struct setup *s, const char *path, const char *body, int wanted)
{
    struct buf answer = {0};
    int status = whole_http(&s->w, "PUT", path, body, &answer);
    ck_assert_msg(status == wanted, "PUT %s: %d %.*s", path, status, (int)answer.len,
                  answer.data ? (const char *)answer.data : "");
    buf_fini(&answer);
}

/* ---- state ---- */

static cJSON *state_get(const struct setup *s)
{
    cJSON *policy = whole_get(&s->w, PATH);
    cJSON *state = cJSON_DetachItemFromObjectCaseSensitive(policy, "state");
    ck_assert_ptr_nonnull(state);
    cJSON_Delete(policy);
    return state;
}

struct wanted_state {
    const struct setup *s;
    double generation; /* that every agent has */
    const char *status;
};

static bool state_is(void *context)
{
    struct wanted_state *wanted = context;
    cJSON *state = state_get(wanted->s);
    bool is = whole_number(state, "generation") == wanted->generation &&
              whole_number(state, "share_of_agents") == 1 &&
              strcmp(whole_str(state, "status"), wanted->status) == 0;
    cJSON_Delete(state);
    return is;
}

static void wait_state(const struct setup *s, double generation, const char *status)
{
    struct wanted_state wanted = {s, generation, status};
    ck_assert_msg(wait_until(state_is, &wanted, 0), "not %s with generation %g: see %s", status,
                  generation, s->w.folder);
}

/* ---- captures ---- */

struct wanted_sample {
    const struct setup *s;
    const char *policy, *count; /* the state that at least so many targets are in */
    double least, post_ms;
    char from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES]; /* between which it begins */
    unsigned found;
    char capture[ID_TEXT_BYTES];
};

static void take_capture(void *context, const cJSON *item)
{
    struct wanted_sample *wanted = context;
    const cJSON *trigger = cJSON_GetObjectItemCaseSensitive(item, "trigger");
    const cJSON *policy = cJSON_GetObjectItemCaseSensitive(trigger, "policy");
    const cJSON *count = cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(item, "target_counts"), wanted->count);
    if (!cJSON_IsString(policy) || strcmp(policy->valuestring, wanted->policy) != 0)
        return;
    ck_assert_str_eq(whole_str(item, "kind"), "sample");
    ck_assert_str_eq(whole_str(trigger, "type"), "policy");
    const char *at = whole_str(item, "at");
    if (!cJSON_IsNumber(count) || count->valuedouble < wanted->least ||
        whole_number(item, "post_ms") != wanted->post_ms || strcmp(at, wanted->from) < 0 ||
        strcmp(at, wanted->to) > 0 || strcmp(whole_str(item, "status"), "running") == 0)
        return;
    wanted->found++;
    (void)snprintf(wanted->capture, sizeof wanted->capture, "%s", whole_str(item, "capture"));
}

static bool sample_is_there(void *context)
{
    struct wanted_sample *wanted = context;
    wanted->found = 0;
    (void)whole_list(&wanted->s->w, "/api/v1/captures", take_capture, wanted);
    return wanted->found > 0;
}

/* The caller says what it is like. */
static void wait_sample(const struct setup *s, struct wanted_sample *wanted)
{
    wanted->s = s;
    if (wanted->to[0] == '\0')
        strcpy(wanted->to, "9");
    ck_assert_msg(wait_until(sample_is_there, wanted, 0),
                  "%s: no sample of post_ms %g with 2 %s: see %s", wanted->policy, wanted->post_ms,
                  wanted->count, s->w.folder);
}

static void expect_events(const struct setup *s, const char *capture)
{
    struct tally tally;
    struct buf bytes = {0};
    char path[128];
    cJSON *json = whole_get(&s->w, "/api/v1/captures/%s", capture);
    const cJSON *target, *verdict = cJSON_GetObjectItemCaseSensitive(json, "verdict");
    ck_assert_msg(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(verdict, "complete")), "%s",
                  whole_str(verdict, "text"));
    cJSON_ArrayForEach(target, cJSON_GetObjectItemCaseSensitive(json, "targets")) {
        (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace?process=%s", capture,
                       whole_str(target, "process"));
        buf_clear(&bytes);
        ck_assert_int_eq(whole_http(&s->w, "GET", path, NULL, &bytes), 200);
        tally_trace(&bytes, &tally);
        ck_assert_uint_gt(tally.events, 0);
        ck_assert_uint_eq(tally.threads[0].holes, 0);
    }
    buf_fini(&bytes);
    cJSON_Delete(json);
}

/* ---- tests ---- */

START_TEST(samples_come_and_a_change_of_one_field_reaches_every_agent)
{
    struct setup s;
    setup_start(&s);
    put(&s, PATH, "{\"selector\":\"service=load\",\"record_ms\":100,\"every_ms\":2000}", 201);
    wait_state(&s, 1, "active");
    cJSON *matches = whole_get(&s.w, PATH "/matches");
    ck_assert_double_eq(whole_number(matches, "matches"), 2);
    cJSON_Delete(matches);
    struct wanted_sample sample = {
        .policy = "all", .count = "complete", .least = 2, .post_ms = 2100};
    wait_sample(&s, &sample);
    expect_events(&s, sample.capture);
    put(&s, PATH, "{\"selector\":\"service=load\",\"record_ms\":1000,\"every_ms\":2000}", 200);
    wait_state(&s, 2, "active");
    sample.post_ms = 3000;
    wait_sample(&s, &sample);
    expect_events(&s, sample.capture);
    setup_end(&s);
}
END_TEST

/* What skein prints, freed by the caller. */
static char *skein(const struct setup *s, const char *const *words)
{
    const char *argv[12] = {SKEIN_PROGRAM};
    char collector[64], *out = whole_path(&s->w, "out");
    for (size_t n = 0; words[n] != NULL; n++)
        argv[n + 1] = words[n];
    (void)snprintf(collector, sizeof collector, "SKEIN_COLLECTOR=http://127.0.0.1:%u", s->w.http);
    (void)remove(out); /* spawn() appends */
    struct spawn_options options = {
        .env = (const char *const[]){collector, NULL}, .folder = s->w.folder, .out_file = out};
    int status = spawn_wait(spawn(argv, &options), 0);
    char *text = file_read(out, NULL);
    ck_assert_msg(status == 0 && text != NULL, "skein %s: %d %s", words[0], status, text);
    free(out);
    return text;
}
#define SKEIN(s, ...) skein(s, (const char *const[]){__VA_ARGS__, NULL})

static void expect_ticks(char *text, bool wanted)
{
    ck_assert_msg((strstr(text, "tick") != NULL) == wanted, "%s", text);
    free(text);
}

static void expect_ticks_exported(const struct setup *s, const char *file, bool wanted)
{
    size_t n = 0;
    char *path = whole_path(&s->w, file), *bytes = file_read(path, &n);
    ck_assert_ptr_nonnull(bytes);
    ck_assert(memmem(bytes, n, "load", 4) != NULL); /* the process */
    ck_assert((memmem(bytes, n, "tick", 4) != NULL) == wanted);
    free(bytes);
    free(path);
}

/* The ticks of the load are of the group app. */
START_TEST(a_sample_has_all_groups_and_those_of_its_policy_are_shown)
{
    struct setup s;
    setup_start(&s);
    put(&s, "/api/v1/policies/logs",
        "{\"selector\":\"service=load\",\"record_ms\":100,\"every_ms\":2000,\"groups\":[\"log\"]}",
        201);
    struct wanted_sample sample = {
        .policy = "logs", .count = "complete", .least = 2, .post_ms = 2100};
    wait_sample(&s, &sample);
    expect_events(&s, sample.capture);
    const char *id = sample.capture;
    free(SKEIN(&s, "fetch", id, "-o", "a.skein"));
    expect_ticks(SKEIN(&s, "cat", "-j", "a.skein"), true);
    expect_ticks(SKEIN(&s, "cat", "-j", "--groups", "log", "a.skein"), false);
    free(SKEIN(&s, "fetch", id, "-f", "perfetto", "-o", "own.pftrace"));
    expect_ticks_exported(&s, "own.pftrace", false);
    free(SKEIN(&s, "fetch", id, "-f", "perfetto", "--groups", "all", "-o", "all.pftrace"));
    expect_ticks_exported(&s, "all.pftrace", true);
    char *what = SKEIN(&s, "what", id);
    ck_assert_msg(strstr(what, "events of the groups log;") != NULL, "%s", what);
    free(what);
    what = SKEIN(&s, "what", id, "--groups", "all");
    ck_assert_msg(strstr(what, "events of the groups") == NULL, "%s", what);
    free(what);
    char *capture = SKEIN(&s, "capture", "show", id);
    ck_assert_msg(strstr(capture, "log are shown; all are stored") != NULL, "%s", capture);
    free(capture);
    setup_end(&s);
}
END_TEST

/* Some samples of both processes wait in the agent's spool. */
static bool spool_fills(void *context)
{
    const struct setup *s = context;
    char *path = whole_path(&s->w, "agent/spool");
    DIR *folder = opendir(path);
    unsigned files = 0;
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL)
        files++;
    closedir(folder);
    free(path);
    return files >= 20;
}

START_TEST(samples_go_on_without_the_collector_and_over_restarts)
{
    struct setup s;
    struct wanted_sample sample = {
        .policy = "all", .count = "complete", .least = 2, .post_ms = 1100};
    setup_start(&s);
    put(&s, PATH, "{\"selector\":\"service=load\",\"record_ms\":100,\"every_ms\":1000}", 201);
    wait_state(&s, 1, "active");
    wait_sample(&s, &sample);
    whole_kill(&s.w.collector);
    whole_kill(&s.w.agent);
    whole_agent_start(&s.w); /* knows its policies by itself */
    clock_text(clock_realtime_ns() + UINT64_C(1000000000), sample.from);
    ck_assert(wait_until(spool_fills, &s, 0));
    clock_text(clock_realtime_ns(), sample.to);
    sample.least = 1;
    whole_collector_start(&s.w);
    wait_sample(&s, &sample);
    expect_events(&s, sample.capture);
    wait_state(&s, 1, "active");
    cJSON *state = state_get(&s);
    ck_assert_double_ge(whole_number(state, "captures"), 2);
    ck_assert_double_gt(whole_number(state, "bytes_today"), 0);
    cJSON_Delete(state);
    setup_end(&s);
}
END_TEST

static bool agent_pauses(void *context)
{
    const struct setup *s = context;
    char *path = whole_path(&s->w, "agent/policies.json");
    size_t n = 0;
    char *text = file_read(path, &n);
    bool paused = text != NULL && strstr(text, "\"paused\":true") != NULL;
    free(text);
    free(path);
    return paused;
}

static double captures_of_all(const struct setup *s)
{
    cJSON *state = state_get(s);
    double captures = whole_number(state, "captures");
    cJSON_Delete(state);
    return captures;
}

/* While another policy takes its samples, this one takes none. */
static void expect_no_more(const struct setup *s)
{
    struct wanted_sample mark = {
        .policy = "mark", .count = "complete", .least = 2, .post_ms = 1100};
    put(s, "/api/v1/policies/mark",
        "{\"selector\":\"service=load\",\"record_ms\":100,\"every_ms\":1000}", 201);
    wait_sample(s, &mark);
    double before = captures_of_all(s);
    clock_text(clock_realtime_ns(), mark.from);
    wait_sample(s, &mark);
    ck_assert_double_eq(captures_of_all(s), before);
}

START_TEST(a_budget_that_is_used_up_stops_the_agents)
{
    struct setup s;
    setup_start(&s);
    put(&s, PATH,
        "{\"selector\":\"service=load\",\"record_ms\":100,\"every_ms\":1000,"
        "\"limits\":{\"bytes_per_day\":1}}",
        201);
    wait_state(&s, 1, "suspended");
    ck_assert(wait_until(agent_pauses, &s, 0));
    cJSON *state = state_get(&s);
    ck_assert_msg(strstr(whole_str(state, "reason"), "budget are used up") != NULL, "%s",
                  whole_str(state, "reason"));
    cJSON_Delete(state);
    expect_no_more(&s);
    /* The collector knows it after a restart, and a larger budget goes on. */
    whole_kill(&s.w.collector);
    whole_collector_start(&s.w);
    wait_state(&s, 2, "suspended");
    put(&s, PATH,
        "{\"selector\":\"service=load\",\"record_ms\":100,\"every_ms\":1000,"
        "\"limits\":{\"bytes_per_day\":1000000000}}",
        200);
    wait_state(&s, 3, "active");
    setup_end(&s);
}
END_TEST

static bool agent_is_shown_paused(void *context)
{
    cJSON *state = state_get(context);
    bool paused = cJSON_GetObjectItemCaseSensitive(state, "paused_agents") != NULL;
    cJSON_Delete(state);
    return paused;
}

static bool agent_is_not_shown_paused(void *context)
{
    return !agent_is_shown_paused(context);
}

/* The agent cuts ten snapshots of a ring a second, which takes more than 1 % of a core. */
START_TEST(an_agent_that_works_hard_pauses)
{
    struct setup s;
    struct load busy;
    struct load_options options = {
        .service = "busy", .threads = 4, .burst = 50, .pause_us = 1000, .snapshot_ms = 20};
    memset(&s, 0, sizeof s);
    whole_init(&s.w, NULL, "\"snapshot\":{\"cooldown_ms\":100}");
    whole_collector_start(&s.w);
    whole_agent_start(&s.w);
    load_start(&s.w, &options, &busy);
    put(&s, PATH,
        "{\"selector\":\"service=load\",\"record_ms\":100,\"every_ms\":1000,"
        "\"limits\":{\"agent_cpu_percent\":1}}",
        201);
    ck_assert(wait_until(agent_is_shown_paused, &s, 0));
    put(&s, PATH,
        "{\"selector\":\"service=load\",\"record_ms\":100,\"every_ms\":1000,"
        "\"limits\":{\"agent_cpu_percent\":100000}}",
        200);
    wait_state(&s, 2, "active");
    ck_assert(wait_until(agent_is_not_shown_paused, &s, 0));
    load_free(&busy);
    whole_fini(&s.w);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("whole_policies", samples_come_and_a_change_of_one_field_reaches_every_agent,
                 a_sample_has_all_groups_and_those_of_its_policy_are_shown,
                 samples_go_on_without_the_collector_and_over_restarts,
                 a_budget_that_is_used_up_stops_the_agents, an_agent_that_works_hard_pauses, NULL));
}
