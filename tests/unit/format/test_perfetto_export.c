/* SPDX-License-Identifier: Apache-2.0
 *
 * The exporter's packets, walked by a small protobuf reader of the test's own: structure, field
 * numbers, interning, and times.
 */
#include "reading.h"

#include "perfetto_export.h"
#include "perfetto_fields.h"

/* ---- protobuf ---- */

struct field {
    unsigned number, wire;
    uint64_t value; /* varint, fixed64 */
    struct cursor bytes;
};

static bool field_next(struct cursor *c, struct field *field)
{
    if (cursor_left(c) == 0)
        return false;
    uint64_t tag = cursor_uleb(c);
    *field = (struct field){.number = (unsigned)(tag >> 3), .wire = (unsigned)(tag & 7)};
    ck_assert_uint_gt(field->number, 0);
    if (field->wire == 0) {
        field->value = cursor_uleb(c);
    } else if (field->wire == 1) {
        field->value = cursor_u64(c);
    } else {
        ck_assert_uint_eq(field->wire, 2);
        uint64_t n = cursor_uleb(c);
        const uint8_t *bytes = cursor_bytes(c, n);
        ck_assert_int_eq(c->status, SKEIN_OK);
        cursor_init(&field->bytes, bytes, (size_t)n);
    }
    ck_assert_int_eq(c->status, SKEIN_OK);
    return true;
}

/* The first field of that number in a message; wire 7 where there is none. */
static struct field field_get(struct cursor message, unsigned number)
{
    struct field field;
    while (field_next(&message, &field))
        if (field.number == number)
            return field;
    return (struct field){.wire = 7};
}

static bool field_has(struct cursor message, unsigned number)
{
    return field_get(message, number).wire != 7;
}

static void text_of(struct field field, char out[256])
{
    ck_assert_uint_eq(field.wire, 2);
    snprintf(out, 256, "%.*s", (int)cursor_left(&field.bytes), (const char *)field.bytes.pos);
}

/* ---- what an importer keeps ---- */

enum { NAMES = 512, EVENTS = 512, TRACKS = 32 };

struct imported {
    unsigned type;
    uint64_t ts, track;
    int64_t counter;
    char name[256];
    char args[512]; /* "name=value " in order */
};
struct track {
    uint64_t uuid, parent;
    bool process, thread, counter;
    uint64_t pid, tid;
    char name[256];
};
struct import {
    struct {
        uint64_t sequence, iid;
        bool annotation;
        char name[256];
    } names[NAMES];
    size_t name_count;
    uint64_t track_of[64];
    bool cleared[64];
    struct imported events[EVENTS];
    size_t event_count;
    struct track tracks[TRACKS];
    size_t track_count;
    unsigned snapshots, drops, stats;
    uint64_t boot, realtime;
};

static void names_forget(struct import *im, uint64_t sequence)
{
    for (size_t i = 0; i < im->name_count; i++)
        if (im->names[i].sequence == sequence)
            im->names[i].sequence = 0;
}

static const char *name_find(const struct import *im, uint64_t sequence, uint64_t iid,
                             bool annotation)
{
    for (size_t i = 0; i < im->name_count; i++)
        if (im->names[i].sequence == sequence && im->names[i].iid == iid &&
            im->names[i].annotation == annotation)
            return im->names[i].name;
    ck_abort_msg("iid %llu is not interned on sequence %llu", (unsigned long long)iid,
                 (unsigned long long)sequence);
    return NULL;
}

static void interned_import(struct import *im, uint64_t sequence, struct cursor interned)
{
    struct field field;
    while (field_next(&interned, &field)) {
        if (field.number == INTERNED_PLACES || field.number == INTERNED_CATEGORIES)
            continue;
        ck_assert(field.number == INTERNED_EVENT_NAMES ||
                  field.number == INTERNED_ANNOTATION_NAMES);
        ck_assert_uint_lt(im->name_count, NAMES);
        im->names[im->name_count].sequence = sequence;
        im->names[im->name_count].iid = field_get(field.bytes, INTERNED_IID).value;
        im->names[im->name_count].annotation = field.number == INTERNED_ANNOTATION_NAMES;
        text_of(field_get(field.bytes, INTERNED_NAME), im->names[im->name_count].name);
        ck_assert_uint_gt(im->names[im->name_count++].iid, 0);
    }
}

