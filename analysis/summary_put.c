/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns a summary as bytes (docs/summary.md): what is written, and what hostile bytes may say. One
 * thread enters.
 *
 *     "SKSM"  version u16  texts: count, each length and bytes
 *     tables: count, each its number, bytes of all that follows of it, rows: count, each row its bytes:
 *         of + 1, text, number, merged, first_ns, last_ns, and the members in their order
 *
 * All numbers are LEB128 but the version (u16) and reals (8 bytes).
 */
#include <string.h>

#include "summary_int.h"

#define MAGIC       "SKSM"
#define MAGIC_BYTES 4

/* ---- writing ---- */

static void holder_put(const struct summary_holder *holder, struct buf *out)
{
    buf_put_uleb(out, holder->tid);
    buf_put_uleb(out, holder->waits);
    buf_put_uleb(out, holder->wait_ns);
    buf_put_uleb(out, holder->dumped);
}

static void holders_put(const struct summary_lock *lock, struct buf *out)
{
    size_t count = 0;
    while (count < SUMMARY_HOLDERS && lock->holders[count].tid != 0)
        count++;
    buf_put_uleb(out, count);
    for (size_t i = 0; i < count; i++)
        holder_put(&lock->holders[i], out);
    holder_put(&lock->rest, out);
}

static void peak_put(const struct summary_peak *peak, struct buf *out)
{
    buf_put_uleb(out, peak->dur_ns);
    if (peak->dur_ns == 0)
        return;
    buf_put_uleb(out, peak->time_ns);
    buf_put_uleb(out, peak->other);
    buf_put_uleb(out, peak->name);
}

static void field_put(const struct summary_field *field, const struct summary_row *row,
                      struct buf *out)
{
    const void *at = (const uint8_t *)row + field->offset;
    switch (field->kind) {
    case FIELD_SUM:
    case FIELD_MAX:
    case FIELD_LEAST:
    case FIELD_LATEST:
        buf_put_uleb(out, *(const uint64_t *)at);
        return;
    case FIELD_TEXT:
        buf_put_uleb(out, *(const uint32_t *)at);
        return;
    case FIELD_PEAK:
        peak_put(at, out);
        return;
    case FIELD_HISTOGRAM:
        histogram_bytes_put(at, out);
        return;
    case FIELD_HOLDERS:
        holders_put((const struct summary_lock *)row, out);
        return;
    default:
        buf_put_f64(out, *(const double *)at);
    }
}

static void row_put(const struct summary_kind *kind, const struct summary_row *row, struct buf *out)
{
    struct buf bytes = {0};
    buf_put_uleb(&bytes, row->of == SUMMARY_NONE ? 0 : (uint64_t)row->of + 1);
    buf_put_uleb(&bytes, row->text);
    buf_put_uleb(&bytes, row->number);
    buf_put_uleb(&bytes, row->merged);
    buf_put_uleb(&bytes, row->first_ns);
    buf_put_uleb(&bytes, row->last_ns);
    for (size_t i = 0; i < kind->field_count; i++)
        field_put(&kind->fields[i], row, &bytes);
    if (bytes.status != SKEIN_OK)
        out->status = bytes.status;
    buf_put_text(out, (const char *)bytes.data, bytes.len);
    buf_fini(&bytes);
}

int summary_bytes_put(const struct summary *summary, struct buf *out)
{
    buf_put(out, MAGIC, MAGIC_BYTES);
    buf_put_u16(out, SUMMARY_VERSION);
    buf_put_uleb(out, summary->texts.count);
    for (uint32_t i = 0; i < summary->texts.count; i++)
        buf_put_text(out, summary_text(summary, i), strlen(summary_text(summary, i)));
    buf_put_uleb(out, SUMMARY_TABLES);
    for (unsigned t = 0; t < SUMMARY_TABLES; t++) {
        struct buf bytes = {0};
        buf_put_uleb(&bytes, summary->tables[t].count);
        for (size_t i = 0; i < summary->tables[t].count; i++)
            row_put(&summary_kinds[t], row_at(summary, t, i), &bytes);
        if (bytes.status != SKEIN_OK)
            out->status = bytes.status;
        buf_put_uleb(out, t);
        buf_put_text(out, (const char *)bytes.data, bytes.len);
        buf_fini(&bytes);
    }
    return out->status;
}

