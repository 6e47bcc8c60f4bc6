/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports and SQL over HTTP, read by the real skein-analyst: answers are judged by what the test has
 * counted while it wrote; limits, clients that leave, many at once, who sees what, damage on the
 * disk, and the collector's end.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask_client.h"
#include "clock.h"
#include "collector_fixture.h"
#include "json.h"
#include "partition_writer.h"
#include "support.h"
#include "tokens.h"

#define CAPTURE "01a10000000000000000000000000061"
#define NOBODY  "01a10000000000000000000000000062"
#define OTHER   "01a10000000000000000000000000063"
#define REPORT  "/api/v1/captures/" CAPTURE "/report"
#define SQL     "/api/v1/captures/" CAPTURE "/sql"
#define SECOND  UINT64_C(1000000000)
#define AT_NS   UINT64_C(1700000000000000000)
#define FROM_NS (AT_NS - 2 * SECOND)
#define LASTS   (3 * SECOND)
#define TICK_NS 64
#define PLACES  4u /* http.max_exports */
/* Not summed up at its end: the only process that reads is the one that was asked for. */
#define ALONE                                                                                      \
    ",\"analysis\":{\"program\":\"" ANALYST_PROGRAM                                                \
    "\",\"max_trace_bytes\":0,\"memory_bytes\":536870912}"

static const struct partition_event_type step = {
    .name = "step", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16};

/* What the test has written, of processes 1 and 2. */
struct truth {
    uint64_t count, total_ns, longest_ns;
};
static struct truth truths[3];
static struct buf stored[3]; /* their partitions */

static void steps_write(struct partition_writer *w, uint32_t process)
{
    struct truth *t = &truths[process];
    struct partition_thread thread = {1, "main", 1};
    uint32_t type = (uint32_t)partition_writer_type(w, &step);
    *t = (struct truth){0};
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 1, 1, false);
    for (uint64_t at = 0; at + SECOND / 10 < LASTS; at += SECOND / 100) {
        uint64_t ticks = 1000 * process + (at * 7 / 1000) % 9001;
        partition_writer_event(w, type, 1000 + at / TICK_NS + ticks, ticks, NULL);
        t->count++;
        t->total_ns += ticks * TICK_NS;
        if (ticks * TICK_NS > t->longest_ns)
            t->longest_ns = ticks * TICK_NS;
    }
}

static void process_upload(struct fixture *f, uint32_t process)
{
    struct partition_info info = {
        .key = key_of(process, f->agent.epoch, 0),
        .pid = 100 + process,
        .clock = PARTITION_CLOCK_MONOTONIC,
        .begin = {1000, 5000, 5000, FROM_NS},
        .end = {1000 + LASTS / TICK_NS, 5000 + LASTS, 5000 + LASTS, FROM_NS + LASTS},
        .window_from_ticks = 1000,
        .window_to_ticks = 1000 + LASTS / TICK_NS,
        .host = "host-a",
        .service = "shop",
        .labels = "",
        .exe = "/bin/shop",
    };
    struct partition_writer *w;
    struct capture_id id;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    steps_write(w, process);
    buf_clear(&stored[process]);
    ck_assert_int_eq(partition_writer_finish(w, &stored[process], NULL), SKEIN_OK);
    partition_writer_free(&w);
    ck_assert_int_eq(id_parse(CAPTURE, id.bytes), SKEIN_OK);
    ck_assert_int_eq(partition_upload(f->agent.data, &info.key, &id, &stored[process]),
                     WIRE_STORED);
}

static void agent_report(struct fixture *f, cJSON *json)
{
    char error[256];
    ck_assert_msg(wire_agent_report(&f->agent, json, error, sizeof error), "%s", error);
}

/* A capture of two processes that has ended. */
static void capture_make(struct fixture *f)
{
    wire_agent_processes(&f->agent, 1, 2, "shop");
    /* opens the agent's connection for data */
    ck_assert_int_eq(wire_agent_upload(&f->agent, 1, 999, OTHER, 0), WIRE_STORED);
    agent_report(f, wire_fired(&f->agent, CAPTURE, 1, NULL, AT_NS));
    for (uint32_t process = 1; process <= 2; process++) {
        process_upload(f, process);
        agent_report(f, wire_target(&f->agent, CAPTURE, process, "uploading", 1,
                                    (unsigned)truths[process].count));
    }
    wait_for_text(f, "/api/v1/captures/" CAPTURE, "targets.0.status", "complete");
    wait_for_text(f, "/api/v1/captures/" CAPTURE, "targets.1.status", "complete");
}

