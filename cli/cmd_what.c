/* SPDX-License-Identifier: Apache-2.0
 *
 * skein what: what stands out of a trace around the moment that it was taken for. One thread; the
 * memory of two partitions, and some numbers for each thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli_crash.h"
#include "cli_out.h"
#include "cli_stacks.h"
#include "cli_states.h"
#include "cli_subject.h"
#include "cli_trace.h"
#include "clock.h"
#include "cmd.h"
#include "event_groups.h"
#include "json.h"
#include "moment.h"
#include "vitals_table.h"

#define MOST       8  /* waits, and unusual ones */
#define INSIDE_MAX 20 /* threads in the table */

struct options {
    struct cli_collector collector;
    const char *at, *groups;
    bool json;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_TEXT, 0, "at", "TIME", struct options, at,
               "around then: 2026-11-21T09:40:00Z, -5s (before the end), +2s (after the start)"),
    TRACE_GROUPS(struct options, "those that the capture names"), CLI_OUTPUT(struct options),
    CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

/* What is asked about. */
struct subject {
    struct trace_subject of;
    uint64_t at_ns;
    bool at_end;                 /* nobody said when: the end of the trace */
    uint64_t groups;             /* that are shown; 0: all */
    cJSON *crashes;              /* rows of crash_rows_add */
    struct vitals_table *states; /* what held processes back */
    uint64_t dumps;              /* of threads */
    bool lines;                  /* for people */
};

/* The moment: as asked for, else the capture's, else the end of the trace. */
static int moment_find(struct subject *s, const struct options *o, const struct trace_walk *walk)
{
    struct trace_bounds bounds;
    skein_trace_bounds(trace_walk_trace(walk), &bounds.from_ns, &bounds.to_ns);
    s->at_ns = bounds.to_ns;
    s->at_end = true;
    if (o->at != NULL) {
        s->at_end = false;
        if (trace_time_parse(o->at, &bounds, &s->at_ns) == SKEIN_OK)
            return CLI_OK;
        say_error("what: --at %s: must be " TRACE_TIME_WANTED, o->at);
        return CLI_USAGE;
    }
    if (s->of.capture != NULL &&
        clock_parse(json_text_at(s->of.capture, "at"), &s->at_ns) == SKEIN_OK)
        s->at_end = false;
    return CLI_OK;
}

/* Those asked for, else those that the capture names. */
static int groups_find(struct subject *s, const struct options *o)
{
    struct json_reader r = {{0}};
    s->groups = event_groups_get(&r, s->of.capture, "groups");
    return trace_groups_parse(o->groups, &s->groups);
}

/* Of evidence, what a reader must know before he believes that nothing stands out. */
static int evidence_take(struct subject *s, const struct partition_info *info,
                         const struct trace_event *event)
{
    const char *name = event->type != NULL ? event->type->name : "";
    s->dumps += strcmp(name, "thread.dump") == 0;
    return strcmp(name, "proc.state") == 0 ? vitals_table_add(s->states, info, event) : SKEIN_OK;
}

/* What the threads did is in the cuts; evidence tells of the same times once more. */
static int trace_read(struct subject *s, struct trace_walk *walk, struct moment *moment,
                      struct kept_stacks *kept)
{
    struct trace_step step;
    struct trace_event event;
    int64_t status = SKEIN_OK;
    while (status >= SKEIN_OK && trace_walk_next(walk, &step)) {
        while (status >= SKEIN_OK && trace_walk_event(walk, &event)) {
            status = crash_rows_add(s->crashes, step.reader, &event, s->lines);
            if (status == SKEIN_OK && step.entry->footer.evidence)
                status = evidence_take(s, partition_reader_info(step.reader), &event);
            else if (status == SKEIN_OK)
                status = kept_stacks_put(kept, step.reader, event.stack);
            if (status < 0 || step.entry->footer.evidence)
                continue;
            event.stack = (uint32_t)status;
            status = moment_add(moment, partition_reader_info(step.reader), &event,
                                step.last_of_process);
        }
    }
    return status < 0 ? (int)status : SKEIN_OK;
}

/* ---- as JSON; the text is made from it ---- */