/* ---- reading ---- */

static uint32_t number_get(struct cursor *c, uint64_t below)
{
    uint64_t n = cursor_uleb(c);
    if (c->status == SKEIN_OK && n >= below)
        cursor_fail(c, SKEIN_CORRUPT);
    return c->status == SKEIN_OK ? (uint32_t)n : 0;
}

static void holder_get(struct cursor *c, struct summary_holder *holder)
{
    holder->tid = cursor_uleb(c);
    holder->waits = cursor_uleb(c);
    holder->wait_ns = cursor_uleb(c);
    holder->dumped = cursor_uleb(c);
}

/* Each once, in the order that holder_add gives them. */
static void holders_get(struct cursor *c, struct summary_lock *lock)
{
    uint32_t count = number_get(c, SUMMARY_HOLDERS + 1);
    for (uint32_t i = 0; i < count && c->status == SKEIN_OK; i++) {
        struct summary_holder holder;
        holder_get(c, &holder);
        for (uint32_t k = 0; k < i; k++)
            if (lock->holders[k].tid == holder.tid)
                cursor_fail(c, SKEIN_CORRUPT);
        if (c->status == SKEIN_OK && holder.tid == 0)
            cursor_fail(c, SKEIN_CORRUPT);
        if (c->status == SKEIN_OK)
            holder_add(lock, &holder);
    }
    holder_get(c, &lock->rest);
}

static void peak_get(struct cursor *c, struct summary_peak *peak, uint64_t texts)
{
    peak->dur_ns = cursor_uleb(c);
    if (peak->dur_ns == 0)
        return;
    peak->time_ns = cursor_uleb(c);
    peak->other = number_get(c, (uint64_t)UINT32_MAX + 1);
    peak->name = number_get(c, texts);
}

static void field_get(struct cursor *c, const struct summary_field *field, struct summary_row *row,
                      uint64_t texts)
{
    void *at = (uint8_t *)row + field->offset;
    switch (field->kind) {
    case FIELD_SUM:
    case FIELD_MAX:
    case FIELD_LEAST:
    case FIELD_LATEST:
        *(uint64_t *)at = cursor_uleb(c);
        return;
    case FIELD_TEXT:
        *(uint32_t *)at = number_get(c, texts);
        return;
    case FIELD_PEAK:
        peak_get(c, at, texts);
        return;
    case FIELD_HISTOGRAM:
        (void)histogram_bytes_get(c, at);
        return;
    case FIELD_HOLDERS:
        holders_get(c, (struct summary_lock *)row);
        return;
    default:
        *(double *)at = cursor_f64(c);
        if (*(double *)at - *(double *)at != 0) /* not finite */
            cursor_fail(c, SKEIN_CORRUPT);
    }
}

/* The key of a row, of rows and texts that are there. */
static void key_get(struct cursor *c, const struct summary *s, enum summary_table table,
                    struct summary_row *key)
{
    enum summary_of of = summary_kinds[table].of;
    uint64_t parents = of == OF_NOTHING ? 0 : s->tables[of == OF_THREAD].count;
    uint32_t n = number_get(c, parents + 1);
    *key = (struct summary_row){.of = n == 0 ? SUMMARY_NONE : n - 1};
    key->text = number_get(c, s->texts.count);
    key->number = cursor_uleb(c);
    if (c->status == SKEIN_OK && number_is_text(table, key) &&
        (uint32_t)key->number >= s->texts.count)
        cursor_fail(c, SKEIN_CORRUPT);
    if (c->status == SKEIN_OK && table != SUMMARY_NEIGHBOUR && number_is_text(table, key) &&
        key->number > UINT32_MAX)
        cursor_fail(c, SKEIN_CORRUPT);
    if (c->status == SKEIN_OK && key->of == SUMMARY_NONE && key->number == OTHERS_NUMBER &&
        strcmp(summary_text(s, key->text), SUMMARY_OTHERS) != 0)
        cursor_fail(c, SKEIN_CORRUPT);
}

