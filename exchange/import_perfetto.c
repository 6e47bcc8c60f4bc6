/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_perfetto.h: packets, one after the other, and the state of their sequences. The first pass
 * takes tables, the next one notes who had which pid when, the last one takes events.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import_perfetto_int.h"
#include "perfetto_export.h"

#define SCRATCH_BYTES ((size_t)1 << 20)
#define HEAD_BYTES    11u /* a tag of one byte, and a length */

enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS = 2 };
enum { COUNTER_CPU_CLOCK = 1, COUNTER_TASK_CLOCK = 7 }; /* of a sample's timebase */

/* ---- one packet ---- */

static bool is_known_and_silent(uint32_t number)
{
    /* uids, markers, the tracer's own config, where and when it was made */
    static const uint8_t silent[] = {3, 33, 36, 45, 51, 52, 59, 79, 87, 89, 123, 124};
    for (size_t k = 0; k < sizeof silent; k++)
        if (silent[k] == number)
            return true;
    return false;
}

static bool packet_read(struct pb_reader reader, struct pf_packet *p)
{
    struct pb_field field;
    *p = (struct pf_packet){.time = 0};
    while (pb_next(&reader, &field)) {
        struct pb_field *const places[] = {
            [1] = &p->ftrace,    [2] = &p->tree,          [6] = &p->snapshot, [11] = &p->event,
            [12] = &p->interned, [34] = &p->kernel_stats, [35] = &p->stats,   [44] = &p->thread,
            [59] = &p->defaults, [60] = &p->descriptor,   [66] = &p->sample};
        bool placed = field.number < sizeof places / sizeof *places && places[field.number] != NULL;
        if (placed && field.wire != PB_BYTES)
            return false;
        if (placed)
            *places[field.number] = field;
        else if (field.number == 8)
            p->time = field.value, p->has_time = true;
        else if (field.number == 10)
            p->sequence = field.value;
        else if (field.number == 13)
            p->flags = field.value;
        else if (field.number == 42)
            p->dropped = field.value != 0;
        else if (field.number == 41) /* as it was called before */
            p->flags |= field.value != 0 ? SEQUENCE_CLEARED : 0;
        else if (field.number == 58)
            p->clock = (uint32_t)field.value;
        else if (field.number == 50)
            p->compressed = true;
        else if (field.number == 98)
            p->machine = (uint32_t)field.value;
        else
            p->other |= !is_known_and_silent(field.number);
    }
    return !reader.failed;
}

/* ---- the first pass ---- */

/* Packets that say who there is. Where several machines are in one file, their pids may be the same. */
static void machine_note(struct pf_import *i, const struct pf_packet *p)
{
    if (p->event.n + p->sample.n + p->descriptor.n + p->tree.n + p->ftrace.n == 0)
        return;
    if (i->has_machine && i->machine != p->machine)
        import_why(i->told,
                   "at byte %" PRIu64 ": several machines have recorded it (machine_id), whose "
                   "pids and CPUs are not told apart",
                   i->packet_at);
    i->has_machine = true;
    i->machine = p->machine;
}

static void packet_first(struct pf_import *i, struct pf_packet *p)
{
    machine_note(i, p);
    if (p->snapshot.n > 0)
        pf_snapshot_note(i, (uint32_t)p->sequence, pb_message_of(&p->snapshot));
    if (p->descriptor.n > 0)
        pf_track_take(i, pb_message_of(&p->descriptor));
    if (p->stats.n > 0)
        pf_stats_note(i, pb_message_of(&p->stats));
    if (p->kernel_stats.n > 0)
        pf_kernel_stats_note(i, pb_message_of(&p->kernel_stats));
}

/* ---- the state of a sequence ---- */

static void sample_defaults_take(struct pf_sequence *s, struct pb_reader defaults)
{
    struct pb_field timebase, field;
    uint64_t hz = 0, period = 0, counter = 0;
    if (!pb_find(defaults, 1, &timebase))
        return;
    struct pb_reader message = pb_message_of(&timebase);
    while (pb_next(&message, &field))
        if (field.number == 1)
            period = field.value;
        else if (field.number == 2)
            hz = field.value;
        else if (field.number == 4)
            counter = field.value;
    bool clock = counter == COUNTER_CPU_CLOCK || counter == COUNTER_TASK_CLOCK;
    s->sample_weight_ns = hz > 0 ? 1000000000u / hz : clock ? period : 0;
}

