/* SPDX-License-Identifier: Apache-2.0
 * See report_tasks.h. */
#include "report_tasks.h"

#include <inttypes.h>
#include <string.h>

#include "cli_out.h"

/* Right-aligned, as in a table. */
static void time_put(struct buf *out, uint64_t ns)
{
    struct buf text = {0};
    text_put_duration(&text, ns);
    buf_printf(out, "%10.*s  ", (int)text.len, text.data != NULL ? (const char *)text.data : "");
    buf_fini(&text);
}

/* "  1.200 s  wait     in recv, thread main/100: …" */
static void segment_put(struct buf *out, const cJSON *segment)
{
    buf_printf(out, "    ");
    time_put(out, json_u64_at(segment, "dur_ns"));
    const char *what = json_text_at(segment, "what");
    shown_put(out, what);
    buf_printf(out, "%*s", strlen(what) < 8 ? (int)(8 - strlen(what)) : 0, "");
    if (json_at(segment, "in") != NULL)
        shown_put_between(out, " in ", json_text_at(segment, "in"), "");
    if (json_u64_at(segment, "depth") > 0) {
        shown_put_between(out, ", thread ", json_text_at(segment, "thread"), "");
        buf_printf(out, "/%" PRIu64, json_u64_at(segment, "tid"));
    }
    if (json_at(segment, "service") != NULL) {
        shown_put_between(out, " of ", json_text_at(segment, "service"), "");
        buf_printf(out, "[%" PRIu64 "]", json_u64_at(segment, "pid"));
    }
    if (json_at(segment, "why") != NULL)
        shown_put_between(out, ": ", json_text_at(segment, "why"), "");
    buf_printf(out, "\n");
}

static void task_put(struct buf *out, const cJSON *name, const cJSON *task)
{
    const cJSON *segment;
    time_put(out, json_u64_at(task, "dur_ns"));
    shown_put(out, json_text_at(name, "name"));
    buf_printf(out, "%s on thread ", json_at(task, "open") != NULL ? " (not ended)" : "");
    shown_put(out, json_text_at(task, "thread"));
    buf_printf(out, "/%" PRIu64 " of ", json_u64_at(task, "tid"));
    shown_put(out, json_text_at(task, "service"));
    buf_printf(out, "[%" PRIu64 "], from ", json_u64_at(task, "pid"));
    shown_put(out, json_text_at(task, "from"));
    if (json_at(task, "trace_id") != NULL)
        shown_put_between(out, ", trace ", json_text_at(task, "trace_id"), "");
    buf_printf(out, "\n");
    cJSON_ArrayForEach(segment, json_at(task, "path"))
        segment_put(out, segment);
}

void report_tasks_put(struct buf *out, const cJSON *report)
{
    const cJSON *name, *names = json_at(report, "tasks");
    uint64_t more = json_u64_at(report, "tasks_left_out");
    uint64_t shorter = json_u64_at(report, "task_regions_left_out");
    if (cJSON_GetArraySize(names) == 0)
        return;
    buf_printf(out,
               "\n%sThe slowest of each task, and where its time went (all of them: -o json)%s\n",
               colour_on(stdout, COLOUR_BOLD), colour_off(stdout));
    cJSON_ArrayForEach(name, names)
        if (cJSON_GetArraySize(json_at(name, "slowest")) > 0)
            task_put(out, name, cJSON_GetArrayItem(json_at(name, "slowest"), 0));
    if (more > 0)
        buf_printf(out, "of other names, with less time: %" PRIu64 "\n", more);
    if (shorter > 0)
        buf_printf(out, "regions that had no room in these: %" PRIu64 "\n", shorter);
}
