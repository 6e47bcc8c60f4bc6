/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's part of a Perfetto export: spans of evidence (docs/evidence-sched.md) become switches
 * and wakings of CPUs, as compact_sched has them. Processes are exported one after the other and share
 * CPUs, so runs are kept until the end, 32 bytes each, and at most RUNS_MAX: beyond, they are left out,
 * which an instant says, and the spans alone are there. Entered through perfetto_export.c; one thread.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "perfetto_export_int.h"
#include "perfetto_fields.h"
#include "protobuf_put.h"

#define RUNS_MAX      1000000u
#define BUNDLE_EVENTS 4096u
#define CPUS_MAX      1024u /* what importers take */
#define PRIORITY      120u  /* of a thread that nobody made nice; not recorded */

static const struct partition_value *argument_of(const struct trace_event *event, const char *name,
                                                 uint8_t type)
{
    for (unsigned i = 0; i < event->type->nargs; i++)
        if (event->type->args[i].type == type && strcmp(event->type->args[i].name, name) == 0)
            return &event->args[i];
    return NULL;
}

static bool text_begins(const struct partition_value *value, const char *word)
{
    size_t n = strlen(word);
    return value != NULL && value->str.len >= n && memcmp(value->str.text, word, n) == 0;
}

/* The kernel's bits of a state as ps shows it. */
static uint8_t state_of(const struct trace_event *event)
{
    static const char letters[] = "SDTtXZPI";
    const struct partition_value *state = argument_of(event, "state", SKEIN_T_STR);
    const char *at = state != NULL && state->str.len > 0 && state->str.text[0] != '\0'
                         ? strchr(letters, state->str.text[0])
                         : NULL;
    return (uint8_t)(at != NULL ? 1u << (at - letters) : 1u);
}

static uint32_t name_number(struct perfetto_export *x, const char *name)
{
    bool fresh;
    int64_t at = intern_table_put(&x->sched.names, name, strlen(name) + 1, &fresh);
    if (at < 0)
        x->status = SKEIN_NO_MEMORY;
    return at < 0 ? 0 : (uint32_t)at;
}

static bool run_room(struct perfetto_export *x)
{
    struct export_sched *s = &x->sched;
    if (s->count == RUNS_MAX) {
        s->left_out++;
        return false;
    }
    if (array_grow(s->runs, s->count + 1, &s->cap))
        return true;
    x->status = SKEIN_NO_MEMORY;
    return false;
}

static void last_set(struct perfetto_export *x, uint32_t track, uint32_t run)
{
    struct export_sched *s = &x->sched;
    if (array_grow_zero(s->last, (size_t)track + 1, &s->last_cap))
        s->last[track] = run;
    else
        x->status = SKEIN_NO_MEMORY;
}

static void run_keep(struct perfetto_export *x, const struct trace_event *event, uint32_t track)
{
    const struct partition_value *cpu = argument_of(event, "cpu", SKEIN_T_U64);
    if (cpu == NULL || cpu->u64 >= CPUS_MAX || event->dur_ns == 0 || !run_room(x))
        return;
    struct export_sched *s = &x->sched;
    uint64_t from_ns = export_boot_ns(x, event->time_ns);
    s->runs[s->count++] = (struct export_run_on){.from_ns = from_ns,
                                                 .to_ns = from_ns + event->dur_ns,
                                                 .cpu = (uint16_t)cpu->u64,
                                                 .tid = event->thread->tid,
                                                 .name = name_number(x, event->thread->name)};
    last_set(x, track, (uint32_t)s->count);
}

/* Where the thread had run up to here, this is why it left. */
static void leaving_note(struct perfetto_export *x, const struct trace_event *event, uint32_t track,
                         uint8_t state)
{
    struct export_sched *s = &x->sched;
    uint32_t last = track < s->last_cap ? s->last[track] : 0;
    if (last > 0 && s->runs[last - 1].to_ns == export_boot_ns(x, event->time_ns))
        s->runs[last - 1].state = state;
}