static void annotation_import(struct import *im, uint64_t sequence, struct cursor annotation,
                              struct imported *event)
{
    char name[256], value[256] = "";
    struct field iid = field_get(annotation, ANNOTATION_NAME_IID);
    if (iid.wire == 0)
        snprintf(name, sizeof name, "%s", name_find(im, sequence, iid.value, true));
    else
        text_of(field_get(annotation, ANNOTATION_NAME), name);
    struct field field;
    while (field_next(&annotation, &field)) {
        double f;
        memcpy(&f, &field.value, sizeof f);
        if (field.number == ANNOTATION_STRING)
            text_of(field, value);
        else if (field.number == ANNOTATION_DOUBLE)
            snprintf(value, sizeof value, "%g", f);
        else if (field.number == ANNOTATION_INT)
            snprintf(value, sizeof value, "%lld", (long long)field.value);
        else if (field.number == ANNOTATION_UINT || field.number == ANNOTATION_BOOL)
            snprintf(value, sizeof value, "%llu", (unsigned long long)field.value);
        else if (field.number == ANNOTATION_POINTER)
            snprintf(value, sizeof value, "0x%llx", (unsigned long long)field.value);
    }
    size_t at = strlen(event->args);
    snprintf(event->args + at, sizeof event->args - at, "%.60s=%.100s ", name, value);
}

static void event_import(struct import *im, uint64_t sequence, uint64_t ts, struct cursor message)
{
    ck_assert_uint_lt(im->event_count, EVENTS);
    struct imported *event = &im->events[im->event_count++];
    struct field field = field_get(message, EVENT_TRACK);
    event->ts = ts;
    event->track = field.wire == 0 ? field.value : im->track_of[sequence];
    event->type = (unsigned)field_get(message, EVENT_TYPE).value;
    event->counter = (int64_t)field_get(message, EVENT_COUNTER).value;
    field = field_get(message, EVENT_NAME_IID);
    if (field.wire == 0)
        memcpy(event->name, name_find(im, sequence, field.value, false), sizeof event->name);
    else if (field_has(message, EVENT_NAME))
        text_of(field_get(message, EVENT_NAME), event->name);
    while (field_next(&message, &field))
        if (field.number == EVENT_ANNOTATIONS)
            annotation_import(im, sequence, field.bytes, event);
    ck_assert(event->type == EVENT_END || event->type == EVENT_IS_COUNTER || event->name[0] != 0);
}

static void track_import(struct import *im, struct cursor message)
{
    ck_assert_uint_lt(im->track_count, TRACKS);
    struct track *track = &im->tracks[im->track_count++];
    track->uuid = field_get(message, TRACK_UUID).value;
    track->parent = field_get(message, TRACK_PARENT).value;
    track->process = field_has(message, TRACK_PROCESS);
    track->thread = field_has(message, TRACK_THREAD);
    track->counter = field_has(message, TRACK_COUNTER);
    if (field_has(message, TRACK_NAME))
        text_of(field_get(message, TRACK_NAME), track->name);
    if (track->process) {
        track->pid = field_get(field_get(message, TRACK_PROCESS).bytes, PROCESS_PID).value;
        text_of(field_get(field_get(message, TRACK_PROCESS).bytes, PROCESS_NAME), track->name);
    }
    if (track->thread) {
        track->pid = field_get(field_get(message, TRACK_THREAD).bytes, THREAD_PID).value;
        track->tid = field_get(field_get(message, TRACK_THREAD).bytes, THREAD_TID).value;
        text_of(field_get(field_get(message, TRACK_THREAD).bytes, THREAD_NAME), track->name);
    }
    ck_assert_uint_ne(track->uuid, 0);
    for (size_t i = 0; i + 1 < im->track_count; i++)
        ck_assert_uint_ne(im->tracks[i].uuid, track->uuid);
}