enum { EXTRA_TRACKS = 31, EXTRA_DOUBLE_TRACKS = 45 };

static void event_defaults_take(struct pf_sequence *s, struct pb_reader defaults)
{
    struct pb_field field;
    s->extra.count = s->extra_double.count = 0;
    while (pb_next(&defaults, &field))
        if (field.number == 11) {
            s->default_track = field.value;
            s->has_default_track = true;
        } else if (field.number == EXTRA_TRACKS || field.number == EXTRA_DOUBLE_TRACKS) {
            pf_numbers_take(field.number == EXTRA_TRACKS ? &s->extra : &s->extra_double, &field,
                            false);
        }
}

static void defaults_take(struct pf_sequence *s, struct pb_reader defaults)
{
    struct pb_field field;
    while (pb_next(&defaults, &field))
        if (field.number == 58)
            s->default_clock = (uint32_t)field.value;
        else if (field.number == 12)
            sample_defaults_take(s, pb_message_of(&field));
        else if (field.number == 11)
            event_defaults_take(s, pb_message_of(&field));
}

/* base_ns and so many microseconds; far beyond what records take, where it cannot be said. */
static int64_t micros_after(int64_t base_ns, uint64_t us)
{
    int64_t ns;
    const int64_t beyond = (int64_t)us < 0 ? -1 : (int64_t)IMPORT_TIME_BEYOND;
    if (__builtin_mul_overflow((int64_t)us, INT64_C(1000), &ns) ||
        __builtin_add_overflow(base_ns, ns, &ns))
        return beyond;
    return ns < beyond || (int64_t)us < 0 ? ns : beyond;
}

static void thread_descriptor_take(struct pf_import *i, struct pf_sequence *s,
                                   const struct pf_packet *p)
{
    struct pb_field field;
    struct pb_reader thread = pb_message_of(&p->thread);
    struct pf_note note = {.kind = PF_NOTE_THREAD, .time_ns = p->time_ns};
    s->has_thread = true;
    while (pb_next(&thread, &field))
        if (field.number == 1)
            s->pid = (uint32_t)field.value;
        else if (field.number == 2)
            s->tid = (uint32_t)field.value;
        else if (field.number == 5 && field.wire == PB_BYTES)
            note.text = pf_text_put(i, field.bytes, field.n);
        else if (field.number == 6) {
            s->reference_ns = micros_after(0, field.value);
            s->has_reference = true;
        }
    note.pid = s->pid;
    note.tid = s->tid;
    if (i->pass == PF_PASS_LIVES)
        pf_note(i, s, p->timed, note);
}

/* What the packet says of its sequence; and its time, which a clock that counts from packet to packet has
 * of each. NULL: there are too many sequences, or there is no memory. */
static struct pf_sequence *state_take(struct pf_import *i, struct pf_packet *p)
{
    struct pf_sequence *s = pf_sequence_get(i, (uint32_t)p->sequence);
    if (s == NULL)
        return NULL;
    if ((p->flags & SEQUENCE_CLEARED) != 0)
        pf_sequence_clear(i, s);
    else if (p->dropped)
        s->valid = false;
    s->dropped |= p->dropped;
    if (p->snapshot.n > 0)
        pf_snapshot_take(i, s, pb_message_of(&p->snapshot));
    if (p->defaults.n > 0)
        defaults_take(s, pb_message_of(&p->defaults));
    struct import_told silent = {.events = 0}, *told = i->told;
    if (p->event.n == 0 && p->sample.n == 0) /* it shows nothing that could be moved */
        i->told = &silent;
    p->timed = p->has_time && pf_time(i, s, p->clock, p->time, &p->time_ns);
    i->told = told;
    if (p->thread.n > 0)
        thread_descriptor_take(i, s, p);
    return s;
}

/* ---- the second pass ---- */

