/* SPDX-License-Identifier: Apache-2.0
 *
 * skein threads: the thread dumps of a trace, as jstack would print them. One thread; the memory of
 * two partitions, and of the dumps.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_out.h"
#include "cli_subject.h"
#include "cli_trace.h"
#include "clock.h"
#include "cmd.h"
#include "json.h"
#include "thread_list.h"

#define NAMED_MAX 16 /* threads of a group that are named; -o json names all */

struct options {
    struct cli_collector collector;
    const char *process;
    bool json;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_TEXT, 0, "process", "ID", struct options, process,
               "of this process alone: its id, the begin of it, or its pid"),
    CLI_OUTPUT(struct options), CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

static bool is_wanted(const struct thread_dump_view *dump, const char *process)
{
    char id[ID_TEXT_BYTES], pid[16];
    if (process == NULL)
        return true;
    id_text(dump->process.bytes, id);
    snprintf(pid, sizeof pid, "%" PRIu32, dump->pid);
    return strncmp(id, process, strlen(process)) == 0 || strcmp(pid, process) == 0;
}

/* ---- as JSON ---- */

static cJSON *frames_json(const struct thread_group *group)
{
    cJSON *frames = cJSON_CreateArray();
    for (size_t i = 0; i < group->frame_count; i++) {
        const struct thread_frame *frame = &group->frames[i];
        char pc[24];
        cJSON *json = cJSON_CreateObject();
        snprintf(pc, sizeof pc, "0x%" PRIx64, frame->pc);
        cJSON_AddStringToObject(json, "pc", pc);
        if (frame->function[0] != '\0')
            cJSON_AddStringToObject(json, "function", frame->function);
        if (frame->file[0] != '\0') {
            cJSON_AddStringToObject(json, "file", frame->file);
            cJSON_AddNumberToObject(json, "line", frame->line);
        }
        if (frame->module[0] != '\0')
            cJSON_AddStringToObject(json, "module", frame->module);
        if (frame->inlined)
            cJSON_AddTrueToObject(json, "inlined");
        cJSON_AddItemToArray(frames, json);
    }
    return frames;
}

static cJSON *thread_json(const struct thread_item *thread)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "tid", thread->tid);
    cJSON_AddStringToObject(json, "name", thread->name);
    cJSON_AddStringToObject(json, "state", thread->state);
    if (thread->wchan[0] != '\0')
        cJSON_AddStringToObject(json, "wchan", thread->wchan);
    if (thread->call[0] != '\0')
        cJSON_AddStringToObject(json, "syscall", thread->call);
    json_add_u64(json, "cpu_ns", thread->cpu_ns);
    json_add_u64(json, "voluntary", thread->voluntary);
    json_add_u64(json, "involuntary", thread->involuntary);
    if (thread->waits_for[0] == '\0')
        return json;
    char object[24];
    cJSON *wait = cJSON_AddObjectToObject(json, "waits_for");
    snprintf(object, sizeof object, "0x%" PRIx64, thread->object);
    cJSON_AddStringToObject(wait, "what", thread->waits_for);
    cJSON_AddStringToObject(wait, "object", object);
    cJSON_AddNumberToObject(wait, "holder", thread->holder);
    return json;
}

static cJSON *dump_json(const struct thread_dump_view *dump)
{
    char id[ID_TEXT_BYTES];
    cJSON *json = cJSON_CreateObject(), *list;
    id_text(dump->process.bytes, id);
    cJSON_AddStringToObject(json, "process", id);
    cJSON_AddNumberToObject(json, "pid", dump->pid);
    cJSON_AddStringToObject(json, "service", dump->service);
    cJSON_AddStringToObject(json, "host", dump->host);
    cJSON_AddStringToObject(json, "title", dump->title);
    json_add_time(json, "at", dump->at_ns);
    json_add_u64(json, "threads", dump->thread_count);
    json_add_u64(json, "stopped", dump->stopped);
    json_add_u64(json, "stop_ns", dump->stop_ns);
    json_add_u64(json, "left_out", dump->left_out);
    list = cJSON_AddArrayToObject(json, "deadlocks");
    for (size_t i = 0; i < dump->circle_count; i++) {
        cJSON *tids = cJSON_CreateArray();
        for (size_t k = 0; k < dump->circles[i].count; k++)
            cJSON_AddItemToArray(tids, cJSON_CreateNumber(dump->circles[i].tids[k]));
        cJSON_AddItemToArray(list, tids);
    }
    list = cJSON_AddArrayToObject(json, "groups");
    for (size_t i = 0; i < dump->group_count; i++) {
        const struct thread_group *group = &dump->groups[i];
        cJSON *item = cJSON_CreateObject(), *threads = cJSON_AddArrayToObject(item, "threads");
        for (size_t k = 0; k < group->count; k++)
            cJSON_AddItemToArray(threads, thread_json(&dump->threads[group->first + k]));
        cJSON_AddItemToObject(item, "frames", frames_json(group));
        if (group->frame_count > 0)
            cJSON_AddStringToObject(item, "end", partition_stack_end_text(group->end));
        cJSON_AddItemToArray(list, item);
    }
    return json;
}

