/* SPDX-License-Identifier: Apache-2.0
 *
 * The data section: records of 8 bytes of header (type, misc, size) and what linux/perf_event.h says
 * of each type.
 */
#include <string.h>

#include "array.h"
#include "perf_data_int.h"
#include "skein/status.h"

#define RECORD_LOST         2
#define RECORD_COMM         3
#define RECORD_FORK         7
#define RECORD_SAMPLE       9
#define RECORD_LOST_SAMPLES 13
#define RECORD_AUXTRACE     71 /* with data behind it that its size does not count */
#define RECORD_COMPRESSED   81
#define MISC_COMM_EXEC      (1u << 13)
#define RECORD_COMPRESSED2  83

#define SAMPLE_IP         (1u << 0)
#define SAMPLE_TID        (1u << 1)
#define SAMPLE_TIME       (1u << 2)
#define SAMPLE_ADDR       (1u << 3)
#define SAMPLE_CALLCHAIN  (1u << 5)
#define SAMPLE_ID         (1u << 6)
#define SAMPLE_CPU        (1u << 7)
#define SAMPLE_PERIOD     (1u << 8)
#define SAMPLE_STREAM_ID  (1u << 9)
#define SAMPLE_RAW        (1u << 10)
#define SAMPLE_IDENTIFIER (1u << 16)

static uint64_t u64_if(struct cursor *c, uint64_t type, uint32_t bit)
{
    return (type & bit) != 0 ? cursor_u64(c) : 0;
}

/* ---- threads and gaps ---- */

static int thread_add(struct perf_reader *r, uint32_t pid, uint32_t tid, uint64_t from_ns)
{
    struct perf_data *out = r->out;
    struct perf_thread *last = out->thread_count > 0 ? &out->threads[out->thread_count - 1] : NULL;
    if (pid == 0 || tid == 0 || pid == UINT32_MAX || tid == UINT32_MAX ||
        (last != NULL && last->pid == pid && last->tid == tid))
        return SKEIN_OK;
    if (!array_grow(out->threads, out->thread_count + 1, &r->thread_cap))
        return SKEIN_NO_MEMORY;
    out->threads[out->thread_count++] =
        (struct perf_thread){.tid = tid, .pid = pid, .from_ns = from_ns};
    return SKEIN_OK;
}

static int life_add(struct perf_reader *r, uint32_t pid, uint64_t from_ns)
{
    struct perf_data *out = r->out;
    if (!array_grow(out->lives, out->life_count + 1, &r->life_cap))
        return SKEIN_NO_MEMORY;
    out->lives[out->life_count++] = (struct perf_life){.pid = pid, .from_ns = from_ns};
    return SKEIN_OK;
}

static uint64_t *cpu_last(struct perf_reader *r, uint32_t cpu)
{
    if (cpu >= 8192)
        return NULL;
    if (!array_grow(r->cpu_last_ns, (size_t)cpu + 1, &r->cpu_cap))
        return NULL;
    for (; r->cpu_count <= cpu; r->cpu_count++)
        r->cpu_last_ns[r->cpu_count] = 0;
    return &r->cpu_last_ns[cpu];
}

/* What all records end with. */
static void id_take(const struct perf_reader *r, struct cursor *c, uint64_t *at_ns, uint32_t *cpu)
{
    uint64_t type = r->attrs[0].sample_type;
    u64_if(c, type, SAMPLE_TID);
    *at_ns = u64_if(c, type, SAMPLE_TIME);
    u64_if(c, type, SAMPLE_ID);
    u64_if(c, type, SAMPLE_STREAM_ID);
    *cpu = (uint32_t)u64_if(c, type, SAMPLE_CPU);
}

