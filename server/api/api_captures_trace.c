/* SPDX-License-Identifier: Apache-2.0
 *
 * /captures/{capture}/trace: a capture's or an incident's partitions as one download, in their own
 * format, for Perfetto, or as a profile. What costs the collector work takes a place among the exports
 * and is begun beside the server's threads (http_aside): other forms, evidence that is made anew for
 * its reader, and looking for damage. No state but the places of running exports; any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_download.h"
#include "api_handlers.h"
#include "capture_has.h"
#include "clock.h"
#include "event_groups.h"
#include "stack_profile.h"
#include "trace_stream.h"

#define READ_S 60 /* for a profile, and for what is made anew before its first byte */

/* One row for each form. `place`: it costs the collector work and memory, so few run at once. */
static const struct {
    const char *name, *type, *suffix;
    bool place;
} forms[TRACE_FORMATS] = {
    [TRACE_SKEIN] = {"skein", "application/vnd.skein.trace", "skein", false},
    [TRACE_PERFETTO] = {"perfetto", "application/vnd.perfetto.trace", "pftrace", true},
    [TRACE_PPROF] = {"pprof", "application/gzip", "pb.gz", true},
    [TRACE_FOLDED] = {"folded", "text/plain; charset=utf-8", "folded", true}};

struct trace_ask {
    struct api_services *api;
    struct http_exchange *x;
    struct api_captures of;
    bool of_some; /* api_captures_fini is due */
    struct trace_stream_query query;
    struct partition_key damaged;
    struct process_uid process;
    struct trace_stream *stream;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC, until its first byte */
    bool place;           /* it has one */
};

static void trace_ask_free(struct trace_ask *a)
{
    trace_stream_free(&a->stream);
    if (a->place)
        places_leave(a->api->exports, api_holder(a->x));
    if (a->of_some)
        api_captures_fini(&a->of);
    free(a);
}

static void download_name(struct http_exchange *x, const struct api_captures *of,
                          const char *suffix)
{
    char text[ID_TEXT_BYTES], value[96];
    id_text(of->id.bytes, text);
    snprintf(value, sizeof value, "attachment; filename=\"%s%s.%s\"",
             of->incident ? "incident-" : "", text, suffix);
    http_add_header(x, "Content-Disposition", value);
}

static void trace_send(struct trace_ask *a)
{
    char detail[32];
    enum trace_format format = a->query.format;
    const struct api_captures *of = &a->of;
    const struct api_download download = {.stream = a->stream,
                                          .type = forms[format].type,
                                          .unknown_bytes = format == TRACE_PERFETTO,
                                          .place = a->place,
                                          .costs = forms[format].place};
    download_name(a->x, of, forms[format].suffix);
    a->stream = NULL;
    a->place = false;
    bool sent = api_download_send(a->api, a->x, &download);
    snprintf(detail, sizeof detail, "%s%s", forms[format].name,
             of->incident ? " of the incident" : "");
    if (sent)
        api_audit_id(a->x, "capture.download", of->id.bytes, SKEIN_OK, detail);
}

static bool is_over(void *context)
{
    const struct trace_ask *a = context;
    return __atomic_load_n(&a->api->draining, __ATOMIC_RELAXED) || http_gone(a->x);
}

static bool is_late(void *context)
{
    const struct trace_ask *a = context;
    return is_over(context) || clock_monotonic_ns() >= a->deadline_ns;
}

