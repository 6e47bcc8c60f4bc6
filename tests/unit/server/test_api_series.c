/* SPDX-License-Identifier: Apache-2.0
 * GET /series over HTTP, on rows that the test puts into analysis.db: what is asked for, by whom, and
 * in which form; and what GET /captures/{id} says of a capture's summary. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregate_int.h"
#include "clock.h"
#include "collector_fixture.h"
#include "series.h"
#include "series_row.h"
#include "support.h"

/* An hour ago: 30 queries of 1 ms in 10 s of shop, and one in bank. */
static void rows_put(struct fixture *f)
{
    struct aggregate_db *db = &f->collector.aggregate->db;
    struct series_set set = {NULL, 0, 0};
    struct capture_id id = {{1}};
    uint64_t at_s = (clock_realtime_ns() / 1000000000u - 3600) / 600 * 600;
    static const char *const services[] = {"shop", "bank"};
    for (size_t s = 0; s < 2; s++) {
        struct series_row *row = series_set_add(&set, at_s, services[s], "", 0);
        row->n[SERIES_SEEN_NS] = UINT64_C(10000000000);
        row->n[SERIES_FLEET_NS] = UINT64_C(40000000000);
        row->n[SERIES_PROCESSES] = 2;
        row->n[SERIES_REGIONS] = s == 0 ? 30 : 1;
        row->n[SERIES_WAIT_LOCK_NS] = UINT64_C(2000000000);
        row->n[SERIES_SAMPLED_NS] = s == 0 ? UINT64_C(5000000000) : 0; /* of bank none were taken */
        row->n[SERIES_ERRORS] = 20;
        row = series_set_add(&set, at_s, services[s], "query", 0);
        row->n[SERIES_COUNT] = s == 0 ? 30 : 1;
        row->n[SERIES_TOTAL_NS] = row->n[SERIES_COUNT] * 1000000;
        for (uint64_t i = 0; i < row->n[SERIES_COUNT]; i++)
            histogram_add(&row->lasted, &(struct histogram_example){1, 1000000, 1, 1});
    }
    ck_assert_int_eq(db_begin(db->write), SKEIN_OK);
    ck_assert_int_eq(series_put(db, &id, &set), SKEIN_OK);
    ck_assert_int_eq(db_end(db->write, SKEIN_OK), SKEIN_OK);
    series_set_fini(&set);
}

static double value(struct fixture *f, const char *path)
{
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    double v = number_at(json, "series.0.points.0.value");
    cJSON_Delete(json);
    return v;
}

START_TEST(metrics_are_of_sampled_time)
{
    struct fixture f;
    fixture_start(&f);
    rows_put(&f);
    ck_assert_double_eq(value(&f, "/api/v1/series?metric=count&service=shop&name=query"), 30);
    ck_assert_double_eq_tol(value(&f, "/api/v1/series?metric=rate&service=shop&name=query"), 3,
                            1e-9);
    ck_assert_double_eq_tol(value(&f, "/api/v1/series?metric=latency&service=shop&quantile=0.9"),
                            1e-3, 1e-3 / 32);
    ck_assert_double_eq_tol(value(&f, "/api/v1/series?metric=cpu&service=shop"), 0.5, 1e-9);
    cJSON *unknown = call_json(&f, "GET", "/api/v1/series?metric=cpu&service=bank", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(unknown, "series.0.points")), 0);
    cJSON_Delete(unknown);
    ck_assert_double_eq_tol(value(&f, "/api/v1/series?metric=errors&service=shop"), 2, 1e-9);
    ck_assert_double_eq_tol(value(&f, "/api/v1/series?metric=sampled&service=shop"), 10, 1e-9);
    cJSON *json = call_json(&f, "GET", "/api/v1/series?metric=sampled", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "series")), 2);
    ck_assert_double_eq_tol(number_at(json, "series.0.points.0.share"), 0.25, 1e-9);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/series?metric=wait&service=shop", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "series")), 6);
    ck_assert_str_eq(text_at(json, "series.2.reason"), "lock");
    ck_assert_double_eq_tol(number_at(json, "series.2.points.0.value"), 0.2, 1e-9);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/series?metric=rate&limit=1", NULL, 200);
    ck_assert_double_eq(number_at(json, "left_out.series"), 1);
    cJSON_Delete(json);
    json = call_json(&f, "GET", "/api/v1/series?metric=rate&to=2001-01-01T00:00:00Z", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "series")), 0);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