static void packet_lives(struct pf_import *i, struct pf_packet *p)
{
    struct pf_sequence *s = state_take(i, p);
    if (s == NULL)
        return;
    if (p->timed) {
        s->last_ns = p->time_ns;
        pf_notes_date(i, s, p->time_ns);
    }
    if (p->descriptor.n > 0)
        pf_descriptor_note(i, s, p);
    if (p->tree.n > 0)
        pf_tree_note(i, s, p);
    if (p->ftrace.n > 0)
        pf_ftrace_take(i, pb_message_of(&p->ftrace));
}

/* ---- the last pass ---- */

/* Packets are missing in front of this one, and this sequence had some. */
static void dropped_put(struct pf_import *i, struct pf_sequence *s, uint64_t time_ns)
{
    struct pf_place place = pf_track_place(i, s->default_track, time_ns);
    const struct import_entry loss = {.what = IMPORT_LOSS,
                                      .process = place.process,
                                      .thread = place.thread,
                                      .time_ns = time_ns,
                                      .dur_ns = time_ns > s->last_ns ? time_ns - s->last_ns : 0,
                                      .name = "",
                                      .reason = PARTITION_LOSS_RING_FULL};
    if (s->any)
        i->status = import_many_add(i->many, &loss);
}

static void left_put(struct pf_import *i, const char *why)
{
    i->told->left_out++;
    import_why(i->told, "at byte %" PRIu64 ": %s", i->packet_at, why);
}

enum { TIME_DELTA_US = 1, TIME_ABSOLUTE_US = 16 };

/* As events had their times before packets did: of the monotonic clock, from one event of the sequence to
 * the next, from what its thread's descriptor says; or a time of its own, which counts for no other. */
static bool event_time(struct pf_import *i, struct pf_sequence *s, struct pb_reader event,
                       uint64_t *ns)
{
    struct pb_field field;
    bool found = false;
    int64_t at_ns = 0;
    while (!found && pb_next(&event, &field)) {
        if (field.number == TIME_DELTA_US && s->has_reference)
            at_ns = s->reference_ns = micros_after(s->reference_ns, field.value);
        else if (field.number == TIME_ABSOLUTE_US)
            at_ns = micros_after(0, field.value);
        found =
            (field.number == TIME_DELTA_US && s->has_reference) || field.number == TIME_ABSOLUTE_US;
    }
    if (found && at_ns < 0)
        import_clamped(i->told);
    *ns = at_ns > 0 ? (uint64_t)at_ns : 0;
    uint64_t on_trace;
    if (found && pf_time(i, s, PF_MONOTONIC, *ns, &on_trace))
        *ns = on_trace;
    return found;
}

static void event_take(struct pf_import *i, struct pf_sequence *s, const struct pf_packet *p)
{
    uint64_t time_ns = p->time_ns;
    if ((p->flags & SEQUENCE_NEEDS) != 0 && !s->valid) {
        i->perfetto->stateless++;
        left_put(i, "a packet needs what its sequence had said before, and that is lost");
        return;
    }
    bool timed = p->timed || (!p->has_time && p->event.n > 0 &&
                              event_time(i, s, pb_message_of(&p->event), &time_ns));
    if (!timed) {
        left_put(i,
                 p->has_time ? "the packet's clock is in no snapshot" : "an event without a time");
        return;
    }
    if (s->dropped)
        dropped_put(i, s, time_ns);
    s->dropped = false;
    s->any = true;
    i->first_ns = i->first_ns == 0 || time_ns < i->first_ns ? time_ns : i->first_ns;
    s->last_ns = time_ns;
    i->last_ns = time_ns > i->last_ns ? time_ns : i->last_ns;
    if (p->event.n > 0)
        pf_event_take(i, s, pb_message_of(&p->event), time_ns);
    else
        pf_sample_take(i, s, pb_message_of(&p->sample), time_ns);
}

#define EVENT_NAMES 2u /* of interned data */

/* Whether `skein export` has made this packet of switches: its file has spans of evidence that say more
 * than they. */
static bool is_told_by_spans(const struct pf_packet *p)
{
    static const char mark[] = PERFETTO_EXPORT_SWITCHES;
    struct pb_reader data = pb_message_of(&p->interned);
    struct pb_field entry, part;
    while (p->interned.n > 0 && pb_next(&data, &entry)) {
        struct pb_reader name = pb_message_of(&entry);
        while (entry.number == EVENT_NAMES && pb_next(&name, &part))
            if (part.number == 2 && part.wire == PB_BYTES && part.n == sizeof mark - 1 &&
                memcmp(part.bytes, mark, part.n) == 0)
                return true;
    }
    return false;
}

