/* SPDX-License-Identifier: Apache-2.0
 * See report_verdict.h. */
#include "report_verdict.h"

#include "cli_gaps.h"
#include "cli_out.h"

/* The ith capture's JSON; NULL: it is a file. */
static const cJSON *capture_at(const struct report_sources *sources, int i)
{
    return sources->subjects[i].capture;
}

void verdict_lines_put(struct buf *out, const struct report_sources *sources)
{
    for (int i = 0; i < sources->count; i++) {
        const cJSON *capture = capture_at(sources, i);
        const char *words = json_text_at(capture, "verdict.text");
        if (*words == '\0')
            continue;
        buf_printf(out, "capture %s: %s", json_text_at(capture, "capture"),
                   colour_on(stdout, capture_is_whole(capture) ? COLOUR_GREEN : COLOUR_RED));
        shown_put(out, words);
        buf_printf(out, "%s\n", colour_off(stdout));
        gaps_put(out, capture, false);
    }
}

void verdict_links_put(struct buf *out, const struct report_sources *sources)
{
    for (int i = 0; i < sources->count; i++) {
        const char *url = json_text_at(capture_at(sources, i), "url");
        if (*url == '\0')
            continue;
        shown_put_between(out, "\nin the console: ", url, "");
    }
    if (out->len > 0)
        buf_printf(out, "\n");
}

bool verdict_sentence_put(struct buf *out, const struct report_sources *sources)
{
    bool incomplete = false;
    for (int i = 0; i < sources->count; i++) {
        const cJSON *capture = capture_at(sources, i);
        const char *words = json_text_at(capture, "verdict.text");
        if (*words == '\0')
            continue;
        if (out->len > 0)
            buf_printf(out, "; ");
        if (sources->count > 1)
            buf_printf(out, "%.8s: ", json_text_at(capture, "capture"));
        buf_printf(out, "%s", words);
        incomplete = incomplete || !capture_is_whole(capture);
    }
    return incomplete;
}

static const char *const who[] = {"service", "host", "pid", "process", NULL};
static const char *const gap_members[] = {"reason", "from", "to", NULL};

/* Copies the members that are there. */
static bool members_copy(cJSON *to, const cJSON *from, const char *const *names)
{
    for (; *names != NULL; names++) {
        const cJSON *member = json_at(from, *names);
        if (member != NULL && !cJSON_AddItemToObject(to, *names, cJSON_Duplicate(member, true)))
            return false;
    }
    return true;
}

static bool gaps_copy(cJSON *rows, const cJSON *capture)
{
    const cJSON *target, *gap;
    cJSON_ArrayForEach(target, json_at(capture, "targets")) {
        cJSON_ArrayForEach(gap, json_at(target, "ledger.gaps")) {
            cJSON *row = cJSON_CreateObject();
            if (!cJSON_AddItemToArray(rows, row) || !members_copy(row, target, who) ||
                !members_copy(row, gap, gap_members))
                return false;
        }
    }
    return true;
}

int verdict_json_add(cJSON *report, const struct report_sources *sources)
{
    static const char *const members[] = {"capture", "url", "verdict", NULL};
    cJSON *captures = NULL;
    for (int i = 0; i < sources->count; i++) {
        const cJSON *capture = capture_at(sources, i);
        if (capture == NULL)
            continue;
        if (captures == NULL)
            captures = cJSON_AddArrayToObject(report, "captures");
        cJSON *row = cJSON_CreateObject();
        if (!cJSON_AddItemToArray(captures, row) || !members_copy(row, capture, members) ||
            !gaps_copy(cJSON_AddArrayToObject(row, "gaps"), capture))
            return SKEIN_NO_MEMORY;
    }
    return SKEIN_OK;
}
