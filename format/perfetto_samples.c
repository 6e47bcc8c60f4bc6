/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of CPUs in a Perfetto export. An importer takes each packet sequence for a profile of its
 * own, and what a sample stands for from how a count goes on from one sample of its CPU to the next. So
 * those of a host are on one sequence, and go out at the end, in the order of each CPU's time: 40 bytes
 * are kept of each, of at most SAMPLES_MAX; beyond, they are left out, which an instant says. Frames are
 * told by what they are, as a partition's numbers do not last. Entered through perfetto_export.c; one
 * thread.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "perfetto_export_int.h"
#include "perfetto_fields.h"
#include "protobuf_put.h"
#include "trace_stack.h"

#define SAMPLES_MAX 1000000u

struct export_sample {
    uint64_t boot_ns, weight;
    uint32_t track; /* whose sequence it is on */
    uint32_t pid, tid, stack, cpu;
    bool has_cpu, has_weight;
};

/* ---- what is interned, by its content ---- */

/* Takes the message in, and tells it with a number where it is new; 0: no memory. */
static uint64_t content_intern(struct perfetto_export *x, uint32_t track, unsigned field,
                               struct buf *content)
{
    bool fresh = false;
    struct buf key = {0};
    buf_put_u32(&key, track);
    buf_put_u32(&key, field);
    buf_put(&key, content->data, content->len);
    int64_t at = key.status == SKEIN_OK && content->status == SKEIN_OK
                     ? intern_table_put(&x->samples.told, key.data, key.len, &fresh)
                     : SKEIN_NO_MEMORY;
    if (at < 0)
        x->status = SKEIN_NO_MEMORY;
    if (fresh) {
        pb_varint(&x->item, INTERNED_IID, (uint64_t)at + 1);
        buf_put(&x->item, content->data, content->len);
        pb_message(&x->interned, field, &x->item);
    }
    buf_fini(&key);
    buf_clear(content);
    return at < 0 ? 0 : (uint64_t)at + 1;
}

static uint64_t content_text(struct perfetto_export *x, uint32_t track, unsigned field,
                             const void *text, size_t n)
{
    struct buf content = {0};
    pb_bytes(&content, INTERNED_NAME, text, n);
    uint64_t iid = content_intern(x, track, field, &content);
    buf_fini(&content);
    return iid;
}

static uint64_t mapping_intern(struct perfetto_export *x, uint32_t track,
                               const struct partition_mapping *m)
{
    struct buf content = {0};
    if (m == NULL)
        return 0;
    uint64_t path = content_text(x, track, INTERNED_MAPPING_PATHS, m->path, strlen(m->path));
    uint64_t build = content_text(x, track, INTERNED_BUILD_IDS, m->build_id, m->build_id_bytes);
    pb_varint(&content, MAPPING_BUILD_ID, build);
    pb_varint(&content, MAPPING_OFFSET, m->offset);
    pb_varint(&content, MAPPING_START, m->start);
    pb_varint(&content, MAPPING_END, m->end);
    pb_varint(&content, MAPPING_PATH_IDS, path);
    uint64_t iid = content_intern(x, track, INTERNED_MAPPINGS, &content);
    buf_fini(&content);
    return iid;
}

static uint64_t frame_intern(struct perfetto_export *x, uint32_t track,
                             const struct trace_frame *frame)
{
    struct buf content = {0};
    char place[TRACE_PLACE_BYTES];
    trace_frame_place(frame, place);
    const char *name = frame->function[0] != '\0' ? frame->function : place;
    uint64_t mapping = mapping_intern(x, track, frame->mapping);
    pb_varint(&content, FRAME_FUNCTION,
              content_text(x, track, INTERNED_FUNCTIONS, name, strlen(name)));
    pb_varint(&content, FRAME_MAPPING, mapping);
    pb_varint(&content, FRAME_REL_PC, frame->mapping != NULL ? frame->offset : frame->looked_up);
    if (frame->file[0] != '\0')
        pb_varint(&content, FRAME_SOURCE_PATH,
                  content_text(x, track, INTERNED_SOURCE_PATHS, frame->file, strlen(frame->file)));
    if (frame->line != 0)
        pb_varint(&content, FRAME_LINE, frame->line);
    uint64_t iid = content_intern(x, track, INTERNED_FRAMES, &content);
    buf_fini(&content);
    return iid;
}

/* The iid of a stack, whose outermost frame comes first there. */
static uint64_t stack_intern(struct perfetto_export *x, uint32_t track, uint32_t id)
{
    struct trace_frames frames;
    struct trace_frame frame;
    struct buf iids = {0}, content = {0};
    struct cursor c;
    if (!trace_frames_begin(&frames, x->reader, id))
        return 0;
    while (x->status == SKEIN_OK && trace_frames_next(&frames, &frame))
        buf_put_u64(&iids, frame_intern(x, track, &frame));
    for (size_t at = iids.len; at > 0; at -= 8) {
        cursor_init(&c, iids.data + at - 8, 8);
        pb_varint(&content, CALLSTACK_FRAMES, cursor_u64(&c));
    }
    if (iids.status != SKEIN_OK)
        x->status = iids.status;
    uint64_t iid = content_intern(x, track, INTERNED_CALLSTACKS, &content);
    buf_fini(&content);
    buf_fini(&iids);
    return iid;
}