static void start(struct fixture *f)
{
    fixture_start_with(f, NULL, ALONE);
    capture_make(f);
}

static void finish(struct fixture *f)
{
    for (uint32_t process = 1; process <= 2; process++)
        buf_fini(&stored[process]);
    fixture_stop(f);
}

static cJSON *ask(const struct fixture *f, const char *sql, long status)
{
    char body[2048];
    snprintf(body, sizeof body, "{\"query\":\"%s\"}", sql);
    return call_json(f, "POST", SQL, body, status);
}

static bool is_alone(void *context)
{
    (void)context;
    return children_of(getpid(), NULL) == 0;
}

/* ---- reports ---- */

/* Steps that the report counts. */
static double steps_of(const cJSON *report)
{
    const cJSON *row;
    double count = 0;
    cJSON_ArrayForEach(row, at_path(report, "regions")) {
        if (strcmp(text_at(row, "name"), "step") == 0)
            count += number_at(row, "count");
    }
    return count;
}

START_TEST(a_report_is_of_all_or_of_the_part_that_is_asked_for)
{
    struct fixture f;
    char path[256], id[ID_TEXT_BYTES];
    struct process_uid second = process_of(2);
    start(&f);
    cJSON *json = call_json(&f, "GET", REPORT, NULL, 200);
    ck_assert_double_eq(steps_of(json), (double)(truths[1].count + truths[2].count));
    ck_assert_str_eq(text_at(json, "capture.id"), CAPTURE);
    ck_assert(cJSON_IsFalse(at_path(json, "capture.stored")));
    ck_assert(cJSON_IsArray(at_path(json, "capture.gaps")));
    ck_assert_ptr_nonnull(at_path(json, "capture.verdict.text"));
    cJSON_Delete(json);
    id_text(second.bytes, id);
    snprintf(path, sizeof path, REPORT "?process=%s&top=3", id);
    json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_double_eq(steps_of(json), (double)truths[2].count);
    cJSON_Delete(json);
    /* the first second of three */
    snprintf(path, sizeof path, REPORT "?process=%s&to=%llu", id,
             (unsigned long long)(FROM_NS + SECOND));
    json = call_json(&f, "GET", path, NULL, 200);
    ck_assert_double_gt(steps_of(json), (double)truths[2].count / 4);
    ck_assert_double_lt(steps_of(json), (double)truths[2].count / 2);
    cJSON_Delete(json);
    ck_assert(is_alone(NULL));
    finish(&f);
}
END_TEST

static bool is_kept(void *context)
{
    cJSON *json = call_json(context, "GET", REPORT, NULL, 200);
    bool kept = cJSON_IsTrue(at_path(json, "capture.stored"));
    ck_assert_double_eq(steps_of(json), (double)(truths[1].count + truths[2].count));
    cJSON_Delete(json);
    return kept;
}

START_TEST(a_report_that_is_kept_is_given_where_all_is_meant)
{
    struct fixture f;
    fixture_start(&f);
    capture_make(&f);
    ck_assert(wait_until(is_kept, &f, 0));
    cJSON *json = call_json(&f, "GET", REPORT "?top=1", NULL, 200);
    ck_assert(cJSON_IsFalse(at_path(json, "capture.stored")));
    cJSON_Delete(json);
    finish(&f);
}
END_TEST