static void snapshot_import(struct import *im, struct cursor snapshot)
{
    struct field field;
    im->snapshots++;
    ck_assert_uint_eq(field_get(snapshot, SNAPSHOT_PRIMARY).value, CLOCK_BOOTTIME_ID);
    while (field_next(&snapshot, &field)) {
        if (field.number != SNAPSHOT_CLOCKS)
            continue;
        uint64_t id = field_get(field.bytes, CLOCK_ID).value;
        uint64_t ns = field_get(field.bytes, CLOCK_TIMESTAMP).value;
        im->boot = id == CLOCK_BOOTTIME_ID ? ns : im->boot;
        im->realtime = id == CLOCK_REALTIME_ID ? ns : im->realtime;
    }
}

static void packet_import(struct import *im, struct cursor packet)
{
    uint64_t sequence = field_get(packet, PACKET_SEQUENCE).value;
    uint64_t flags = field_get(packet, PACKET_SEQUENCE_FLAGS).value;
    ck_assert_uint_gt(sequence, 0);
    ck_assert_uint_lt(sequence, 64);
    if (field_has(packet, PACKET_PREVIOUS_DROPPED)) {
        im->drops++;
        im->cleared[sequence] = false;
    }
    if ((flags & SEQUENCE_CLEARED) != 0) {
        names_forget(im, sequence);
        im->cleared[sequence] = true;
    }
    if ((flags & SEQUENCE_NEEDS_STATE) != 0)
        ck_assert(im->cleared[sequence]);
    if (field_has(packet, PACKET_DEFAULTS)) {
        struct cursor defaults = field_get(packet, PACKET_DEFAULTS).bytes;
        ck_assert_uint_eq(field_get(defaults, DEFAULTS_CLOCK).value, CLOCK_BOOTTIME_ID);
        im->track_of[sequence] =
            field_get(field_get(defaults, DEFAULTS_TRACK_EVENT).bytes, TRACK_EVENT_DEFAULTS_TRACK)
                .value;
    }
    if (field_has(packet, PACKET_INTERNED))
        interned_import(im, sequence, field_get(packet, PACKET_INTERNED).bytes);
    if (field_has(packet, PACKET_CLOCK_SNAPSHOT))
        snapshot_import(im, field_get(packet, PACKET_CLOCK_SNAPSHOT).bytes);
    if (field_has(packet, PACKET_TRACK))
        track_import(im, field_get(packet, PACKET_TRACK).bytes);
    if (field_has(packet, PACKET_TRACK_EVENT)) {
        ck_assert(field_has(packet, PACKET_TIMESTAMP));
        event_import(im, sequence, field_get(packet, PACKET_TIMESTAMP).value,
                     field_get(packet, PACKET_TRACK_EVENT).bytes);
    }
    im->stats += field_has(packet, PACKET_STATS);
}

static struct import *trace_import(const struct buf *trace)
{
    struct import *im = calloc(1, sizeof *im);
    struct cursor c;
    struct field field;
    ck_assert_ptr_nonnull(im);
    cursor_init(&c, trace->data, trace->len);
    while (field_next(&c, &field)) {
        ck_assert_uint_eq(field.number, TRACE_PACKET);
        packet_import(im, field.bytes);
    }
    return im;
}

/* ---- */

static void export_one(struct perfetto_export *x, const struct buf *bytes, struct buf *trace)
{
    char error[256] = "";
    struct partition_reader *reader;
    ck_assert_int_eq(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error),
                     SKEIN_OK);
    ck_assert_int_eq(perfetto_export_some(x, reader, SIZE_MAX, trace), SKEIN_OK);
    partition_reader_free(&reader);
}

static struct import *groups_export(uint64_t groups, unsigned times)
{
    struct buf bytes = {0}, trace = {0};
    struct perfetto_export *x;
    ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
    ck_assert_int_eq(perfetto_export_new(groups, &x), SKEIN_OK);
    for (unsigned i = 0; i < times; i++)
        export_one(x, &bytes, &trace);
    ck_assert_int_eq(perfetto_export_finish(x, &trace), SKEIN_OK);
    perfetto_export_free(&x);
    struct import *im = trace_import(&trace);
    buf_fini(&trace);
    buf_fini(&bytes);
    return im;
}

static struct import *sample_export(unsigned times)
{
    return groups_export(0, times);
}