static cJSON *thread_json(const struct moment_thread *thread)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "service", thread->service);
    cJSON_AddStringToObject(json, "host", thread->host);
    cJSON_AddNumberToObject(json, "pid", thread->pid);
    cJSON_AddStringToObject(json, "thread", thread->name);
    cJSON_AddNumberToObject(json, "tid", thread->tid);
    return json;
}

static void span_add(cJSON *to, const struct moment_span *span, const struct kept_stacks *kept)
{
    cJSON_AddStringToObject(to, "name", span->name);
    json_add_u64(to, "ts_ns", span->time_ns);
    json_add_u64(to, "dur_ns", span->dur_ns);
    json_add_flag(to, "open", span->open);
    json_add_flag(to, "clipped", span->clipped);
    kept_stacks_add(kept, span->stack, to);
}

static cJSON *inside_json(const struct moment_inside *inside, uint64_t at_ns,
                          const struct kept_stacks *kept)
{
    cJSON *json = thread_json(&inside->thread), *spans = cJSON_CreateArray();
    struct buf path = {0};
    for (size_t i = 0; i < inside->count; i++) {
        cJSON *span = cJSON_CreateObject();
        span_add(span, &inside->spans[i], kept);
        cJSON_AddItemToArray(spans, span);
        buf_printf(&path, "%s%s", i > 0 ? " > " : "", inside->spans[i].name);
    }
    const struct moment_span *last = &inside->spans[inside->count - 1];
    cJSON_AddStringToObject(json, "inside", text_of(&path));
    json_add_u64(json, "for_ns", at_ns - last->time_ns);
    json_add_u64(json, "dur_ns", last->dur_ns);
    json_add_flag(json, "open", last->open);
    kept_stacks_below(kept, last->stack, json);
    cJSON_AddItemToObject(json, "spans", spans);
    buf_fini(&path);
    return json;
}

static cJSON *unusual_json(const struct moment_unusual *unusual, const struct kept_stacks *kept)
{
    cJSON *json = thread_json(&unusual->thread);
    span_add(json, &unusual->span, kept);
    json_add_u64(json, "more", unusual->more);
    json_add_u64(json, "usual_count", unusual->usual_count);
    json_add_u64(json, "usual_ns", unusual->usual_ns);
    return json;
}

static void deaths_add(cJSON *what, const struct moment_list *list)
{
    cJSON *deaths = cJSON_AddArrayToObject(what, "ended");
    for (size_t i = 0; i < list->death_count; i++) {
        const struct moment_death *death = &list->deaths[i];
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "service", death->service);
        cJSON_AddStringToObject(json, "host", death->host);
        cJSON_AddNumberToObject(json, "pid", death->pid);
        if (death->signal != 0)
            cJSON_AddNumberToObject(json, "signal", death->signal);
        else
            cJSON_AddNumberToObject(json, "status", death->status);
        cJSON_AddItemToArray(deaths, json);
    }
}

static cJSON *what_json(const struct subject *s, const struct moment_list *list,
                        const struct vitals_list *held, const struct kept_stacks *kept)
{
    cJSON *what = cJSON_CreateObject(), *to;
    static const char *const members[] = {"capture", "reason", "verdict"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_at(s->of.capture, members[i]) != NULL)
            cJSON_AddItemToObject(what, members[i],
                                  cJSON_Duplicate(json_at(s->of.capture, members[i]), true));
    if (s->of.capture == NULL)
        cJSON_AddStringToObject(what, "file", s->of.file);
    const char *reason = json_text_at(s->of.capture, "trigger.reason");
    json_add_text_some(what, "trigger", reason);
    if (s->groups)
        cJSON_AddItemToObject(what, "groups", event_groups_json(s->groups));
    json_add_time(what, "at", s->at_ns);
    if (list->to_ns > 0) {
        json_add_time(what, "from", list->from_ns);
        json_add_time(what, "to", list->to_ns);
    }
    json_add_u64(what, "threads", list->threads);
    deaths_add(what, list);
    cJSON_AddItemToObject(what, "crashes", cJSON_Duplicate(s->crashes, true));
    states_add(what, held);
    json_add_u64(what, "dumps", s->dumps);
    to = cJSON_AddArrayToObject(what, "inside");
    for (size_t i = 0; i < list->inside_count; i++)
        cJSON_AddItemToArray(to, inside_json(&list->inside[i], s->at_ns, kept));
    to = cJSON_AddArrayToObject(what, "idle");
    for (size_t i = 0; i < list->idle_count; i++) {
        cJSON *idle = cJSON_CreateObject();
        cJSON_AddStringToObject(idle, "name", list->idle[i].name);
        json_add_u64(idle, "threads", list->idle[i].threads);
        cJSON_AddItemToArray(to, idle);
    }
    to = cJSON_AddArrayToObject(what, "waits");
    for (size_t i = 0; i < list->wait_count; i++) {
        cJSON *wait = thread_json(&list->waits[i].thread);
        span_add(wait, &list->waits[i].span, kept);
        cJSON_AddItemToArray(to, wait);
    }
    to = cJSON_AddArrayToObject(what, "unusual");
    for (size_t i = 0; i < list->unusual_count; i++)
        cJSON_AddItemToArray(to, unusual_json(&list->unusual[i], kept));
    return what;
}