START_TEST(wrong_questions_are_told_what_is_wrong)
{
    struct fixture f;
    fixture_start(&f);
    static const char *const asked[][2] = {
        {"", "metric"},
        {"?metric=speed", "metric"},
        {"?metric=latency", "service"},
        {"?metric=rate&name=query", "service"},
        {"?metric=cpu&service=shop&name=query", "name"},
        {"?metric=rate&step=601", "step"},
        {"?metric=rate&step=0", "step"},
        {"?metric=rate&step=600&from=2020-01-01T00:00:00Z", "step"},
        {"?metric=rate&from=2999-01-01T00:00:00Z", "from"},
        {"?metric=latency&service=shop&quantile=2", "quantile"},
        {"?metric=latency&service=shop&quantile=nan", "quantile"},
        {"?metric=rate&limit=201", "limit"},
        {"?format=csv", "format"},
        {"?color=red", "color"},
    };
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "/api/v1/series%s", asked[i][0]);
        expect_problem(&f, "GET", path, NULL, 400, asked[i][1]);
    }
    fixture_stop(&f);
}
END_TEST

static void form_expect(struct fixture *f, const char *path, const char *header, const char *type,
                        const char *line, bool eof)
{
    struct http_response response;
    call(f, "GET", path, NULL, header, &response);
    ck_assert_int_eq(response.status, 200);
    buf_put_u8(&response.body, 0);
    const char *body = (const char *)response.body.data;
    ck_assert_msg(strstr(body, line) != NULL, "%s: no %s in %s", path, line, body);
    ck_assert_msg(strstr(body, type) != NULL, "%s: no %s in %s", path, type, body);
    size_t n = strlen(body);
    ck_assert(eof == (n >= 6 && strcmp(body + n - 6, "# EOF\n") == 0));
    http_response_fini(&response);
}

START_TEST(prometheus_reads_it_in_both_forms)
{
    struct fixture f;
    fixture_start(&f);
    rows_put(&f);
    static const char line[] =
        "skein_sampled_region_seconds_count{service=\"shop\",name=\"query\",group=\"app\"} 30\n";
    static const char open[] = "# TYPE skein_sampled_wait_seconds counter\n";
    static const char text[] = "# TYPE skein_sampled_wait_seconds_total counter\n";
    form_expect(&f, "/api/v1/series?format=openmetrics", NULL, open, line, true);
    form_expect(&f, "/api/v1/series?format=prometheus", NULL, text, line, false);
    form_expect(&f, "/api/v1/series",
                "Accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1", open, line, true);
    form_expect(&f, "/api/v1/series", "Accept: text/plain", text, line, false);
    fixture_stop(&f);
}
END_TEST

static void token_make(struct fixture *f, const char *name, const char *selector, char header[128])
{
    struct token token = {.scope = selector[0] == '\0' ? HTTP_ADMIN : HTTP_VIEWER};
    char text[TOKEN_TEXT_BYTES], error[256] = "";
    snprintf(token.name, sizeof token.name, "%s", name);
    snprintf(token.selector, sizeof token.selector, "%s", selector);
    ck_assert_int_eq(
        tokens_create(f->collector.tokens, &token, clock_realtime_ns(), text, error, sizeof error),
        SKEIN_OK);
    snprintf(header, 128, "Authorization: Bearer %s", text);
}

static long asked_by(struct fixture *f, const char *header, const char *path, char **body)
{
    struct http_response response;
    call(f, "GET", path, NULL, header, &response);
    buf_put_u8(&response.body, 0);
    *body = strdup((const char *)response.body.data);
    long status = response.status;
    http_response_fini(&response);
    return status;
}