/* Makes the profile of a stream that has a place. False: an answer was given. */
static bool profile_make(struct trace_ask *a)
{
    struct api_services *api = a->api;
    struct http_exchange *x = a->x;
    const struct trace_stream_query *query = &a->query;
    struct partition_key at;
    char key[PARTITION_KEY_TEXT_BYTES];
    const struct trace_profile_bounds bounds = {
        .most_bytes = (size_t)api->config.http_profile_bytes,
        .deadline_ns = clock_monotonic_ns() + READ_S * NS_PER_S,
        .stop = is_over,
        .context = a};
    int status = trace_stream_profile(a->stream, &bounds, &at);
    switch (status) {
    case SKEIN_OK:
        return true;
    case SKEIN_TOO_LARGE:
        http_problem_of(x, PROBLEM_PROFILE_TOO_LARGE, NULL,
                        "its stacks take more than http.max_profile_bytes, %" PRIu64
                        " bytes: ask for one process, or for less time (process=, from=, to=), or "
                        "download format=skein and use `skein export --to %s`",
                        api->config.http_profile_bytes, forms[query->format].name);
        break;
    case SKEIN_TIMEOUT:
        http_problem_of(x, PROBLEM_PROFILE_TOO_LARGE, NULL,
                        "there is more of it than can be read within %d s: ask for one process, or "
                        "for less time (process=, from=, to=), or download format=skein and use "
                        "`skein export --to %s`",
                        READ_S, forms[query->format].name);
        break;
    case SKEIN_CLOSED:
        http_problem_of(x, PROBLEM_UNAVAILABLE, NULL, "the collector stops");
        break;
    case SKEIN_INVALID:
        http_problem_of(x, PROBLEM_NOTHING_STORED, NULL, "no event of it%s%s has a stack%s",
                        query->groups != 0 ? " that is shown" : "",
                        query->of != NULL ? " and counts for of=" : "",
                        "; docs/evidence.md says what has");
        break;
    case SKEIN_UNSUPPORTED:
        partition_key_text(&at, key);
        http_problem_of(x, PROBLEM_INTERNAL, NULL,
                        "the partition %s is as it came, and cannot be read; format=skein gives "
                        "all that there is",
                        key);
        break;
    case SKEIN_CORRUPT:
        api_damaged(api, x, &at, "; damaged=skip gives the rest");
        break;
    default:
        api_failed(x, status, "the trace cannot be read");
    }
    return false;
}

/* Why there is no stream. */
static void stream_failed(struct trace_ask *a, int status)
{
    const struct trace_stream_query *query = &a->query;
    const char *what = a->of.incident ? "incident" : "capture";
    char key[PARTITION_KEY_TEXT_BYTES];
    switch (status) {
    case SKEIN_NOT_FOUND:
        http_problem_of(a->x, PROBLEM_NOTHING_STORED, NULL,
                        "nothing of this %s%s%s is stored (yet); GET %s says why", what,
                        query->process != NULL ? " and process" : "",
                        query->window ? " and window" : "", "/api/v1/captures/{capture}");
        break;
    case SKEIN_CORRUPT:
        api_damaged(a->api, a->x, query->damaged, "; damaged=skip gives the rest");
        break;
    case SKEIN_UNSUPPORTED:
        partition_key_text(query->damaged, key);
        http_problem_of(a->x, PROBLEM_INTERNAL, NULL,
                        "what not everybody may know cannot be left out of the partition %s, so it "
                        "is not given; damaged=skip gives the rest",
                        key);
        break;
    case SKEIN_CLOSED:
        if (is_over(a))
            http_problem_of(a->x, PROBLEM_UNAVAILABLE, NULL, "the collector stops");
        else
            http_problem(a->x, 422, NULL,
                         "it has more evidence than can be read within %d s: ask for one process, "
                         "or for less time (process=, from=, to=)",
                         READ_S);
        break;
    default:
        api_failed(a->x, status, "the trace cannot be read");
    }
}

static void trace_reply(struct trace_ask *a)
{
    struct trace_stream_query *query = &a->query;
    const struct api_captures *of = &a->of;
    struct partition_ranges *ranges;
    int status =
        capture_ranges(a->api->captures, of->all.items, of->all.count, query->process, &ranges);
    query->ranges = ranges;
    if (status == SKEIN_OK)
        status = trace_stream_open(a->api->index, query, &a->stream);
    query->ranges = NULL;
    partition_ranges_unref(&ranges);
    if (status != SKEIN_OK)
        stream_failed(a, status);
    else if ((query->format != TRACE_PPROF && query->format != TRACE_FOLDED) || profile_make(a))
        trace_send(a);
}