/* ---- as text ---- */

/* "0.796 s before", "1.2 ms after" */
static void moment_put(struct buf *out, uint64_t ns, uint64_t at_ns)
{
    text_put_duration(out, ns < at_ns ? at_ns - ns : ns - at_ns);
    buf_printf(out, "%s", ns <= at_ns ? " before" : " after");
}

static void json_text_put(struct buf *out, const cJSON *json, const char *path)
{
    text_put_safe(out, json_text_at(json, path), strlen(json_text_at(json, path)));
}

static void what_head_put(struct buf *out, const struct subject *s, const cJSON *what)
{
    char text[CLOCK_TEXT_BYTES];
    uint64_t from_ns = 0, to_ns = 0;
    clock_text(s->at_ns, text);
    if (s->of.capture != NULL) {
        buf_printf(out, "capture %s", json_text_at(what, "capture"));
        buf_printf(out, "%s", *json_text_at(what, "trigger") ? ": " : "");
        json_text_put(out, what, "trigger");
        buf_printf(out, "\n");
        json_text_put(out, what, "verdict.text");
        buf_printf(out, "\n");
    }
    buf_printf(out, "the moment: %s%s\n", text,
               s->at_end ? ", the end of the trace (--at TIME: another one)" : "");
    if (clock_parse(json_text_at(what, "from"), &from_ns) == SKEIN_OK &&
        clock_parse(json_text_at(what, "to"), &to_ns) == SKEIN_OK) {
        buf_printf(out, "the record: from ");
        moment_put(out, from_ns, s->at_ns);
        buf_printf(out, " to ");
        if (to_ns == s->at_ns / 1000000 * 1000000) /* the text has milliseconds */
            buf_printf(out, "it");
        else
            moment_put(out, to_ns, s->at_ns);
        buf_printf(out, ", %" PRIu64 " threads\n", json_u64_at(what, "threads"));
    } else {
        buf_printf(out, "the record: of no thread is anything here\n");
    }
    if (s->groups) {
        buf_printf(out, "events of the groups ");
        event_groups_put(out, s->groups);
        buf_printf(out, "; --groups all shows the others, too\n");
    }
    const cJSON *death;
    cJSON_ArrayForEach(death, json_at(what, "ended")) {
        json_text_put(out, death, "service");
        buf_printf(out, "[%" PRIu64 "]%s", json_u64_at(death, "pid"),
                   *json_text_at(death, "host") ? " on " : "");
        json_text_put(out, death, "host");
        if (json_at(death, "signal") != NULL)
            buf_printf(out, " was ended by signal %" PRIu64 " (%s)\n", json_u64_at(death, "signal"),
                       strsignal((int)json_u64_at(death, "signal")));
        else
            buf_printf(out, " ended with status %" PRIu64 "\n", json_u64_at(death, "status"));
    }
    const cJSON *crash;
    cJSON_ArrayForEach(crash, json_at(what, "crashes"))
        crash_row_put(out, crash);
    states_put(out, json_at(what, "states"));
    if (s->dumps > 0)
        buf_printf(out, "what each thread did, and waits for: skein threads %s\n",
                   s->of.capture != NULL ? json_text_at(what, "capture") : s->of.file);
}

