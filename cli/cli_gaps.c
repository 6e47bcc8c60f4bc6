/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the words for gaps. Times are as the collector tells them; nothing is kept. One thread.
 */
#include "cli_gaps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli_out.h"
#include "clock.h"

#define LINES_MAX 6                 /* gaps that are told without being asked for */
#define CLOSE     100               /* parts of the window: what lies closer is one gap */
#define EDGE_NS   UINT64_C(1000000) /* clocks are told in milliseconds */

struct gap {
    uint64_t from_ns, to_ns;
    const char *reason;
    unsigned pieces;
};

struct window {
    uint64_t from_ns, to_ns;
};

/* What a reason of common/loss.h means to who reads it; others are told as they are. */
static const char *words_of(const char *reason)
{
    static const struct {
        const char *reason, *words;
    } known[] = {{"ring_full", "the ring was full"},
                 {"overwritten", "the ring had overwritten it"},
                 {"corrupt", "damaged in the ring"},
                 {"signal", "lost inside of a signal handler"},
                 {"size", "more than a cut may hold"},
                 {"report_full", "more than the agent's report may hold"},
                 {"agent_failed", "the agent could not cut"},
                 {"agent_restarted", "the agent was restarted"},
                 {"spool_full", "the agent's spool was full"},
                 {"spool_failed", "the disk of the agent's spool refused"},
                 {"spool_unreadable", "damaged in the agent's spool"},
                 {"rejected", "it did not decode at the collector"},
                 {"not_arrived", "it did not arrive"},
                 {"no_answer", "the agent did not answer"},
                 {"attached_late", "it ran before it was recorded"},
                 {"attach_refused", "the agent did not take it"},
                 {"ring_replaced", "its ring before that is gone"},
                 {"ring_released", "it has ended, and its ring is not kept any more"},
                 {"watched", "it is watched from outside, and has no ring"},
                 {"disk_full", "the collector's disk was full"},
                 {"evicted", "deleted to make room"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].reason, reason) == 0)
            return known[i].words;
    return reason;
}

/* Whether it is the life of a process of which there is no record, nor was one before or after. */
static bool is_of_nothing(const char *reason)
{
    return strcmp(reason, "watched") == 0 || strcmp(reason, "attach_refused") == 0 ||
           strcmp(reason, "ring_released") == 0;
}

/* The time of day, where the day is the window's. */
static void time_put(struct buf *out, uint64_t ns, const struct window *window)
{
    char text[CLOCK_TEXT_BYTES], first[CLOCK_TEXT_BYTES];
    clock_text(ns, text);
    clock_text(window->from_ns, first);
    bool same_day = strncmp(text, first, sizeof "2026-11-21T" - 1) == 0;
    buf_printf(out, "%s", same_day ? text + sizeof "2026-11-21T" - 1 : text);
}

static int gap_order(const void *a, const void *b)
{
    const struct gap *x = a, *y = b;
    int order = strcmp(x->reason, y->reason);
    return order ? order : (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* By reason and time, close ones as one. Returns how many are left. */
static size_t gaps_merge(struct gap *gaps, size_t count, const struct window *window)
{
    uint64_t close_ns = (window->to_ns - window->from_ns) / CLOSE;
    size_t kept = 0;
    qsort(gaps, count, sizeof *gaps, gap_order);
    for (size_t i = 0; i < count; i++) {
        struct gap *last = kept > 0 ? &gaps[kept - 1] : NULL;
        if (last != NULL && strcmp(last->reason, gaps[i].reason) == 0 &&
            gaps[i].from_ns <= last->to_ns + close_ns) {
            last->to_ns = gaps[i].to_ns > last->to_ns ? gaps[i].to_ns : last->to_ns;
            last->pieces++;
        } else {
            gaps[kept++] = gaps[i];
        }
    }
    return kept;
}

static size_t gaps_read(const cJSON *target, struct gap **gaps)
{
    const cJSON *items = json_at(target, "ledger.gaps"), *item;
    size_t count = 0;
    *gaps = calloc((size_t)cJSON_GetArraySize(items) + 1, sizeof **gaps);
    cJSON_ArrayForEach(item, items) {
        struct gap gap = {.reason = json_text_at(item, "reason"), .pieces = 1};
        if (*gaps != NULL && clock_parse(json_text_at(item, "from"), &gap.from_ns) == SKEIN_OK &&
            clock_parse(json_text_at(item, "to"), &gap.to_ns) == SKEIN_OK)
            (*gaps)[count++] = gap;
    }
    return count;
}

static void gap_put(struct buf *out, const cJSON *target, const struct gap *gap,
                    const struct window *window)
{
    bool early = gap->from_ns <= window->from_ns + EDGE_NS;
    bool late = gap->to_ns + EDGE_NS >= window->to_ns;
    buf_printf(out, "%-10s ", "gap");
    shown_put(out, json_text_at(target, "service"));
    buf_printf(out, "[%" PRIu64 "] on ", json_u64_at(target, "pid"));
    shown_put(out, json_text_at(target, "host"));
    if (is_of_nothing(gap->reason)) {
        buf_printf(out, " has no record");
    } else if (early && late) {
        buf_printf(out, " has nothing whole of the window");
    } else if (early || late) {
        buf_printf(out, early ? " reaches back to " : " goes on to ");
        time_put(out, early ? gap->to_ns : gap->from_ns, window);
        buf_printf(out, " of ");
        time_put(out, early ? window->from_ns : window->to_ns, window);
        buf_printf(out, " asked");
    } else {
        buf_printf(out, " lacks ");
        text_put_duration(out, gap->to_ns - gap->from_ns);
        buf_printf(out, " from ");
        time_put(out, gap->from_ns, window);
    }
    if (gap->pieces > 1)
        buf_printf(out, " in %u pieces", gap->pieces);
    shown_put_between(out, ": ", words_of(gap->reason), "\n");
}

void gaps_put(struct buf *out, const cJSON *capture, bool all)
{
    const cJSON *target;
    struct window window = {0, UINT64_MAX};
    size_t lines = 0, left = 0;
    (void)clock_parse(json_text_at(capture, "window.from"), &window.from_ns);
    (void)clock_parse(json_text_at(capture, "window.to"), &window.to_ns);
    cJSON_ArrayForEach(target, json_at(capture, "targets")) {
        struct gap *gaps = NULL;
        size_t read = gaps_read(target, &gaps);
        size_t count = gaps != NULL ? gaps_merge(gaps, read, &window) : 0;
        for (size_t i = 0; i < count; i++) {
            if (all || lines < LINES_MAX)
                gap_put(out, target, &gaps[i], &window);
            else
                left++;
            lines++;
        }
        free(gaps);
    }
    if (left > 0)
        buf_printf(out, "%-10s %zu more: skein capture show --gaps\n", "gaps", left);
}

bool capture_is_whole(const cJSON *capture)
{
    return cJSON_IsTrue(json_at(capture, "verdict.complete")) ||
           cJSON_IsTrue(json_at(capture, "verdict.begins.rest_complete"));
}
