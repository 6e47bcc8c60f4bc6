/* SPDX-License-Identifier: Apache-2.0
 * See incident_make.h. */
#include "incident_make.h"

#include "skein/trace.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

#define PROCESSES 64

#define CALL(variable, called, of, first)                                                          \
    const struct partition_event_type incident_##variable = {                                      \
        .name = called,                                                                            \
        .klass = SKEIN_CLASS_SPAN,                                                                 \
        .group = SKEIN_GROUP_##of,                                                                 \
        .nargs = 2,                                                                                \
        .args = {{SKEIN_T_I64, first, ""}, {SKEIN_T_I64, "result", "errno"}}}
CALL(read, "read", IO, "fd");
CALL(write, "write", IO, "fd");
CALL(fsync, "fsync", IO, "fd");
CALL(recv, "recv", NET, "fd");
CALL(send, "send", NET, "fd");
CALL(connect, "connect", NET, "fd");
CALL(epoll, "epoll_wait", NET, "fd");
CALL(accept, "accept", NET, "fd");
CALL(cond, "cond_wait", LOCK, "cond");
CALL(sleep, "sleep", SLEEP, "asked");
const struct partition_event_type incident_mutex = {.name = "mutex_lock",
                                                    .klass = SKEIN_CLASS_SPAN,
                                                    .group = SKEIN_GROUP_LOCK,
                                                    .nargs = 3,
                                                    .args = {{SKEIN_T_I64, "lock", "address"},
                                                             {SKEIN_T_I64, "result", "errno"},
                                                             {SKEIN_T_I64, "owner", "tid"}}};
const struct partition_event_type incident_loop = {.name = "loop",
                                                   .klass = SKEIN_CLASS_SPAN,
                                                   .group = SKEIN_GROUP_APP,
                                                   .nargs = 1,
                                                   .args = {{SKEIN_T_I64, "ready", ""}}};
const struct partition_event_type incident_request = {.name = "request",
                                                      .klass = SKEIN_CLASS_SPAN,
                                                      .group = SKEIN_GROUP_APP,
                                                      .nargs = 1,
                                                      .args = {{SKEIN_T_I64, "key", ""}}};
const struct partition_event_type incident_queue = {.name = "jobs.queue",
                                                    .klass = SKEIN_CLASS_COUNTER,
                                                    .nargs = 1,
                                                    .args = {{SKEIN_T_U64, "value", "jobs"}}};
const struct partition_event_type incident_memory = {.name = "proc.memory",
                                                     .klass = SKEIN_CLASS_COUNTER,
                                                     .nargs = 1,
                                                     .args = {{SKEIN_T_U64, "value", "bytes"}}};
const struct partition_event_type incident_fd = {
    .name = "fd",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {{SKEIN_T_U64, "fd", ""}, {SKEIN_T_STR, "kind", ""}, {SKEIN_T_STR, "path", ""}}};
const struct partition_event_type incident_runnable = {.name = "sched.runnable",
                                                       .klass = SKEIN_CLASS_SPAN,
                                                       .nargs = 6,
                                                       .args = {{SKEIN_T_U64, "cpu", ""},
                                                                {SKEIN_T_STR, "why", ""},
                                                                {SKEIN_T_U64, "instead_tid", ""},
                                                                {SKEIN_T_STR, "instead", ""},
                                                                {SKEIN_T_U64, "instead_ns", "ns"},
                                                                {SKEIN_T_STR, "cut", ""}}};
const struct partition_event_type incident_run = {
    .name = "sched.run",
    .klass = SKEIN_CLASS_SPAN,
    .nargs = 2,
    .args = {{SKEIN_T_U64, "cpu", ""}, {SKEIN_T_STR, "cut", ""}}};
const struct partition_event_type incident_blocked = {.name = "sched.blocked",
                                                      .klass = SKEIN_CLASS_SPAN,
                                                      .nargs = 6,
                                                      .args = {{SKEIN_T_STR, "state", ""},
                                                               {SKEIN_T_U64, "waker_tid", ""},
                                                               {SKEIN_T_STR, "waker", ""},
                                                               {SKEIN_T_STR, "context", ""},
                                                               {SKEIN_T_U64, "waker_cpu", ""},
                                                               {SKEIN_T_STR, "cut", ""}}};
const struct partition_event_type incident_neighbour = {.name = "sched.neighbour",
                                                        .klass = SKEIN_CLASS_INSTANT,
                                                        .nargs = 6,
                                                        .args = {{SKEIN_T_U64, "pid", ""},
                                                                 {SKEIN_T_STR, "comm", ""},
                                                                 {SKEIN_T_U64, "cpu_ns", "ns"},
                                                                 {SKEIN_T_U64, "window_ns", "ns"},
                                                                 {SKEIN_T_U64, "runs", ""},
                                                                 {SKEIN_T_U64, "threads", ""}}};