static void thread_put(struct buf *out, const cJSON *row)
{
    json_text_put(out, row, "thread");
    buf_printf(out, "/%" PRIu64, json_u64_at(row, "tid"));
}

/* Rows with texts for a table: who, since when, how long. */
static cJSON *rows_of(const cJSON *items, uint64_t at_ns, size_t most)
{
    cJSON *rows = cJSON_CreateArray();
    const cJSON *item;
    cJSON_ArrayForEach(item, items) {
        struct buf text = {0};
        if ((size_t)cJSON_GetArraySize(rows) == most)
            break;
        cJSON *row = cJSON_Duplicate(item, true);
        thread_put(&text, row);
        cJSON_AddStringToObject(row, "who", text_of(&text));
        buf_clear(&text);
        moment_put(&text, json_u64_at(row, "ts_ns"), at_ns);
        cJSON_AddStringToObject(row, "began", text_of(&text));
        buf_clear(&text);
        bool least = cJSON_IsTrue(json_at(row, "clipped")) || cJSON_IsTrue(json_at(row, "open"));
        buf_printf(&text, "%s", least ? "at least " : "");
        text_put_duration(&text, json_u64_at(row, "dur_ns"));
        cJSON_AddStringToObject(row, "took", text_of(&text));
        buf_fini(&text);
        cJSON_AddItemToArray(rows, row);
    }
    return rows;
}

static int table_of(const char *title, const cJSON *items, uint64_t at_ns, size_t most,
                    const struct table_column *columns, const char *empty)
{
    int all = cJSON_GetArraySize(items);
    printf("\n%s%s%s\n", colour_on(stdout, COLOUR_BOLD), title, colour_off(stdout));
    cJSON *rows = rows_of(items, at_ns, most);
    int status = table_print(rows, false, columns, empty);
    cJSON_Delete(rows);
    if (all > (int)most)
        printf("and %d more (-o json lists all)\n", all - (int)most);
    return status;
}

static void idle_print(const cJSON *what)
{
    const cJSON *idle;
    struct buf out = {0};
    uint64_t all = 0;
    cJSON_ArrayForEach(idle, json_at(what, "idle")) {
        all += json_u64_at(idle, "threads");
        buf_printf(&out, "%s%" PRIu64 " in ", out.len ? ", " : "", json_u64_at(idle, "threads"));
        json_text_put(&out, idle, "name");
    }
    if (all > 0)
        printf("idle and left out: %" PRIu64 " threads (%s)\n", all, text_of(&out));
    buf_fini(&out);
}

static void unusual_print(const cJSON *what, uint64_t at_ns)
{
    const cJSON *row;
    struct buf out = {0};
    printf("\n%sUnusual%s\n", colour_on(stdout, COLOUR_BOLD), colour_off(stdout));
    cJSON_ArrayForEach(row, json_at(what, "unusual")) {
        uint64_t usual = json_u64_at(row, "usual_count"), more = json_u64_at(row, "more");
        json_text_put(&out, row, "service");
        buf_printf(&out, ": ");
        json_text_put(&out, row, "name");
        buf_printf(&out, " of ");
        text_put_duration(&out, json_u64_at(row, "dur_ns"));
        buf_printf(&out, " in ");
        thread_put(&out, row);
        buf_printf(&out, ", begun ");
        moment_put(&out, json_u64_at(row, "ts_ns"), at_ns);
        if (more > 0)
            buf_printf(&out, "; %" PRIu64 " more like it", more);
        if (usual == 0) {
            buf_printf(&out, "; there is no other");
        } else {
            buf_printf(&out, "; %s%" PRIu64 " others took less than ",
                       usual > 1 ? "nearly all " : "", usual);
            text_put_duration(&out, json_u64_at(row, "usual_ns"));
        }
        buf_printf(&out, "\n%s", json_text_at(row, TABLE_BELOW));
    }
    printf("%s", out.len ? text_of(&out) : "nothing took far longer than it usually does\n");
    buf_fini(&out);
}