static void waking_keep(struct perfetto_export *x, const struct trace_event *event)
{
    const struct partition_value *cpu = argument_of(event, "cpu", SKEIN_T_U64);
    if (!text_begins(argument_of(event, "why", SKEIN_T_STR), "woken") || cpu == NULL ||
        cpu->u64 >= CPUS_MAX || !run_room(x))
        return;
    uint64_t at_ns = export_boot_ns(x, event->time_ns);
    x->sched.runs[x->sched.count++] =
        (struct export_run_on){.from_ns = at_ns,
                               .to_ns = at_ns,
                               .cpu = (uint16_t)cpu->u64,
                               .tid = event->thread->tid,
                               .name = name_number(x, event->thread->name)};
}

void export_sched_note(struct perfetto_export *x, const struct trace_event *event, uint32_t track)
{
    /* Tids and CPUs of another host are others. */
    if (!x->info->evidence || x->foreign || event->kind != TRACE_REGION || event->thread == NULL ||
        event->thread->tid == 0 || strncmp(event->type->name, "sched.", 6) != 0)
        return;
    if (strcmp(event->type->name, "sched.run") == 0) {
        run_keep(x, event, track);
    } else if (strcmp(event->type->name, "sched.blocked") == 0) {
        leaving_note(x, event, track, state_of(event));
    } else if (strcmp(event->type->name, "sched.runnable") == 0) {
        leaving_note(x, event, track, 0);
        waking_keep(x, event);
    }
}

/* ---- the end ---- */

/* By CPU and time; of equal times, who leaves goes before who comes. */
static int runs_compare(const void *a, const void *b)
{
    const struct export_run_on *x = a, *y = b;
    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? -1 : 1;
    if (x->from_ns != y->from_ns)
        return x->from_ns < y->from_ns ? -1 : 1;
    return x->to_ns < y->to_ns ? -1 : x->to_ns > y->to_ns;
}

enum { COLUMNS = 13 };

/* A bundle under way: columns by field, and the names in it. */
struct bundle {
    struct perfetto_export *x;
    struct buf columns[COLUMNS];
    struct intern_table names;
    uint64_t switch_ns, waking_ns; /* the last ones */
    unsigned events;
    uint16_t cpu;
};

static uint64_t comm_index(struct bundle *b, const char *name)
{
    bool fresh;
    int64_t at = intern_table_put(&b->names, name, strlen(name), &fresh);
    if (at < 0)
        b->x->status = SKEIN_NO_MEMORY;
    return at < 0 ? 0 : (uint64_t)at;
}

static void column_put(struct bundle *b, unsigned field, uint64_t value)
{
    buf_put_uleb(&b->columns[field], value);
}

static void switch_put(struct bundle *b, uint64_t at_ns, uint8_t state, uint32_t tid,
                       const char *name)
{
    column_put(b, SCHED_SWITCH_TIMES, at_ns - b->switch_ns);
    column_put(b, SCHED_SWITCH_STATES, state);
    column_put(b, SCHED_SWITCH_TIDS, tid);
    column_put(b, SCHED_SWITCH_PRIORITIES, PRIORITY);
    column_put(b, SCHED_SWITCH_NAMES, comm_index(b, name));
    b->switch_ns = at_ns;
    b->events++;
}

static void waking_put(struct bundle *b, const struct export_run_on *run, const char *name)
{
    column_put(b, SCHED_WAKING_TIMES, run->from_ns - b->waking_ns);
    column_put(b, SCHED_WAKING_TIDS, run->tid);
    column_put(b, SCHED_WAKING_CPUS, run->cpu);
    column_put(b, SCHED_WAKING_PRIORITIES, PRIORITY);
    column_put(b, SCHED_WAKING_NAMES, comm_index(b, name));
    column_put(b, SCHED_WAKING_FLAGS, 0);
    b->waking_ns = run->from_ns;
    b->events++;
}

