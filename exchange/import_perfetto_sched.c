/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's events and samples of a Perfetto trace: ftrace's scheduler, one by one or compact, and
 * perf's samples of CPUs.
 */
#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "import_perfetto_int.h"

#define CPUS_MAX 4096u

enum { SCHED_SWITCH = 4, SCHED_WAKEUP = 17, SCHED_WAKING = 20, SCHED_WAKEUP_NEW = 114 };
enum { CLOCK_MONO_RAW = 5, FTRACE_MONO_RAW = 4 };

static void comm_set(char out[SCHED_COMM_BYTES], const struct pb_field *field)
{
    size_t n = field->n < SCHED_COMM_BYTES - 1 ? field->n : SCHED_COMM_BYTES - 1;
    if (n > 0)
        memcpy(out, field->bytes, n);
    out[n] = '\0';
}

/* A thread by its tid, as the kernel calls it; of the process that anything said, else by itself. */
static uint32_t task_of(struct pf_import *i, uint64_t tid, const char *comm)
{
    if (tid == 0 || tid > INT32_MAX)
        return 0;
    uint32_t pid = import_map_get(&i->pid_of, tid);
    if (pid == IMPORT_MAP_NONE) {
        pid = (uint32_t)tid;
        pf_thread_note(i, pid, pid, comm);
        import_many_process(i->many, pid, pid, comm, "");
    }
    return import_many_task(i->many, pid, tid);
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

static void event_send(struct pf_import *i, const struct sched_event *event)
{
    i->last_ns = event->time_ns > i->last_ns ? event->time_ns : i->last_ns;
    i->status = import_many_sched(i->many, event);
}

/* ---- one by one ---- */

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
    event->tid = task_of(i, prev, event->comm);
    event->next = task_of(i, next, event->next_comm);
    struct pf_cpu *cpu = cpu_get(i, event->cpu);
    if (cpu != NULL)
        cpu->next = event->next;
    event_send(i, event);
}

static void waking_take(struct pf_import *i, const struct pb_field *what, uint64_t current,
                        struct sched_event *event)
{
    uint64_t tid = 0;
    struct pb_field field;
    struct pb_reader message = pb_message_of(what);
    i->any_waking |= what->number == SCHED_WAKING;
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
    event->tid = task_of(i, tid, event->comm);
    event->current = task_of(i, current, "");
    if (event->tid != 0)
        event_send(i, event);
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
        event.tid = cpu->next;
        event.next = task_of(i, next, event.next_comm);
        cpu->next = event.next;
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
        event.tid = task_of(i, tid, event.comm);
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
    if (!lost || i->status != SKEIN_OK)
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

void pf_sample_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader sample,
                    uint64_t time_ns)
{
    uint64_t cpu = 0, pid = 0, tid = 0, stack = 0;
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
        default:
            break;
        }
    const struct import_value values[] = {
        {.name = "cpu", .type = SKEIN_T_U64, .bits = cpu},
        {.name = "weight", .unit = "ns", .type = SKEIN_T_U64, .bits = s->sample_weight_ns}};
    const struct import_entry entry = {.what = IMPORT_INSTANT,
                                       .process = (uint32_t)pid,
                                       .thread = (uint32_t)tid,
                                       .time_ns = time_ns,
                                       .name = "cpu.sample",
                                       .category = "thread",
                                       .evidence = true,
                                       .stack = stack != 0 ? pf_callstack(i, s, stack) : 0,
                                       .values = values,
                                       .count = 2};
    i->status = import_many_add(i->many, &entry);
}