/* ---- as text ---- */

static void safe_put(struct buf *out, const char *text)
{
    text_put_safe(out, text, strlen(text));
}

static const struct thread_item *thread_find(const struct thread_dump_view *dump, uint32_t tid)
{
    for (size_t i = 0; i < dump->thread_count; i++)
        if (dump->threads[i].tid == tid)
            return &dump->threads[i];
    return NULL;
}

/* "worker-1"/1234 */
static void who_put(struct buf *out, const struct thread_dump_view *dump, uint32_t tid)
{
    const struct thread_item *thread = thread_find(dump, tid);
    buf_printf(out, "\"");
    safe_put(out, thread != NULL ? thread->name : "?");
    buf_printf(out, "\"/%" PRIu32, tid);
}

static void wait_put(struct buf *out, const struct thread_dump_view *dump,
                     const struct thread_item *thread)
{
    bool mutex = strcmp(thread->waits_for, "mutex") == 0;
    buf_printf(out, mutex ? "waits for mutex 0x%" PRIx64 " held by " : "waits for the end of ",
               thread->object);
    who_put(out, dump, thread->holder);
}

static void circle_put(struct buf *out, const struct thread_dump_view *dump,
                       const struct thread_circle *circle)
{
    buf_printf(out, "%sdeadlock%s of %zu threads:\n", colour_on(stdout, COLOUR_RED),
               colour_off(stdout), circle->count);
    for (size_t i = 0; i < circle->count; i++) {
        const struct thread_item *thread = thread_find(dump, circle->tids[i]);
        buf_printf(out, "    ");
        who_put(out, dump, circle->tids[i]);
        buf_printf(out, " ");
        wait_put(out, dump, thread);
        buf_printf(out, "\n");
    }
}

static void frame_put(struct buf *out, const struct thread_frame *frame)
{
    const char *name = strrchr(frame->module, '/');
    buf_printf(out, "    at ");
    if (frame->function[0] != '\0')
        safe_put(out, frame->function);
    else
        buf_printf(out, "0x%" PRIx64, frame->pc);
    if (frame->file[0] != '\0') {
        buf_printf(out, " (");
        safe_put(out, frame->file);
        buf_printf(out, ":%" PRIu32 ")", frame->line);
    } else if (frame->module[0] != '\0') {
        buf_printf(out, " (");
        safe_put(out, name != NULL ? name + 1 : frame->module);
        buf_printf(out, ")");
    }
    buf_printf(out, "%s\n", frame->inlined ? " inlined" : "");
}

/* What a thread of a group is and does, as far as it is not the first one's. */
static void thread_put(struct buf *out, const struct thread_dump_view *dump,
                       const struct thread_item *thread)
{
    who_put(out, dump, thread->tid);
    buf_printf(out, " %s", thread->state);
    if (thread->call[0] != '\0') {
        buf_printf(out, " in ");
        safe_put(out, thread->call);
    } else if (thread->wchan[0] != '\0') {
        buf_printf(out, " in ");
        safe_put(out, thread->wchan);
    }
    buf_printf(out, ", cpu ");
    text_put_duration(out, thread->cpu_ns);
    if (thread->waits_for[0] != '\0') {
        buf_printf(out, ", ");
        wait_put(out, dump, thread);
    }
    buf_printf(out, "\n");
}

static void group_put(struct buf *out, const struct thread_dump_view *dump,
                      const struct thread_group *group)
{
    buf_printf(out, "\n");
    if (group->count > 1)
        buf_printf(out, "%s%zu threads with one stack%s\n", colour_on(stdout, COLOUR_BOLD),
                   group->count, colour_off(stdout));
    for (size_t i = 0; i < group->count && i < NAMED_MAX; i++)
        thread_put(out, dump, &dump->threads[group->first + i]);
    if (group->count > NAMED_MAX)
        buf_printf(out, "and %zu more (-o json lists all)\n", group->count - NAMED_MAX);
    for (size_t i = 0; i < group->frame_count; i++)
        frame_put(out, &group->frames[i]);
    if (group->frame_count == 0)
        buf_printf(out, "    no stack\n");
    else if (group->end != PARTITION_STACK_WHOLE)
        buf_printf(out, "    ... (%s: what is outside is not known)\n",
                   partition_stack_end_text(group->end));
}