START_TEST(wrong_requests_are_refused)
{
    struct fixture f;
    start(&f);
    expect_problem(&f, "GET", REPORT "?from=5&to=4", NULL, 400, "to");
    expect_problem(&f, "GET", REPORT "?from=5&to=0", NULL, 400, "to"); /* 1970 is a time, too */
    expect_problem(&f, "GET", REPORT "?from=5&to=1970-01-01T00:00:00Z", NULL, 400, "to");
    expect_problem(&f, "GET", REPORT "?top=0", NULL, 400, "top");
    expect_problem(&f, "GET", REPORT "?top=99999999999999999999", NULL, 400, "top");
    expect_problem(&f, "GET", REPORT "?from=5&to=4", NULL, 400, "to");
    expect_problem(&f, "GET", REPORT "?process=x", NULL, 400, "process");
    expect_problem(&f, "GET", REPORT "?rows=1", NULL, 400, "rows");
    expect_problem(&f, "GET", REPORT "?process=" NOBODY, NULL, 404, NULL);
    expect_problem(&f, "GET", REPORT "?from=5&to=6", NULL, 404, NULL);
    expect_problem(&f, "GET", "/api/v1/captures/" NOBODY "/report", NULL, 404, NULL);
    expect_problem(&f, "POST", "/api/v1/captures/" NOBODY "/sql", "{\"query\":\"select 1\"}", 404,
                   NULL);
    expect_problem(&f, "POST", SQL, "{}", 422, "query");
    expect_problem(&f, "POST", SQL, "{\"query\":1}", 422, "query");
    expect_problem(&f, "POST", SQL, "{\"query\":\"select 1\",\"rows\":0}", 422, "rows");
    expect_problem(&f, "POST", SQL, "{\"query\":\"select 1\",\"rows\":10001}", 422, "rows");
    expect_problem(&f, "POST", SQL, "{\"query\":\"select 1\",\"timeout_ms\":30001}", 422,
                   "timeout_ms");
    expect_problem(&f, "POST", SQL, "{\"query\":\"select 1\",\"limit\":1}", 422, "limit");
    ck_assert_uint_eq(places_taken(f.collector.exports), 0);
    finish(&f);
}
END_TEST

/* ---- SQL ---- */

/* In place of the process: it gives back the statement, as if that were the answer. */
static int echo_run(struct analyst *analyst, const struct analyst_job *job, struct buf *answer,
                    char error[ANALYST_ERROR_BYTES])
{
    (void)analyst;
    error[0] = '\0';
    buf_put(answer, job->sql, strlen(job->sql));
    return answer->status;
}

START_TEST(what_the_reading_process_makes_up_goes_nowhere)
{
    static const char *const lies[] = {"<script>", "{}", "{\\\"columns\\\":[],\\\"rows\\\":[]}",
                                       "{\\\"columns\\\":[{\\\"name\\\":1}],\\\"gaps\\\":["};
    struct fixture f;
    struct http_response response;
    start(&f);
    f.collector.api.analyst_run = echo_run; /* before the first statement */
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        char body[256];
        (void)snprintf(body, sizeof body, "{\"query\":\"%s\"}", lies[i]);
        call(&f, "POST", SQL, body, NULL, &response);
        ck_assert_msg(response.status == 500, "%s: %ld", lies[i], response.status);
        ck_assert_ptr_null(memmem(response.body.data, response.body.len, "script", 6));
        http_response_fini(&response);
    }
    cJSON_Delete(call_json(
        &f, "POST", SQL,
        "{\"query\":\"{\\\"columns\\\":[{\\\"name\\\":\\\"a\\\",\\\"type\\\":\\\"any\\\"}],"
        "\\\"rows\\\":[[1]],\\\"more\\\":false,\\\"gaps\\\":[]}\\n\"}",
        200));
    finish(&f);
}
END_TEST

START_TEST(statements_count_what_was_written)
{
    struct fixture f;
    start(&f);
    cJSON *json = ask(&f,
                      "select pid, count(*) as n, sum(dur) as total, max(dur) from slice "
                      "where name = 'step' group by pid order by pid",
                      200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "rows")), 2);
    for (uint32_t process = 1; process <= 2; process++) {
        const struct truth *t = &truths[process];
        const cJSON *row = cJSON_GetArrayItem(at_path(json, "rows"), (int)process - 1);
        ck_assert_double_eq(cJSON_GetArrayItem(row, 0)->valuedouble, 100 + process);
        ck_assert_double_eq(cJSON_GetArrayItem(row, 1)->valuedouble, (double)t->count);
        ck_assert_double_eq(cJSON_GetArrayItem(row, 2)->valuedouble, (double)t->total_ns);
        ck_assert_double_eq(cJSON_GetArrayItem(row, 3)->valuedouble, (double)t->longest_ns);
    }
    ck_assert_str_eq(text_at(json, "columns.1.name"), "n");
    ck_assert_str_eq(text_at(json, "columns.1.type"), "integer");
    ck_assert(cJSON_IsFalse(at_path(json, "more")));
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "gaps")), 0);
    cJSON_Delete(json);
    json = call_json(&f, "POST", SQL, "{\"query\":\"select ts from slice\",\"rows\":7}", 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "rows")), 7);
    ck_assert(cJSON_IsTrue(at_path(json, "more")));
    cJSON_Delete(json);
    finish(&f);
}
END_TEST

