/* SPDX-License-Identifier: Apache-2.0
 *
 * skein snapshot, record and stream: ask for a capture, wait for it, and fetch it. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "cli_capture.h"
#include "cli_download.h"
#include "cli_out.h"
#include "clock.h"
#include "cmd.h"
#include "evidence_kinds.h"
#include "json.h"

#define PRE_NS    UINT64_C(10000000000)
#define FOR_NS    UINT64_C(5000000000)
#define NS_PER_MS 1000000

struct options {
    struct cli_collector collector;
    const char *selector, *reason, *evidence;
    struct cli_number pre, post, at, from, to, length, deadline, ttl, min_targets, max_targets;
    struct cli_result result;
    bool no_wait, pin, threads;
};

/* What all kinds take. */
#define TAKE_OPTIONS                                                                               \
    CLI_OPTION(CLI_DURATION, 0, "deadline", "TIME", struct options, deadline,                      \
               "how long agents have after the end of the window (default: 30s)"),                 \
        CLI_OPTION(CLI_NUMBER, 0, "min-targets", "N", struct options, min_targets,                 \
                   "no capture where fewer processes match (default: 1)"),                         \
        CLI_OPTION(CLI_NUMBER, 0, "max-targets", "N", struct options, max_targets,                 \
                   "of no more processes (default: all)"),                                         \
        CLI_OPTION(CLI_TEXT, 0, "reason", "TEXT", struct options, reason,                          \
                   "why, for whoever reads it"),                                                   \
        CLI_OPTION(CLI_DURATION, 0, "ttl", "TIME", struct options, ttl,                            \
                   "delete it that long after its end: 7d"),                                       \
        CLI_OPTION(CLI_FLAG, 0, "pin", NULL, struct options, pin,                                  \
                   "keep it, whatever its ttl and the quotas"),                                    \
        CLI_OPTION(CLI_FLAG, 0, "threads", NULL, struct options, threads,                          \
                   "dump all threads of each process as it begins (skein threads shows them)"),    \
        CLI_OPTION(CLI_TEXT, 0, "evidence", "LIST", struct options, evidence,                      \
                   "beside the events, these kinds alone: " EVIDENCE_KINDS_KNOWN                   \
                   ", or none (default: all but threads and go)"),                                 \
        CLI_OUTPUT_FILE(struct options, "download the trace to FILE"),                             \
        CLI_OPTION(CLI_FLAG, 0, "no-wait", NULL, struct options, no_wait,                          \
                   "print the capture's id and return at once"),                                   \
        CLI_COLLECTOR(struct options), CLI_OPTIONS_END

static const struct cli_option snapshot_options[] = {
    CLI_SELECTOR(struct options),
    CLI_OPTION(CLI_DURATION, 0, "pre", "TIME", struct options, pre,
               "how much before the instant (default: 10s)"),
    CLI_OPTION(CLI_DURATION, 0, "post", "TIME", struct options, post,
               "how much after it (default: 0s)"),
    CLI_OPTION(CLI_TIME, 0, "at", "TIME", struct options, at,
               "the instant (default: now): 2026-11-21T09:40:00Z, or -5s"),
    CLI_OPTION(CLI_TIME, 0, "from", "TIME", struct options, from,
               "instead: all between --from and --to"),
    CLI_OPTION(CLI_TIME, 0, "to", "TIME", struct options, to, "its end (default: now)"),
    TAKE_OPTIONS};

static const struct cli_option record_options[] = {
    CLI_SELECTOR(struct options),
    CLI_OPTION(CLI_DURATION, 0, "for", "TIME", struct options, length,
               "how long (default: 5s); Ctrl-C ends it earlier"),
    TAKE_OPTIONS};

static const struct cli_option stream_options[] = {
    CLI_SELECTOR(struct options),
    CLI_OPTION(CLI_DURATION, 0, "for", "TIME", struct options, length,
               "how long at most (default: 1h); Ctrl-C ends it earlier"),
    TAKE_OPTIONS};

/* ---- the request ---- */

