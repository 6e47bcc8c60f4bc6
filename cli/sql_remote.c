/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements over a capture, answered by its collector: each is one request. See sql_source.h. A
 * statement that is interrupted closes its connection, and the collector ends it.
 */
#include <stdlib.h>
#include <string.h>

#include "cli_id.h"
#include "cli_out.h"
#include "json.h"
#include "sql_answer.h"
#include "sql_source.h"

#define ASK_TIMEOUT_MS                                                                             \
    3660000 /* the longest that a collector may let a statement take, and a minute */

struct remote {
    struct api api;
    char capture[CLI_ID_BYTES];
    char *statement;
    struct http_response response;
    struct sql_answer *answer; /* reads the response's body */
    char error[1024];
    int error_at;
    int cancel; /* atomic */
    bool told;
};

/* ---- the text ---- */

/* Behind the quoted name or text, or the comment, that begins there; NULL: none does. */
static const char *span_skip(const char *p)
{
    const char *end;
    if (p[0] == '-' && p[1] == '-')
        return p + strcspn(p, "\n");
    if (p[0] == '/' && p[1] == '*') {
        end = strstr(p + 2, "*/");
        return end != NULL ? end + 2 : p + strlen(p);
    }
    if (*p == '\0' || strchr("'\"`[", *p) == NULL)
        return NULL;
    end = strchr(p + 1, *p == '[' ? ']' : *p);
    return end != NULL ? end + 1 : p + strlen(p);
}

/* Bytes up to the ';' that ends the first statement, and with it; *blank: there are but blanks and
 * comments. A doubled quote is two texts beside each other, which ends at the same place. */
static size_t statement_length(const char *text, bool *blank)
{
    const char *p = text;
    *blank = true;
    while (*p != '\0' && *p != ';') {
        const char *behind = span_skip(p);
        bool comment = behind != NULL && (*p == '-' || *p == '/');
        if (!comment && strchr(" \t\r\n\f", *p) == NULL)
            *blank = false;
        p = behind != NULL ? behind : p + 1;
    }
    return (size_t)(p - text) + (*p == ';');
}

static int remote_take(void *context, const char *text, size_t *used)
{
    struct remote *r = context;
    bool blank;
    r->told = false;
    r->error[0] = '\0';
    r->error_at = -1;
    __atomic_store_n(&r->cancel, 0, __ATOMIC_RELAXED);
    *used = statement_length(text, &blank);
    if (blank)
        return 0;
    r->statement = strndup(text, *used);
    if (r->statement != NULL)
        return 1;
    snprintf(r->error, sizeof r->error, "out of memory");
    return SKEIN_NO_MEMORY;
}

/* ---- asking ---- */

/* Whether the collector says that the statement itself is wrong, which is then told as that. */
static bool problem_take(struct remote *r)
{
    char error[128], before[48];
    const struct buf *body = &r->response.body;
    cJSON *problem = json_parse((const char *)body->data, body->len, error, sizeof error);
    const cJSON *at = json_at(problem, "at");
    bool ours = strcmp(json_text_at(problem, "field"), "query") == 0;
    const char *words = json_text_at(problem, "detail");
    snprintf(before, sizeof before, "query: ");
    words += strncmp(words, before, strlen(before)) == 0 ? strlen(before) : 0;
    if (cJSON_IsNumber(at) && at->valuedouble >= 0 && at->valuedouble < INT32_MAX) {
        r->error_at = (int)at->valuedouble;
        snprintf(before, sizeof before, "at byte %d: ", r->error_at);
        words += strncmp(words, before, strlen(before)) == 0 ? strlen(before) : 0;
    }
    if (ours && *words != '\0') {
        struct buf safe = {0};
        shown_put(&safe, words);
        snprintf(r->error, sizeof r->error, "%s", text_of(&safe));
        buf_fini(&safe);
    }
    cJSON_Delete(problem);
    return ours && r->error[0] != '\0';
}

