/* SPDX-License-Identifier: Apache-2.0
 *
 * The form of a row: how a key is kept, how a row is read from the database, and how it is made
 * from a footer. Pure functions; any thread.
 */
#include <string.h>

#include "clock.h"
#include "index_int.h"

void index_key_put(const struct partition_key *key, uint8_t out[INDEX_KEY_BYTES])
{
    memcpy(out, key->process.bytes, 16);
    for (unsigned i = 0; i < 8; i++) {
        out[16 + i] = (uint8_t)(key->epoch >> (56 - 8 * i));
        out[24 + i] = (uint8_t)(key->sequence >> (56 - 8 * i));
    }
}

void index_key_get(const uint8_t bytes[INDEX_KEY_BYTES], struct partition_key *key)
{
    memcpy(key->process.bytes, bytes, 16);
    key->epoch = key->sequence = 0;
    for (unsigned i = 0; i < 8; i++) {
        key->epoch = key->epoch << 8 | bytes[16 + i];
        key->sequence = key->sequence << 8 | bytes[24 + i];
    }
}

void index_row_get(struct db_row *from, struct partition_row *row)
{
    memset(row, 0, sizeof *row);
    size_t n;
    const void *key = db_blob(from, 0, &n);
    if (n == INDEX_KEY_BYTES)
        index_key_get(key, &row->record.key);
    const void *capture = db_blob(from, 1, &n);
    if (n == sizeof row->record.capture.bytes)
        memcpy(row->record.capture.bytes, capture, n);
    row->record.agent = (uint64_t)db_i64(from, 2);
    row->record.received_ns = (uint64_t)db_i64(from, 3);
    row->place.segment = (uint64_t)db_i64(from, 4);
    row->place.offset = (uint64_t)db_i64(from, 5);
    row->place.bytes = (uint64_t)db_i64(from, 6);
    row->from_ns = (uint64_t)db_i64(from, 7);
    row->to_ns = (uint64_t)db_i64(from, 8);
    row->events = (uint64_t)db_i64(from, 9);
    row->lost = (uint64_t)db_i64(from, 10);
    row->raw_bytes = (uint64_t)db_i64(from, 11);
    row->pid = (uint32_t)db_i64(from, 12);
    row->host = db_text(from, 13);
    row->service = db_text(from, 14);
    row->labels = db_text(from, 15);
    row->exe = db_text(from, 16);
    row->spans_from_ns = (uint64_t)db_i64(from, 17);
    row->spans_to_ns = (uint64_t)db_i64(from, 18);
    row->clock_offset_ns = db_i64(from, 19);
}

/* Bounds in the wrong order (a lying footer) become one moment; then all go to the collector's
 * clock. */
static void index_row_align(struct partition_row *row)
{
    if (row->from_ns > row->to_ns)
        row->from_ns = row->to_ns;
    uint64_t *const times[] = {&row->from_ns, &row->to_ns, &row->spans_from_ns, &row->spans_to_ns};
    for (size_t i = 0; i < 4; i++)
        *times[i] = clock_shift_ns(*times[i], row->clock_offset_ns);
}

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void partition_row_make(struct partition_row *row, const struct store_record *record,
                        const struct store_place *place, const struct partition_footer *footer,
                        int64_t clock_offset_ns)
{
    *row = (struct partition_row){
        .record = *record,
        .place = *place,
        .from_ns = footer->from_ns,
        .to_ns = footer->to_ns,
        .events = footer->events,
        .lost = footer->lost,
        .spans_from_ns = lower(footer->from_ns, footer->window_from_ns),
        .spans_to_ns = footer->to_ns > footer->window_to_ns ? footer->to_ns : footer->window_to_ns,
        .clock_offset_ns = clock_offset_ns,
        .pid = footer->pid,
        .host = footer->host != NULL ? footer->host : "",
        .service = footer->service != NULL ? footer->service : "",
        .labels = footer->labels != NULL ? footer->labels : "",
        .exe = footer->exe != NULL ? footer->exe : "",
    };
    if (footer->events == 0 && footer->to_ns == 0) {
        row->from_ns = footer->window_from_ns;
        row->to_ns = footer->window_to_ns;
    }
    index_row_align(row);
    for (size_t i = 0; i < footer->block_count; i++)
        row->raw_bytes += footer->blocks[i].raw_bytes;
}