static void packet_events(struct pf_import *i, struct pf_packet *p)
{
    struct pf_sequence *s = state_take(i, p);
    if (s == NULL) {
        i->told->left_out++;
        return;
    }
    if (p->interned.n > 0)
        pf_interned_take(i, s, pb_message_of(&p->interned));
    if (p->ftrace.n > 0 && !is_told_by_spans(p))
        pf_ftrace_take(i, pb_message_of(&p->ftrace));
    if (p->event.n > 0 || p->sample.n > 0)
        event_take(i, s, p);
    else if (p->compressed)
        left_put(i, "packets are compressed, which is not read; record them without");
    else if (p->other)
        i->told->not_read++;
}

/* ---- the file ---- */

static void cut_put(struct pf_import *i, uint64_t left, const char *why)
{
    if (i->pass != PF_PASS_EVENTS)
        return;
    i->told->cut_bytes += left;
    import_why(i->told, "at byte %" PRIu64 ": %s; what follows is left out", i->stream.at, why);
}

/* The packet's bytes; false: it was none, and has been gone over, or nothing can follow (*over). */
static bool packet_next(struct pf_import *i, struct pb_reader *packet, size_t *whole, bool *over)
{
    size_t there;
    uint64_t left = import_stream_left(&i->stream);
    *over = true;
    if (left == 0)
        return false;
    const uint8_t *bytes =
        import_stream_peek(&i->stream, left < HEAD_BYTES ? (size_t)left : HEAD_BYTES, &there);
    if (bytes == NULL)
        return false;
    struct pb_reader head = pb_reader_of(bytes, there);
    uint64_t tag = pb_varint_get(&head), n = pb_varint_get(&head);
    size_t begin = (size_t)(head.pos - bytes);
    i->packet_at = i->stream.at;
    if (head.failed || tag != (1 << 3 | PB_BYTES)) {
        cut_put(i, left, "not a packet's begin");
        return false;
    }
    if (n > left - begin) {
        cut_put(i, left, "the file ends in a packet");
        return false;
    }
    *over = false;
    if (n > PERFETTO_PACKET_BYTES_MAX) {
        if (i->pass == PF_PASS_EVENTS)
            left_put(i, "a packet of more than 64 MiB");
        import_stream_skip(&i->stream, begin + n);
        return false;
    }
    bytes = import_stream_peek(&i->stream, begin + (size_t)n, &there);
    *over = bytes == NULL;
    *packet = pb_reader_of(bytes != NULL ? bytes + begin : NULL, bytes != NULL ? (size_t)n : 0);
    *whole = begin + (size_t)n;
    return bytes != NULL;
}

static int trace_pass(struct pf_import *i, const struct skein_trace_source *source)
{
    static void (*const takes[])(struct pf_import * i, struct pf_packet * p) = {
        packet_first, packet_lives, packet_events};
    const bool last = i->pass == PF_PASS_EVENTS;
    struct pf_packet p;
    struct pb_reader packet;
    size_t whole;
    uint64_t shown = 0;
    bool over = false;
    import_stream_init(&i->stream, source);
    while (i->status == SKEIN_OK && !over) {
        if (!packet_next(i, &packet, &whole, &over))
            continue;
        if (packet_read(packet, &p))
            takes[i->pass](i, &p);
        else if (last)
            left_put(i, "a packet is broken");
        i->perfetto->packets += last;
        import_stream_skip(&i->stream, whole);
        if (last && i->to->progress != NULL && i->stream.at - shown > 1u << 20) {
            shown = i->stream.at;
            i->to->progress(i->to->context, shown, source->bytes);
        }
    }
    if (i->status == SKEIN_OK)
        i->status = i->stream.status;
    import_stream_fini(&i->stream);
    return i->status;
}