/* Longest piece in *longest. */
static void export_in_pieces(const struct buf *bytes, struct buf *trace, size_t *longest)
{
    char error[256] = "";
    struct partition_reader *reader;
    struct perfetto_export *x;
    int more = 1;
    *longest = 0;
    ck_assert_int_eq(perfetto_export_new(0, &x), SKEIN_OK);
    ck_assert_int_eq(partition_reader_new(bytes->data, bytes->len, &reader, error, sizeof error),
                     SKEIN_OK);
    while (more > 0) {
        size_t before = trace->len;
        more = perfetto_export_some(x, reader, 512, trace);
        if (trace->len - before > *longest)
            *longest = trace->len - before;
    }
    ck_assert_int_eq(more, SKEIN_OK);
    ck_assert_int_eq(perfetto_export_finish(x, trace), SKEIN_OK);
    partition_reader_free(&reader);
    perfetto_export_free(&x);
}

/* A text that costs the partition one byte an event is spelt out in every packet. */
START_TEST(a_partition_in_pieces_gives_the_same_packets_and_no_piece_is_long)
{
    enum { LOGS = 2000, TEXT = 1000 };
    struct partition_info info = sample_info();
    struct partition_writer *w;
    struct partition_footer footer;
    struct buf bytes = {0}, whole = {0}, pieces = {0};
    struct perfetto_export *x;
    char text[TEXT + 1];
    size_t longest;
    memset(text, 'x', TEXT);
    text[TEXT] = '\0';
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    struct partition_thread thread = {1, "one", 1};
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 7, 0, false);
    uint32_t type = (uint32_t)partition_writer_type(w, &sample_log);
    for (uint64_t i = 0; i < LOGS; i++) {
        struct partition_value args[2] = {sample_u64(3), sample_str(text)};
        partition_writer_event(w, type, 100 + i, 0, args);
    }
    ck_assert_int_eq(partition_writer_finish(w, &bytes, &footer), SKEIN_OK);
    partition_footer_free(&footer);
    partition_writer_free(&w);
    ck_assert_int_eq(perfetto_export_new(0, &x), SKEIN_OK);
    export_one(x, &bytes, &whole);
    ck_assert_int_eq(perfetto_export_finish(x, &whole), SKEIN_OK);
    perfetto_export_free(&x);
    export_in_pieces(&bytes, &pieces, &longest);
    ck_assert_uint_gt(whole.len, LOGS * TEXT);
    ck_assert_uint_eq(pieces.len, whole.len);
    ck_assert_mem_eq(pieces.data, whole.data, whole.len);
    ck_assert_uint_lt(longest, 8 * TEXT);
    buf_fini(&bytes);
    buf_fini(&whole);
    buf_fini(&pieces);
}
END_TEST

static const struct track *track_find(const struct import *im, const char *name)
{
    for (size_t i = 0; i < im->track_count; i++)
        if (strcmp(im->tracks[i].name, name) == 0)
            return &im->tracks[i];
    ck_abort_msg("no track %s", name);
    return NULL;
}

static const struct imported *event_find(const struct import *im, const char *name, unsigned type,
                                         uint64_t ts)
{
    for (size_t i = 0; i < im->event_count; i++)
        if (im->events[i].type == type && im->events[i].ts == ts &&
            strcmp(im->events[i].name, name) == 0)
            return &im->events[i];
    ck_abort_msg("no event %s of type %u at %llu", name, type, (unsigned long long)ts);
    return NULL;
}

/* The sample's boot time is 2 s at tick 0. */
#define BOOT_NS(ticks) (2000000000 + (uint64_t)(ticks)*64)

START_TEST(process_threads_and_counters_have_tracks)
{
    struct import *im = sample_export(1);
    ck_assert_uint_eq(im->snapshots, 2); /* of the host's start, and of the cut */
    ck_assert_uint_eq(im->stats, 1);
    ck_assert_uint_eq(im->boot, BOOT_NS(SAMPLE_LAST_TICK));
    ck_assert_uint_eq(im->realtime, SAMPLE_NS(SAMPLE_LAST_TICK));
    ck_assert_uint_eq(im->track_count, 4);
    const struct track *process = track_find(im, "checkout");
    ck_assert(process->process);
    ck_assert_uint_eq(process->pid, 4711);
    const struct track *worker = track_find(im, "worker \xc3\xa9");
    ck_assert(worker->thread);
    ck_assert_uint_eq(worker->pid, 4711);
    ck_assert_uint_eq(worker->tid, 4712);
    ck_assert_uint_eq(worker->parent, 0);
    const struct track *counter = track_find(im, "queue_depth");
    ck_assert(counter->counter);
    ck_assert_uint_eq(counter->parent, process->uuid);
    free(im);
}
END_TEST

