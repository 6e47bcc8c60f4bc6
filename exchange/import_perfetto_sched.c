/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's events and samples of a Perfetto trace: ftrace's scheduler, one by one or compact, and
 * perf's samples of CPUs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "import_perfetto_int.h"

#define CPUS_MAX 4096u

enum { SCHED_SWITCH = 4, SCHED_WAKEUP = 17, SCHED_WAKING = 20, SCHED_WAKEUP_NEW = 114 };
enum { TASK_NEW = 235, TASK_RENAME = 236, SCHED_EXEC = 237, SCHED_FREE = 240 };
enum { OF_THREAD = 0x10000 }; /* of a new task's flags: CLONE_THREAD */
enum { STATE_GONE = 0x30 };   /* the kernel's, of prev_state: X or Z */
enum { CLOCK_MONO_RAW = 5, FTRACE_MONO_RAW = 4 };

static void comm_set(char out[SCHED_COMM_BYTES], const struct pb_field *field)
{
    size_t n = field->n < SCHED_COMM_BYTES - 1 ? field->n : SCHED_COMM_BYTES - 1;
    if (n > 0)
        memcpy(out, field->bytes, n);
    out[n] = '\0';
}

/* A thread by its tid, as the kernel calls it; of the process that anything said, else by itself. */
static uint32_t task_of(struct pf_import *i, uint64_t tid, const char *comm, uint64_t time_ns)
{
    if (tid == 0 || tid > INT32_MAX)
        return 0;
    uint32_t pid = pf_pid_of(i, (uint32_t)tid, time_ns);
    uint64_t process = pf_process(i, pid, time_ns);
    if (pid == tid && !import_many_process_is_named(i->many, process))
        import_many_process(i->many, process, pid, comm, "");
    if (!import_many_is_named(i->many, process, tid))
        import_many_thread(i->many, process, tid, (uint32_t)tid, 0, comm);
    return import_many_task(i->many, process, tid);
}

static struct pf_cpu *cpu_get(struct pf_import *i, uint64_t cpu)
{
    if (cpu >= CPUS_MAX)
        return NULL;
    if (array_grow_zero(i->cpus, (size_t)cpu + 1, &i->cpu_cap))
        return &i->cpus[cpu];
    i->status = SKEIN_NO_MEMORY;
    return NULL;
}

static void task_note(struct pf_import *i, struct pf_note note)
{
    struct pf_sequence none = {.valid = true};
    if (i->pass == PF_PASS_LIVES)
        pf_note(i, &none, true, note);
}

/* Who leaves a CPU. If it runs another program since it came, what it was has left then for good. */
static uint32_t leaver_of(struct pf_import *i, const struct sched_event *event, struct pf_cpu *cpu)
{
    uint32_t tid = event->tid;
    uint32_t task = task_of(i, tid, event->comm, event->time_ns);
    if (cpu == NULL || cpu->next == 0 || cpu->next_tid != tid || cpu->next == task)
        return task;
    uint32_t pid = pf_pid_of(i, tid, event->time_ns);
    i->status = import_many_exec(i->many, event->cpu, pf_process_since(i, pid, event->time_ns),
                                 cpu->next, task, event->comm);
    return task;
}

/* Threads of the event are tids. The one pass notes how they are called, the other one takes it. */
static void event_send(struct pf_import *i, struct sched_event *event)
{
    struct pf_cpu *cpu = cpu_get(i, event->cpu);
    uint64_t at = event->time_ns;
    bool switches = event->kind == SCHED_EVENT_SWITCH;
    uint32_t tid = event->tid, next = event->next;
    i->last_ns = at > i->last_ns ? at : i->last_ns;
    if (i->pass == PF_PASS_LIVES) {
        pf_note_seen(i, at, tid, event->comm);
        pf_note_seen(i, at, next, event->next_comm);
    } else {
        event->tid = switches ? leaver_of(i, event, cpu) : task_of(i, tid, event->comm, at);
        event->next = switches ? task_of(i, next, event->next_comm, at) : 0;
        event->current = task_of(i, event->current, "", at);
        i->status = i->status == SKEIN_OK ? import_many_sched(i->many, event) : i->status;
    }
    if (i->pass == PF_PASS_LIVES && switches && (event->state & STATE_GONE) != 0)
        task_note(i, (struct pf_note){.kind = PF_NOTE_ENDED, .time_ns = at, .pid = tid});
    if (switches && cpu != NULL) {
        cpu->next = event->next;
        cpu->next_tid = next;
    }
}

/* ---- one by one ---- */

static uint32_t tid_of(uint64_t value)
{
    return value <= INT32_MAX ? (uint32_t)value : 0;
}