static int statement_post(struct remote *r)
{
    struct buf path = {0};
    cJSON *body = cJSON_CreateObject();
    buf_printf(&path, "/captures/%s/sql", r->capture);
    int status = SKEIN_NO_MEMORY;
    if (cJSON_AddStringToObject(body, "query", r->statement) != NULL && path.status == SKEIN_OK)
        status = api_ask(&r->api,
                         &(struct api_request){.method = "POST",
                                               .path = text_of(&path),
                                               .body = body,
                                               .timeout_ms = ASK_TIMEOUT_MS,
                                               .cancel = &r->cancel},
                         &r->response);
    cJSON_Delete(body);
    buf_fini(&path);
    return status;
}

/* CLI_OK with r->answer. */
static int answer_get(struct remote *r)
{
    char error[256];
    const struct http_response *response = &r->response;
    int status = statement_post(r);
    if (status == SKEIN_CLOSED && __atomic_load_n(&r->cancel, __ATOMIC_RELAXED)) {
        snprintf(r->error, sizeof r->error, "interrupted");
        return CLI_FAILED;
    }
    if (status == SKEIN_OK && response->status >= 400 && problem_take(r))
        return CLI_FAILED;
    if (status != SKEIN_OK || response->status >= 400) {
        r->told = true;
        return api_say_failure(&r->api, status, response);
    }
    status =
        sql_answer_read((const char *)response->body.data, response->body.len, &r->answer, error);
    if (status == SKEIN_OK)
        return CLI_OK;
    if (status == SKEIN_NO_MEMORY)
        snprintf(r->error, sizeof r->error, "out of memory");
    else
        snprintf(r->error, sizeof r->error,
                 "collector %s answers with no rows (%s). Is it a skeind?", r->api.collector,
                 error);
    return CLI_FAILED;
}

static int remote_run(void *context, enum sql_form form)
{
    struct remote *r = context;
    struct sql_rows rows;
    int status = answer_get(r);
    if (status != CLI_OK)
        return status;
    sql_answer_rows(r->answer, &rows);
    int printed = sql_rows_print(&rows, form);
    r->told = printed == SKEIN_IO;
    if (printed == SKEIN_CORRUPT)
        snprintf(r->error, sizeof r->error, "collector %s answers with a row that is none",
                 r->api.collector);
    else if (printed < 0)
        snprintf(r->error, sizeof r->error, "%s", skein_status_text(printed));
    return printed < 0 ? CLI_FAILED : CLI_OK;
}

static const char *remote_error(void *context, int *at)
{
    struct remote *r = context;
    *at = r->error_at;
    return r->told ? NULL : r->error;
}

static int remote_end(void *context)
{
    struct remote *r = context;
    const struct skein_gap *gaps;
    uint64_t left_out;
    int status = CLI_OK;
    if (r->answer != NULL) {
        size_t count = sql_answer_gaps(r->answer, &gaps, &left_out);
        status = sql_gaps_tell(gaps, count, left_out);
    }
    if (r->answer != NULL && sql_answer_has_more(r->answer)) {
        say_warning("there are more rows than these %zu, which is as many as the collector answers "
                    "with: ask for fewer (limit, where), or fetch the capture and ask its file",
                    sql_answer_row_count(r->answer));
        status = status == CLI_OK ? CLI_INCOMPLETE : status;
    }
    sql_answer_free(&r->answer);
    http_response_fini(&r->response);
    memset(&r->response, 0, sizeof r->response);
    free(r->statement);
    r->statement = NULL;
    return status;
}

static void remote_interrupt(void *context)
{
    struct remote *r = context;
    __atomic_store_n(&r->cancel, 1, __ATOMIC_RELAXED);
}

static void remote_close(void *context)
{
    free(context);
}

int sql_remote_open(struct cli_collector collector, const char *capture, struct sql_source *source)
{
    struct remote *r = calloc(1, sizeof *r);
    *source = (struct sql_source){r,          remote_take,      remote_run,  remote_error,
                                  remote_end, remote_interrupt, remote_close};
    if (r == NULL) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    int status = api_init(&r->api, collector);
    if (status == CLI_OK)
        status = capture_id_find(&r->api, capture, r->capture);
    if (status == CLI_OK)
        return CLI_OK;
    remote_close(r);
    source->context = NULL;
    return status;
}