START_TEST(events_lie_on_their_track_at_their_time)
{
    struct import *im = sample_export(1);
    const struct track *main_thread = track_find(im, "main");
    const struct track *worker = track_find(im, "worker \xc3\xa9");
    const struct imported *event = event_find(im, "query", EVENT_BEGIN, BOOT_NS(1000));
    ck_assert_uint_eq(event->track, main_thread->uuid);
    ck_assert_str_eq(event->args, "sql=select 2 rows=0 ");
    event = event_find(im, "", EVENT_END, BOOT_NS(1050));
    ck_assert_uint_eq(event->track, main_thread->uuid);
    event = event_find(im, "read", EVENT_BEGIN, BOOT_NS(1010));
    ck_assert_str_eq(event->args, "fd=-5 result=0 ");
    event_find(im, "", EVENT_END, BOOT_NS(1040));
    event = event_find(im, "retrying \"now\"\n\x1b[31m", EVENT_INSTANT, BOOT_NS(1501));
    ck_assert_uint_eq(event->track, worker->uuid);
    event = event_find(im, "all", EVENT_INSTANT, BOOT_NS(3000));
    ck_assert_str_eq(event->args, "ratio=0.5 hit=1 at=0xffffffffffffffff trace_id=" SAMPLE_TRACE_ID
                                  " lock.resource=0xabc lock.number=2 delta=-9223372036854775808 ");
    event = event_find(im, "", EVENT_IS_COUNTER, BOOT_NS(1500));
    ck_assert_uint_eq(event->track, track_find(im, "queue_depth")->uuid);
    ck_assert_int_eq(event->counter, 3);
    event = event_find(im, "query", EVENT_BEGIN, BOOT_NS(3500)); /* open: it has no end */
    ck_assert_uint_eq(event->track, worker->uuid);
    free(im);
}
END_TEST

START_TEST(begins_and_ends_match_on_every_track)
{
    struct import *im = sample_export(1);
    for (size_t t = 0; t < im->track_count; t++) {
        int open = 0;
        for (size_t i = 0; i < im->event_count; i++) {
            if (im->events[i].track != im->tracks[t].uuid)
                continue;
            open += im->events[i].type == EVENT_BEGIN;
            open -= im->events[i].type == EVENT_END;
            ck_assert_int_ge(open, 0);
        }
        /* the worker's query, and the operation that the main thread is in */
        ck_assert_int_eq(open, im->tracks[t].thread ? 1 : 0);
    }
    free(im);
}
END_TEST

/* What is shown of a group is what is shown of all groups less the rest, and losses stay. */
START_TEST(groups_that_are_not_asked_for_are_left_out_and_losses_are_not)
{
    struct import *all = sample_export(1), *some = groups_export(1u << SKEIN_GROUP_IO, 1);
    size_t at = 0;
    for (size_t i = 0; i < some->event_count; i++) {
        const struct imported *event = &some->events[i];
        if (event->type == EVENT_END)
            continue;
        ck_assert(strcmp(event->name, "read") == 0 || strcmp(event->name, "records lost") == 0);
        while (at < all->event_count &&
               (all->events[at].type != event->type || all->events[at].ts != event->ts ||
                strcmp(all->events[at].name, event->name) != 0))
            at++;
        ck_assert_uint_lt(at++, all->event_count);
    }
    ck_assert_uint_eq(some->event_count, 2 * 20 + 2 + 1); /* and the read that goes on */
    ck_assert_uint_eq(some->drops, all->drops);
    ck_assert_uint_eq(some->track_count + 1, all->track_count); /* a counter */
    free(all);
    free(some);
}
END_TEST

START_TEST(losses_restart_the_sequence_and_are_seen)
{
    struct import *im = sample_export(1);
    ck_assert_uint_eq(im->drops, 2);
    const struct imported *event = event_find(im, "records lost", EVENT_INSTANT, BOOT_NS(10));
    ck_assert_uint_eq(event->track, track_find(im, "checkout")->uuid);
    event = event_find(im, "records lost", EVENT_INSTANT, BOOT_NS(3100));
    ck_assert_uint_eq(event->track, track_find(im, "worker \xc3\xa9")->uuid);
    ck_assert_str_eq(event->args, "reason=ring_full events=12 for_ns=6400 ");
    free(im);
}
END_TEST