const struct partition_event_type incident_await = {.name = "host.disk.sda.await",
                                                    .klass = SKEIN_CLASS_COUNTER,
                                                    .nargs = 1,
                                                    .args = {{SKEIN_T_F64, "value", "ms"}}};
const struct partition_event_type incident_disk_queue = {.name = "host.disk.sda.queue",
                                                         .klass = SKEIN_CLASS_COUNTER,
                                                         .nargs = 1,
                                                         .args = {{SKEIN_T_F64, "value", ""}}};
const struct partition_event_type incident_load = {.name = "thread.load",
                                                   .klass = SKEIN_CLASS_COUNTER,
                                                   .nargs = 5,
                                                   .args = {{SKEIN_T_F64, "run", "%"},
                                                            {SKEIN_T_F64, "wait", "%"},
                                                            {SKEIN_T_F64, "gave_way", "/s"},
                                                            {SKEIN_T_F64, "preempted", "/s"},
                                                            {SKEIN_T_U64, "over", "ns"}}};

struct made_process {
    const char *service, *exe;
    uint32_t pid;
    uint64_t age_ns, lost_from_ns, lost_to_ns, step_at_ns;
    int64_t step_ns;
    int32_t signal;
    struct incident_event *events;
    size_t count, cap;
    uint64_t end_ns;
};

struct incident {
    uint64_t state;
    struct made_process processes[PROCESSES];
    size_t count;
    struct buf bytes;
    bool stand_ins;
};

struct incident *incident_new(uint64_t seed)
{
    struct incident *in = calloc(1, sizeof *in);
    ck_assert_ptr_nonnull(in);
    in->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    return in;
}

void incident_free(struct incident **incident)
{
    for (size_t i = 0; i < (*incident)->count; i++)
        free((*incident)->processes[i].events);
    buf_fini(&(*incident)->bytes);
    free(*incident);
    *incident = NULL;
}

uint64_t incident_random(struct incident *in, uint64_t from, uint64_t to)
{
    in->state ^= in->state << 13;
    in->state ^= in->state >> 7;
    in->state ^= in->state << 17;
    return from + in->state % (to - from + 1);
}

uint64_t incident_about(struct incident *in, uint64_t ns)
{
    return incident_random(in, ns - ns / 4, ns + ns / 4);
}

size_t incident_process(struct incident *in, const char *service, uint32_t pid, uint64_t age_ns)
{
    ck_assert_uint_lt(in->count, PROCESSES);
    in->processes[in->count] =
        (struct made_process){.service = service, .exe = "", .pid = pid, .age_ns = age_ns};
    return in->count++;
}

void incident_lose(struct incident *in, size_t process, uint64_t from_ns, uint64_t to_ns)
{
    in->processes[process].lost_from_ns = from_ns;
    in->processes[process].lost_to_ns = to_ns;
}

void incident_step(struct incident *in, size_t process, uint64_t at_ns, int64_t by_ns)
{
    in->processes[process].step_at_ns = at_ns;
    in->processes[process].step_ns = by_ns;
}

void incident_die(struct incident *in, size_t process, int32_t signal)
{
    in->processes[process].signal = signal;
}

void incident_stand_ins(struct incident *in)
{
    in->stand_ins = true;
}

void incident_exe(struct incident *in, size_t process, const char *exe)
{
    in->processes[process].exe = exe;
}

void incident_add(struct incident *in, size_t process, const struct incident_event *event)
{
    struct made_process *p = &in->processes[process];
    if (!array_grow(p->events, p->count + 1,
                    &p->cap)) /* millions: check writes each of its own down */
        ck_abort_msg("no memory");
    p->events[p->count] = *event;
    p->events[p->count++].stands_in |= in->stand_ins;
    uint64_t end_ns = event->from_ns + event->dur_ns;
    p->end_ns = end_ns > p->end_ns ? end_ns : p->end_ns;
}

void incident_call(struct incident *in, size_t process, uint32_t tid,
                   const struct partition_event_type *type, uint64_t from_ns, uint64_t dur_ns,
                   int64_t a, int64_t result, int64_t more)
{
    struct incident_event event = {
        .type = type,
        .thread = tid == in->processes[process].pid ? in->processes[process].service : "worker",
        .tid = tid,
        .from_ns = from_ns,
        .dur_ns = dur_ns,
        .args = {{.i64 = a}, {.i64 = result}, {.i64 = more}},
        .stack = dur_ns >= INCIDENT_MS};
    incident_add(in, process, &event);
}

/* ---- writing ---- */

static int events_order(const void *a, const void *b)
{
    const struct incident_event *x = a, *y = b;
    uint64_t one = x->from_ns + x->dur_ns, other = y->from_ns + y->dur_ns;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (one != other)
        return one < other ? -1 : 1;
    return x->dur_ns < y->dur_ns ? -1 : x->dur_ns > y->dur_ns; /* what is inside ends first */
}