static void row_get_bytes(struct cursor *c, struct summary *s, enum summary_table table)
{
    struct summary_row key;
    struct cursor row_bytes;
    uint64_t n = cursor_uleb(c);
    const uint8_t *bytes = cursor_bytes(c, n);
    bool fresh;
    if (bytes == NULL)
        return;
    cursor_init(&row_bytes, bytes, (size_t)n);
    key_get(&row_bytes, s, table, &key);
    if (row_bytes.status != SKEIN_OK) {
        cursor_fail(c, row_bytes.status);
        return;
    }
    struct summary_row *row = summary_row_get(s, table, key.of, key.text, key.number, &fresh);
    if (row == NULL || !fresh) {
        cursor_fail(c, row == NULL ? SKEIN_NO_MEMORY : SKEIN_CORRUPT);
        return;
    }
    row->merged = cursor_uleb(&row_bytes);
    row->first_ns = cursor_uleb(&row_bytes);
    row->last_ns = cursor_uleb(&row_bytes);
    for (size_t i = 0; i < summary_kinds[table].field_count && cursor_left(&row_bytes) > 0; i++)
        field_get(&row_bytes, &summary_kinds[table].fields[i], row, s->texts.count);
    if (row_bytes.status != SKEIN_OK)
        cursor_fail(c, row_bytes.status);
}

static void table_get(struct cursor *c, struct summary *s, uint64_t table)
{
    uint64_t count = cursor_uleb(c);
    if (c->status == SKEIN_OK && count > s->limit && count - s->limit > 1) /* and the others */
        cursor_fail(c, SKEIN_TOO_LARGE);
    for (uint64_t i = 0; i < count && c->status == SKEIN_OK; i++)
        row_get_bytes(c, s, (enum summary_table)table);
    if (c->status == SKEIN_OK && cursor_left(c) > 0)
        cursor_fail(c, SKEIN_CORRUPT);
}

static void texts_get(struct cursor *c, struct summary *s)
{
    uint64_t count = cursor_uleb(c);
    for (uint64_t i = 0; i < count && c->status == SKEIN_OK; i++) {
        size_t n = 0;
        const char *text = cursor_text(c, SIZE_MAX, &n);
        if (text == NULL || c->status != SKEIN_OK)
            return;
        int64_t number = memchr(text, '\0', n) == NULL ? text_intern(s, text, n) : -1;
        if (number == SKEIN_NO_MEMORY)
            cursor_fail(c, SKEIN_NO_MEMORY);
        else if (number != (int64_t)i) /* the first is ""; none comes twice */
            cursor_fail(c, SKEIN_CORRUPT);
    }
}

static int summary_parse(struct cursor *c, struct summary *s)
{
    uint64_t next = 0;
    const uint8_t *magic = cursor_bytes(c, MAGIC_BYTES);
    if (magic == NULL || memcmp(magic, MAGIC, MAGIC_BYTES) != 0)
        return magic == NULL ? c->status : SKEIN_CORRUPT;
    if (cursor_u16(c) != SUMMARY_VERSION)
        return c->status == SKEIN_OK ? SKEIN_VERSION : c->status;
    texts_get(c, s);
    uint64_t tables = cursor_uleb(c);
    for (; c->status == SKEIN_OK && tables > 0; tables--) {
        uint64_t table = cursor_uleb(c), n = cursor_uleb(c);
        const uint8_t *bytes = cursor_bytes(c, n);
        struct cursor of_table;
        if (bytes == NULL)
            return c->status;
        if (table < next)
            return SKEIN_CORRUPT;
        next = table + (table < UINT64_MAX);
        if (table >= SUMMARY_TABLES) /* of a later version */
            continue;
        cursor_init(&of_table, bytes, (size_t)n);
        table_get(&of_table, s, table);
        if (of_table.status != SKEIN_OK)
            return of_table.status;
    }
    return c->status == SKEIN_OK && cursor_left(c) > 0 ? SKEIN_CORRUPT : c->status;
}

int summary_bytes_get(const void *bytes, size_t n, size_t rows, struct summary **out)
{
    struct cursor cursor;
    int status = summary_new(rows, out);
    if (status != SKEIN_OK)
        return status;
    cursor_init(&cursor, bytes, n);
    status = summary_parse(&cursor, *out);
    if (status == SKEIN_OK)
        status = summary_sort(*out);
    if (status != SKEIN_OK)
        summary_free(out);
    return status;
}
