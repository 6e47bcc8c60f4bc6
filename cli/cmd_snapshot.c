/* SPDX-License-Identifier: Apache-2.0
 *
 * skein snapshot: asks for what happened just before, waits for it, and fetches it. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "cli_capture.h"
#include "cli_download.h"
#include "cli_out.h"
#include "clock.h"
#include "json.h"

#define PRE_NS      UINT64_C(10000000000)
#define DEADLINE_NS UINT64_C(30000000000)
#define NS_PER_MS   1000000

struct options {
    const char *collector, *selector, *file, *reason;
    struct cli_number pre, post, deadline, at;
    bool json, no_wait;
};

static const struct cli_option options[] = {
    CLI_SELECTOR(struct options),
    CLI_OPTION(CLI_DURATION, 0, "pre", "TIME", struct options, pre,
               "how much before the instant (default: 10s)"),
    CLI_OPTION(CLI_DURATION, 0, "post", "TIME", struct options, post,
               "how much after it (default: 0s)"),
    CLI_OPTION(CLI_TIME, 0, "at", "TIME", struct options, at,
               "the instant (default: now): 2026-11-21T09:40:00Z, or -5s"),
    CLI_OPTION(CLI_DURATION, 0, "deadline", "TIME", struct options, deadline,
               "how long to wait for agents (default: 30s)"),
    CLI_OPTION(CLI_TEXT, 0, "reason", "TEXT", struct options, reason, "why, for whoever reads it"),
    CLI_OPTION(CLI_TEXT, 'o', "output", "FILE", struct options, file, "download the trace to FILE"),
    CLI_OPTION(CLI_FLAG, 0, "json", NULL, struct options, json,
               "print the capture as JSON in the end"),
    CLI_OPTION(CLI_FLAG, 0, "no-wait", NULL, struct options, no_wait,
               "print the capture's id and return at once"),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

static cJSON *body_new(const struct options *o, uint64_t deadline_ns)
{
    char at[CLOCK_TEXT_BYTES];
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "selector", o->selector ? o->selector : "");
    cJSON_AddStringToObject(body, "kind", "snapshot");
    if (o->at.given) {
        clock_text(o->at.value, at);
        cJSON_AddStringToObject(body, "at", at);
    }
    json_add_u64(body, "pre_ms", (o->pre.given ? o->pre.value : PRE_NS) / NS_PER_MS);
    json_add_u64(body, "post_ms", o->post.value / NS_PER_MS);
    json_add_u64(body, "deadline_ms", deadline_ns / NS_PER_MS);
    cJSON_AddStringToObject(body, "reason", o->reason ? o->reason : "");
    return body;
}

static int ask(const struct api *api, const struct options *o, uint64_t deadline_ns, char id[33])
{
    cJSON *answer = NULL;
    cJSON *body = body_new(o, deadline_ns);
    int status = api_call(api, "POST", "/captures", body, &answer);
    cJSON_Delete(body);
    snprintf(id, 33, "%s", json_text_at(answer, "capture"));
    cJSON_Delete(answer);
    if (status == CLI_OK && strlen(id) != 32) {
        say_error("collector %s answers without a capture", api->collector);
        return CLI_FAILED;
    }
    return status;
}

static int fetch(const struct api *api, const char *id, const char *file)
{
    struct buf text = {0};
    uint64_t bytes;
    struct download download = {.capture = id, .format = "skein", .file = file};
    if (download_run(api, &download, &bytes) != CLI_OK)
        return CLI_FAILED;
    text_put_bytes(&text, bytes);
    fprintf(stderr, "%s: %s\n", file, api_text(&text));
    buf_fini(&text);
    return CLI_OK;
}

/* Says how it ended. A capture with gaps is a failure of the command, but its data is kept. */
static int finish(const struct api *api, const struct options *o, const char *id,
                  const cJSON *capture)
{
    bool complete = strcmp(json_text_at(capture, "status"), "complete") == 0;
    int status = CLI_OK;
    if (o->json) {
        status = json_show(capture);
    } else {
        struct buf out = {0};
        const char *verdict = json_text_at(capture, "verdict.text");
        buf_printf(&out, "capture %s\n%s", id,
                   colour_on(stdout, complete ? COLOUR_GREEN : COLOUR_RED));
        text_put_safe(&out, verdict, strlen(verdict));
        buf_printf(&out, "%s\n", colour_off(stdout));
        status = out_write(&out) ? out_close() : CLI_FAILED;
        buf_fini(&out);
    }
    bool anything = json_u64_at(capture, "ledger.stored") > 0;
    if (status == CLI_OK && o->file && (complete || anything))
        status = fetch(api, id, o->file);
    else if (status == CLI_OK && o->file)
        say_error("nothing was stored, so there is nothing to write to %s", o->file);
    if (status == CLI_OK && !o->file && !o->json && anything)
        printf("fetch it: skein fetch %s -o FILE.skein\n", id);
    return status == CLI_OK && complete ? out_close() : CLI_FAILED;
}

static int run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    struct api api;
    char id[33];
    cJSON *capture = NULL;
    (void)count;
    (void)arguments;
    uint64_t deadline_ns = o->deadline.given ? o->deadline.value : DEADLINE_NS + o->post.value;
    if (api_init(&api, o->collector) != CLI_OK || ask(&api, o, deadline_ns, id) != CLI_OK)
        return CLI_FAILED;
    if (o->no_wait) {
        printf("%s\n", id);
        return out_close();
    }
    int status =
        capture_wait(&api, id, clock_monotonic_ns() + deadline_ns + CAPTURE_GRACE_NS, &capture);
    if (status == CLI_OK)
        status = finish(&api, o, id, capture);
    cJSON_Delete(capture);
    return status;
}

const struct cli_command cmd_snapshot = {
    .name = "snapshot",
    .arguments = "",
    .summary = "Save what happened just before, on every process that matches",
    .details = "Without -l every process of the fleet is captured. The exit status is 0 where the\n"
               "capture is complete; with gaps it is 1, and what there is is kept and fetched.\n",
    .examples =
        "  skein snapshot -l service=redis -o redis.skein\n"
        "  skein snapshot -l 'zone in (a,b)' --pre 30s --post 5s --reason 'slow checkout'\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .run = run,
};
