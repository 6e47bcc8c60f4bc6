/* SPDX-License-Identifier: Apache-2.0
 *
 * One capture, summed up: looks whether it has changed, has its trace read by a confined process, and
 * keeps what came of it, with its rows of the series, in one transaction. What that process says is
 * parsed as hostile. The worker's thread; takes the control lock only to ask what the capture has.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate_int.h"
#include "capture_has.h"
#include "checksum.h"
#include "clock.h"
#include "log.h"
#include "metrics.h"
#include "series_row.h"
#include "trace_stream.h"

#define TRIES    5u                             /* of what fails by itself, as for want of memory */
#define SLACK_NS (UINT64_C(3600) * 1000000000u) /* how far records may lie outside of a window */

/* What the catalog says of a capture now. */
struct seen {
    bool there, ended, sample;
    uint64_t stamp, groups, from_ns, to_ns;
};

static int seen_take(void *context, const struct catalog_capture *row)
{
    struct seen *seen = context;
    seen->there = true;
    seen->ended = strcmp(row->status, "running") != 0;
    seen->sample = strcmp(row->kind, "sample") == 0;
    seen->stamp = checksum64(row->listing, strlen(row->listing)) >> 1;
    seen->groups = row->groups;
    uint64_t pre_ns = row->pre_ms * 1000000u;
    seen->from_ns = pre_ns < row->at_ns ? row->at_ns - pre_ns : 0;
    seen->to_ns = row->at_ns + row->post_ms * 1000000u;
    return 1;
}

/* ---- its trace ---- */

/* Without what is damaged, if there is something else. */
static int stream_open(struct aggregate *a, const struct capture_id *id, struct trace_stream **out)
{
    struct partition_ranges *ranges;
    int status = capture_ranges(a->captures, id, 1, NULL, &ranges);
    if (status != SKEIN_OK)
        return status;
    struct trace_stream_query query = {.ranges = ranges,
                                       .format = TRACE_SKEIN,
                                       .source = true,
                                       .skip_damaged = true,
                                       .stop = aggregate_is_stopping,
                                       .context = a};
    status = trace_stream_open(a->index, &query, out);
    partition_ranges_unref(&ranges);
    return status;
}

static int answer_get(struct aggregate *a, const struct seen *seen, struct trace_stream *stream,
                      enum analyst_kind kind, struct buf *answer, char reason[ANALYST_ERROR_BYTES])
{
    struct skein_trace_source trace = {trace_stream_give, stream, trace_stream_bytes(stream),
                                       "capture"};
    struct analyst_job job = {.kind = kind,
                              .traces = &trace,
                              .trace_count = 1,
                              .groups = seen->groups,
                              .answer_bytes = AGGREGATE_ANSWER_BYTES,
                              .deadline_ns =
                                  clock_monotonic_ns() + a->settings.timeout_ms * 1000000u,
                              .stop = aggregate_is_stopping,
                              .context = a};
    return a->settings.run(a->settings.analyst, &job, answer, reason);
}

/* Whether it would come to the same another time. */
static bool is_final(int status)
{
    return status == SKEIN_TOO_LARGE || status == SKEIN_TIMEOUT || status == SKEIN_CORRUPT ||
           status == SKEIN_UNSUPPORTED || status == SKEIN_INVALID || status == SKEIN_DENIED ||
           status == SKEIN_VERSION || status == SKEIN_TRUNCATED;
}

/* ---- keeping ---- */

/* A service's first row has the time of its processes while the sample lasted. */
static void fleet_time_add(struct aggregate *a, const struct seen *seen, struct series_set *set,
                           size_t at)
{
    struct series_row *row = &set->rows[at];
    if (row->name[0] != '\0' || a->settings.live == NULL)
        return;
    for (size_t i = 0; i < at; i++)
        if (set->rows[i].name[0] == '\0' && strcmp(set->rows[i].service, row->service) == 0)
            return;
    uint64_t live = a->settings.live(a->settings.context, row->service);
    live = live > row->n[SERIES_PROCESSES] ? live : row->n[SERIES_PROCESSES];
    row->n[SERIES_FLEET_NS] = live * (seen->to_ns - seen->from_ns);
}

/* A sample's rows. */
static int rows_make(struct aggregate *a, const struct seen *seen, const struct buf *summary,
                     struct series_set *set)
{
    struct summary *read = NULL;
    int status = summary_bytes_get(summary->data, summary->len, 0, &read);
    uint64_t from_ns = seen->from_ns > SLACK_NS ? seen->from_ns - SLACK_NS : 0;
    if (status == SKEIN_OK)
        status = series_set_take(set, read, SERIES_STEP_S, from_ns, seen->to_ns + SLACK_NS);
    if (status == SKEIN_OK)
        status = series_set_settle(set, SERIES_NAMES);
    for (size_t i = 0; status == SKEIN_OK && i < set->count; i++)
        fleet_time_add(a, seen, set, i);
    if (read != NULL)
        summary_free(&read);
    return status;
}

struct result {
    struct aggregate_mark mark;
    struct buf report, summary;
    struct series_set rows;
    bool has_rows;
};

