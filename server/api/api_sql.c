/* SPDX-License-Identifier: Apache-2.0
 *
 * /captures/{capture}/sql: one statement, asked of a capture (docs/sql.md). Bounded in rows, time,
 * memory and bytes; ended when its client leaves; written to the audit log, also where it is refused.
 * No state but the places of exports; any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_ask_int.h"
#include "api_handlers.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "sql_check.h"

#define ANSWER_BYTES ((size_t)16 << 20)
#define TEXT_BYTES   (256u << 10) /* of a statement */

static void query_audit(const struct ask *a, const char *result)
{
    char id[ID_TEXT_BYTES];
    id_text(a->id.bytes, id);
    api_audit(a->x, "capture.query", id, result, a->sql);
}

/* ---- the answer ---- */

/* Tells of partitions that were left out, in front of the other gaps, whose list begins at `at`. */
static int damage_put(const struct ask *a, struct buf *answer, size_t at)
{
    struct buf all = {0};
    cJSON *gaps = cJSON_CreateArray();
    ask_damaged_add(a, gaps);
    int status = SKEIN_OK;
    if (cJSON_GetArraySize(gaps) > 0) {
        struct buf text = {0};
        json_print(gaps, &text);
        if (text.status == SKEIN_OK) {
            buf_put(&all, answer->data, at);
            buf_put(&all, text.data + 1, text.len - 2); /* without its brackets */
            buf_printf(&all, "%s", answer->data[at] == ']' ? "" : ",");
            buf_put(&all, answer->data + at, answer->len - at);
        }
        status = text.status != SKEIN_OK ? text.status : all.status;
        buf_fini(&text);
        if (status == SKEIN_OK) {
            buf_fini(answer);
            *answer = all;
            all = (struct buf){0};
        }
    }
    buf_fini(&all);
    cJSON_Delete(gaps);
    return status;
}

/* What the process said is nobody's answer before it is known to be one. */
static int answer_check(struct ask *a, struct buf *answer)
{
    size_t gaps = 0;
    int status = sql_answer_check(answer->data, answer->len, a->rows, &gaps);
    if (status == SKEIN_OK)
        return damage_put(a, answer, gaps);
    log_error("http", "skein-analyst gave an answer that is none", "kind", "sql", NULL);
    snprintf(a->error, sizeof a->error, "what read it gave an answer that is none");
    return status;
}

/* "AT: words" of analyst.h, as a problem that says at which byte of the statement it is. */
static void statement_refuse(const struct ask *a)
{
    char *words;
    long at = strtol(a->error, &words, 10);
    words += strncmp(words, ": ", 2) == 0 ? 2 : 0;
    char detail[ANALYST_ERROR_BYTES + 64];
    if (at >= 0 && words != a->error)
        snprintf(detail, sizeof detail, "query: at byte %ld: %s", at, words);
    else
        snprintf(detail, sizeof detail, "query: %s", words);
    cJSON *json = problem_new(PROBLEM_INVALID, "query", detail);
    if (at >= 0 && words != a->error)
        cJSON_AddNumberToObject(json, "at", (double)at);
    http_reply_json(a->x, problem_status(PROBLEM_INVALID), json);
}

static void query_failed(struct ask *a, int status, uint64_t timeout_ms)
{
    switch (status) {
    case SKEIN_INVALID:
        statement_refuse(a);
        break;
    case SKEIN_DENIED:
        http_problem(a->x, 422, "query", "query: %s: only questions are answered", a->error);
        break;
    case SKEIN_TIMEOUT:
        snprintf(a->error, sizeof a->error, "it takes more than %" PRIu64 " ms", timeout_ms);
        ask_failed(a, status,
                   "ask for less time (where time_ns between …), or one thread or name, or raise "
                   "timeout_ms up to analysis.sql_timeout_ms, or fetch it and use `skein sql`");
        break;
    default:
        ask_failed(a, status,
                   "ask for fewer rows or columns (limit), sort and group less, or fetch it and "
                   "use `skein sql`");
    }
}

/* In its place among the exports. */
static void query_run(void *context, struct http_exchange *x)
{
    struct ask *a = context;
    struct api_services *api = a->api;
    struct analyst_job job = {.kind = ANALYST_SQL, .sql = a->sql, .answer_bytes = ANSWER_BYTES};
    struct buf answer = {0};
    uint64_t timeout_ms = a->deadline_ns / 1000000u; /* until now the time that it has */
    a->deadline_ns += clock_monotonic_ns();
    int status = ask_run(a, &job, &answer);
    if (status == SKEIN_OK)
        status = answer_check(a, &answer);
    query_audit(a, api_result(status));
    if (status == SKEIN_OK) {
        http_add_header(x, "Cache-Control", "no-store");
        http_reply(x, 200, "application/json", answer.data, answer.len);
    } else {
        query_failed(a, status, timeout_ms);
    }
    buf_fini(&answer);
    ask_free(a);
    places_leave(api->exports, api_holder(x));
}

/* ---- what is asked ---- */

/* False: an answer was given. */
static bool body_take(struct ask *a)
{
    static const char *const known[] = {"query", "rows", "timeout_ms", NULL};
    const struct api_config *config = &a->api->config;
    struct json_reader r = {.error = ""};
    cJSON *body = http_body_json(a->x);
    if (body == NULL)
        return false;
    json_known(&r, body, "", known);
    const char *sql = json_str(&r, body, "", "query", JSON_REQUIRED, "", TEXT_BYTES);
    a->rows = (uint32_t)json_u64(&r, body, "", "rows", JSON_OPTIONAL, config->analysis_sql_rows, 1,
                                 config->analysis_sql_rows);
    a->deadline_ns = json_u64(&r, body, "", "timeout_ms", JSON_OPTIONAL,
                              config->analysis_sql_timeout_ms, 1, config->analysis_sql_timeout_ms) *
                     1000000u;
    if (r.error[0] == '\0')
        a->sql = strdup(sql);
    if (r.error[0] != '\0')
        api_invalid(a->x, r.error);
    else if (a->sql == NULL)
        api_failed(a->x, SKEIN_NO_MEMORY, "the statement cannot be asked");
    cJSON_Delete(body);
    return a->sql != NULL;
}

void api_captures_sql(void *context, struct http_exchange *x)
{
    struct ask *a = ask_new(context, x);
    if (a == NULL)
        return;
    if (!body_take(a)) {
        ask_free(a);
    } else if (!api_read_aside(x, query_run, a)) {
        query_audit(a, "busy");
        ask_free(a);
    }
}