/* The audit log has a question with this result, and this text. */
static void expect_audited(const struct fixture *f, const char *result, const char *text)
{
    cJSON *json = call_json(f, "GET", "/api/v1/audit?action=capture.query", NULL, 200);
    const cJSON *item;
    bool found = false;
    cJSON_ArrayForEach(item, at_path(json, "items")) {
        const char *had = text_at(item, "result");
        ck_assert_str_eq(text_at(item, "object"), CAPTURE);
        found |= strcmp(text_at(item, "detail"), text) == 0 &&
                 (result != NULL ? strcmp(had, result) == 0 : strcmp(had, "ok") != 0);
    }
    ck_assert_msg(found, "%s", text);
    cJSON_Delete(json);
}

START_TEST(errors_say_where_and_all_is_audited)
{
    struct fixture f;
    start(&f);
    cJSON_Delete(ask(&f, "select 1", 200));
    cJSON *json = ask(&f, "select nowhere from slice", 422);
    ck_assert_str_eq(text_at(json, "field"), "query");
    ck_assert_str_eq(text_at(json, "detail"), "query: at byte 7: no such column: nowhere");
    ck_assert_double_eq(number_at(json, "at"), 7);
    cJSON_Delete(json);
    json = ask(&f, "", 422);
    ck_assert_ptr_null(at_path(json, "at"));
    cJSON_Delete(json);
    json = ask(&f, "attach '/etc/passwd' as p", 422);
    ck_assert_str_eq(text_at(json, "field"), "query");
    cJSON_Delete(json);
    expect_audited(&f, "ok", "select 1");
    expect_audited(&f, NULL, "select nowhere from slice");
    expect_audited(&f, NULL, "attach '/etc/passwd' as p");
    finish(&f);
}
END_TEST

START_TEST(limits_end_the_statement_and_are_named)
{
    struct fixture f;
    start(&f);
    cJSON *json =
        call_json(&f, "POST", SQL, "{\"query\":\"" ENDLESS_SQL "\",\"timeout_ms\":300}", 422);
    ck_assert_ptr_nonnull(strstr(text_at(json, "detail"), "it takes more than 300 ms"));
    ck_assert_ptr_nonnull(strstr(text_at(json, "detail"), "timeout_ms"));
    cJSON_Delete(json);
    json = ask(&f,
               "with recursive n(i) as (select 1 union all select i + 1 from n) "
               "select i, zeroblob(100000) from n order by 2, 1",
               422);
    ck_assert_ptr_nonnull(strstr(text_at(json, "detail"), "memory"));
    cJSON_Delete(json);
    ck_assert(wait_until(is_alone, NULL, 0));
    ck_assert_uint_eq(places_taken(f.collector.exports), 0);
    finish(&f);
}
END_TEST

/* ---- clients ---- */

static bool has_children(void *context)
{
    return children_of(getpid(), NULL) == *(const unsigned *)context;
}

static bool are_places_free(void *context)
{
    const struct fixture *f = context;
    return places_taken(f->collector.exports) == 0;
}

START_TEST(a_client_that_leaves_takes_its_statement_along)
{
    struct fixture f;
    unsigned one = 1;
    start(&f);
    int fd = ask_send(f.http_port, CAPTURE, ENDLESS_SQL);
    ck_assert(wait_until(has_children, &one, 0));
    close(fd);
    ck_assert(wait_until(is_alone, NULL, 0));
    ck_assert(wait_until(are_places_free, &f, 0));
    finish(&f);
}
END_TEST

struct asker {
    const struct fixture *f;
    pthread_t thread;
    long status;
};