/* Before this record, the CPU's buffer was full. */
static int lost_take(struct perf_reader *r, struct cursor c, uint64_t records)
{
    uint64_t at_ns;
    uint32_t cpu;
    if (!r->attrs[0].id_all)
        return perf_fail(r, SKEIN_UNSUPPORTED, "records were lost, nobody knows when");
    id_take(r, &c, &at_ns, &cpu);
    uint64_t *last_ns = cpu_last(r, cpu);
    if (c.status != SKEIN_OK)
        return perf_fail(r, SKEIN_CORRUPT, "a record of lost ones is cut");
    if (last_ns == NULL)
        return SKEIN_NO_MEMORY;
    if (*last_ns >= at_ns)
        return SKEIN_OK;
    if (!array_grow(r->out->gaps, r->out->gap_count + 1, &r->gap_cap))
        return SKEIN_NO_MEMORY;
    r->out->gaps[r->out->gap_count++] =
        (struct perf_gap){.cpu = cpu, .from_ns = *last_ns, .to_ns = at_ns, .records = records};
    return SKEIN_OK;
}

/* ---- samples ---- */

static bool attr_has_id(const struct perf_reader *r, const struct perf_attr *attr, uint64_t id)
{
    struct cursor c;
    cursor_init(&c, r->bytes + attr->ids_offset, (size_t)attr->ids_count * 8);
    for (uint64_t i = 0; i < attr->ids_count; i++)
        if (cursor_u64(&c) == id)
            return true;
    return false;
}

/* Which event the sample is of: by its id, which stands first where events differ. */
static const struct perf_attr *attr_of(const struct perf_reader *r, struct cursor c)
{
    if ((r->attrs[0].sample_type & SAMPLE_IDENTIFIER) == 0)
        return &r->attrs[0];
    uint64_t id = cursor_u64(&c);
    for (size_t i = 0; i < r->attr_count; i++)
        if (attr_has_id(r, &r->attrs[i], id))
            return &r->attrs[i];
    return NULL;
}

/* What lies in front of the raw record; false: the sample has none. */
static bool head_take(struct cursor *c, uint64_t type, struct sched_event *event, uint64_t *task)
{
    u64_if(c, type, SAMPLE_IDENTIFIER);
    u64_if(c, type, SAMPLE_IP);
    *task = u64_if(c, type, SAMPLE_TID);
    event->time_ns = u64_if(c, type, SAMPLE_TIME);
    u64_if(c, type, SAMPLE_ADDR);
    u64_if(c, type, SAMPLE_ID);
    u64_if(c, type, SAMPLE_STREAM_ID);
    event->cpu = (uint32_t)u64_if(c, type, SAMPLE_CPU);
    u64_if(c, type, SAMPLE_PERIOD);
    if ((type & SAMPLE_CALLCHAIN) != 0) {
        uint64_t calls = cursor_u64(c);
        (void)cursor_bytes(c, calls <= SIZE_MAX / 8 ? calls * 8 : UINT64_MAX);
    }
    return (type & SAMPLE_RAW) != 0;
}

static int sample_take(struct perf_reader *r, struct cursor c)
{
    const struct perf_attr *attr = attr_of(r, c);
    struct sched_event head = {.kind = 0}, event;
    uint64_t task;
    if (attr == NULL || !attr->sched || !head_take(&c, attr->sample_type, &head, &task)) {
        r->out->others++;
        return SKEIN_OK;
    }
    uint32_t n = cursor_u32(&c);
    const uint8_t *raw = cursor_bytes(&c, n);
    if (c.status != SKEIN_OK)
        return perf_fail(r, SKEIN_CORRUPT, "a sample is cut");
    uint64_t *last_ns = cpu_last(r, head.cpu);
    if (last_ns == NULL ||
        thread_add(r, (uint32_t)task, (uint32_t)(task >> 32), head.time_ns) != SKEIN_OK ||
        !array_grow(r->out->events, r->out->count + 1, &r->event_cap))
        return SKEIN_NO_MEMORY;
    *last_ns = head.time_ns;
    if (!sched_layout_decode(&r->layout, raw, n, &event)) {
        r->out->others++;
        return SKEIN_OK;
    }
    event.time_ns = head.time_ns;
    event.cpu = head.cpu;
    r->out->events[r->out->count++] = event;
    return SKEIN_OK;
}

/* ---- */

/* A thread runs another program from here on. The scheduler tells nothing of it: a switch from the thread
 * to itself divides its time. */