static void window_add(cJSON *body, const struct options *o, const char *kind)
{
    if (strcmp(kind, "record") == 0) {
        json_add_u64(body, "for_ms", (o->length.given ? o->length.value : FOR_NS) / NS_PER_MS);
    } else if (strcmp(kind, "stream") == 0) {
        if (o->length.given)
            json_add_u64(body, "max_ms", o->length.value / NS_PER_MS);
    } else if (o->from.given) {
        json_add_time(body, "from", o->from.value);
        json_add_time(body, "to", o->to.given ? o->to.value : clock_realtime_ns());
    } else {
        if (o->at.given)
            json_add_time(body, "at", o->at.value);
        json_add_u64(body, "pre_ms", (o->pre.given ? o->pre.value : PRE_NS) / NS_PER_MS);
        json_add_u64(body, "post_ms", o->post.value / NS_PER_MS);
    }
}

static cJSON *body_new(const struct options *o, const char *kind)
{
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "selector", o->selector != NULL ? o->selector : "");
    cJSON_AddStringToObject(body, "kind", kind);
    window_add(body, o, kind);
    if (o->deadline.given)
        json_add_u64(body, "deadline_ms", o->deadline.value / NS_PER_MS);
    if (o->min_targets.given)
        json_add_u64(body, "min_targets", o->min_targets.value);
    if (o->max_targets.given)
        json_add_u64(body, "max_targets", o->max_targets.value);
    if (o->reason != NULL)
        cJSON_AddStringToObject(body, "reason", o->reason);
    if (o->ttl.given)
        json_add_u64(body, "ttl_ms", o->ttl.value / NS_PER_MS);
    json_add_flag(body, "pin", o->pin);
    struct evidence_wish wish = {.only = o->evidence != NULL};
    if (o->evidence != NULL)
        (void)evidence_kinds_parse(o->evidence, &wish.kinds); /* has been checked */
    if (o->threads)
        wish.kinds |= EVIDENCE_BIT(EVIDENCE_THREADS);
    evidence_wish_add(&wish, body);
    return body;
}

static int capture_ask(const struct api *api, const struct options *o, const char *kind,
                       cJSON **capture)
{
    cJSON *body = body_new(o, kind);
    int status = api_call(api, "POST", "/captures", body, capture);
    cJSON_Delete(body);
    if (status == CLI_OK && strlen(json_text_at(*capture, "capture")) != 32) {
        say_error("collector %s answers without a capture", api->collector);
        status = CLI_FAILED;
    }
    return status;
}

/* ---- the answer ---- */

static int taken_fetch(const struct api *api, const struct options *o, const char *id)
{
    uint64_t bytes;
    struct download download = {.capture = id, .format = "skein", .file = o->result.file};
    int status = download_run(api, &download, &bytes);
    if (status == CLI_OK && !o->result.json)
        status = download_said(&download, bytes, false);
    return status;
}

static int end_say(const char *id, const cJSON *capture)
{
    bool whole = capture_exit(capture) == CLI_OK;
    struct buf out = {0};
    const char *verdict = json_text_at(capture, "verdict.text");
    buf_printf(&out, "capture %s\n%s", id, colour_on(stdout, whole ? COLOUR_GREEN : COLOUR_RED));
    text_put_safe(&out, verdict, strlen(verdict));
    buf_printf(&out, "%s\n", colour_off(stdout));
    int status = out_write(&out) ? out_close() : CLI_FAILED;
    buf_fini(&out);
    return status;
}

/* Says how it ended. A capture with gaps fails the command, but what there is of it is fetched. */
static int taken_finish(const struct api *api, const struct options *o, const char *id,
                        const cJSON *capture)
{
    bool anything = json_u64_at(capture, "ledger.stored") > 0 || capture_exit(capture) == CLI_OK;
    int status = o->result.json ? json_show(capture) : end_say(id, capture);
    if (status == CLI_OK && o->result.file != NULL && anything)
        status = taken_fetch(api, o, id);
    else if (status == CLI_OK && o->result.file != NULL)
        say_error("nothing was stored, so there is nothing to write to %s", o->result.file);
    else if (status == CLI_OK && !o->result.json && anything)
        printf("fetch it: skein fetch %s -o FILE.skein\nlook at it: skein open %s\n", id, id);
    return status == CLI_OK ? capture_exit(capture) : status;
}