static void sequences_free(struct pf_import *i)
{
    for (size_t k = 0; k < i->sequence_count; k++) {
        intern_table_fini(&i->sequences[k].keys);
        buf_fini(&i->sequences[k].bytes);
        free(i->sequences[k].interned);
        free(i->sequences[k].clocks);
    }
    i->sequence_count = 0;
    import_map_clear(&i->sequence_at);
}

/* What this pass has left out, the last one tells. */
static int lives_pass(struct pf_import *i, const struct skein_trace_source *source)
{
    struct import_told silent = {.events = 0}, *told = i->told;
    i->pass = PF_PASS_LIVES;
    i->told = &silent;
    int status = trace_pass(i, source);
    i->told = told;
    if (status == SKEIN_OK)
        pf_lives_settle(i);
    sequences_free(i);
    i->perfetto->sequences = 0;
    i->any_waking = false;
    i->last_ns = 0;
    if (i->cpu_cap > 0)
        memset(i->cpus, 0, i->cpu_cap * sizeof *i->cpus);
    return i->status;
}

/* ---- the whole ---- */

static int begin_check(const struct skein_trace_source *source, struct import_told *told)
{
    uint8_t bytes[64] = {0};
    size_t n = source->bytes < sizeof bytes ? (size_t)source->bytes : sizeof bytes;
    int status = n > 0 ? source->read(source->context, 0, bytes, n) : SKEIN_OK;
    if (status != SKEIN_OK || bytes[0] == (1 << 3 | PB_BYTES))
        return status;
    import_why(told, "at byte 0: no packet of Perfetto's begins here; is it another tool's file?");
    return SKEIN_CORRUPT;
}

static void import_fini(struct pf_import *i)
{
    sequences_free(i);
    for (size_t k = 0; k < i->clock_count; k++)
        free(i->clocks[k].pairs);
    import_many_free(&i->many);
    import_map_fini(&i->sequence_at);
    import_map_fini(&i->track_at);
    pf_lives_fini(&i->lives);
    import_map_fini(&i->first_at);
    free(i->firsts);
    intern_table_fini(&i->texts);
    buf_fini(&i->scratch);
    free(i->sequences);
    free(i->tracks);
    free(i->cpus);
    free(i);
}

static int trace_passes(struct pf_import *i, const struct skein_trace_source *source)
{
    if (trace_pass(i, source) != SKEIN_OK)
        return i->status;
    pf_clocks_sort(i);
    i->perfetto->tracks = i->track_count;
    if (lives_pass(i, source) != SKEIN_OK)
        return i->status;
    import_many_ahead(i->many, i->ahead_ns);
    i->pass = PF_PASS_EVENTS;
    if (trace_pass(i, source) != SKEIN_OK)
        return i->status;
    if (!i->has_realtime && i->to->changed_ns > i->last_ns) {
        import_many_ahead(i->many, (int64_t)(i->to->changed_ns - i->last_ns));
        i->told->time_guessed = true;
    }
    pf_lost_put(i);
    if (i->status == SKEIN_OK)
        i->status = import_many_finish(i->many);
    if (i->status == SKEIN_OK && i->told->partitions == 0) {
        import_why(i->told,
                   "it has no event that is read; %" PRIu64
                   " packets or events are of kinds that are not, %" PRIu64 " were left out",
                   i->told->not_read, i->told->left_out);
        i->status = SKEIN_NOT_FOUND;
    }
    return i->status;
}

int import_perfetto(const struct skein_trace_source *source, const struct import_to *to,
                    struct import_told *told, struct perfetto_told *perfetto)
{
    *perfetto = (struct perfetto_told){.packets = 0};
    int status = begin_check(source, told);
    struct pf_import *i = status == SKEIN_OK ? calloc(1, sizeof *i) : NULL;
    if (i == NULL)
        return status == SKEIN_OK ? SKEIN_NO_MEMORY : status;
    i->to = to;
    i->told = told;
    i->perfetto = perfetto;
    i->status = buf_reserve(&i->scratch, SCRATCH_BYTES) != NULL
                    ? import_many_new(to, source, told, &i->many)
                    : SKEIN_NO_MEMORY;
    status = i->status == SKEIN_OK ? trace_passes(i, source) : i->status;
    perfetto->processes = i->many != NULL ? import_many_processes(i->many) : 0;
    import_fini(i);
    return status;
}