static void bundle_end(struct bundle *b)
{
    struct perfetto_export *x = b->x;
    for (unsigned field = 1; field < COLUMNS; field++) {
        for (size_t i = 0; field == SCHED_TEXTS && i < b->names.count; i++)
            export_text_put(&x->part, field, (const char *)intern_table_bytes(&b->names, i),
                            b->names.entries[i].len);
        if (b->columns[field].status != SKEIN_OK)
            x->status = SKEIN_NO_MEMORY;
        if (b->columns[field].len > 0)
            pb_bytes(&x->part, field, b->columns[field].data, b->columns[field].len);
        buf_clear(&b->columns[field]);
    }
    if (b->events > 0) {
        pb_varint(&x->event, BUNDLE_CPU, b->cpu);
        pb_message(&x->event, BUNDLE_COMPACT, &x->part);
        pb_message(&x->packet, PACKET_FTRACE, &x->event);
        pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_TRACE);
        pb_varint(&x->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
        pb_varint(&x->item, INTERNED_IID, 1);
        pb_text(&x->item, INTERNED_NAME, PERFETTO_EXPORT_SWITCHES);
        pb_message(&x->interned, INTERNED_EVENT_NAMES, &x->item);
        pb_message(&x->packet, PACKET_INTERNED, &x->interned);
        export_packet_end(x, x->out);
    }
    buf_clear(&x->part);
    intern_table_fini(&b->names);
    b->switch_ns = b->waking_ns = 0;
    b->events = 0;
}

static const char *name_of(const struct perfetto_export *x, uint32_t name)
{
    return name < x->sched.names.count ? (const char *)intern_table_bytes(&x->sched.names, name)
                                       : "";
}

/* A run begins: whoever ran before has left, to idle where there is time in between. */
static void run_put(struct bundle *b, const struct export_run_on **on,
                    const struct export_run_on *run)
{
    const struct export_run_on *before = *on;
    if (before != NULL && before->to_ns < run->from_ns)
        switch_put(b, before->to_ns, before->state, 0, "swapper");
    bool direct = before != NULL && before->to_ns >= run->from_ns;
    switch_put(b, run->from_ns, direct ? before->state : 0, run->tid, name_of(b->x, run->name));
    *on = run;
}

void export_left_out_put(struct perfetto_export *x, const char *what, uint64_t boot_ns,
                         uint64_t count)
{
    pb_varint(&x->packet, PACKET_TIMESTAMP, boot_ns);
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_TRACE);
    pb_varint(&x->event, EVENT_TYPE, EVENT_INSTANT);
    pb_varint(&x->event, EVENT_TRACK, export_uuid(0));
    pb_text(&x->event, EVENT_NAME, what);
    pb_text(&x->item, ANNOTATION_NAME, "count");
    pb_varint(&x->item, ANNOTATION_UINT, count);
    pb_message(&x->event, EVENT_ANNOTATIONS, &x->item);
    pb_message(&x->packet, PACKET_TRACK_EVENT, &x->event);
    export_packet_end(x, x->out);
}

int export_sched_end(struct perfetto_export *x)
{
    struct export_sched *s = &x->sched;
    struct bundle b = {.x = x};
    const struct export_run_on *on = NULL;
    if (s->count > 0)
        qsort(s->runs, s->count, sizeof *s->runs, runs_compare);
    for (size_t i = 0; i < s->count && x->status == SKEIN_OK; i++) {
        const struct export_run_on *run = &s->runs[i];
        bool other = i == 0 || run->cpu != s->runs[i - 1].cpu;
        if (other && on != NULL)
            switch_put(&b, on->to_ns, on->state, 0, "swapper");
        if (other || b.events >= BUNDLE_EVENTS)
            bundle_end(&b);
        if (other)
            on = NULL;
        b.cpu = run->cpu;
        if (other) /* importers skip the first switch of a CPU, as they do not know who left */
            switch_put(&b, run->from_ns, 0, 0, "swapper");
        if (run->from_ns == run->to_ns)
            waking_put(&b, run, name_of(x, run->name));
        else
            run_put(&b, &on, run);
    }
    if (on != NULL)
        switch_put(&b, on->to_ns, on->state, 0, "swapper");
    bundle_end(&b);
    if (s->left_out > 0)
        export_left_out_put(x, "switches of CPUs left out; their spans are there",
                            s->runs[s->count - 1].to_ns, s->left_out);
    for (unsigned field = 0; field < COLUMNS; field++)
        buf_fini(&b.columns[field]);
    intern_table_fini(&b.names);
    return x->status;
}

void export_sched_fini(struct perfetto_export *x)
{
    intern_table_fini(&x->sched.names);
    free(x->sched.runs);
    free(x->sched.last);
}
