/* SPDX-License-Identifier: Apache-2.0
 *
 * The series of real samples: a policy samples two programs that number their events themselves, and
 * what the collector, `skein series` and Prometheus say of them is what their own numbers come to in
 * the samples; also after the collector was killed and started again. A capture one half of which comes
 * late is summed up again. One thread.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "whole.h"

#define PATH   "/api/v1/policies/all"
#define SERIES "/api/v1/series?metric=count&service=load&name=tick"

struct scene {
    struct whole w;
    struct load loads[2];
    unsigned ended, pending; /* samples: summed up, and not yet */
    uint64_t events;         /* of those summed up, by the programs' own numbers */
};

static void scene_start(struct scene *s)
{
    struct load_options options = {.service = "load", .threads = 2, .burst = 5, .pause_us = 1000};
    memset(s, 0, sizeof *s);
    whole_init(&s->w, NULL, WHOLE_NO_EVIDENCE);
    whole_collector_start(&s->w);
    whole_agent_start(&s->w);
    for (size_t i = 0; i < 2; i++)
        load_start(&s->w, &options, &s->loads[i]);
    whole_wait_live(&s->w, "service%3Dload", 2);
}

static void scene_end(struct scene *s)
{
    for (size_t i = 0; i < 2; i++)
        load_free(&s->loads[i]);
    whole_fini(&s->w);
}

static void put(const struct scene *s, const char *body)
{
    struct buf answer = {0};
    int status = whole_http(&s->w, "PUT", PATH, body, &answer);
    ck_assert_msg(status == 200 || status == 201, "PUT: %d %.*s", status, (int)answer.len,
                  answer.data ? (const char *)answer.data : "");
    buf_fini(&answer);
}

/* ---- what the programs' own numbers come to ---- */

/* Each thread numbers its events: from the first to the last of a sample it has so many. */
static void numbers_add(struct scene *s, const char *capture, const char *process)
{
    struct tally tally;
    struct buf bytes = {0};
    char path[160];
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace?process=%s", capture, process);
    if (whole_http(&s->w, "GET", path, NULL, &bytes) == 200) { /* 404: it has none of the process */
        tally_trace(&bytes, &tally);
        for (size_t i = 0; i < LOAD_THREADS_MAX; i++) {
            ck_assert_uint_eq(tally.threads[i].holes, 0);
            if (tally.threads[i].count > 0)
                s->events += tally.threads[i].last - tally.threads[i].first + 1;
        }
    }
    buf_fini(&bytes);
}

static void sample_take(void *context, const cJSON *item)
{
    struct scene *s = context;
    const char *capture = whole_str(item, "capture");
    cJSON *json = whole_get(&s->w, "/api/v1/captures/%s", capture);
    const cJSON *analysis = cJSON_GetObjectItemCaseSensitive(json, "analysis"), *target;
    const char *state = analysis != NULL ? whole_str(analysis, "state") : "pending";
    if (strcmp(state, "refused") == 0)
        ck_assert_str_eq(whole_str(analysis, "reason"), "no partition of it is stored");
    s->pending += strcmp(state, "pending") == 0;
    if (strcmp(state, "done") == 0) {
        s->ended++;
        cJSON_ArrayForEach(target, cJSON_GetObjectItemCaseSensitive(json, "targets")) {
            numbers_add(s, capture, whole_str(target, "process"));
        }
    }
    cJSON_Delete(json);
}

static bool some_are_done(void *context)
{
    struct scene *s = context;
    s->ended = s->pending = 0;
    s->events = 0;
    (void)whole_list(&s->w, "/api/v1/captures", sample_take, s);
    return s->ended >= 3;
}

static bool all_are_done(void *context)
{
    struct scene *s = context;
    return some_are_done(s) && s->pending == 0;
}

/* ---- what is said of them ---- */

static double counted_in(const cJSON *json)
{
    const cJSON *line, *point;
    double sum = 0;
    cJSON_ArrayForEach(line, cJSON_GetObjectItemCaseSensitive(json, "series")) {
        cJSON_ArrayForEach(point, cJSON_GetObjectItemCaseSensitive(line, "points")) {
            sum += whole_number(point, "value");
        }
    }
    return sum;
}

static void api_expect(const struct scene *s)
{
    cJSON *json = whole_get(&s->w, SERIES);
    ck_assert_double_eq(counted_in(json), (double)s->events);
    cJSON_Delete(json);
}

static void counter_expect(const struct scene *s)
{
    static const char name[] = "\nskein_sampled_instants_total{service=\"load\",name=\"tick\",";
    struct buf text = {0};
    ck_assert_int_eq(whole_http(&s->w, "GET", "/api/v1/series?format=openmetrics", NULL, &text),
                     200);
    buf_put_u8(&text, 0);
    const char *at = strstr((const char *)text.data, name);
    ck_assert_msg(at != NULL, "%s", (const char *)text.data);
    ck_assert_uint_eq(strtoull(strchr(at, ' ') + 1, NULL, 10), s->events);
    buf_fini(&text);
}

/* Of Prometheus's own program, where it is installed. */
static void promtool_expect(const struct scene *s)
{
    struct buf text = {0};
    char command[512], *file = whole_path(&s->w, "series"), *out = whole_path(&s->w, "out");
    ck_assert_int_eq(whole_http(&s->w, "GET", "/api/v1/series?format=prometheus", NULL, &text),
                     200);
    file_write(file, text.data, text.len);
    (void)snprintf(command, sizeof command,
                   "command -v promtool >/dev/null || exit 0; promtool check metrics <'%s'", file);
    const char *const argv[] = {"sh", "-c", command, NULL};
    (void)remove(out);
    int status = spawn_wait(spawn(argv, &(struct spawn_options){.out_file = out}), 0);
    char *said = file_read(out, NULL);
    ck_assert_msg(status == 0, "promtool: %d %s", status, said);
    free(said);
    free(out);
    free(file);
    buf_fini(&text);
}