static void switch_take(struct pf_import *i, struct pb_reader message, struct sched_event *event)
{
    uint64_t prev = 0, next = 0;
    struct pb_field field;
    event->kind = SCHED_EVENT_SWITCH;
    while (pb_next(&message, &field))
        switch (field.number) {
        case 1:
            comm_set(event->comm, &field);
            break;
        case 2:
            prev = field.value;
            break;
        case 4:
            event->state = field.value;
            break;
        case 5:
            comm_set(event->next_comm, &field);
            break;
        case 6:
            next = field.value;
            break;
        default:
            break;
        }
    event->tid = tid_of(prev);
    event->next = tid_of(next);
    event_send(i, event);
}

static void waking_take(struct pf_import *i, const struct pb_field *what, uint64_t current,
                        struct sched_event *event)
{
    uint64_t tid = 0;
    struct pb_field field;
    struct pb_reader message = pb_message_of(what);
    i->any_waking |= what->number == SCHED_WAKING;
    i->any_new |= what->number == SCHED_WAKEUP_NEW;
    if (what->number == SCHED_WAKEUP && i->any_waking)
        return; /* it says again what the waking has said */
    event->kind = what->number == SCHED_WAKEUP_NEW ? SCHED_EVENT_WAKING_NEW : SCHED_EVENT_WAKING;
    while (pb_next(&message, &field))
        if (field.number == 1)
            comm_set(event->comm, &field);
        else if (field.number == 2)
            tid = field.value;
        else if (field.number == 5)
            event->target_cpu = (uint32_t)field.value;
    event->tid = tid_of(tid);
    event->current = tid_of(current);
    if (event->tid != 0)
        event_send(i, event);
}

/* What exec runs is told by its path. The last part of that becomes the name. */
static void comm_of_path(char out[SCHED_COMM_BYTES], const struct pb_field *field, bool path)
{
    struct pb_field name = *field;
    for (size_t k = 0; k < field->n && path; k++)
        if (field->bytes[k] == '/') {
            name.bytes = field->bytes + k + 1;
            name.n = field->n - k - 1;
        }
    comm_set(out, &name);
}

static void new_send(struct pf_import *i, const struct pf_note *note, uint32_t cpu,
                     const char *comm)
{
    struct sched_event event = {.kind = SCHED_EVENT_WAKING_NEW,
                                .time_ns = note->time_ns,
                                .cpu = cpu,
                                .target_cpu = cpu,
                                .tid = note->tid};
    snprintf(event.comm, sizeof event.comm, "%s", comm);
    event_send(i, &event);
}

/* What a task is, or how it is called, from now on. */
static void task_take(struct pf_import *i, const struct pb_field *what, uint64_t current,
                      uint32_t cpu, uint64_t time_ns)
{
    char comm[SCHED_COMM_BYTES] = "";
    uint64_t tid = 0, flags = 0;
    struct pb_field field;
    struct pb_reader message = pb_message_of(what);
    uint32_t names = what->number == TASK_RENAME ? 3 : what->number == TASK_NEW ? 2 : 1;
    uint32_t ids = what->number == SCHED_EXEC || what->number == SCHED_FREE ? 2 : 1;
    while (pb_next(&message, &field))
        if (field.number == names && field.wire == PB_BYTES)
            comm_of_path(comm, &field, what->number == SCHED_EXEC);
        else if (field.number == ids)
            tid = field.value;
        else if (field.number == 3 && what->number == TASK_NEW)
            flags = field.value;
    struct pf_note note = {.time_ns = time_ns, .pid = tid_of(tid), .tid = tid_of(tid)};
    if (note.pid == 0)
        return;
    note.kind = what->number == SCHED_EXEC ? PF_NOTE_EXEC : PF_NOTE_BORN;
    if (what->number == TASK_NEW && (flags & OF_THREAD) != 0) {
        note.kind = PF_NOTE_THREAD;
        note.maker = tid_of(current);
    }
    if (what->number == SCHED_EXEC)
        note.text = pf_text_put(i, (const uint8_t *)comm, strlen(comm));
    if (what->number == SCHED_FREE)
        note.kind = PF_NOTE_ENDED;
    if (what->number != TASK_RENAME)
        task_note(i, note);
    if ((what->number == TASK_NEW || what->number == TASK_RENAME) && i->pass == PF_PASS_LIVES)
        pf_note_seen(i, time_ns, tid, comm);
    if (what->number == TASK_NEW && !i->any_new && i->pass == PF_PASS_EVENTS)
        new_send(i, &note, cpu, comm); /* which nothing else says */
}