static int what_show(const struct subject *s, const cJSON *what)
{
    static const struct table_column inside[] = {{"THREAD", "who", TABLE_TEXT},
                                                 {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
                                                 {"HOST", "host", TABLE_TEXT | TABLE_SPARE},
                                                 {"INSIDE OF", "inside", TABLE_TEXT},
                                                 {"FOR", "for_ns", TABLE_NS},
                                                 {"IN ALL", "took", TABLE_TEXT},
                                                 {NULL, NULL, TABLE_TEXT}};
    static const struct table_column waits[] = {{"TOOK", "took", TABLE_TEXT},
                                                {"BEGAN", "began", TABLE_TEXT},
                                                {"IN", "name", TABLE_TEXT},
                                                {"THREAD", "who", TABLE_TEXT},
                                                {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
                                                {"HOST", "host", TABLE_TEXT | TABLE_SPARE},
                                                {NULL, NULL, TABLE_TEXT}};
    struct buf head = {0};
    what_head_put(&head, s, what);
    bool written = out_write(&head);
    buf_fini(&head);
    if (!written)
        return CLI_FAILED;
    int status = table_of("Inside of something at that moment", json_at(what, "inside"), s->at_ns,
                          INSIDE_MAX, inside, "no thread, as far as is recorded");
    idle_print(what);
    if (status == CLI_OK)
        status = table_of("Longest waits", json_at(what, "waits"), s->at_ns, MOST, waits, "none");
    unusual_print(what, s->at_ns);
    return status == CLI_OK ? out_close() : status;
}

/* ---- */

/* Reads the trace and shows what was found. */
static int trace_judge(struct subject *s, const struct options *o, struct trace_walk *walk,
                       struct moment *moment, struct kept_stacks *kept)
{
    const struct moment_list *list = NULL;
    const struct vitals_list *held = NULL;
    int read = moment != NULL && kept != NULL && s->crashes != NULL && s->states != NULL
                   ? trace_read(s, walk, moment, kept)
                   : SKEIN_NO_MEMORY;
    if (read == SKEIN_OK)
        read = moment_end(moment, MOST, &list);
    if (read == SKEIN_OK)
        read = vitals_table_end(s->states, &held);
    if (read != SKEIN_OK) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    s->at_ns = list->at_ns;
    cJSON *json = what_json(s, list, held, kept);
    int status = o->json ? json_show(json) : what_show(s, json);
    cJSON_Delete(json);
    return status == CLI_OK && !trace_walk_sound(walk) ? CLI_FAILED : status;
}

static int what_find(struct subject *s, const struct options *o)
{
    struct trace_walk *walk = NULL;
    struct moment *moment = NULL;
    struct kept_stacks *kept = kept_stacks_new(!o->json);
    int status = trace_walk_new(s->of.file, &walk);
    if (status == CLI_OK)
        status = moment_find(s, o, walk);
    if (status == CLI_OK && moment_new(s->groups, s->at_ns, s->at_end, &moment) != SKEIN_OK)
        moment = NULL;
    if (status == CLI_OK)
        status = trace_judge(s, o, walk, moment, kept);
    moment_free(&moment);
    kept_stacks_free(&kept);
    trace_walk_free(&walk);
    return status;
}

static int what_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct subject s = {.crashes = cJSON_CreateArray(), .lines = !o->json};
    (void)vitals_table_new(&s.states);
    int status = subject_open(o->collector, call->arguments[0], &s.of);
    if (status == CLI_OK)
        status = groups_find(&s, o);
    if (status == CLI_OK)
        status = what_find(&s, o);
    subject_close(&s.of);
    cJSON_Delete(s.crashes);
    vitals_table_free(&s.states);
    return status;
}

const struct cli_command cmd_what = {
    .name = "what",
    .arguments = "FILE|CAPTURE",
    .summary = "What stands out: threads at the failure, longest waits, what is unusual",
    .details =
        "Of a capture the moment is that of its trigger, of a file its end, or --at. Idle threads\n"
        "are left out: those that wait for whatever comes, or as long as they usually do. Unusual\n"
        "is what took ten times longer than 99 in 100 of its name in its service. A process that\n"
        "was stopped, traced, frozen or throttled is named before.\n",
    .examples = "  skein what 0193a5c0\n"
                "  skein what redis.skein --at -3s\n"
                "  skein what redis.skein -o json | jq '.waits[0]'\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = what_run,
};