/* MONOTONIC in ns is the clock; the wall clock of the host may step. */
static struct clock_snapshot snapshot(const struct made_process *p, uint64_t at_ns)
{
    uint64_t mono = 5 * INCIDENT_S + at_ns, wall = INCIDENT_T0_NS + at_ns;
    if (p->step_ns != 0 && at_ns >= p->step_at_ns)
        wall += (uint64_t)p->step_ns;
    return (struct clock_snapshot){mono, mono, mono, wall};
}

static struct partition_info info_of(const struct made_process *p, size_t number, uint64_t from_ns,
                                     uint64_t to_ns, uint64_t sequence, bool evidence)
{
    struct partition_info info = {.key = {.epoch = 1, .sequence = sequence},
                                  .pid = p->pid,
                                  .process_start_ns = INCIDENT_T0_NS - p->age_ns,
                                  .clock = PARTITION_CLOCK_MONOTONIC,
                                  .mode = SKEIN_MODE_CIRCULAR,
                                  .begin = snapshot(p, from_ns),
                                  .end = snapshot(p, to_ns),
                                  .window_from_ticks = 5 * INCIDENT_S + from_ns,
                                  .window_to_ticks = 5 * INCIDENT_S + to_ns,
                                  .host = "web-1",
                                  .service = p->service,
                                  .labels = "",
                                  .exe = p->exe,
                                  .evidence = evidence};
    info.key.process.bytes[0] = 1;
    info.key.process.bytes[15] = (uint8_t)(number + 1);
    info.death.known = p->signal != 0;
    info.death.signal = p->signal;
    return info;
}

static uint32_t stack_put(struct partition_writer *w, const struct incident_event *e)
{
    static const struct partition_line lines[] = {
        {"work", "a.c", 1}, {"serve", "a.c", 2}, {"main", "a.c", 3}};
    static const uint64_t pcs[] = {0x1010, 0x1020, 0x1030};
    ck_assert(e->stack);
    ck_assert_int_eq(
        partition_writer_mapping(
            w, &(struct partition_mapping){.start = 0x1000, .end = 0x2000, .path = "/srv/app"}),
        SKEIN_OK);
    for (size_t i = 0; i < 3; i++)
        partition_writer_symbol(w, &(struct partition_symbol){pcs[i] - (i > 0), &lines[i], 1});
    int64_t id = partition_writer_stack(
        w, &(struct partition_stack){pcs, 3, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT});
    ck_assert_int_gt(id, 0);
    return (uint32_t)id;
}

static void event_put(struct partition_writer *w, const struct incident_event *e)
{
    int64_t type = partition_writer_type(w, e->type);
    int64_t thread = partition_writer_thread(
        w, &(struct partition_thread){.tid = e->tid,
                                      .name = e->thread != NULL ? e->thread : "host",
                                      .incarnation = e->tid | (e->stands_in ? SKEIN_STAND_IN : 0)});
    if (type < 0 || thread < 0)
        ck_abort_msg("type %" PRId64 ", thread %" PRId64, type, thread);
    if (e->open) {
        partition_writer_open(w, &(struct partition_open){(uint32_t)thread, (uint32_t)type,
                                                          5 * INCIDENT_S + e->from_ns,
                                                          e->args[0].i64});
        return;
    }
    partition_writer_batch(w, (uint32_t)thread, 0, 0, false);
    partition_writer_event(w, (uint32_t)type, 5 * INCIDENT_S + e->from_ns + e->dur_ns, e->dur_ns,
                           e->args);
    if (e->stack)
        partition_writer_event_stack(w, stack_put(w, e));
}

static void cut_put(struct incident *in, size_t number, uint64_t from_ns, uint64_t to_ns,
                    uint64_t sequence, bool evidence)
{
    struct made_process *p = &in->processes[number];
    struct partition_info info = info_of(p, number, from_ns, to_ns, sequence, evidence);
    struct partition_writer *w;
    bool last = to_ns > p->end_ns;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    for (size_t i = 0; i < p->count; i++) {
        const struct incident_event *e = &p->events[i];
        uint64_t end_ns = e->from_ns + e->dur_ns;
        if (e->evidence == evidence &&
            (evidence || (e->open ? last : end_ns >= from_ns && end_ns < to_ns)))
            event_put(w, e);
    }
    ck_assert_int_eq(partition_writer_finish(w, &in->bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

const struct buf *incident_finish(struct incident *in, uint64_t cut_ns)
{
    for (size_t i = 0; i < in->count; i++) {
        struct made_process *p = &in->processes[i];
        bool told = false;
        uint64_t sequence = 1;
        qsort(p->events, p->count, sizeof *p->events, events_order);
        for (uint64_t from = 0; from <= p->end_ns; from += cut_ns, sequence++)
            if (p->lost_to_ns == 0 || from < p->lost_from_ns || from >= p->lost_to_ns)
                cut_put(in, i, from, from + cut_ns, sequence, false);
        for (size_t k = 0; k < p->count; k++)
            told |= p->events[k].evidence;
        if (told)
            cut_put(in, i, 0, p->end_ns + 1, UINT64_C(1) << 48, true);
    }
    return &in->bytes;
}