START_TEST(confined_token_sees_its_own_service_or_nothing)
{
    struct fixture f;
    char shop[128], host[128], both[128], not_bank[128], *body;
    fixture_start(&f);
    rows_put(&f);
    token_make(&f, "first", "", shop); /* without an admin there are no others */
    token_make(&f, "shop", "service=shop", shop);
    token_make(&f, "host", "host=host-a", host);
    token_make(&f, "both", "service=shop,zone=a", both);
    token_make(&f, "rest", "service!=bank", not_bank);
    static const char *const paths[] = {
        "/api/v1/series?metric=rate", "/api/v1/series?metric=sampled",
        "/api/v1/series?format=openmetrics", "/api/v1/series?metric=latency&service=shop"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        ck_assert_int_eq(asked_by(&f, shop, paths[i], &body), 200);
        ck_assert_ptr_nonnull(strstr(body, "shop"));
        ck_assert_msg(strstr(body, "bank") == NULL, "%s", body);
        free(body);
        const char *const others[] = {host, both, not_bank};
        for (size_t o = 0; o < 3; o++) {
            ck_assert_int_eq(asked_by(&f, others[o], paths[i], &body), 403);
            ck_assert_ptr_null(strstr(body, "bank"));
            free(body);
        }
    }
    ck_assert_int_eq(asked_by(&f, shop, "/api/v1/series?metric=rate&service=bank", &body), 403);
    free(body);
    fixture_stop(&f);
}
END_TEST

START_TEST(rows_are_there_after_a_restart)
{
    struct fixture f;
    fixture_start(&f);
    rows_put(&f);
    fixture_restart(&f);
    ck_assert_double_eq(value(&f, "/api/v1/series?metric=count&service=shop&name=query"), 30);
    fixture_stop(&f);
}
END_TEST

/* Asks for values over time; the status. */
struct asker {
    const struct fixture *f;
    pthread_t thread;
    long status;
};

static void *asker_run(void *context)
{
    struct asker *asker = context;
    struct http_response response;
    call(asker->f, "GET", "/api/v1/series?metric=rate", NULL, NULL, &response);
    asker->status = response.status;
    http_response_fini(&response);
    return NULL;
}

static bool sixteen_read(void *context)
{
    const struct fixture *f = context;
    return places_taken(f->collector.api.series) == 16;
}

/* As many reads as may be, each longer than the test: none takes a thread of the server, and who
 * writes, or asks for a capture's summary, does not wait for them. */
START_TEST(long_reads_hold_nobody_up)
{
    struct fixture f;
    struct asker askers[16];
    char reason[AGGREGATE_REASON_BYTES];
    const struct capture_id id = {{9}};
    fixture_start(&f);
    struct aggregate *aggregate = f.collector.aggregate;
    db_hold(aggregate->db.scan);
    for (size_t i = 0; i < 16; i++) {
        askers[i] = (struct asker){.f = &f};
        ck_assert_int_eq(pthread_create(&askers[i].thread, NULL, asker_run, &askers[i]), 0);
    }
    ck_assert(wait_until(sixteen_read, &f, 0));
    cJSON_Delete(call_json(&f, "GET", "/readyz", NULL, 200));
    expect_problem(&f, "GET", "/api/v1/series?metric=rate", NULL, 503, NULL);
    ck_assert_int_eq(aggregate_state(aggregate, &id, reason), AGGREGATE_PENDING);
    rows_put(&f); /* on the connection that writes */
    struct http_response response;
    call(&f, "GET", "/api/v1/series?format=prometheus", NULL, NULL, &response);
    ck_assert_int_eq(response.status, 200);
    http_response_fini(&response);
    db_release(aggregate->db.scan);
    for (size_t i = 0; i < 16; i++) {
        ck_assert_int_eq(pthread_join(askers[i].thread, NULL), 0);
        ck_assert_int_eq(askers[i].status, 200);
    }
    cJSON *json = call_json(&f, "GET", "/api/v1/series?metric=rate", NULL, 200);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(json, "series")), 2);
    cJSON_Delete(json);
    fixture_stop(&f);
}
END_TEST

