/* SPDX-License-Identifier: Apache-2.0
 *
 * One side of a comparison: stored partitions, read by a process of its own (analyst.h), as a summary.
 * No state; any thread.
 */
#include <stdio.h>
#include <string.h>

#include "api_diff_int.h"
#include "capture_has.h"
#include "clock.h"
#include "trace_stream.h"

#define ANSWER_BYTES_MAX ((size_t)48 << 20) /* of a summary with all its tables full */

bool diff_ids_put(struct buf *ids, size_t *count, const uint8_t id[16])
{
    char text[ID_TEXT_BYTES];
    if (++*count > DIFF_PROCESSES_MAX)
        return false;
    id_text(id, text);
    buf_printf(ids, "%s%s", *count > 1 ? "," : "", text);
    return true;
}

static bool is_over(void *context)
{
    const struct diff_request *r = context;
    return __atomic_load_n(&r->api->draining, __ATOMIC_RELAXED) || http_gone(r->x);
}

/* Partitions are verified before they are read: that has its time as well. */
static bool is_late(void *context)
{
    const struct diff_request *r = context;
    return is_over(context) || clock_monotonic_ns() >= r->deadline_ns;
}

/* Of the processes alone, and of those that the asker may see. */
static int selector_make(struct diff_request *r, const struct diff_part *part,
                         struct selector **selector)
{
    char all[API_SELECTOR_BYTES];
    struct buf text = {0};
    if (part->processes != NULL)
        buf_printf(&text, "process in (%s)", part->processes);
    buf_put_u8(&text, '\0');
    int status = text.status;
    if (status == SKEIN_OK)
        status = api_confine(r->x, part->processes != NULL ? (const char *)text.data : NULL,
                             selector, all, r->error, sizeof r->error);
    buf_fini(&text);
    return status;
}

static int stream_open(struct diff_request *r, const struct diff_part *part,
                       const struct selector *selector, struct trace_stream **stream)
{
    struct trace_stream_query query = {.process = part->process,
                                       .selector = selector,
                                       .withhold = api_withhold(r->x),
                                       .window = part->from_ns > 0 || part->to_ns > 0,
                                       .from_ns = part->from_ns,
                                       .to_ns = part->to_ns > 0 ? part->to_ns : UINT64_MAX,
                                       .stop = is_late,
                                       .context = r};
    bool damaged;
    int status = api_stream_open(r->api, &part->capture, &query, &damaged, stream);
    r->damaged |= damaged;
    return status == SKEIN_CLOSED && !is_over(r) ? SKEIN_TIMEOUT : status;
}

static int stream_sum(struct diff_request *r, const struct diff_part *part,
                      struct trace_stream *stream, struct summary **out)
{
    char id[ID_TEXT_BYTES];
    struct buf answer = {0};
    const struct skein_trace_source source = {trace_stream_give, stream, trace_stream_bytes(stream),
                                              id};
    const struct analyst_job job = {.kind = ANALYST_SUMMARY,
                                    .traces = &source,
                                    .trace_count = 1,
                                    .from_ns = part->from_ns,
                                    .to_ns = part->to_ns,
                                    .process = part->process != NULL ? part->process->bytes : NULL,
                                    .answer_bytes = ANSWER_BYTES_MAX,
                                    .deadline_ns = r->deadline_ns,
                                    .stop = is_over,
                                    .context = r};
    if (r->api->analyst_run == NULL) {
        snprintf(r->error, sizeof r->error,
                 "this collector reads no traces: fetch the capture and use `skein diff`");
        return SKEIN_UNSUPPORTED;
    }
    id_text(part->capture.bytes, id);
    int status = api_read_status(r->api->analyst_run(r->api->analyst, &job, &answer, r->error));
    if (status == SKEIN_OK)
        status = answer.status;
    if (status == SKEIN_OK)
        status = summary_bytes_get(answer.data, answer.len, SUMMARY_ROWS, out);
    buf_fini(&answer);
    return status;
}

/* The summary of a whole capture as it is now, where the asker sees all of it. That
 * of a capture with groups has these alone; sides that are read here have all, and what one side lacks
 * for that would be told as a change. */
static int stored_find(struct diff_request *r, const struct diff_part *part, struct summary **out)
{
    struct buf bytes = {0};
    uint64_t groups = 0;
    char reason[AGGREGATE_REASON_BYTES];
    bool whole = part->process == NULL && part->processes == NULL && part->from_ns == 0 &&
                 part->to_ns == 0 && http_principal(r->x)->selector == NULL;
    if (!whole || r->api->aggregate == NULL || api_groups_of(r->api, &part->capture, &groups) < 0 ||
        groups != 0 || aggregate_state(r->api->aggregate, &part->capture, reason) != AGGREGATE_DONE)
        return SKEIN_NOT_FOUND; /* partitions may have come since it was summed up */
    int status = aggregate_answer(r->api->aggregate, &part->capture, ANALYST_SUMMARY, &bytes);
    if (status == SKEIN_OK)
        status = summary_bytes_get(bytes.data, bytes.len, SUMMARY_ROWS, out);
    buf_fini(&bytes);
    return status;
}

int diff_part_read(struct diff_request *r, const struct diff_part *part, struct summary **out)
{
    struct selector *selector = NULL;
    struct trace_stream *stream = NULL;
    *out = NULL;
    r->error[0] = '\0';
    if (part->to_ns != 0 && part->from_ns >= part->to_ns)
        return SKEIN_NOT_FOUND;
    if (stored_find(r, part, out) == SKEIN_OK)
        return SKEIN_OK;
    int status = selector_make(r, part, &selector);
    if (status == SKEIN_OK)
        status = stream_open(r, part, selector, &stream);
    if (status == SKEIN_OK)
        status = stream_sum(r, part, stream, out);
    trace_stream_free(&stream);
    selector_free(&selector);
    return status;
}