static int exec_take(struct perf_reader *r, uint32_t pid, uint32_t tid, const char *comm,
                     uint64_t at_ns, uint32_t cpu)
{
    struct perf_data *out = r->out;
    struct sched_event event = {
        .kind = SCHED_EVENT_SWITCH, .time_ns = at_ns, .cpu = cpu, .tid = tid, .next = tid};
    if (!array_grow(out->events, out->count + 1, &r->event_cap))
        return SKEIN_NO_MEMORY;
    memcpy(event.next_comm, comm, sizeof event.next_comm);
    out->events[out->count++] = event;
    return life_add(r, pid, at_ns);
}

static int comm_take(struct perf_reader *r, struct cursor c, bool exec)
{
    char comm[SCHED_COMM_BYTES] = "";
    uint32_t cpu = 0, pid = cursor_u32(&c), tid = cursor_u32(&c);
    uint64_t at_ns = 0;
    for (unsigned i = 0, ends = 0; c.status == SKEIN_OK && (ends == 0 || i % 8 != 0); i++) {
        char letter = (char)cursor_u8(&c); /* eight at a time, with a NUL */
        ends |= letter == '\0';
        if (i < sizeof comm - 1 && ends == 0)
            comm[i] = letter;
    }
    if (c.status == SKEIN_OK && r->attrs[0].id_all)
        id_take(r, &c, &at_ns, &cpu);
    if (c.status != SKEIN_OK)
        return SKEIN_OK;
    int status = thread_add(r, pid, tid, at_ns);
    if (status == SKEIN_OK && exec && at_ns != 0 && tid != 0)
        status = exec_take(r, pid, tid, comm, at_ns, cpu);
    return status;
}

static int fork_take(struct perf_reader *r, struct cursor c)
{
    uint32_t pid = cursor_u32(&c), parent = cursor_u32(&c), tid = cursor_u32(&c);
    (void)parent;
    (void)cursor_u32(&c); /* the thread that made it */
    uint64_t at_ns = cursor_u64(&c);
    if (c.status != SKEIN_OK)
        return SKEIN_OK;
    int status = thread_add(r, pid, tid, at_ns);
    /* perf itself tells at time 0 who was there already. */
    return status == SKEIN_OK && pid == tid && at_ns != 0 ? life_add(r, pid, at_ns) : status;
}

static int record_take(struct perf_reader *r, uint32_t type, uint16_t misc, struct cursor c)
{
    switch (type) {
    case RECORD_SAMPLE:
        return sample_take(r, c);
    case RECORD_COMM:
        return comm_take(r, c, (misc & MISC_COMM_EXEC) != 0);
    case RECORD_FORK:
        return fork_take(r, c);
    case RECORD_LOST:
        cursor_u64(&c);
        return lost_take(r, c, cursor_u64(&c));
    case RECORD_LOST_SAMPLES:
        return lost_take(r, c, cursor_u64(&c));
    case RECORD_COMPRESSED:
    case RECORD_COMPRESSED2:
        return perf_fail(r, SKEIN_UNSUPPORTED, "it is compressed: record without -z");
    case RECORD_AUXTRACE:
        return perf_fail(r, SKEIN_UNSUPPORTED, "it holds a hardware trace");
    default:
        return SKEIN_OK;
    }
}

int perf_records_read(struct perf_reader *r)
{
    struct cursor c;
    int status = SKEIN_OK;
    cursor_init(&c, r->bytes + r->data_offset, (size_t)r->data_bytes);
    while (status == SKEIN_OK && cursor_left(&c) > 0) {
        uint32_t type = cursor_u32(&c);
        uint16_t misc = cursor_u16(&c);
        uint16_t size = cursor_u16(&c);
        const uint8_t *body = size >= 8 ? cursor_bytes(&c, size - 8u) : NULL;
        struct cursor record;
        if (body == NULL)
            return perf_fail(r, SKEIN_TRUNCATED, "its data ends inside of a record");
        cursor_init(&record, body, size - 8u);
        status = record_take(r, type, misc, record);
    }
    return status;
}