static void *ask_alone(void *context)
{
    struct asker *asker = context;
    struct http_response response;
    char url[160];
    const char *const headers[] = {"Content-Type: application/json", NULL};
    static const char body[] = "{\"query\":\"select count(*) from slice\"}";
    snprintf(url, sizeof url, "http://127.0.0.1:%u" SQL, asker->f->http_port);
    struct http_request request = {.method = "POST",
                                   .url = url,
                                   .headers = headers,
                                   .body = body,
                                   .body_bytes = sizeof body - 1,
                                   .timeout_ms = support_deadline_ms()};
    asker->status = http_request(&request, &response) == SKEIN_OK ? response.status : -1;
    http_response_fini(&response);
    return NULL;
}

/* Fifty at once; how many were answered with this status. All were answered. */
static unsigned many_ask(const struct fixture *f, long status)
{
    struct asker askers[50];
    unsigned count = 0;
    for (size_t i = 0; i < 50; i++) {
        askers[i] = (struct asker){.f = f};
        ck_assert_int_eq(pthread_create(&askers[i].thread, NULL, ask_alone, &askers[i]), 0);
    }
    for (size_t i = 0; i < 50; i++) {
        pthread_join(askers[i].thread, NULL);
        ck_assert_msg(askers[i].status == 200 || askers[i].status == 503, "%ld", askers[i].status);
        count += askers[i].status == status;
    }
    return count;
}

START_TEST(many_at_once_are_answered_or_sent_away)
{
    struct fixture f;
    int fds[PLACES];
    unsigned all = PLACES;
    start(&f);
    for (unsigned i = 0; i < PLACES; i++)
        fds[i] = ask_send(f.http_port, CAPTURE, ENDLESS_SQL);
    ck_assert(wait_until(has_children, &all, 0));
    /* Four are asked without end, and the server has two threads. */
    cJSON_Delete(call_json(&f, "GET", "/api/v1/captures/" CAPTURE, NULL, 200));
    ck_assert_uint_eq(many_ask(&f, 503), 50);
    expect_problem(&f, "GET", REPORT "?top=1", NULL, 503, NULL);
    expect_problem(&f, "GET", "/api/v1/captures/" CAPTURE "/diff", NULL, 503, NULL);
    expect_problem(&f, "GET", "/api/v1/captures/" CAPTURE "/overview", NULL, 503, NULL);
    expect_problem(&f, "GET", "/api/v1/captures/" CAPTURE "/trace?format=folded", NULL, 503, NULL);
    expect_audited(&f, "busy", "select count(*) from slice");
    for (unsigned i = 0; i < PLACES; i++)
        close(fds[i]);
    ck_assert(wait_until(are_places_free, &f, 0));
    ck_assert_uint_gt(many_ask(&f, 200), 0);
    /* the same places, and nothing in it has a stack */
    for (unsigned i = 0; i <= PLACES; i++)
        cJSON_Delete(call_json(&f, "GET", "/api/v1/captures/" CAPTURE "/overview", NULL, 200));
    for (unsigned i = 0; i <= PLACES; i++)
        expect_problem(&f, "GET", "/api/v1/captures/" CAPTURE "/trace?format=folded", NULL, 404,
                       NULL);
    ck_assert(wait_until(is_alone, NULL, 0));
    finish(&f);
}
END_TEST

START_TEST(a_collector_that_stops_ends_what_it_has_asked)
{
    struct fixture f;
    char answer[4096];
    unsigned one = 1;
    size_t n = 0;
    ssize_t got;
    start(&f);
    int fd = ask_send(f.http_port, CAPTURE, ENDLESS_SQL);
    ck_assert(wait_until(has_children, &one, 0));
    fixture_halt(&f);
    ck_assert(is_alone(NULL));
    while (n < sizeof answer - 1 && (got = read(fd, answer + n, sizeof answer - 1 - n)) > 0)
        n += (size_t)got;
    answer[n] = '\0';
    ck_assert_msg(strncmp(answer, "HTTP/1.1 503 ", 13) == 0, "%s", answer);
    close(fd);
    fixture_resume(&f);
    finish(&f);
}
END_TEST

/* ---- who sees what, and what is broken ---- */

