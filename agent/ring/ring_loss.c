/* SPDX-License-Identifier: Apache-2.0
 *
 * Buckets of losses to runs and sums; see ring_loss.h. Never waits, never writes; every word is a
 * hostile writer's.
 */
#include "ring_loss.h"

#include <stdlib.h>

#include "skein_atomic.h"

#define PAUSE_TICKS (UINT64_C(1) << 22) /* about a quarter of a second: two runs */

struct bucket {
    uint64_t from, to, records;
};

static const struct ring_bucket *bucket_at(const uint8_t *ring, const struct ring_geometry *g,
                                           int kind, uint32_t i)
{
    const void *at = ring + g->loss_off[kind];
    return (const struct ring_bucket *)at + i;
}

/* Reading a page that was never written would make one. */
static uint64_t total_load(const uint8_t *ring)
{
    const struct ring_header *header = (const struct ring_header *)(const void *)ring;
    return skein_total_load(&header->num_records_dropped);
}

static int bucket_compare(const void *left, const void *right)
{
    const struct bucket *a = left, *b = right;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* When the losses of a bucket were: all of its time, if its span is still that of another time. */
static void bucket_span(const struct ring_bucket *bucket, uint64_t time,
                        const struct ring_geometry *g, uint64_t *from, uint64_t *to)
{
    uint64_t span = skein_load64(&bucket->span), begin = time << g->loss_shift;
    uint64_t first = span >> RING_LOSS_TICK_BITS & RING_LOSS_TICK_MAX;
    uint64_t last = span & RING_LOSS_TICK_MAX;
    bool known = span >> 2 * RING_LOSS_TICK_BITS == (time & 0xffff) && first <= last &&
                 last >> g->loss_shift == 0;
    *from = begin + (known ? first : 0);
    *to = begin + (known ? last : (UINT64_C(1) << g->loss_shift) - 1);
}

/* The share of a bucket that lies between two times. */
static bool bucket_cut(const struct ring_bucket *bucket, const struct ring_geometry *g,
                       uint64_t from, uint64_t to, struct bucket *out)
{
    uint64_t word = skein_load64(&bucket->count), records = word & RING_LOSS_COUNT_MAX;
    uint64_t first, last;
    bucket_span(bucket, word >> RING_LOSS_COUNT_BITS, g, &first, &last);
    out->from = first > from ? first : from;
    out->to = last < to ? last : to;
    if (records == 0 || out->from > out->to)
        return false;
    uint64_t width = last - first + 1;
    out->records = (records * (out->to - out->from + 1) + width / 2) / width;
    return true; /* also where its share is less than half a record: it may lie there */
}

static void runs_make(const struct bucket *buckets, size_t count, struct ring_losses *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct bucket *b = &buckets[i];
        struct ring_loss_run *run = out->run_count > 0 ? &out->runs[out->run_count - 1] : NULL;
        if (run == NULL || b->from > run->to_ticks + PAUSE_TICKS) {
            run = &out->runs[out->run_count++];
            *run = (struct ring_loss_run){b->from, b->to, 0};
        }
        run->to_ticks = b->to > run->to_ticks ? b->to : run->to_ticks;
        run->records += b->records;
        out->records += b->records;
    }
}

int ring_losses_read(const uint8_t *ring, const struct ring_geometry *geometry, enum ring_loss kind,
                     uint64_t from_ticks, uint64_t to_ticks, struct ring_losses *out)
{
    *out = (struct ring_losses){0};
    if (total_load(ring) == 0)
        return SKEIN_OK;
    struct bucket *buckets = calloc(geometry->loss_buckets, sizeof *buckets);
    out->runs = calloc(geometry->loss_buckets, sizeof *out->runs);
    if (buckets == NULL || out->runs == NULL) {
        free(buckets);
        ring_losses_fini(out);
        return SKEIN_NO_MEMORY;
    }
    size_t count = 0;
    for (uint32_t i = 0; i < geometry->loss_buckets; i++)
        count += bucket_cut(bucket_at(ring, geometry, (int)kind, i), geometry, from_ticks, to_ticks,
                            &buckets[count]);
    qsort(buckets, count, sizeof *buckets, bucket_compare);
    runs_make(buckets, count, out);
    free(buckets);
    return SKEIN_OK;
}