/* ---- whose places they are ---- */

static void make_token(struct fixture *f, const char *name, char header[128])
{
    struct token token = {.scope = HTTP_ADMIN};
    char text[TOKEN_TEXT_BYTES], error[256] = "";
    (void)snprintf(token.name, sizeof token.name, "%s", name);
    ck_assert_int_eq(
        tokens_create(f->collector.tokens, &token, clock_realtime_ns(), text, error, sizeof error),
        SKEIN_OK);
    (void)snprintf(header, 128, "Authorization: Bearer %s", text);
}

/* A read that begins and is not read to its end. */
static int read_begin(const struct fixture *f, const char *token)
{
    struct buf out = {0};
    int fd = tcp_connect(f->http_port);
    ck_assert_int_ge(fd, 0);
    buf_printf(&out, "GET /api/v1/series?metric=rate HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n",
               token);
    ck_assert_int_eq(send(fd, out.data, out.len, MSG_NOSIGNAL), (ssize_t)out.len);
    buf_fini(&out);
    return fd;
}

static size_t wanted;

static bool so_many_read(void *context)
{
    const struct fixture *f = context;
    return places_taken(f->collector.api.series) == wanted;
}

static long status_for(const struct fixture *f, const char *token)
{
    struct http_response response;
    call(f, "GET", "/api/v1/series?metric=rate", NULL, token, &response);
    long status = response.status;
    http_response_fini(&response);
    return status;
}

/* How reads ended, counted where the handler calls. */
static unsigned stopped, whole;
int __real_series_json(struct aggregate *aggregate, const struct series_query *query, cJSON **out);
int __wrap_series_json(struct aggregate *aggregate, const struct series_query *query, cJSON **out);
int __wrap_series_json(struct aggregate *aggregate, const struct series_query *query, cJSON **out)
{
    int status = __real_series_json(aggregate, query, out);
    __atomic_fetch_add(status == SKEIN_CLOSED ? &stopped : &whole, 1, __ATOMIC_RELAXED);
    return status;
}

/* One token has twelve, and a second one still gets in. Whoever goes away is not read for. */
START_TEST(one_token_leaves_places_to_others_and_who_is_gone_is_not_read_for)
{
    struct fixture f;
    char greedy[128], other[128];
    int fds[13];
    fixture_start(&f);
    stopped = whole = 0;
    make_token(&f, "greedy", greedy);
    make_token(&f, "other", other);
    struct db *scan = f.collector.aggregate->db.scan;
    db_hold(scan);
    for (wanted = 1; wanted <= 12; wanted++) {
        fds[wanted - 1] = read_begin(&f, greedy);
        ck_assert(wait_until(so_many_read, &f, 0));
    }
    ck_assert_int_eq(status_for(&f, greedy), 503);
    wanted = 13;
    fds[12] = read_begin(&f, other);
    ck_assert(wait_until(so_many_read, &f, 0));
    ck_assert_uint_eq(stopped + whole, 0);
    for (size_t i = 0; i < 12; i++)
        close(fds[i]);
    db_release(scan);
    wanted = 0;
    ck_assert(wait_until(so_many_read, &f, 0));
    ck_assert_uint_eq(stopped, 12);
    ck_assert_uint_eq(whole, 1); /* whose client still waits */
    close(fds[12]);
    ck_assert_int_eq(status_for(&f, greedy), 200);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("api_series", metrics_are_of_sampled_time, wrong_questions_are_told_what_is_wrong,
                 prometheus_reads_it_in_both_forms, confined_token_sees_its_own_service_or_nothing,
                 rows_are_there_after_a_restart, long_reads_hold_nobody_up,
                 one_token_leaves_places_to_others_and_who_is_gone_is_not_read_for, NULL));
}