static void token_make(struct fixture *f, const struct token *token, char secret[TOKEN_TEXT_BYTES])
{
    char error[256] = "";
    int status =
        tokens_create(f->collector.tokens, token, clock_realtime_ns(), secret, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
}

START_TEST(a_confined_viewer_asks_of_his_own_alone)
{
    struct fixture f;
    struct token token = {.scope = HTTP_VIEWER, .name = "mine"};
    char secret[TOKEN_TEXT_BYTES], error[256], header[128], id[ID_TEXT_BYTES];
    struct process_uid second = process_of(2);
    struct http_response response;
    start(&f);
    id_text(second.bytes, id);
    snprintf(token.selector, sizeof token.selector, "process=%s", id);
    token_make(&f, &(struct token){.scope = HTTP_ADMIN, .name = "first"}, secret);
    token_make(&f, &token, secret);
    snprintf(header, sizeof header, "Authorization: Bearer %s", secret);
    call(&f, "POST", SQL, "{\"query\":\"select count(*), min(pid), max(pid) from slice\"}", header,
         &response);
    ck_assert_int_eq(response.status, 200);
    cJSON *json = json_parse((const char *)response.body.data, response.body.len, error, 256);
    ck_assert_double_eq(number_at(json, "rows.0.0"), (double)truths[2].count);
    ck_assert_double_eq(number_at(json, "rows.0.1"), 102);
    ck_assert_double_eq(number_at(json, "rows.0.2"), 102);
    cJSON_Delete(json);
    http_response_fini(&response);
    call(&f, "GET", REPORT, NULL, header, &response);
    ck_assert_int_eq(response.status, 200);
    json = json_parse((const char *)response.body.data, response.body.len, error, 256);
    ck_assert_double_eq(steps_of(json), (double)truths[2].count);
    ck_assert_ptr_null(at_path(json, "capture.verdict"));
    cJSON_Delete(json);
    http_response_fini(&response);
    finish(&f);
}
END_TEST

/* Turns a bit of it over, where it is stored. */
static void partition_damage(const struct fixture *f, const struct buf *partition)
{
    char *folder = path_join(f->folder, "data");
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool done = false;
    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)) != NULL) {
        size_t n;
        char *path = path_join(folder, entry->d_name);
        char *text = entry->d_name[0] != '.' ? file_read(path, &n) : NULL;
        const char *at = text != NULL ? memmem(text, n, partition->data, partition->len) : NULL;
        if (at != NULL) {
            uint8_t byte = partition->data[partition->len / 2] ^ 0x10;
            int fd = open(path, O_WRONLY | O_CLOEXEC);
            ck_assert_int_eq(pwrite(fd, &byte, 1, at - text + (off_t)(partition->len / 2)), 1);
            close(fd);
            done = true;
        }
        free(text);
        free(path);
    }
    closedir(dir);
    free(folder);
    ck_assert(done);
}

START_TEST(a_damaged_partition_is_left_out_and_told)
{
    struct fixture f;
    start(&f);
    partition_damage(&f, &stored[1]);
    for (unsigned i = 0; i < 2; i++) { /* also when it is known */
        cJSON *json = ask(&f, "select count(*) from slice", 200);
        ck_assert_double_eq(number_at(json, "rows.0.0"), (double)truths[2].count);
        ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "gaps")), 1);
        ck_assert_ptr_nonnull(strstr(text_at(json, "gaps.0.text"), "is damaged"));
        cJSON_Delete(json);
        json = call_json(&f, "GET", REPORT, NULL, 200);
        ck_assert_double_eq(steps_of(json), (double)truths[2].count);
        ck_assert_ptr_nonnull(strstr(text_at(json, "gaps.0.text"), "is damaged"));
        cJSON_Delete(json);
    }
    partition_damage(&f, &stored[2]);
    cJSON *json = ask(&f, "select 1", 500);
    ck_assert_ptr_nonnull(strstr(text_at(json, "detail"), "damaged"));
    cJSON_Delete(json);
    finish(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "api_ask", a_report_is_of_all_or_of_the_part_that_is_asked_for,
        a_report_that_is_kept_is_given_where_all_is_meant, wrong_requests_are_refused,
        statements_count_what_was_written, what_the_reading_process_makes_up_goes_nowhere,
        errors_say_where_and_all_is_audited, limits_end_the_statement_and_are_named,
        a_client_that_leaves_takes_its_statement_along, many_at_once_are_answered_or_sent_away,
        a_collector_that_stops_ends_what_it_has_asked, a_confined_viewer_asks_of_his_own_alone,
        a_damaged_partition_is_left_out_and_told, NULL));
}
