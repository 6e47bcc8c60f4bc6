/* SPDX-License-Identifier: Apache-2.0
 *
 * See trace_report_json.h. docs/analysis.md lists the members.
 */
#include "trace_report_json.h"

#include <math.h>

#include "json.h"

static void subject_add(cJSON *to, const struct report_subject *s)
{
    json_add_text_some(to, "service", s->service);
    json_add_text_some(to, "host", s->host);
    json_add_u64_some(to, "pid", s->pid);
    if (s->tid == 0)
        return;
    cJSON_AddStringToObject(to, "thread", s->thread_name);
    cJSON_AddNumberToObject(to, "tid", s->tid);
}

static void time_add(cJSON *to, uint64_t from_ns, uint64_t to_ns)
{
    if (to_ns == 0)
        return;
    json_add_time(to, "from", from_ns);
    json_add_time(to, "to", to_ns);
    json_add_u64(to, "ts_ns", from_ns);
    json_add_u64(to, "dur_ns", to_ns > from_ns ? to_ns - from_ns : 0);
}

static void number_add(cJSON *to, const struct report_number *number)
{
    double v = number->value;
    if (v >= 0 && v < 1.8e19 && v == floor(v))
        json_add_u64(to, number->name, (uint64_t)v);
    else
        cJSON_AddNumberToObject(to, number->name, v);
}

static cJSON *finding_json(const struct report_finding *f)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "rule", f->rule);
    cJSON_AddStringToObject(json, "severity", report_severity_text(f->severity));
    cJSON_AddNumberToObject(json, "score", f->score);
    cJSON_AddStringToObject(json, "text", f->sentence);
    subject_add(json, &f->subject);
    json_add_text_some(json, "region", f->region);
    time_add(json, f->from_ns, f->to_ns);
    cJSON *numbers = cJSON_AddObjectToObject(json, "numbers");
    for (size_t i = 0; i < f->number_count; i++)
        number_add(numbers, &f->numbers[i]);
    cJSON *frames = cJSON_AddArrayToObject(json, "frames");
    for (size_t i = 0; i < f->frame_count; i++)
        cJSON_AddItemToArray(frames, cJSON_CreateString(f->frames[i]));
    json_add_u64_some(json, "frames_left_out", f->frames_left_out);
    return json;
}

static void process_add(cJSON *to, const struct skein_trace *trace, uint32_t process)
{
    if (process == SKEIN_NONE)
        return;
    const struct skein_process *p = skein_trace_process(trace, process);
    subject_add(to,
                &(struct report_subject){.pid = p->pid, .service = p->service, .host = p->host});
}

static void missing_add(cJSON *to, const struct trace_report *r, const struct skein_trace *trace)
{
    static const char *const reasons[] = {
        [SKEIN_GAP_BROKEN] = "broken", [SKEIN_GAP_MISSING] = "missing", [SKEIN_GAP_TORN] = "torn"};
    cJSON *gaps = cJSON_AddArrayToObject(to, "gaps"),
          *losses = cJSON_AddArrayToObject(to, "losses");
    for (size_t i = 0; i < r->gap_count; i++) {
        const struct report_gap *gap = &r->gaps[i];
        cJSON *json = cJSON_CreateObject();
        bool known = gap->reason >= SKEIN_GAP_BROKEN && gap->reason <= SKEIN_GAP_TORN;
        cJSON_AddStringToObject(json, "reason", known ? reasons[gap->reason] : "unknown");
        process_add(json, trace, gap->process);
        time_add(json, gap->from_ns, gap->to_ns);
        json_add_u64(json, "bytes", gap->bytes);
        cJSON_AddStringToObject(json, "text", gap->what);
        cJSON_AddItemToArray(gaps, json);
    }
    for (size_t i = 0; i < r->loss_count; i++) {
        const struct report_loss *loss = &r->losses[i];
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "reason", skein_loss_text(loss->reason));
        process_add(json, trace, loss->process);
        time_add(json, loss->from_ns, loss->to_ns);
        json_add_u64(json, "places", loss->places);
        json_add_u64_some(json, "records", loss->records);
        cJSON_AddItemToArray(losses, json);
    }
}

static void regions_add(cJSON *to, const struct trace_report *r)
{
    cJSON *rows = cJSON_AddArrayToObject(to, "regions");
    for (size_t i = 0; i < r->region_count; i++) {
        const struct report_region *row = &r->regions[i];
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "service", row->service);
        cJSON_AddStringToObject(json, "name", row->name);
        cJSON_AddBoolToObject(json, "wait", row->wait);
        json_add_u64(json, "count", row->count);
        json_add_u64(json, "total_ns", row->total_ns);
        json_add_u64(json, "self_ns", row->self_ns);
        json_add_u64(json, "idle_ns", row->idle_ns);
        json_add_u64_some(json, "others", row->merged);
        if (row->open > 0) {
            json_add_u64(json, "open", row->open);
            json_add_u64(json, "open_ns", row->open_ns);
            json_add_u64(json, "open_idle_ns", row->open_idle_ns);
        }
        json_add_u64(json, "median_ns", row->median_ns);
        json_add_u64(json, "p99_ns", row->p99_ns);
        json_add_u64(json, "most_ns", row->most_ns);
        cJSON_AddItemToArray(rows, json);
    }
}

