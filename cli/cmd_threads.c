/* SPDX-License-Identifier: Apache-2.0
 *
 * skein threads: the thread dumps of a trace, as jstack would print them, and how processes ended. One
 * thread; the memory of two partitions, and of the dumps.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli_crash.h"
#include "cli_out.h"
#include "cli_subject.h"
#include "cli_trace.h"
#include "clock.h"
#include "cmd.h"
#include "json.h"
#include "thread_list.h"

#define NAMED_MAX 16 /* threads of a group that are named; -o json names all */
#define USERS_MAX 3  /* processes that used CPUs, in the text */
#define PEERS_MAX 8  /* addresses */

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
        json_add_text_some(json, "function", frame->function);
        if (frame->file[0] != '\0') {
            cJSON_AddStringToObject(json, "file", frame->file);
            cJSON_AddNumberToObject(json, "line", frame->line);
        }
        json_add_text_some(json, "module", frame->module);
        json_add_flag(json, "inlined", frame->inlined);
        json_add_flag(json, "tracer", frame->tracer);
        cJSON_AddItemToArray(frames, json);
    }
    return frames;
}

static void cpu_wait_add(cJSON *json, const struct beside_wait *wait)
{
    if (wait == NULL)
        return;
    cJSON *to = cJSON_AddObjectToObject(json, "waits_for_cpu"), *instead;
    json_add_u64(to, "cpu", wait->cpu);
    json_add_u64(to, "ts_ns", wait->time_ns);
    json_add_u64(to, "dur_ns", wait->dur_ns);
    json_add_flag(to, "cut", wait->cut);
    if (wait->instead_tid == 0)
        return;
    instead = cJSON_AddObjectToObject(to, "instead");
    cJSON_AddNumberToObject(instead, "tid", wait->instead_tid);
    cJSON_AddStringToObject(instead, "name", wait->instead);
    json_add_u64(instead, "ns", wait->instead_ns);
}

static cJSON *thread_json(const struct thread_item *thread)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "tid", thread->tid);
    cJSON_AddStringToObject(json, "name", thread->name);
    cJSON_AddStringToObject(json, "state", thread->state);
    json_add_text_some(json, "wchan", thread->wchan);
    json_add_text_some(json, "syscall", thread->call);
    json_add_text_some(json, "descriptor", thread->descriptor);
    json_add_flag(json, "tracer", thread->tracer);
    cpu_wait_add(json, thread->wait);
    json_add_u64(json, "cpu_ns", thread->cpu_ns);
    json_add_u64(json, "voluntary", thread->voluntary);
    json_add_u64(json, "involuntary", thread->involuntary);
    if (thread->waits_for[0] == '\0')
        return json;
    char object[24];
    cJSON *wait = cJSON_AddObjectToObject(json, "waits_for");
    snprintf(object, sizeof object, "0x%" PRIx64, thread->object);
    cJSON_AddStringToObject(wait, "what", thread->waits_for);
    if (thread->holder == 0)
        return json;
    cJSON_AddStringToObject(wait, "object", object);
    cJSON_AddNumberToObject(wait, "holder", thread->holder);
    return json;
}

static void cpu_add(cJSON *json, const struct beside_cpu *cpu)
{
    if (cpu->window_ns == 0)
        return;
    cJSON *to = cJSON_AddObjectToObject(json, "cpu"), *users;
    json_add_u64(to, "window_ns", cpu->window_ns);
    if (cpu->sampled) {
        json_add_u64(to, "cpus", cpu->cpus);
        json_add_u64(to, "process_ns", cpu->process_ns);
        json_add_u64(to, "idle_ns", cpu->idle_ns);
    }
    users = cJSON_AddArrayToObject(to, cpu->sampled ? "others" : "top");
    for (size_t i = 0; i < cpu->user_count; i++) {
        cJSON *user = cJSON_CreateObject();
        json_add_u64(user, "pid", cpu->users[i].pid);
        cJSON_AddStringToObject(user, "name", cpu->users[i].name);
        json_add_u64(user, "cpu_ns", cpu->users[i].cpu_ns);
        cJSON_AddItemToArray(users, user);
    }
}