static void single_take(struct pf_import *i, struct pb_reader message, uint32_t cpu, uint32_t clock,
                        struct pf_sequence *s)
{
    uint64_t time = 0, current = 0;
    struct pb_field field, what = {.number = 0};
    struct sched_event event = {.cpu = cpu};
    while (pb_next(&message, &field))
        if (field.number == 1)
            time = field.value;
        else if (field.number == 2)
            current = field.value;
        else if (field.wire == PB_BYTES)
            what = field;
    if (message.failed || !pf_time(i, s, clock, time, &event.time_ns)) {
        i->told->left_out++;
        import_why(i->told,
                   "at byte %" PRIu64 ": an event of ftrace is broken, or its clock is in no "
                   "snapshot",
                   i->packet_at);
        return;
    }
    if (what.number == SCHED_SWITCH)
        switch_take(i, pb_message_of(&what), &event);
    else if (what.number == SCHED_WAKING || what.number == SCHED_WAKEUP ||
             what.number == SCHED_WAKEUP_NEW)
        waking_take(i, &what, current, &event);
    else if (what.number == TASK_NEW || what.number == TASK_RENAME || what.number == SCHED_EXEC ||
             what.number == SCHED_FREE)
        task_take(i, &what, current, cpu, event.time_ns);
    else
        i->told->not_read++;
}

/* ---- compact ---- */

struct column {
    struct pb_reader left;
};

static uint64_t column_next(struct column *c)
{
    if (c->left.failed || c->left.pos == c->left.end)
        return 0;
    return pb_varint_get(&c->left);
}

struct compact {
    struct column columns[13]; /* by field */
    const uint8_t *texts[256];
    uint32_t sizes[256];
    unsigned text_count;
};

static void comm_text(const struct compact *c, uint64_t at, char out[SCHED_COMM_BYTES])
{
    struct pb_field field = {.n = 0};
    if (at < c->text_count) {
        field.bytes = c->texts[at];
        field.n = c->sizes[at];
    }
    comm_set(out, &field);
}

static void compact_read(struct pf_import *i, struct pb_reader message, struct compact *c)
{
    struct pb_field field;
    unsigned most = sizeof c->texts / sizeof *c->texts;
    while (pb_next(&message, &field)) {
        if (field.wire != PB_BYTES || field.number >= sizeof c->columns / sizeof *c->columns)
            continue;
        if (field.number != 5) {
            c->columns[field.number].left = pb_message_of(&field);
        } else if (c->text_count < most) {
            c->texts[c->text_count] = field.bytes;
            c->sizes[c->text_count++] = field.n < UINT32_MAX ? (uint32_t)field.n : 0;
        } else {
            import_why(i->told, "at byte %" PRIu64 ": more than %u names of threads in a bundle",
                       i->packet_at, most);
        }
    }
}

/* Who leaves is who came before on this CPU; the first one of a CPU is taken to be idle. */
static void compact_switches(struct pf_import *i, struct compact *c, uint32_t on, uint32_t clock,
                             struct pf_sequence *s)
{
    uint64_t time = 0;
    struct pf_cpu *cpu = cpu_get(i, on);
    struct pb_reader *times = &c->columns[1].left;
    while (cpu != NULL && times->pos != times->end && !times->failed && i->status == SKEIN_OK) {
        struct sched_event event = {.kind = SCHED_EVENT_SWITCH, .cpu = on};
        time += pb_varint_get(times);
        event.state = column_next(&c->columns[2]);
        uint64_t next = column_next(&c->columns[3]);
        comm_text(c, column_next(&c->columns[6]), event.next_comm);
        event.tid = cpu->next_tid;
        event.next = tid_of(next);
        if (pf_time(i, s, clock, time, &event.time_ns))
            event_send(i, &event);
        else
            i->told->left_out++;
    }
}

static void compact_wakings(struct pf_import *i, struct compact *c, uint32_t on, uint32_t clock,
                            struct pf_sequence *s)
{
    uint64_t time = 0;
    struct pb_reader *times = &c->columns[7].left;
    while (times->pos != times->end && !times->failed && i->status == SKEIN_OK) {
        struct sched_event event = {.kind = SCHED_EVENT_WAKING, .cpu = on};
        time += pb_varint_get(times);
        uint64_t tid = column_next(&c->columns[8]);
        event.target_cpu = (uint32_t)column_next(&c->columns[9]);
        comm_text(c, column_next(&c->columns[11]), event.comm);
        event.tid = tid_of(tid);
        i->any_waking = true;
        if (event.tid != 0 && pf_time(i, s, clock, time, &event.time_ns))
            event_send(i, &event);
        else
            i->told->left_out++;
    }
}

/* ---- a bundle ---- */

