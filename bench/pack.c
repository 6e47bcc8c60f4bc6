/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs to pack a ring's events into a partition and to read them back, beside the floor of
 * doing next to nothing with the same bytes: copying the row-wise LEB128 records and compressing
 * them with LZ4. `--json` prints an array of results; `--pack` packs ten times and does nothing else,
 * for a profiler. Uses the writer and the reader as agent and CLI do.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_trace.h"
#include "clock.h"
#include "pack_lz4.h"
#include "partition_reader.h"

enum { EVENTS = 3500000, CHUNK_EVENTS = 7000, THREADS = 4, ROUNDS = 5 };

/* What a ring of 16 MiB holds. Values are made before the clock runs. */
static struct bench_row *rows_make(void)
{
    struct bench_row *rows = calloc(EVENTS, sizeof *rows);
    uint64_t state = BENCH_SEED, ticks[THREADS] = {1000, 1000, 1000, 1000};
    for (size_t at = 0; rows != NULL && at < EVENTS; at += CHUNK_EVENTS)
        bench_rows_make(rows + at, CHUNK_EVENTS, at, &ticks[at / CHUNK_EVENTS % THREADS], &state);
    return rows;
}

/* The same records as the ring holds them. */
static void rows_put(const struct bench_row *rows, struct buf *out)
{
    uint64_t last = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        uint64_t delta = rows[i].ticks >= last ? rows[i].ticks - last : 0;
        last = rows[i].ticks;
        buf_put_uleb(out, rows[i].type == BENCH_END ? 1 : 16u + rows[i].type);
        buf_put_uleb(out, delta);
        if (rows[i].type == BENCH_END)
            continue;
        if (rows[i].type == BENCH_READ)
            buf_put_uleb(out, rows[i].dur);
        buf_put_uleb(out, rows[i].a);
        buf_put_uleb(out, rows[i].b);
    }
}

static void *help_main(void *writer)
{
    partition_writer_help(writer);
    return NULL;
}

