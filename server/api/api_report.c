/* SPDX-License-Identifier: Apache-2.0
 *
 * /captures/{capture}/report: what a capture says (docs/analysis.md), as it was worked out at its end
 * and kept, or of the part that is asked for. No state but the places of exports; any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api_ask_int.h"
#include "api_handlers.h"
#include "clock.h"
#include "json.h"

#define REPORT_S     60 /* for all reading */
#define ANSWER_BYTES ((size_t)16 << 20)
#define TOP_MAX      10000

/* ---- what the collector knows of the capture ---- */

static void gap_copy(cJSON *gaps, const cJSON *target, const cJSON *gap)
{
    static const char *const whose[] = {"service", "host", "pid", "process", NULL};
    static const char *const what[] = {"reason", "from", "to", NULL};
    cJSON *row = cJSON_CreateObject();
    json_members_copy(row, target, whose);
    json_members_copy(row, gap, what);
    cJSON_AddItemToArray(gaps, row);
}

/* "capture": as `captures` of `skein report -o json` has it of each. */
static void capture_add(cJSON *report, const struct ask *a, bool stored)
{
    static const char *const own[] = {"verdict", NULL};
    const cJSON *target, *gap;
    cJSON *capture = cJSON_AddObjectToObject(report, "capture");
    json_add_id(capture, "id", a->id.bytes);
    json_members_copy(capture, a->capture, own);
    cJSON *gaps = cJSON_AddArrayToObject(capture, "gaps");
    cJSON_ArrayForEach(target, cJSON_GetObjectItemCaseSensitive(a->capture, "targets")) {
        const cJSON *ledger = cJSON_GetObjectItemCaseSensitive(target, "ledger");
        cJSON_ArrayForEach(gap, cJSON_GetObjectItemCaseSensitive(ledger, "gaps"))
            gap_copy(gaps, target, gap);
    }
    cJSON_AddBoolToObject(capture, "stored", stored);
}

/* What a process answered is parsed before it is anybody's answer. */
static cJSON *report_parse(const struct buf *answer)
{
    char error[128];
    cJSON *report = json_parse((const char *)answer->data, answer->len, error, sizeof error);
    if (cJSON_IsObject(report) && cJSON_GetObjectItemCaseSensitive(report, "capture") == NULL)
        return report;
    cJSON_Delete(report);
    return NULL;
}

static void report_reply(struct ask *a, const struct buf *answer, bool stored)
{
    cJSON *report = report_parse(answer);
    if (report == NULL) {
        snprintf(a->error, sizeof a->error, "what was made of it is no report");
        ask_failed(a, SKEIN_CORRUPT, "");
        return;
    }
    ask_damaged_add(a, cJSON_GetObjectItemCaseSensitive(report, "gaps"));
    capture_add(report, a, stored);
    http_reply_json(a->x, 200, report);
}

/* ---- which ---- */

/* False: it has to be made. */
static bool stored_reply(struct ask *a)
{
    char reason[AGGREGATE_REASON_BYTES];
    struct buf answer = {0};
    bool whole = !a->has_process && a->from_ns == 0 && a->to_ns == 0 && a->rows == 0 &&
                 http_principal(a->x)->selector == NULL;
    bool found = whole && a->api->aggregate != NULL &&
                 aggregate_state(a->api->aggregate, &a->id, reason) == AGGREGATE_DONE &&
                 aggregate_answer(a->api->aggregate, &a->id, ANALYST_REPORT, &answer) == SKEIN_OK;
    cJSON *parsed = found ? report_parse(&answer) : NULL;
    cJSON_Delete(parsed);
    if (parsed != NULL)
        report_reply(a, &answer, true);
    buf_fini(&answer);
    return parsed != NULL;
}

/* In its place among the exports. */
static void report_make(void *context, struct http_exchange *x)
{
    struct ask *a = context;
    struct api_services *api = a->api;
    struct analyst_job job = {.kind = ANALYST_REPORT, .answer_bytes = ANSWER_BYTES};
    struct buf answer = {0};
    a->deadline_ns = clock_monotonic_ns() + REPORT_S * NS_PER_S;
    int status = ask_run(a, &job, &answer);
    if (status == SKEIN_TIMEOUT)
        snprintf(a->error, sizeof a->error, "there is more of it than can be read within %d s",
                 REPORT_S);
    if (status == SKEIN_OK)
        report_reply(a, &answer, false);
    else
        ask_failed(a, status,
                   "ask for one process, or for less time (process=, from=, to=), or fetch it and "
                   "use `skein report`");
    buf_fini(&answer);
    ask_free(a);
    places_leave(api->exports, api_holder(x));
}

/* False: a 400 was given. */
static bool query_take(struct ask *a)
{
    struct http_exchange *x = a->x;
    size_t rows = 0;
    if (!api_query_id(x, "process", a->process.bytes, &a->has_process) ||
        !api_times(x, "from", "to", &a->from_ns, &a->to_ns) ||
        !api_query_number(x, "top", TOP_MAX, &rows))
        return false;
    a->rows = (uint32_t)rows;
    return true;
}

void api_captures_report(void *context, struct http_exchange *x)
{
    struct ask *a = ask_new(context, x);
    if (a == NULL)
        return;
    if (!query_take(a) || stored_reply(a) || !api_read_aside(x, report_make, a))
        ask_free(a);
}