static int result_write(struct aggregate *a, struct result *r)
{
    struct aggregate_mark *mark = &r->mark;
    bool late = r->has_rows && mark->series == SERIES_MERGED_IN;
    int status = SKEIN_OK;
    if (r->report.len > 0)
        status = aggregate_answer_put(&a->db, &mark->id, ANALYST_REPORT, &r->report);
    if (status == SKEIN_OK && r->summary.len > 0)
        status = aggregate_answer_put(&a->db, &mark->id, ANALYST_SUMMARY, &r->summary);
    if (status == SKEIN_OK && r->has_rows && !late) {
        status = series_put(&a->db, &mark->id, &r->rows);
        mark->series = SERIES_OWN;
    }
    if (status == SKEIN_OK && late)
        status = aggregate_note_add(&a->db, "late_captures", 1);
    return status == SKEIN_OK ? aggregate_mark_put(&a->db, mark) : status;
}

/* All or none of it. */
static int result_keep(struct aggregate *a, struct result *r)
{
    int status = db_begin(a->db.write);
    if (status != SKEIN_OK)
        return status;
    status = result_write(a, r);
    return db_end(a->db.write, status);
}

/* ---- one capture ---- */

/* What failed for a moment is tried again, some times; then it is refused. */
static int result_refuse(struct aggregate *a, struct result *r, int why, const char *reason)
{
    struct aggregate_mark *mark = &r->mark;
    if (why == SKEIN_CLOSED)
        return why;
    mark->tries++;
    bool final = is_final(why) || why == SKEIN_NOT_FOUND || mark->tries >= TRIES;
    mark->state = final ? AGGREGATE_REFUSED : AGGREGATE_PENDING;
    snprintf(mark->reason, sizeof mark->reason, "%s",
             reason[0] != '\0' ? reason : skein_status_text(why));
    buf_clear(&r->report);
    buf_clear(&r->summary);
    r->has_rows = false;
    int status = result_keep(a, r);
    metrics_add(analysis_refused_total, status == SKEIN_OK && final);
    return status != SKEIN_OK || final ? status : why;
}

static int result_make(struct aggregate *a, const struct seen *seen, struct trace_stream *stream,
                       struct result *r)
{
    char reason[ANALYST_ERROR_BYTES] = "";
    uint64_t bytes = trace_stream_bytes(stream);
    if (bytes > a->settings.max_trace_bytes) {
        snprintf(reason, sizeof reason,
                 "it has %" PRIu64 " bytes, and analysis.max_trace_bytes allows %" PRIu64, bytes,
                 a->settings.max_trace_bytes);
        return result_refuse(a, r, SKEIN_TOO_LARGE, reason);
    }
    int status = answer_get(a, seen, stream, ANALYST_SUMMARY, &r->summary, reason);
    if (status == SKEIN_OK && seen->sample) {
        status = rows_make(a, seen, &r->summary, &r->rows);
        r->has_rows = status == SKEIN_OK;
    }
    if (status == SKEIN_OK)
        status = answer_get(a, seen, stream, ANALYST_REPORT, &r->report, reason);
    if (status != SKEIN_OK)
        return result_refuse(a, r, status, reason);
    r->mark.state = AGGREGATE_DONE;
    r->mark.tries = 0;
    r->mark.reason[0] = '\0';
    status = result_keep(a, r);
    metrics_add(analysis_done_total, status == SKEIN_OK);
    return status;
}

static int capture_sum_up(struct aggregate *a, const struct seen *seen, struct result *r)
{
    struct trace_stream *stream = NULL;
    int status = stream_open(a, &r->mark.id, &stream);
    if (status != SKEIN_OK) {
        r->mark.etag[0] = '\0';
        return result_refuse(a, r, status,
                             status == SKEIN_NOT_FOUND ? "no partition of it is stored" : "");
    }
    /* Pinned, or renamed: nothing of its trace. */
    if (r->mark.state != AGGREGATE_PENDING &&
        strcmp(r->mark.etag, trace_stream_etag(stream)) == 0) {
        status = aggregate_mark_put(&a->db, &r->mark);
    } else {
        snprintf(r->mark.etag, sizeof r->mark.etag, "%s", trace_stream_etag(stream));
        r->mark.done_ns = clock_realtime_ns();
        status = result_make(a, seen, stream, r);
    }
    trace_stream_free(&stream);
    return status;
}

int aggregate_capture(struct aggregate *a, const struct capture_id *id, uint64_t *took_ns)
{
    struct seen seen = {.there = false};
    struct result r = {.has_rows = false};
    int64_t rows = catalog_capture(a->catalog, id, seen_take, &seen);
    if (rows < 0)
        return (int)rows;
    int known = aggregate_mark_get(a->db.write, id, &r.mark);
    if (known < 0)
        return known;
    if (!seen.there)
        return known > 0 ? aggregate_forget(&a->db, id) : SKEIN_OK;
    if (!seen.ended ||
        (known > 0 && r.mark.state != AGGREGATE_PENDING && r.mark.stamp == seen.stamp))
        return SKEIN_OK;
    uint64_t began_ns = clock_monotonic_ns();
    if (r.mark.stamp != seen.stamp)
        r.mark.tries = 0;
    r.mark.stamp = seen.stamp;
    int status = capture_sum_up(a, &seen, &r);
    *took_ns = clock_monotonic_ns() - began_ns;
    metrics_observe(analysis_seconds, *took_ns);
    buf_fini(&r.report);
    buf_fini(&r.summary);
    series_set_fini(&r.rows);
    return status;
}