/* With `helped` a second thread packs what is full, as in an agent with a processor to spare. */
static int rows_pack(const struct bench_row *rows, struct buf *out, bool helped)
{
    pthread_t helper;
    struct partition_info info = {.pid = 1, .host = "h", .service = "s", .labels = "", .exe = ""};
    info.end = (struct clock_snapshot){1u << 30, UINT64_C(64) << 30, UINT64_C(64) << 30,
                                       UINT64_C(64) << 30};
    struct partition_writer *w;
    if (partition_writer_new(&info, &w) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    helped = helped && partition_writer_share(w, NULL) == SKEIN_OK;
    helped = helped && pthread_create(&helper, NULL, help_main, w) == 0;
    uint32_t ids[BENCH_TYPES], threads[THREADS];
    bench_types_put(w, false, ids);
    for (unsigned i = 0; i < THREADS; i++)
        threads[i] =
            (uint32_t)partition_writer_thread(w, &(struct partition_thread){i + 1, "t", 1});
    for (unsigned t = 0; t < THREADS; t++) {
        for (size_t chunk = t; chunk < EVENTS / CHUNK_EVENTS; chunk += THREADS) {
            partition_writer_batch(w, threads[t], 1, chunk / THREADS, false);
            bench_rows_write(w, ids, false, rows + chunk * CHUNK_EVENTS, CHUNK_EVENTS);
        }
    }
    int status = partition_writer_finish(w, out, NULL);
    if (helped) {
        partition_writer_unshare(w);
        pthread_join(helper, NULL);
    }
    partition_writer_free(&w);
    return status;
}

/* Events given, 0 on failure. */
static uint64_t partition_walk(const struct buf *bytes)
{
    char error[256];
    struct partition_reader *r;
    struct trace_event event;
    uint64_t events = 0;
    if (partition_reader_new(bytes->data, bytes->len, &r, error, sizeof error) != SKEIN_OK)
        return 0;
    while (partition_reader_next(r, &event) == 1)
        events++;
    partition_reader_free(&r);
    return events;
}

struct figures {
    uint64_t pack_ns, helped_ns, floor_ns, copy_ns, read_ns;
    size_t row_bytes, row_packed_bytes, partition_bytes;
    uint64_t read_events;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a == 0 || b < a ? b : a;
}

static int measure(const struct bench_row *rows, struct figures *f)
{
    struct buf raw = {0}, copy = {0}, packed = {0}, out = {0};
    rows_put(rows, &raw);
    f->row_bytes = raw.len;
    int status = raw.status;
    for (unsigned round = 0; round < ROUNDS && status == SKEIN_OK; round++) {
        uint64_t start = clock_monotonic_ns();
        buf_clear(&copy);
        buf_clear(&packed);
        buf_put(&copy, raw.data, raw.len);
        if (round > 0) /* its memory is there */
            f->copy_ns = least(f->copy_ns, clock_monotonic_ns() - start);
        for (size_t at = 0; at < copy.len; at += PARTITION_BLOCK_RAW_MAX)
            lz4_pack(&packed, copy.data + at,
                     copy.len - at < PARTITION_BLOCK_RAW_MAX ? copy.len - at
                                                             : PARTITION_BLOCK_RAW_MAX);
        f->floor_ns = least(f->floor_ns, clock_monotonic_ns() - start);
        f->row_packed_bytes = packed.len;

        start = clock_monotonic_ns();
        buf_clear(&out);
        status = rows_pack(rows, &out, false);
        f->pack_ns = least(f->pack_ns, clock_monotonic_ns() - start);
        start = clock_monotonic_ns();
        buf_clear(&out);
        status = status != SKEIN_OK ? status : rows_pack(rows, &out, true);
        f->helped_ns = least(f->helped_ns, clock_monotonic_ns() - start);
        f->partition_bytes = out.len;

        start = clock_monotonic_ns();
        f->read_events = partition_walk(&out);
        f->read_ns = least(f->read_ns, clock_monotonic_ns() - start);
    }
    buf_fini(&raw);
    buf_fini(&copy);
    buf_fini(&packed);
    buf_fini(&out);
    return status != SKEIN_OK ? status : f->read_events >= EVENTS ? SKEIN_OK : SKEIN_CORRUPT;
}

static void json_print_all(const struct figures *f)
{
    printf(
        "[\n"
        "  {\"name\":\"pack 3.5M events of 2 args\",\"value\":%.1f,\"unit\":\"ms\",\"floor\":%.1f,"
        "\"floor_is\":\"memcpy + LZ4 of the same events row by row\",\"ratio\":%.2f},\n",
        (double)f->pack_ns / 1e6, (double)f->floor_ns / 1e6,
        (double)f->pack_ns / (double)f->floor_ns);
    printf(
        "  {\"name\":\"the same with a second thread\",\"value\":%.1f,\"unit\":\"ms\",\"floor\":%.1f,"
        "\"floor_is\":\"memcpy + LZ4 of the same events row by row\",\"ratio\":%.2f},\n",
        (double)f->helped_ns / 1e6, (double)f->floor_ns / 1e6,
        (double)f->helped_ns / (double)f->floor_ns);
    printf("  {\"name\":\"partition size\",\"value\":%zu,\"unit\":\"bytes\",\"peer\":%zu,"
           "\"peer_is\":\"LZ4 of the same events row by row\",\"ratio\":%.2f},\n",
           f->partition_bytes, f->row_packed_bytes,
           (double)f->row_packed_bytes / (double)f->partition_bytes);
    printf("  {\"name\":\"compression of the ring's bytes\",\"value\":%zu,\"unit\":\"bytes\","
           "\"floor\":%zu,\"ratio\":%.2f},\n",
           f->row_bytes, f->partition_bytes, (double)f->row_bytes / (double)f->partition_bytes);
    printf(
        "  {\"name\":\"read events in causal order\",\"value\":%.2f,\"unit\":\"Mevents/s\","
        "\"peer\":2.65,\"peer_is\":\"babeltrace2, middle of its range on the reference machine\","
        "\"ratio\":%.2f}\n]\n",
        (double)f->read_events * 1e3 / (double)f->read_ns,
        (double)f->read_events * 1e3 / (double)f->read_ns / 2.65);
}

static void text_print_all(const struct figures *f)
{
    printf(
        "pack   %.1f ms for %d events of 2 arguments (%.1f ns each); floor, memcpy + LZ4 of the\n"
        "       same %zu bytes row by row: %.1f ms; ratio %.2f\n",
        (double)f->pack_ns / 1e6, EVENTS, (double)f->pack_ns / EVENTS, f->row_bytes,
        (double)f->floor_ns / 1e6, (double)f->pack_ns / (double)f->floor_ns);
    printf("helped %.1f ms (%.1f ns each) with a second thread; ratio %.2f\n",
           (double)f->helped_ns / 1e6, (double)f->helped_ns / EVENTS,
           (double)f->helped_ns / (double)f->floor_ns);
    printf("copy   %.2f ns an event for memcpy of the rows alone: packing takes %.0f times that\n",
           (double)f->copy_ns / EVENTS, (double)f->pack_ns / (double)f->copy_ns);
    printf("size   %zu bytes, %.2f an event; compression %.2f; row by row LZ4 gives %.2f\n",
           f->partition_bytes, (double)f->partition_bytes / EVENTS,
           (double)f->row_bytes / (double)f->partition_bytes,
           (double)f->row_bytes / (double)f->row_packed_bytes);
    printf("read   %.2f million events a second, in causal order\n",
           (double)f->read_events * 1e3 / (double)f->read_ns);
}

/* What a profiler looks at. */
static int pack_again(const struct bench_row *rows)
{
    struct buf out = {0};
    int status = SKEIN_OK;
    for (unsigned i = 0; i < 2 * ROUNDS && status == SKEIN_OK; i++) {
        buf_clear(&out);
        status = rows_pack(rows, &out, false);
    }
    buf_fini(&out);
    return status;
}

int main(int argc, char **argv)
{
    struct figures figures = {0};
    struct bench_row *rows = rows_make();
    if (rows != NULL && argc > 1 && strcmp(argv[1], "--pack") == 0) {
        int packed = pack_again(rows);
        free(rows);
        return packed == SKEIN_OK ? 0 : 1;
    }
    int status = rows == NULL ? SKEIN_NO_MEMORY : measure(rows, &figures);
    free(rows);
    if (status != SKEIN_OK) {
        fprintf(stderr, "pack: %s\n", skein_status_text(status));
        return 1;
    }
    if (argc > 1 && strcmp(argv[1], "--json") == 0)
        json_print_all(&figures);
    else
        text_print_all(&figures);
    return 0;
}