static void dump_put(struct buf *out, const struct thread_dump_view *dump)
{
    char at[CLOCK_TEXT_BYTES];
    clock_text(dump->at_ns, at);
    safe_put(out, dump->service);
    buf_printf(out, "[%" PRIu32 "] on ", dump->pid);
    safe_put(out, dump->host);
    buf_printf(out, " at %s: %zu threads", at, dump->thread_count);
    if (dump->left_out > 0)
        buf_printf(out, ", %" PRIu64 " more were left out", dump->left_out);
    if (dump->stopped > 0) {
        buf_printf(out, "; %" PRIu64 " that ran were stopped for ", dump->stopped);
        text_put_duration(out, dump->stop_ns);
    }
    buf_printf(out, "\n");
    if (*dump->title) {
        buf_printf(out, "  ");
        safe_put(out, dump->title);
        buf_printf(out, "\n");
    }
    for (size_t i = 0; i < dump->circle_count; i++)
        circle_put(out, dump, &dump->circles[i]);
    for (size_t i = 0; i < dump->group_count; i++)
        group_put(out, dump, &dump->groups[i]);
}

/* ---- */

static int dumps_json(const struct thread_dump_view *dumps, size_t count, const char *process)
{
    cJSON *json = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++)
        if (is_wanted(&dumps[i], process))
            cJSON_AddItemToArray(json, dump_json(&dumps[i]));
    int status = json_show(json);
    cJSON_Delete(json);
    return status;
}

static int dumps_text(const struct thread_dump_view *dumps, size_t count, const char *process)
{
    struct buf out = {0};
    for (size_t i = 0; i < count; i++)
        if (is_wanted(&dumps[i], process)) {
            buf_printf(&out, "%s", out.len > 0 ? "\n" : "");
            dump_put(&out, &dumps[i]);
        }
    bool any = out.len > 0, written = out_write(&out);
    buf_fini(&out);
    if (!any)
        say_error("threads: there is no thread dump%s; skein snapshot --threads takes one, and "
                  "`skein capture` says why one was not had",
                  process != NULL && count > 0 ? " of this process" : "");
    return written && any ? out_close() : CLI_FAILED;
}

static int trace_read(struct trace_walk *walk, struct thread_list *list)
{
    struct trace_step step;
    struct trace_event event;
    int status = SKEIN_OK;
    while (status == SKEIN_OK && trace_walk_next(walk, &step))
        while (status == SKEIN_OK && trace_walk_event(walk, &event))
            status = thread_list_add(list, step.reader, &event);
    return status;
}

static int threads_show(const struct options *o, const char *file)
{
    struct trace_walk *walk = NULL;
    struct thread_list *list = NULL;
    const struct thread_dump_view *dumps = NULL;
    size_t count = 0;
    if (trace_walk_new(file, &walk) != CLI_OK)
        return CLI_FAILED;
    int read = thread_list_new(&list);
    if (read == SKEIN_OK)
        read = trace_read(walk, list);
    if (read == SKEIN_OK)
        read = thread_list_end(list, &dumps, &count);
    if (read != SKEIN_OK)
        say_error("out of memory");
    int status = read != SKEIN_OK ? CLI_FAILED
                 : o->json        ? dumps_json(dumps, count, o->process)
                                  : dumps_text(dumps, count, o->process);
    if (status == CLI_OK && !trace_walk_sound(walk))
        status = CLI_FAILED;
    thread_list_free(&list);
    trace_walk_free(&walk);
    return status;
}

static int threads_run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    struct trace_subject subject;
    (void)count;
    int status = subject_open(o->collector, arguments[0], &subject);
    if (status == CLI_OK)
        status = threads_show(o, subject.file);
    subject_close(&subject);
    return status;
}

const struct cli_command cmd_threads = {
    .name = "threads",
    .arguments = "FILE|CAPTURE",
    .summary = "What all threads did at that moment: stacks, waits, who holds what",
    .details =
        "Threads with equal stacks are shown as one; first those that wait for another, then\n"
        "those that ran, then all others. Threads that wait in a circle are a deadlock.\n",
    .examples = "  skein snapshot -l service=redis --threads -o redis.skein\n"
                "  skein threads redis.skein\n"
                "  skein threads 0193a5c0 --process 4242 -o json | jq '.[0].deadlocks'\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = threads_run,
};