START_TEST(an_operation_in_progress_is_written_once)
{
    struct import *im = sample_export(3);
    unsigned seen = 0;
    for (size_t i = 0; i < im->event_count; i++)
        seen += im->events[i].ts == BOOT_NS(5000) && im->events[i].type == EVENT_BEGIN;
    ck_assert_uint_eq(seen, 1);
    ck_assert_str_eq(event_find(im, "read", EVENT_BEGIN, BOOT_NS(5000))->args, "fd=-9 ");
    ck_assert_uint_eq(im->snapshots, 2); /* importers refuse clocks that stand or go back */
    /* Described once; and a row for spans that come again behind what is later than they. */
    ck_assert_uint_eq(im->track_count, 5);
    free(im);
}
END_TEST

START_TEST(equal_pids_of_two_hosts_stay_apart)
{
    struct buf trace = {0};
    struct perfetto_export *x;
    ck_assert_int_eq(perfetto_export_new(0, &x), SKEIN_OK);
    for (unsigned host = 0; host < 2; host++) {
        struct partition_info info = sample_info();
        struct partition_writer *w;
        struct buf bytes = {0};
        info.key.process.bytes[0] = (uint8_t)(100 + host);
        info.host = host ? "host-b" : "host-a";
        ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
        sample_fill(w);
        ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
        partition_writer_free(&w);
        export_one(x, &bytes, &trace);
        buf_fini(&bytes);
    }
    perfetto_export_free(&x);
    struct import *im = trace_import(&trace);
    unsigned processes = 0;
    for (size_t i = 0; i < im->track_count; i++)
        processes += im->tracks[i].process;
    ck_assert_uint_eq(processes, 1);
    const struct track *other = track_find(im, "checkout on host-b [4711]");
    ck_assert_uint_eq(track_find(im, "main 4711")->parent, other->uuid);
    free(im);
    buf_fini(&trace);
}
END_TEST

START_TEST(hosts_whose_clocks_differ_share_one_timeline)
{
    const int64_t ahead_ns = INT64_C(5000000000), booted_before_ns = INT64_C(1000000000000);
    struct buf trace = {0};
    struct perfetto_export *x;
    unsigned seen = 0;
    ck_assert_int_eq(perfetto_export_new(0, &x), SKEIN_OK);
    for (unsigned host = 0; host < 2; host++) {
        struct partition_info info = sample_info();
        struct partition_writer *w;
        struct buf bytes = {0};
        info.key.process.bytes[0] = (uint8_t)(100 + host);
        info.host = host ? "host-b" : "host-a";
        info.begin.realtime_ns += host ? (uint64_t)ahead_ns : 0;
        info.end.realtime_ns += host ? (uint64_t)ahead_ns : 0;
        info.end.boottime_ns += host ? (uint64_t)booted_before_ns : 0;
        info.clock_offset_ns -= host ? ahead_ns : 0;
        ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
        sample_fill(w);
        ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
        partition_writer_free(&w);
        export_one(x, &bytes, &trace);
        buf_fini(&bytes);
    }
    perfetto_export_free(&x);
    struct import *im = trace_import(&trace);
    for (size_t i = 0; i < im->event_count; i++)
        seen += im->events[i].ts == BOOT_NS(1501);
    ck_assert_uint_eq(seen, 2);
    ck_assert_uint_eq(im->boot, BOOT_NS(SAMPLE_LAST_TICK));
    free(im);
    buf_fini(&trace);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("perfetto_export", process_threads_and_counters_have_tracks,
                 events_lie_on_their_track_at_their_time, begins_and_ends_match_on_every_track,
                 groups_that_are_not_asked_for_are_left_out_and_losses_are_not,
                 losses_restart_the_sequence_and_are_seen, an_operation_in_progress_is_written_once,
                 equal_pids_of_two_hosts_stay_apart, hosts_whose_clocks_differ_share_one_timeline,
                 a_partition_in_pieces_gives_the_same_packets_and_no_piece_is_long, NULL));
}