/* What `skein series` prints; freed by the caller. */
static char *skein_series(const struct scene *s, const char *output)
{
    char url[64], *out = whole_path(&s->w, "out");
    const char *const argv[] = {SKEIN_PROGRAM, "series", "--service", "load", "--metric",
                                "count",       "--name", "tick",      "-o",   output,
                                "--collector", url,      NULL};
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", s->w.http);
    (void)remove(out); /* spawn() appends */
    int status = spawn_wait(spawn(argv, &(struct spawn_options){.out_file = out}), 0);
    char *text = file_read(out, NULL);
    ck_assert_msg(status == 0 && text != NULL, "skein series: %d %s", status, text);
    free(out);
    return text;
}

static void command_expect(const struct scene *s)
{
    char error[256];
    char *text = skein_series(s, "json");
    cJSON *json = json_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(json != NULL, "%s: %s", error, text);
    ck_assert_double_eq(counted_in(json), (double)s->events);
    cJSON_Delete(json);
    free(text);
    text = skein_series(s, "table");
    const char *head = strstr(text, "SERVICE"), *row = strstr(text, "load");
    ck_assert_msg(head != NULL && row != NULL && strstr(row, "tick") != NULL, "%s", text);
    free(text);
}

static void all_expect(struct scene *s)
{
    ck_assert_msg(wait_until(all_are_done, s, 0), "%u done, %u not: see %s", s->ended, s->pending,
                  s->w.folder);
    api_expect(s);
    counter_expect(s);
    promtool_expect(s);
    command_expect(s);
}

START_TEST(series_count_what_the_programs_number_in_their_samples)
{
    struct scene s;
    scene_start(&s);
    put(&s, "{\"selector\":\"service=load\",\"record_ms\":200,\"every_ms\":1000}");
    ck_assert_msg(wait_until(some_are_done, &s, 0), "%u done, %u not: see %s", s.ended, s.pending,
                  s.w.folder);
    put(&s,
        "{\"selector\":\"service=load\",\"record_ms\":200,\"every_ms\":1000,\"enabled\":false}");
    all_expect(&s);
    ck_assert_uint_gt(s.events, 100);
    whole_kill(&s.w.collector);
    whole_collector_start(&s.w);
    all_expect(&s);
    scene_end(&s);
}
END_TEST

/* ---- late ---- */

static const char *const done_line = "\nskein_analysis_done_total ";

static uint64_t done_count(const struct whole *w)
{
    struct buf text = {0};
    ck_assert_int_eq(whole_http(w, "GET", "/metrics", NULL, &text), 200);
    buf_put_u8(&text, 0);
    const char *at = strstr((const char *)text.data, done_line);
    ck_assert_msg(at != NULL, "%s", (const char *)text.data);
    uint64_t count = strtoull(at + strlen(done_line), NULL, 10);
    buf_fini(&text);
    return count;
}

struct wanted {
    const struct whole *w;
    const char *capture, *status;
    uint64_t done; /* times that something was summed up */
};

static bool is_summed_up(void *context)
{
    const struct wanted *wanted = context;
    cJSON *json = whole_get(wanted->w, "/api/v1/captures/%s", wanted->capture);
    const cJSON *analysis = cJSON_GetObjectItemCaseSensitive(json, "analysis");
    bool is = analysis != NULL && strcmp(whole_str(analysis, "state"), "done") == 0 &&
              strcmp(whole_str(json, "status"), wanted->status) == 0 &&
              done_count(wanted->w) >= wanted->done;
    cJSON_Delete(json);
    return is;
}

START_TEST(capture_is_summed_up_again_when_the_rest_of_it_comes_late)
{
    struct whole w, other;
    struct load loads[2];
    char id[ID_TEXT_BYTES];
    struct load_options options = {.service = "load", .threads = 1, .burst = 5, .pause_us = 1000};
    whole_init(&w, NULL, WHOLE_NO_EVIDENCE);
    whole_collector_start(&w);
    whole_agent_start(&w);
    whole_join(&other, &w, 0);
    whole_agent_start(&other);
    load_start(&w, &options, &loads[0]);
    load_start(&other, &options, &loads[1]);
    whole_wait_live(&w, "service%3Dload", 2);
    ck_assert_int_eq(kill(other.agent, SIGSTOP), 0);
    struct capture_id capture =
        whole_capture(&w, "{\"selector\":\"service=load\",\"pre_ms\":1000,\"deadline_ms\":300}");
    id_text(capture.bytes, id);
    struct wanted wanted = {&w, id, "incomplete", 1};
    ck_assert_msg(wait_until(is_summed_up, &wanted, 0), "see %s", w.folder);
    ck_assert_uint_eq(done_count(&w), 1);
    ck_assert_int_eq(kill(other.agent, SIGCONT), 0);
    wanted = (struct wanted){&w, id, "complete", 2};
    ck_assert_msg(wait_until(is_summed_up, &wanted, 0), "see %s", w.folder);
    load_free(&loads[1]);
    whole_fini(&other);
    load_free(&loads[0]);
    whole_fini(&w);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("series", series_count_what_the_programs_number_in_their_samples,
                              capture_is_summed_up_again_when_the_rest_of_it_comes_late, NULL));
}