void ring_losses_fini(struct ring_losses *losses)
{
    free(losses->runs);
    *losses = (struct ring_losses){0};
}

uint64_t ring_losses_unplaced(const uint8_t *ring, const struct ring_geometry *geometry,
                              uint64_t now)
{
    uint64_t total = total_load(ring), placed = 0, newest = 0;
    for (int kind = 0; kind < RING_LOSS_KINDS && total > 0; kind++)
        for (uint32_t i = 0; i < geometry->loss_buckets; i++) {
            uint64_t word = skein_load64(&bucket_at(ring, geometry, kind, i)->count);
            uint64_t time = word >> RING_LOSS_COUNT_BITS;
            placed += word & RING_LOSS_COUNT_MAX;
            newest = time > newest && time <= now >> geometry->loss_shift ? time : newest;
        }
    if (total <= placed)
        return 0;
    uint64_t behind = newest + 1 > geometry->loss_buckets ? newest + 1 - geometry->loss_buckets : 0;
    return behind << geometry->loss_shift;
}

/* ---- of a process, in real time ---- */

enum partition_loss_reason ring_loss_reason(enum ring_loss kind)
{
    return kind == RING_LOSS_FULL ? PARTITION_LOSS_RING_FULL : PARTITION_LOSS_SIGNAL;
}

struct teller {
    struct clock_snapshot begin, end;
    process_loss_fn *fn;
    void *context;
};

static void run_tell(const struct teller *teller, enum partition_loss_reason reason,
                     uint64_t records, uint64_t from_ticks, uint64_t to_ticks)
{
    const struct process_loss_run run = {
        clock_snapshot_realtime(&teller->begin, &teller->end, from_ticks),
        clock_snapshot_realtime(&teller->begin, &teller->end, to_ticks), records, (uint8_t)reason};
    teller->fn(teller->context, &run);
}

static int kind_tell(const struct teller *teller, const struct process *p, enum ring_loss kind,
                     uint64_t from, uint64_t to)
{
    struct ring_losses losses;
    int status = ring_losses_read(p->ring, &p->geometry, kind, from, to, &losses);
    for (size_t i = 0; status == SKEIN_OK && i < losses.run_count; i++)
        run_tell(teller, ring_loss_reason(kind), losses.runs[i].records, losses.runs[i].from_ticks,
                 losses.runs[i].to_ticks);
    ring_losses_fini(&losses);
    return status;
}

int process_losses_take(const struct process *p, struct host_page_owner *host, uint64_t from_ns,
                        uint64_t to_ns, bool last, uint64_t *until, process_loss_fn *fn,
                        void *context)
{
    struct teller teller = {.fn = fn, .context = context};
    host_page_line(host, &teller.begin, &teller.end);
    uint64_t from =
        *until != 0 ? *until : clock_snapshot_ticks(&teller.begin, &teller.end, from_ns);
    uint64_t to = clock_snapshot_ticks(&teller.begin, &teller.end, to_ns);
    to = to < teller.end.ticks ? to : teller.end.ticks;
    if (!last)
        to = to >> p->geometry.loss_shift << p->geometry.loss_shift;
    if (to <= from)
        return SKEIN_OK;
    *until = to--; /* both ends of what is read are in it */
    int status = kind_tell(&teller, p, RING_LOSS_FULL, from, to);
    if (status == SKEIN_OK)
        status = kind_tell(&teller, p, RING_LOSS_SIGNAL, from, to);
    uint64_t unplaced = ring_losses_unplaced(p->ring, &p->geometry, teller.end.ticks);
    if (unplaced > from)
        run_tell(&teller, PARTITION_LOSS_RING_FULL, 0, from, unplaced < to ? unplaced : to);
    return status;
}