static void waits_add(cJSON *to, const struct trace_report *r)
{
    cJSON *rows = cJSON_AddArrayToObject(to, "waits");
    for (size_t i = 0; r->moment != NULL && i < r->moment->wait_count; i++) {
        const struct moment_wait *wait = &r->moment->waits[i];
        cJSON *json = cJSON_CreateObject();
        subject_add(json, &(struct report_subject){.pid = wait->thread.pid,
                                                   .tid = wait->thread.tid,
                                                   .service = wait->thread.service,
                                                   .host = wait->thread.host,
                                                   .thread_name = wait->thread.name});
        cJSON_AddStringToObject(json, "name", wait->span.name);
        json_add_u64(json, "ts_ns", wait->span.time_ns);
        json_add_time(json, "from", wait->span.time_ns);
        json_add_u64(json, "dur_ns", wait->span.dur_ns);
        json_add_flag(json, "open", wait->span.open);
        json_add_flag(json, "clipped", wait->span.clipped);
        cJSON_AddItemToArray(rows, json);
    }
}

static void threads_add(cJSON *to, const struct trace_report *r)
{
    cJSON *rows = cJSON_AddArrayToObject(to, "threads");
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct report_thread *row = &r->threads[i];
        cJSON *json = cJSON_CreateObject();
        subject_add(json, &row->subject);
        json_add_u64(json, "count", row->count);
        json_add_u64(json, "total_ns", row->total_ns);
        json_add_u64(json, "most_ns", row->most_ns);
        cJSON_AddStringToObject(json, "most", row->most_name);
        cJSON_AddItemToArray(rows, json);
    }
}

static void segment_add(cJSON *to, const struct task_segment *s, const struct task *task,
                        const struct skein_trace *trace)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "what", task_what_text(s->what));
    if (s->process != task->process)
        process_add(json, trace, s->process);
    cJSON_AddStringToObject(json, "thread", s->thread);
    cJSON_AddNumberToObject(json, "tid", s->tid);
    cJSON_AddNumberToObject(json, "depth", s->depth);
    json_add_text_some(json, "in", s->name);
    json_add_u64(json, "ts_ns", s->from_ns);
    json_add_u64(json, "dur_ns", s->dur_ns);
    json_add_text_some(json, "why", s->why);
    cJSON_AddItemToArray(to, json);
}

static void task_add(cJSON *to, const struct task *task, const struct skein_trace *trace)
{
    cJSON *json = cJSON_CreateObject();
    process_add(json, trace, task->process);
    cJSON_AddStringToObject(json, "thread", task->thread);
    cJSON_AddNumberToObject(json, "tid", task->tid);
    json_add_u64(json, "ts_ns", task->from_ns);
    json_add_time(json, "from", task->from_ns);
    json_add_u64(json, "dur_ns", task->dur_ns);
    json_add_text_some(json, "trace_id", task->trace_id);
    json_add_flag(json, "open", task->open);
    json_add_flag(json, "clipped", task->clipped);
    json_add_u64(json, "unknown_ns", task->unknown_ns);
    cJSON *path = cJSON_AddArrayToObject(json, "path");
    for (size_t i = 0; i < task->segment_count; i++)
        segment_add(path, &task->segments[i], task, trace);
    cJSON_AddItemToArray(to, json);
}

static void tasks_add(cJSON *to, const struct trace_report *r, const struct skein_trace *trace)
{
    if (r->tasks == NULL)
        return;
    cJSON *rows = cJSON_AddArrayToObject(to, "tasks");
    for (size_t i = 0; i < r->tasks->name_count; i++) {
        const struct task_name *name = &r->tasks->names[i];
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "service", name->service);
        cJSON_AddStringToObject(json, "name", name->name);
        json_add_u64(json, "count", name->count);
        json_add_u64(json, "total_ns", name->total_ns);
        cJSON *slowest = cJSON_AddArrayToObject(json, "slowest");
        for (size_t k = 0; k < name->task_count; k++)
            task_add(slowest, &name->tasks[k], trace);
        cJSON_AddItemToArray(rows, json);
    }
    json_add_u64(to, "tasks_left_out", r->tasks->names_left_out);
    json_add_u64(to, "task_regions_left_out",
                 r->tasks->regions_left_out + r->tasks->spans_left_out);
    json_add_u64(to, "task_regions_shorter_ns", r->tasks->shorter_ns);
}

static void totals_add(cJSON *to, const struct report_totals *t)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"processes", t->processes},
                {"threads", t->threads},
                {"idle_threads", t->idle_threads},
                {"partitions", t->partitions},
                {"rows", t->rows},
                {"records", t->records},
                {"evidence", t->evidence_rows},
                {"regions", t->regions},
                {"open", t->open},
                {"instants", t->instants},
                {"counters", t->counters},
                {"logs", t->logs},
                {"fixed_up", t->fixed_up},
                {"unordered", t->unordered},
                {"findings_outside", t->findings_outside},
                {"findings_left_out", t->findings_left_out},
                {"regions_left_out", t->regions_left_out},
                {"threads_left_out", t->threads_left_out},
                {"spans_left_out", t->spans_left_out},
                {"counters_left_out", t->counters_left_out}};
    cJSON *totals = cJSON_AddObjectToObject(to, "totals");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        json_add_u64(totals, rows[i].name, rows[i].value);
}

cJSON *trace_report_json(const struct trace_report *r, const struct skein_trace *trace)
{
    cJSON *json = cJSON_CreateObject();
    if (json == NULL)
        return NULL;
    cJSON_AddNumberToObject(json, "version", TRACE_REPORT_VERSION);
    time_add(json, r->from_ns, r->to_ns);
    cJSON *findings = cJSON_AddArrayToObject(json, "findings");
    for (size_t i = 0; i < r->finding_count; i++)
        cJSON_AddItemToArray(findings, finding_json(&r->findings[i]));
    missing_add(json, r, trace);
    regions_add(json, r);
    waits_add(json, r);
    threads_add(json, r);
    tasks_add(json, r, trace);
    totals_add(json, &r->totals);
    return json;
}
