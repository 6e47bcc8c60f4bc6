/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to a capture whose answer needs its trace to be read: the capture as the asker sees it,
 * its partitions, the process that reads them, and what is said where that fails. No state but the
 * places of exports; any thread.
 */
#include "api_ask_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture_has.h"
#include "catalog_capture.h"
#include "clock.h"

bool api_read_aside(struct http_exchange *x, http_handler *fn, void *context)
{
    struct api_services *api = http_context(x);
    if (!places_enter(api->exports, api_holder(x))) {
        http_problem_of(x, PROBLEM_BUSY, NULL,
                        "no place is free to read one more capture: http.max_exports are %" PRIu64
                        ", the last quarter for tokens that have none",
                        api->config.http_exports);
        return false;
    }
    if (http_aside(x, fn, context))
        return true;
    places_leave(api->exports, api_holder(x));
    return false;
}

struct ask *ask_new(struct api_services *api, struct http_exchange *x)
{
    struct ask *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->api = api;
    a->x = x;
    if (api_path_id(x, "capture", a->id.bytes) && api_capture_get(api, x, &a->id, &a->capture))
        return a;
    ask_free(a);
    return NULL;
}

void ask_free(struct ask *a)
{
    trace_stream_free(&a->stream);
    cJSON_Delete(a->capture);
    free(a->sql);
    free(a);
}

/* ---- reading ---- */

static bool is_over(void *context)
{
    const struct ask *a = context;
    return __atomic_load_n(&a->api->draining, __ATOMIC_RELAXED) || http_gone(a->x);
}

/* Partitions are verified before they are read: that has its time as well. */
static bool is_late(void *context)
{
    const struct ask *a = context;
    return is_over(context) || clock_monotonic_ns() >= a->deadline_ns;
}

static int groups_take(void *context, const struct catalog_capture *row)
{
    *(uint64_t *)context = row->groups;
    return 0;
}

int64_t api_groups_of(struct api_services *api, const struct capture_id *capture, uint64_t *groups)
{
    return catalog_capture(api->catalog, capture, groups_take, groups);
}

int api_stream_open(struct api_services *api, const struct capture_id *capture,
                    struct trace_stream_query *query, bool *damaged, struct trace_stream **out)
{
    struct partition_ranges *ranges = NULL;
    struct partition_key none = {.epoch = 0}, key = none;
    query->format = TRACE_SKEIN;
    query->skip_damaged = query->source = true;
    query->damaged = &key;
    int status = capture_ranges(api->captures, capture, 1, query->process, &ranges);
    query->ranges = ranges;
    if (status == SKEIN_OK)
        status = trace_stream_open(api->index, query, out);
    partition_ranges_unref(&ranges);
    query->ranges = NULL;
    query->damaged = NULL;
    *damaged = !partition_key_equal(&key, &none);
    return status;
}

static int stream_open(struct ask *a)
{
    struct trace_stream_query query = {.process = a->has_process ? &a->process : NULL,
                                       .selector = http_principal(a->x)->selector,
                                       .withhold = api_withhold(a->x),
                                       .window = a->from_ns > 0 || a->to_ns > 0,
                                       .from_ns = a->from_ns,
                                       .to_ns = a->to_ns > 0 ? a->to_ns : UINT64_MAX,
                                       .stop = is_late,
                                       .context = a};
    bool damaged;
    int status = api_stream_open(a->api, &a->id, &query, &damaged, &a->stream);
    if (status == SKEIN_NOT_FOUND && damaged) {
        snprintf(a->error, sizeof a->error, "all that is stored of it is damaged");
        return SKEIN_CORRUPT;
    }
    if (status == SKEIN_CLOSED && !is_over(a))
        return SKEIN_TIMEOUT;
    return status;
}