/* ---- the sequence of a host ---- */

/* Once for each host: its count is that of a CPU's clock, in nanoseconds. */
static void sequence_begin(struct perfetto_export *x, uint32_t track)
{
    if (x->track_at[track].started != 0)
        return;
    x->track_at[track].started = x->partition;
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_FIRST_TRACK + track);
    pb_varint(&x->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
    pb_varint(&x->event, TIMEBASE_COUNTER, TIMEBASE_CPU_CLOCK);
    pb_message(&x->item, SAMPLE_DEFAULTS_TIMEBASE, &x->event);
    pb_message(&x->part, DEFAULTS_PERF_SAMPLE, &x->item);
    pb_varint(&x->part, DEFAULTS_CLOCK, CLOCK_BOOTTIME_ID);
    pb_message(&x->packet, PACKET_DEFAULTS, &x->part);
    export_packet_end(x, x->out);
}

static void told_flush(struct perfetto_export *x, uint32_t track)
{
    if (x->interned.len == 0 && x->interned.status == SKEIN_OK)
        return;
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_FIRST_TRACK + track);
    pb_varint(&x->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
    export_interned_flush(x);
    export_packet_end(x, x->out);
}

/* ---- samples ---- */

static bool number_get(const struct trace_event *event, const char *name, uint64_t *number)
{
    for (unsigned i = 0; i < event->type->nargs; i++)
        if (event->type->args[i].type == SKEIN_T_U64 &&
            strcmp(event->type->args[i].name, name) == 0) {
            *number = event->args[i].u64;
            return true;
        }
    return false;
}

static bool event_is_sample(const struct perfetto_export *x, const struct trace_event *event)
{
    return x->info->evidence && !x->plain && event->stack != 0 && event->thread != NULL &&
           strcmp(event->type->name, "cpu.sample") == 0;
}

bool export_sample_note(struct perfetto_export *x, const struct trace_event *event)
{
    struct export_samples *s = &x->samples;
    uint64_t cpu = 0;
    if (!event_is_sample(x, event))
        return false;
    if (s->count == SAMPLES_MAX) {
        s->left_out++;
        return true;
    }
    struct export_sample sample = {.boot_ns = export_boot_ns(x, event->time_ns),
                                   .pid = x->info->pid,
                                   .tid = event->thread->tid};
    sample.has_cpu = number_get(event, "cpu", &cpu) && cpu <= UINT32_MAX;
    sample.cpu = (uint32_t)cpu;
    sample.has_weight = number_get(event, "weight", &sample.weight);
    sample.track = export_track_number(x, &(struct export_track_key){.kind = TRACK_OF_SAMPLES}, "");
    if (x->status != SKEIN_OK)
        return true;
    sequence_begin(x, sample.track);
    sample.stack = (uint32_t)stack_intern(x, sample.track, event->stack);
    told_flush(x, sample.track);
    if (!array_grow(s->list, s->count + 1, &s->cap))
        x->status = SKEIN_NO_MEMORY;
    else
        s->list[s->count++] = sample;
    return true;
}

/* ---- the end ---- */

static int samples_compare(const void *a, const void *b)
{
    const struct export_sample *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? -1 : 1;
    return x->boot_ns < y->boot_ns ? -1 : x->boot_ns > y->boot_ns;
}

static void sample_put(struct perfetto_export *x, const struct export_sample *sample,
                       uint64_t counted)
{
    pb_varint(&x->packet, PACKET_TIMESTAMP, sample->boot_ns);
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_FIRST_TRACK + sample->track);
    pb_varint(&x->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
    if (sample->has_cpu)
        pb_varint(&x->item, SAMPLE_CPU, sample->cpu);
    pb_varint(&x->item, SAMPLE_PID, sample->pid);
    pb_varint(&x->item, SAMPLE_TID, sample->tid);
    pb_varint(&x->item, SAMPLE_CALLSTACK, sample->stack);
    pb_varint(&x->item, SAMPLE_CPU_MODE, SAMPLE_MODE_USER);
    if (sample->has_weight)
        pb_varint(&x->item, SAMPLE_TIMEBASE_COUNT, counted);
    pb_message(&x->packet, PACKET_PERF_SAMPLE, &x->item);
    export_packet_end(x, x->out);
}

void export_samples_end(struct perfetto_export *x)
{
    struct export_samples *s = &x->samples;
    uint64_t counted = 0;
    if (s->count > 0)
        qsort(s->list, s->count, sizeof *s->list, samples_compare);
    for (size_t i = 0; i < s->count; i++) {
        const struct export_sample *sample = &s->list[i];
        if (i == 0 || sample->track != s->list[i - 1].track || sample->cpu != s->list[i - 1].cpu)
            counted = 0;
        counted += sample->weight;
        sample_put(x, sample, counted);
    }
    if (s->left_out > 0)
        export_left_out_put(x, "samples of CPUs left out", s->list[s->count - 1].boot_ns,
                            s->left_out);
}

void export_samples_fini(struct perfetto_export *x)
{
    intern_table_fini(&x->samples.told);
    free(x->samples.list);
}