/* Events of the CPU that the kernel had no room for lie between its piece before and this one. */
static void piece_end(struct pf_import *i, uint64_t number, bool lost)
{
    struct pf_cpu *cpu = cpu_get(i, number);
    if (cpu == NULL)
        return;
    uint64_t from_ns = cpu->last_ns > 0 ? cpu->last_ns : i->last_ns;
    cpu->last_ns = i->last_ns;
    if (i->pass == PF_PASS_LIVES || !lost || i->status != SKEIN_OK)
        return;
    const struct import_entry loss = {.what = IMPORT_LOSS,
                                      .process = PF_GLOBAL,
                                      .time_ns = i->last_ns,
                                      .dur_ns = i->last_ns > from_ns ? i->last_ns - from_ns : 0,
                                      .name = "",
                                      .reason = PARTITION_LOSS_RING_FULL};
    i->perfetto->kernel_gaps++;
    i->status = import_many_add(i->many, &loss);
}

void pf_ftrace_take(struct pf_import *i, struct pb_reader bundle)
{
    struct compact c = {.text_count = 0};
    struct pf_sequence none = {.valid = true};
    struct pb_field field;
    struct pb_reader at = bundle;
    uint64_t cpu = pb_find(bundle, 1, &field) ? field.value : 0;
    bool lost = false, raw = pb_find(bundle, 5, &field) && field.value == FTRACE_MONO_RAW;
    uint32_t clock = raw ? CLOCK_MONO_RAW : PF_BOOTTIME;
    if (cpu >= CPUS_MAX) {
        i->told->left_out++;
        import_why(i->told, "at byte %" PRIu64 ": events of CPU %" PRIu64, i->packet_at, cpu);
        return;
    }
    while (pb_next(&at, &field) && i->status == SKEIN_OK)
        if (field.number == 2)
            single_take(i, pb_message_of(&field), (uint32_t)cpu, clock, &none);
        else if (field.number == 4)
            compact_read(i, pb_message_of(&field), &c);
        else if (field.number == 3)
            lost = field.value != 0;
    compact_wakings(i, &c, (uint32_t)cpu, clock, &none);
    compact_switches(i, &c, (uint32_t)cpu, clock, &none);
    piece_end(i, cpu, lost);
}

/* Records that the kernel had no room for, since the sample before of this CPU. */
static void samples_lost(struct pf_import *i, uint64_t cpu, uint64_t records, uint64_t time_ns)
{
    struct pf_cpu *on = cpu_get(i, cpu);
    uint64_t from_ns = on != NULL && on->sample_ns > 0 ? on->sample_ns : time_ns;
    const struct import_value value = {.name = "records", .type = SKEIN_T_U64, .bits = records};
    const struct import_entry loss = {.what = IMPORT_LOSS,
                                      .process = PF_GLOBAL,
                                      .time_ns = time_ns,
                                      .dur_ns = time_ns > from_ns ? time_ns - from_ns : 0,
                                      .name = "",
                                      .reason = PARTITION_LOSS_RING_FULL,
                                      .values = &value,
                                      .count = 1};
    if (on != NULL)
        on->sample_ns = time_ns;
    if (records == 0)
        return;
    i->perfetto->kernel_gaps++;
    i->status = import_many_add(i->many, &loss);
}

void pf_sample_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader sample,
                    uint64_t time_ns)
{
    uint64_t cpu = 0, pid = 0, tid = 0, stack = 0, lost = 0;
    struct pb_field field;
    while (pb_next(&sample, &field))
        switch (field.number) {
        case 1:
            cpu = field.value;
            break;
        case 2:
            pid = field.value;
            break;
        case 3:
            tid = field.value;
            break;
        case 4:
            stack = field.value;
            break;
        case 17:
            lost = field.value;
            break;
        case 19: /* the producer tells of itself: no sample */
            i->told->not_read++;
            return;
        default:
            break;
        }
    samples_lost(i, cpu, lost, time_ns);
    if (lost > 0 && pid == 0 && tid == 0 && stack == 0) /* the loss is all that it says */
        return;
    const struct import_value values[] = {
        {.name = "cpu", .type = SKEIN_T_U64, .bits = cpu},
        {.name = "weight", .unit = "ns", .type = SKEIN_T_U64, .bits = s->sample_weight_ns}};
    const struct import_entry entry = {.what = IMPORT_INSTANT,
                                       .process = pf_process(i, (uint32_t)pid, time_ns),
                                       .thread = (uint32_t)tid,
                                       .time_ns = time_ns,
                                       .name = "cpu.sample",
                                       .category = "thread",
                                       .evidence = true,
                                       .stack = stack != 0 ? pf_callstack(i, s, stack) : 0,
                                       .values = values,
                                       .count = 2};
    if (i->status == SKEIN_OK)
        i->status = import_many_add(i->many, &entry);
}