/* Beside the server's threads. */
static void trace_aside(void *context, struct http_exchange *x)
{
    struct trace_ask *a = context;
    (void)x;
    a->place = true;
    if (withhold_any(&a->query.withhold))
        a->deadline_ns = clock_monotonic_ns() + READ_S * NS_PER_S;
    trace_reply(a);
    trace_ask_free(a);
}

static bool needs_place(const struct trace_ask *a)
{
    return forms[a->query.format].place || withhold_any(&a->query.withhold) ||
           a->query.skip_damaged;
}

/* What an export shows: the groups that are asked for, else those that the capture names. */
static bool groups_query(struct api_services *api, struct http_exchange *x,
                         const struct api_captures *of, struct trace_stream_query *query)
{
    const char *text = http_query(x, "groups");
    bool export = query->format != TRACE_SKEIN;
    if (text == NULL && !of->incident)
        api_groups_of(api, &of->id, &query->groups);
    if (text == NULL || (export && event_groups_parse(text, &query->groups)))
        return true;
    http_problem(x, 400, "groups",
                 export ? "must be all, or some of " EVENT_GROUPS ", with commas between"
                        : "is for exports: the skein format has all, for its readers to choose");
    return false;
}

/* False: a 400 was given. */
static bool form_query(struct http_exchange *x, struct trace_stream_query *query)
{
    const char *format = http_query(x, "format"), *of = http_query(x, "of");
    enum stack_profile_of counted;
    unsigned form = TRACE_SKEIN;
    while (format != NULL && form < TRACE_FORMATS && strcmp(format, forms[form].name) != 0)
        form++;
    query->format = (enum trace_format)form;
    query->of = of;
    if (form == TRACE_FORMATS)
        http_problem(x, 400, "format", "must be skein, perfetto, pprof or folded");
    else if (of != NULL && form != TRACE_FOLDED)
        http_problem(x, 400, "of", "is for format=folded: other forms have both");
    else if (of != NULL && !stack_profile_of_find(of, &counted))
        http_problem(x, 400, "of", "must be " STACK_PROFILE_OF_NAMES);
    else
        return true;
    return false;
}

/* False: an answer was given. */
static bool trace_ask_take(struct trace_ask *a)
{
    struct http_exchange *x = a->x;
    struct trace_stream_query *query = &a->query;
    bool one_process;
    if (!api_query_id(x, "process", a->process.bytes, &one_process) ||
        !api_window(x, &query->from_ns, &query->to_ns) || !form_query(x, query))
        return false;
    query->window = http_query(x, "from") != NULL || http_query(x, "to") != NULL;
    const char *skip = http_query(x, "damaged");
    query->skip_damaged = skip != NULL;
    if (skip != NULL && strcmp(skip, "skip") != 0) {
        http_problem(x, 400, "damaged", "must be skip");
        return false;
    }
    a->of_some = api_captures_of(a->api, x, &a->of);
    query->process = one_process ? &a->process : NULL;
    return a->of_some && groups_query(a->api, x, &a->of, query);
}

/* The trace of the capture in the path, or of `incident`. */
void api_captures_trace(void *context, struct http_exchange *x)
{
    struct trace_ask *a = calloc(1, sizeof *a);
    if (a == NULL)
        return;
    a->api = context;
    a->x = x;
    a->query = (struct trace_stream_query){.selector = http_principal(x)->selector,
                                           .withhold = api_withhold(x),
                                           .damaged = &a->damaged};
    a->deadline_ns = UINT64_MAX;
    a->query.stop = is_late;
    a->query.context = a;
    bool taken = trace_ask_take(a);
    if (taken && needs_place(a) && api_read_aside(x, trace_aside, a))
        return;
    if (taken && !needs_place(a))
        trace_reply(a);
    trace_ask_free(a);
}