static int snapshot_take(const struct options *o, const char *kind)
{
    struct api api;
    char id[33];
    uint32_t kinds;
    cJSON *capture = NULL;
    if (o->evidence != NULL && !evidence_kinds_parse(o->evidence, &kinds)) {
        say_error("--evidence %s: must be none, or some of " EVIDENCE_KINDS_KNOWN
                  ", with commas between",
                  o->evidence);
        return CLI_USAGE;
    }
    int status = api_init(&api, o->collector);
    if (status == CLI_OK && o->result.file != NULL)
        status = download_check(o->result.file);
    if (status == CLI_OK)
        status = capture_ask(&api, o, kind, &capture);
    snprintf(id, sizeof id, "%s", json_text_at(capture, "capture"));
    uint64_t until_ns = capture_until_ns(capture);
    if (status == CLI_OK && o->no_wait) {
        if (o->result.json)
            status = json_show(capture);
        else
            printf("%s\n", id);
        cJSON_Delete(capture);
        return status == CLI_OK ? out_close() : status;
    }
    cJSON_Delete(capture);
    capture = NULL;
    if (status == CLI_OK)
        status = capture_wait(&api, id, until_ns, true, &capture);
    if (status == CLI_OK)
        status = taken_finish(&api, o, id, capture);
    cJSON_Delete(capture);
    int closed = out_close();
    return status == CLI_OK ? closed : status;
}

/* ---- the commands ---- */

static int snapshot_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    if (o->to.given && !o->from.given) {
        say_error("snapshot: --to needs --from");
        return CLI_USAGE;
    }
    if (o->from.given && (o->at.given || o->pre.given || o->post.given)) {
        say_error("snapshot: a window is either --from and --to, or --at, --pre and --post");
        return CLI_USAGE;
    }
    return snapshot_take(o, "snapshot");
}

static int record_run(const struct cli_call *call)
{
    return snapshot_take(call->options, "record");
}

static int stream_run(const struct cli_call *call)
{
    return snapshot_take(call->options, "stream");
}

#define DETAILS                                                                                      \
    "Without -l every process of the fleet is captured. Ctrl-C ends the capture early: what there\n" \
    "is by then is kept, waited for and fetched.\n"

const struct cli_command cmd_snapshot = {
    .name = "snapshot",
    .summary = "Save what happened just before, on every process that matches",
    .details = DETAILS,
    .examples = "  skein snapshot -l service=redis -o redis.skein\n"
                "  skein snapshot -l 'zone in (a,b)' --pre 30s --post 5s --reason 'slow checkout'\n"
                "  skein snapshot -l service=redis --evidence threads,samples --post 1s\n"
                "  skein snapshot --from 2026-11-21T09:40:00Z --to 2026-11-21T09:40:20Z -o json\n",
    .options = snapshot_options,
    .options_bytes = sizeof(struct options),
    .run = snapshot_run,
};

const struct cli_command cmd_record = {
    .name = "record",
    .summary = "Save what happens next, for a while, on every process that matches",
    .details = DETAILS,
    .examples = "  skein record -l service=checkout --for 10s -o checkout.skein\n",
    .options = record_options,
    .options_bytes = sizeof(struct options),
    .run = record_run,
};

const struct cli_command cmd_stream = {
    .name = "stream",
    .summary = "Save what happens from now on, every second, until Ctrl-C",
    .details = DETAILS "What is stored can be fetched while it goes on: skein fetch.\n",
    .examples = "  skein stream -l service=checkout -o checkout.skein\n"
                "  skein stream -l service=checkout --for 10m --no-wait\n",
    .options = stream_options,
    .options_bytes = sizeof(struct options),
    .run = stream_run,
};