static void peers_add(cJSON *json, const struct thread_dump_view *dump)
{
    cJSON *list = cJSON_AddArrayToObject(json, "connections");
    for (size_t i = 0; i < dump->peer_count; i++) {
        const struct beside_peer *peer = &dump->peers[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "kind", peer->kind);
        cJSON_AddStringToObject(item, peer->clients ? "on" : "with", peer->address);
        json_add_u64(item, "count", peer->count);
        json_add_u64(item, "unread_bytes", peer->unread);
        json_add_u64(item, "unsent_bytes", peer->unsent);
        cJSON_AddItemToArray(list, item);
    }
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
    cpu_add(json, &dump->cpu);
    peers_add(json, dump);
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

/* fdatasync(0x9) [file /srv/a.aof] */
static void call_put(struct buf *out, const struct thread_item *thread)
{
    const char *call = thread->call[0] != '\0' ? thread->call : thread->wchan;
    if (*call == '\0')
        return;
    buf_printf(out, " in ");
    safe_put(out, call);
    if (thread->descriptor[0] != '\0') {
        buf_printf(out, " [");
        safe_put(out, thread->descriptor);
        buf_printf(out, "]");
    }
}

/* The kernel calls running whatever is ready to. */
static void state_put(struct buf *out, const struct thread_item *thread)
{
    const struct beside_wait *wait = thread->wait;
    if (strcmp(thread->state, "running") != 0) {
        safe_put(out, thread->state);
    } else if (wait == NULL) {
        buf_printf(out, "running or ready to run");
    } else {
        buf_printf(out, "ready, but not running: it waited ");
        text_put_duration(out, wait->dur_ns);
        buf_printf(out, "%s for CPU %" PRIu64, wait->cut ? " or longer" : "", wait->cpu);
        if (wait->instead_tid != 0) {
            buf_printf(out, ", where ");
            safe_put(out, wait->instead);
            buf_printf(out, " (%" PRIu32 ") ran for ", wait->instead_tid);
            text_put_duration(out, wait->instead_ns);
        }
    }
}

static void wait_put(struct buf *out, const struct thread_dump_view *dump,
                     const struct thread_item *thread)
{
    bool mutex = strcmp(thread->waits_for, "mutex") == 0;
    if (thread->holder == 0) {
        buf_printf(out, "waits for a ");
        safe_put(out, thread->waits_for);
        return;
    }
    buf_printf(out, mutex ? "waits for mutex 0x%" PRIx64 " held by " : "waits for the end of ",
               thread->object);
    who_put(out, dump, thread->holder);
}

/* And what the holder does meanwhile. */
static void holder_put(struct buf *out, const struct thread_dump_view *dump,
                       const struct thread_item *thread)
{
    const struct thread_item *holder = thread_find(dump, thread->holder);
    if (holder == NULL)
        return;
    buf_printf(out, ", which is ");
    state_put(out, holder);
    call_put(out, holder);
}

static void circle_put(struct buf *out, const struct thread_dump_view *dump,
                       const struct thread_circle *circle)
{
    buf_printf(out, "%sdeadlock%s of %zu thread%s:\n", colour_on(stdout, COLOUR_RED),
               colour_off(stdout), circle->count, circle->count == 1 ? "" : "s");
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
    buf_printf(out, " ");
    state_put(out, thread);
    call_put(out, thread);
    buf_printf(out, ", cpu ");
    text_put_duration(out, thread->cpu_ns);
    if (thread->waits_for[0] != '\0') {
        buf_printf(out, ", ");
        wait_put(out, dump, thread);
        holder_put(out, dump, thread);
    }
    buf_printf(out, "\n");
}

static void group_put(struct buf *out, const struct thread_dump_view *dump,
                      const struct thread_group *group)
{
    buf_printf(out, "\n");
    bool stack = group->frame_count > 0;
    if (group->count > 1)
        buf_printf(out, "%s%zu threads with%s stack%s\n", colour_on(stdout, COLOUR_BOLD),
                   group->count, stack ? " one" : "out a", colour_off(stdout));
    for (size_t i = 0; i < group->count && i < NAMED_MAX; i++)
        thread_put(out, dump, &dump->threads[group->first + i]);
    if (group->count > NAMED_MAX)
        buf_printf(out, "and %zu more (-o json lists all)\n", group->count - NAMED_MAX);
    for (size_t i = 0; i < group->frame_count; i++)
        if (i == 0 || !group->frames[i].tracer) /* a call of the program's goes through Skein's */
            frame_put(out, &group->frames[i]);
    if (!stack && group->count == 1)
        buf_printf(out, "    no stack\n");
    else if (stack && group->end != PARTITION_STACK_WHOLE)
        buf_printf(out, "    ... (%s: what is outside is not known)\n",
                   partition_stack_end_text(group->end));
}

static void user_put(struct buf *out, const char *before, const struct beside_user *user)
{
    buf_printf(out, "%s", before);
    safe_put(out, user->name);
    if (user->pid != 0)
        buf_printf(out, "[%" PRIu64 "]", user->pid);
    buf_printf(out, " ");
    text_put_duration(out, user->cpu_ns);
}

/* "  CPU time in 5.500 s: itself 12.0 ms, others sha256sum[4711] 5.400 s; 2 CPUs, idle 4.900 s" */
static void cpu_put(struct buf *out, const struct beside_cpu *cpu)
{
    if (cpu->window_ns == 0)
        return;
    buf_printf(out, "  CPU time in ");
    text_put_duration(out, cpu->window_ns);
    buf_printf(out, cpu->sampled ? ": itself " : ": ");
    if (cpu->sampled)
        text_put_duration(out, cpu->process_ns);
    for (size_t i = 0; i < cpu->user_count && i < USERS_MAX; i++)
        user_put(out, i > 0 ? ", " : cpu->sampled ? ", others " : "", &cpu->users[i]);
    if (cpu->user_count > USERS_MAX)
        buf_printf(out, " and %zu more", cpu->user_count - USERS_MAX);
    if (cpu->sampled) {
        buf_printf(out, "; %" PRIu64 " CPUs, idle ", cpu->cpus);
        text_put_duration(out, cpu->idle_ns);
    }
    buf_printf(out, "\n");
}

/* "  connected with 10.0.0.7:5432 (3, 512 bytes unread); clients on 0.0.0.0:80 (4)". Who begun the
 * first is not known where another process listens for this one. */
static void peers_put(struct buf *out, const struct thread_dump_view *dump)
{
    for (size_t i = 0; i < dump->peer_count && i < PEERS_MAX; i++) {
        const struct beside_peer *peer = &dump->peers[i];
        bool first = i == 0 || peer->clients != dump->peers[i - 1].clients;
        buf_printf(out, "%s%s",
                   i == 0  ? "  "
                   : first ? "; "
                           : ", ",
                   !first          ? ""
                   : peer->clients ? "clients on "
                                   : "connected with ");
        safe_put(out, peer->address);
        buf_printf(out, " (%" PRIu64, peer->count);
        if (strcmp(peer->kind, "tcp established") != 0) {
            buf_printf(out, " ");
            safe_put(out, peer->kind);
        }
        if (peer->unread > 0)
            buf_printf(out, ", %" PRIu64 " bytes unread", peer->unread);
        if (peer->unsent > 0)
            buf_printf(out, ", %" PRIu64 " bytes not acknowledged", peer->unsent);
        buf_printf(out, ")");
    }
    if (dump->peer_count > PEERS_MAX)
        buf_printf(out, " and %zu more (-o json lists all)", dump->peer_count - PEERS_MAX);
    if (dump->peer_count > 0)
        buf_printf(out, "\n");
}

static void dump_put(struct buf *out, const struct thread_dump_view *dump)
{
    char at[CLOCK_TEXT_BYTES];
    clock_text(dump->at_ns, at);
    safe_put(out, dump->service);
    buf_printf(out, "[%" PRIu32 "]%s", dump->pid, dump->host[0] != '\0' ? " on " : "");
    safe_put(out, dump->host);
    size_t count = dump->thread_count - dump->tracers;
    buf_printf(out, " at %s: %zu thread%s", at, count, count == 1 ? "" : "s");
    if (dump->tracers > 0)
        buf_printf(out, " and Skein's own");
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
    cpu_put(out, &dump->cpu);
    peers_put(out, dump);
    for (size_t i = 0; i < dump->circle_count; i++)
        circle_put(out, dump, &dump->circles[i]);
    for (size_t i = 0; i < dump->group_count; i++)
        if (!dump->groups[i].tracer)
            group_put(out, dump, &dump->groups[i]);
}

/* ---- */

static int dumps_json(const struct thread_dump_view *dumps, size_t count, cJSON *crashes,
                      const char *process)
{
    cJSON *json = cJSON_CreateArray(), *row;
    for (size_t i = 0; i < count; i++)
        if (is_wanted(&dumps[i], process))
            cJSON_AddItemToArray(json, dump_json(&dumps[i]));
    while ((row = cJSON_DetachItemFromArray(crashes, 0)) != NULL)
        cJSON_AddItemToArray(json, row);
    int status = json_show(json);
    cJSON_Delete(json);
    return status;
}

static int dumps_text(const struct thread_dump_view *dumps, size_t count, const cJSON *crashes,
                      const char *process)
{
    struct buf out = {0};
    const cJSON *row;
    cJSON_ArrayForEach(row, crashes) {
        buf_printf(&out, "%s", out.len > 0 ? "\n" : "");
        crash_row_put(&out, row);
    }
    for (size_t i = 0; i < count; i++)
        if (is_wanted(&dumps[i], process)) {
            buf_printf(&out, "%s", out.len > 0 ? "\n" : "");
            dump_put(&out, &dumps[i]);
        }
    bool any = out.len > 0, written = out_write(&out);
    buf_fini(&out);
    if (!any)
        say_error(
            "threads: there is no thread dump, and no crash%s; skein snapshot --threads takes one, and "
            "`skein capture` says why one was not had",
            process != NULL && count > 0 ? " of this process" : "");
    return written && any ? out_close() : CLI_FAILED;
}

/* Whether the process of the partition is wanted. */
static bool is_of(const struct partition_info *info, const char *process)
{
    const struct thread_dump_view dump = {.process = info->key.process, .pid = info->pid};
    return is_wanted(&dump, process);
}

static int trace_read(struct trace_walk *walk, const struct options *o, struct thread_list *list,
                      cJSON *crashes)
{
    struct trace_step step;
    struct trace_event event;
    int status = SKEIN_OK;
    while (status == SKEIN_OK && trace_walk_next(walk, &step))
        while (status == SKEIN_OK && trace_walk_event(walk, &event)) {
            status = thread_list_add(list, step.reader, &event);
            if (status == SKEIN_OK && is_of(partition_reader_info(step.reader), o->process))
                status = crash_rows_add(crashes, step.reader, &event, !o->json);
        }
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
    cJSON *crashes = cJSON_CreateArray();
    int read = crashes != NULL ? thread_list_new(&list) : SKEIN_NO_MEMORY;
    if (read == SKEIN_OK)
        read = trace_read(walk, o, list, crashes);
    if (read == SKEIN_OK)
        read = thread_list_end(list, &dumps, &count);
    if (read != SKEIN_OK)
        say_error("out of memory");
    int status = read != SKEIN_OK ? CLI_FAILED
                 : o->json        ? dumps_json(dumps, count, crashes, o->process)
                                  : dumps_text(dumps, count, crashes, o->process);
    if (status == CLI_OK && !trace_walk_sound(walk))
        status = CLI_FAILED;
    cJSON_Delete(crashes);
    thread_list_free(&list);
    trace_walk_free(&walk);
    return status;
}

static int threads_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct trace_subject subject;
    int status = subject_open(o->collector, call->arguments[0], &subject);
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
        "Threads with equal stacks are shown as one; first those that wait for another, then what\n"
        "they wait for, those that ran or were ready to, and all others. Threads that wait in a\n"
        "circle are a deadlock. In brackets: what a descriptor was when the capture ended. Skein's\n"
        "own thread and functions are left out; -o json has them, marked \"tracer\". Of a\n"
        "process that has died it shows which thread died of what, and where.\n",
    .examples = "  skein snapshot -l service=redis --threads -o redis.skein\n"
                "  skein threads redis.skein\n"
                "  skein threads 0193a5c0 --process 4242 -o json | jq '.[0].deadlocks'\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = threads_run,
};