int ask_run(struct ask *a, struct analyst_job *job, struct buf *answer)
{
    char id[ID_TEXT_BYTES];
    uint64_t groups = 0;
    if (a->api->analyst_run == NULL) {
        snprintf(a->error, sizeof a->error,
                 "this collector reads no traces: fetch the capture, and ask its file");
        return SKEIN_UNSUPPORTED;
    }
    int status = stream_open(a);
    if (status != SKEIN_OK)
        return status;
    id_text(a->id.bytes, id);
    api_groups_of(a->api, &a->id, &groups);
    const struct skein_trace_source source = {trace_stream_give, a->stream,
                                              trace_stream_bytes(a->stream), id};
    job->traces = &source;
    job->trace_count = 1;
    if (job->kind != ANALYST_SQL) {
        job->from_ns = a->from_ns;
        job->to_ns = a->to_ns;
        job->process = a->has_process ? a->process.bytes : NULL;
        job->groups = groups;
    }
    job->rows = a->rows;
    job->deadline_ns = a->deadline_ns;
    job->stop = is_over;
    job->context = a;
    status = a->api->analyst_run(a->api->analyst, job, answer, a->error);
    job->traces = NULL;
    return api_read_status(status);
}

/* ---- what is told ---- */

void ask_damaged_text(const struct partition_key *key, char out[ASK_DAMAGED_BYTES])
{
    char text[PARTITION_KEY_TEXT_BYTES];
    partition_key_text(key, text);
    snprintf(out, ASK_DAMAGED_BYTES, "the partition %s is damaged where it is stored, and left out",
             text);
}

static void gap_add(cJSON *gaps, const char *text)
{
    cJSON *gap = cJSON_CreateObject();
    cJSON_AddStringToObject(gap, "reason", "broken");
    cJSON_AddStringToObject(gap, "text", text);
    if (!cJSON_IsArray(gaps) || !cJSON_AddItemToArray(gaps, gap))
        cJSON_Delete(gap); /* of a report that somebody else has made up */
}

void ask_damaged_add(const struct ask *a, cJSON *gaps)
{
    char text[ASK_DAMAGED_BYTES];
    size_t count = 0;
    const struct partition_key *keys =
        a->stream != NULL ? trace_stream_damaged(a->stream, &count) : NULL;
    for (size_t i = 0; i < count && i < ASK_DAMAGED_SHOWN; i++) {
        ask_damaged_text(&keys[i], text);
        gap_add(gaps, text);
    }
    if (count > ASK_DAMAGED_SHOWN) {
        snprintf(text, sizeof text, "%zu more partitions are damaged where they are stored",
                 count - ASK_DAMAGED_SHOWN);
        gap_add(gaps, text);
    }
}

int api_read_status(int status)
{
    return status == SKEIN_NOT_FOUND ? SKEIN_AGAIN : status;
}

void api_read_failed(struct http_exchange *x, const struct capture_id *capture, int status,
                     const char *error, const char *less)
{
    struct api_services *api = http_context(x);
    switch (status) {
    case SKEIN_TOO_LARGE:
    case SKEIN_TIMEOUT:
        http_problem(x, 422, NULL, "%s: %s", error, less);
        break;
    case SKEIN_CLOSED:
    case SKEIN_UNSUPPORTED:
        http_problem_of(x, PROBLEM_UNAVAILABLE, NULL, "%s", error);
        break;
    case SKEIN_CORRUPT:
        http_problem_of(x, PROBLEM_INTERNAL, NULL, "the trace cannot be read: %s", error);
        break;
    case SKEIN_AGAIN:
        if (capture_look(api->captures, capture, http_principal(x)->selector) == SKEIN_NOT_FOUND) {
            api_no_capture(x); /* all of it was deleted */
            break;
        }
        http_add_header(x, "Retry-After", "1");
        http_problem_of(x, PROBLEM_UNAVAILABLE, NULL,
                        "a partition was deleted while it was read; ask again");
        break;
    default:
        api_failed(x, status, "the capture cannot be read");
    }
}

void ask_failed(struct ask *a, int status, const char *less)
{
    if (status != SKEIN_NOT_FOUND) {
        api_read_failed(a->x, &a->id, status,
                        a->error[0] != '\0' ? a->error : skein_status_text(status), less);
        return;
    }
    http_problem_of(a->x, PROBLEM_NOTHING_STORED, NULL,
                    "nothing of this capture%s%s is stored (yet); GET "
                    "/api/v1/captures/{capture} says why",
                    a->has_process ? " and process" : "",
                    a->from_ns > 0 || a->to_ns > 0 ? " and time" : "");
}
