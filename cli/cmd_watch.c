/* SPDX-License-Identifier: Apache-2.0
 *
 * skein watch: what happens, as it happens. A lost connection is made again, and goes on behind the
 * last event that came. One thread.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli_api.h"
#include "cli_out.h"
#include "cli_sse.h"
#include "cmd.h"
#include "json.h"

#define QUIET_MS      45000 /* a collector says something every 15 s */
#define PAUSE_MS      2000
#define PAUSE_MOST_MS 30000

struct options {
    struct cli_collector collector;
    const char *selector, *types, *after;
    struct cli_number limit;
    bool json;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_TEXT, 't', "types", "LIST", struct options, types,
               "of these types alone: capture.finished,rule.*"),
    CLI_SELECTOR(struct options),
    CLI_OPTION(CLI_TEXT, 0, "after", "ID", struct options, after,
               "also what came behind the event of that id (default: from now on)"),
    CLI_OPTION(CLI_NUMBER, 'n', "limit", "N", struct options, limit, "end after N events"),
    CLI_OPTION(CLI_FORMAT, 'o', "output", "FORM", struct options, json,
               "table or json: one object a line (default: table)"),
    CLI_OPTION(CLI_FLAG, 'j', "json", NULL, struct options, json, "short for -o json"),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

struct watch {
    const struct options *options;
    struct sse sse;
    struct buf url;
    uint64_t printed;
    bool heard; /* the collector has answered, at any time */
    bool lost;  /* that the connection is lost has been told */
    bool full, failed;
};

/* ---- events ---- */

static void value_put(struct buf *line, const cJSON *data, const char *path)
{
    const char *text = json_text_at(data, path);
    if (!*text)
        return;
    shown_put_between(line, "  ", text, "");
}

/* Time, type, and what people look for. */
static void words_put(struct buf *line, const cJSON *data, const char *type)
{
    static const char *const paths[] = {
        "host",         "agent",        "rule", "policy",       "capture", "kind",  "status",
        "trigger.type", "trigger.rule", "why",  "verdict.text", "reason",  "detail"};
    buf_printf(line, "%s%s%s  ", colour_on(stdout, COLOUR_DIM), json_text_at(data, "time"),
               colour_off(stdout));
    buf_printf(line, "%s", colour_on(stdout, COLOUR_BOLD));
    shown_put(line, type);
    buf_printf(line, "%s", colour_off(stdout));
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        value_put(line, data, paths[i]);
    buf_printf(line, "\n");
}

static int on_event(void *context, const struct sse_event *event)
{
    struct watch *w = context;
    struct buf line = {0};
    char error[128];
    if (w->lost)
        fprintf(stderr, "skein: connected again\n");
    w->lost = false;
    if (strcmp(event->type, "ready") == 0)
        return SKEIN_OK;
    if (strcmp(event->type, "gap") == 0)
        say_warning("events were missed: they are no longer kept, or came too fast");
    cJSON *data = json_parse(event->data, event->bytes, error, sizeof error);
    if (w->options->json && data != NULL) {
        json_print(data, &line);
        buf_put_u8(&line, '\n');
    } else if (data != NULL) {
        words_put(&line, data, event->type);
    }
    cJSON_Delete(data);
    w->failed = !out_write(&line) || out_close() != CLI_OK;
    buf_fini(&line);
    w->printed++;
    w->full = w->options->limit.given && w->printed >= w->options->limit.value;
    return w->full || w->failed ? SKEIN_CLOSED : SKEIN_OK;
}

static int on_bytes(void *context, const void *bytes, size_t n)
{
    struct watch *w = context;
    w->heard = true;
    return sse_feed(&w->sse, bytes, n, on_event, w);
}

/* ---- connections ---- */

/* One connection until it ends. CLI_OK: make another one. */
static int events_watch_once(const struct api *api, struct watch *w)
{
    char last[96];
    const char *headers[3] = {NULL};
    size_t n = 0;
    struct http_response response;
    bool heard = w->heard;
    sse_reset(&w->sse);
    snprintf(last, sizeof last, "Last-Event-ID: %s", w->sse.id);
    if (api->authorization[0])
        headers[n++] = api->authorization;
    if (w->sse.id[0])
        headers[n++] = last;
    struct http_request request = {.url = text_of(&w->url),
                                   .ca_file = api->ca_file,
                                   .headers = headers,
                                   .idle_timeout_ms = QUIET_MS,
                                   .sink = on_bytes,
                                   .context = w};
    int status = http_request(&request, &response), exit_status = CLI_OK;
    bool refused = status == SKEIN_OK && response.status >= 400 && response.status != 503;
    bool nonsense = status == SKEIN_TOO_LARGE || status == SKEIN_NO_MEMORY;
    if (w->full || w->failed) {
        exit_status = w->failed ? CLI_FAILED : CLI_OK;
    } else if (refused || nonsense || (!heard && !w->heard)) {
        exit_status = api_say_failure(api, status, &response);
    } else if (!w->lost) {
        say_warning("the connection to %s is lost; trying again", api->collector);
        w->lost = true;
    }
    http_response_fini(&response);
    return exit_status;
}

static void pause_ms(uint64_t ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&left, NULL);
}

static int watch_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct watch w = {.options = o};
    struct api api;
    struct buf path = {0};
    uint64_t pause = 0;
    int status = api_init(&api, o->collector);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "/events");
    api_query(&path, "types", o->types);
    api_query(&path, "selector", o->selector);
    api_url(&api, text_of(&path), &w.url);
    buf_fini(&path);
    snprintf(w.sse.id, sizeof w.sse.id, "%s", o->after != NULL ? o->after : "");
    while (status == CLI_OK && !w.full) {
        uint64_t before = w.printed;
        pause_ms(pause);
        status = events_watch_once(&api, &w);
        uint64_t first =
            w.sse.retry_ms && w.sse.retry_ms < PAUSE_MOST_MS ? w.sse.retry_ms : PAUSE_MS;
        pause = pause == 0 || w.printed > before ? first : pause * 2;
        pause = pause < PAUSE_MOST_MS ? pause : PAUSE_MOST_MS;
    }
    sse_fini(&w.sse);
    buf_fini(&w.url);
    return status;
}

const struct cli_command cmd_watch = {
    .name = "watch",
    .summary = "Print what happens, as it happens: captures, firings, agents",
    .details =
        "A lost connection is made again, and nothing is missed that the collector still has.\n"
        "Types end in a star for all of a kind: capture.*, rule.*, policy.*, agent.*, retention.*.\n",
    .examples = "  skein watch\n"
                "  skein watch -t rule.fired,capture.finished -l service=redis\n"
                "  skein watch -t capture.finished -n 1 -o json | jq -r .capture\n",
    CLI_RUN(options, struct options, watch_run),
};
