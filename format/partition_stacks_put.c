/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks, mappings and symbols of the partition writer (docs/format.md, section 8): takes them,
 * each once, and makes their sections. Owns struct writer_stacks. One thread; never an event's
 * record, which partition_writer.c writes.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "partition_writer_int.h"

enum { PACK_FROM = 512 }; /* below that a frame's own bytes eat what it saves */

static int stacks_fail(struct partition_writer *w, int status)
{
    if (status == SKEIN_NO_MEMORY)
        writer_fail(w, status);
    return status;
}

void stacks_free(struct partition_writer *w)
{
    struct writer_stacks *s = &w->names;
    for (size_t i = 0; i < s->mapping_entries.count; i++)
        free(s->mappings[i].path);
    free(s->mappings);
    free(s->pcs);
    free(s->symbols);
    intern_table_fini(&s->stacks);
    intern_table_fini(&s->mapping_entries);
    intern_table_fini(&s->addresses);
    buf_fini(&s->symbol_bytes);
    *s = (struct writer_stacks){0};
}

uint64_t stacks_bytes(const struct partition_writer *w)
{
    const struct writer_stacks *s = &w->names;
    return s->stacks.bytes.len + s->mapping_entries.bytes.len + s->symbol_bytes.len;
}

/* ---- stacks ---- */

/* F-44 */
static void stack_put(struct buf *b, const struct partition_stack *stack)
{
    uint64_t before = 0;
    buf_put_u8(b, stack->end);
    buf_put_uleb(b, stack->count);
    for (uint32_t i = 0; i < stack->count; i++) {
        if (i == 0)
            buf_put_uleb(b, stack->pcs[i]);
        else
            buf_put_sleb(b, (int64_t)(stack->pcs[i] - before));
        before = stack->pcs[i];
    }
}

int64_t partition_writer_stack(struct partition_writer *w, const struct partition_stack *stack)
{
    struct writer_stacks *s = &w->names;
    struct buf entry = {0};
    bool fresh = false;
    if (stack->count > PARTITION_FRAMES_MAX || stack->count > FRAMES_MAX - s->frames ||
        s->stacks.count == STACKS_MAX)
        return SKEIN_TOO_LARGE;
    stack_put(&entry, stack);
    int64_t id = entry.status;
    if (id == SKEIN_OK)
        id = intern_table_put(&s->stacks, entry.data, entry.len, &fresh);
    buf_fini(&entry);
    if (id < 0)
        return stacks_fail(w, (int)id);
    s->frames += fresh ? stack->count : 0;
    return id + 1;
}

size_t partition_writer_stack_count(const struct partition_writer *w)
{
    return w->names.stacks.count;
}

bool partition_writer_stack_at(struct partition_writer *w, uint32_t id,
                               struct partition_stack *stack)
{
    struct writer_stacks *s = &w->names;
    struct cursor c;
    uint64_t pc = 0;
    if (id == 0 || id > s->stacks.count)
        return false;
    cursor_init(&c, intern_table_bytes(&s->stacks, id - 1), s->stacks.entries[id - 1].len);
    uint8_t end = cursor_u8(&c);
    uint32_t count = (uint32_t)cursor_uleb(&c);
    if (!array_grow(s->pcs, (size_t)count + 1, &s->pc_cap))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        pc = i == 0 ? cursor_uleb(&c) : pc + (uint64_t)cursor_sleb(&c);
        s->pcs[i] = pc;
    }
    *stack = (struct partition_stack){s->pcs, count, end};
    return true;
}

/* ---- mappings ---- */

/* F-46 */
static void mapping_put(struct buf *b, const struct partition_mapping *mapping)
{
    buf_put_uleb(b, mapping->start);
    buf_put_uleb(b, mapping->end);
    buf_put_uleb(b, mapping->offset);
    buf_put_text(b, (const char *)mapping->build_id, mapping->build_id_bytes);
    buf_put_text(b, mapping->path, strlen(mapping->path));
}

static int mapping_add(struct partition_writer *w, const struct partition_mapping *mapping,
                       const struct buf *entry)
{
    struct writer_stacks *s = &w->names;
    bool fresh;
    char *path = strdup(mapping->path);
    int64_t at = SKEIN_NO_MEMORY;
    if (path != NULL && array_grow(s->mappings, s->mapping_entries.count + 1, &s->mapping_cap))
        at = intern_table_put(&s->mapping_entries, entry->data, entry->len, &fresh);
    if (at >= 0 && fresh) {
        s->mappings[at] = (struct writer_mapping){*mapping, path};
        s->mappings[at].row.path = path;
        path = NULL;
    }
    free(path);
    return at < 0 ? (int)at : SKEIN_OK;
}

int partition_writer_mapping(struct partition_writer *w, const struct partition_mapping *mapping)
{
    struct buf entry = {0};
    if (mapping->end <= mapping->start || mapping->build_id_bytes > PARTITION_BUILD_ID_MAX ||
        strlen(mapping->path) > PARTITION_NAME_MAX)
        return SKEIN_INVALID;
    if (w->names.mapping_entries.count == MAPPINGS_MAX)
        return SKEIN_TOO_LARGE;
    mapping_put(&entry, mapping);
    int status = entry.status == SKEIN_OK ? mapping_add(w, mapping, &entry) : entry.status;
    buf_fini(&entry);
    return stacks_fail(w, status);
}

size_t partition_writer_mapping_count(const struct partition_writer *w)
{
    return w->names.mapping_entries.count;
}

bool partition_writer_mapping_at(const struct partition_writer *w, size_t i,
                                 struct partition_mapping *mapping)
{
    if (i >= w->names.mapping_entries.count)
        return false;
    *mapping = w->names.mappings[i].row;
    return true;
}

/* ---- symbols ---- */

/* A name of PARTITION_NAME_MAX bytes at most; a longer one says that it goes on. */
static void name_put(struct buf *b, const char *name)
{
    static const char more[] = "...";
    size_t n = name == NULL ? 0 : strlen(name), keep = PARTITION_NAME_MAX - (sizeof more - 1);
    if (n <= PARTITION_NAME_MAX) {
        buf_put_text(b, name, n);
        return;
    }
    while (keep > 0 && ((uint8_t)name[keep] & 0xc0) == 0x80) /* not inside of a letter */
        keep--;
    buf_put_uleb(b, keep + sizeof more - 1);
    buf_put(b, name, keep);
    buf_put(b, more, sizeof more - 1);
}

/* F-47 */
static void symbol_put(struct buf *b, const struct partition_symbol *symbol)
{
    buf_put_uleb(b, symbol->address);
    buf_put_uleb(b, symbol->line_count);
    for (uint32_t i = 0; i < symbol->line_count; i++) {
        name_put(b, symbol->lines[i].function);
        name_put(b, symbol->lines[i].file);
        buf_put_uleb(b, symbol->lines[i].line);
    }
}

static int symbol_add(struct writer_stacks *s, const struct partition_symbol *symbol)
{
    struct buf entry = {0};
    bool fresh;
    int status = SKEIN_NO_MEMORY;
    symbol_put(&entry, symbol);
    if (entry.status != SKEIN_OK || !array_grow(s->symbols, s->addresses.count + 1, &s->symbol_cap))
        goto out;
    if (buf_reserve(&s->symbol_bytes, entry.len) == NULL) {
        s->symbol_bytes.status = SKEIN_OK;
        goto out;
    }
    int64_t at = intern_table_put(&s->addresses, &symbol->address, sizeof symbol->address, &fresh);
    status = at < 0 ? (int)at : SKEIN_OK;
    if (at < 0 || !fresh)
        goto out;
    s->symbols[at] = (struct writer_symbol){symbol->address, s->symbol_bytes.len,
                                            (uint32_t)entry.len, symbol->line_count};
    buf_put(&s->symbol_bytes, entry.data, entry.len);
    s->lines += symbol->line_count;
out:
    buf_fini(&entry);
    return status;
}

int partition_writer_symbol(struct partition_writer *w, const struct partition_symbol *symbol)
{
    struct writer_stacks *s = &w->names;
    if (symbol->line_count > PARTITION_LINES_MAX || symbol->line_count > LINES_MAX - s->lines ||
        s->addresses.count == SYMBOLS_MAX)
        return SKEIN_TOO_LARGE;
    return stacks_fail(w, symbol_add(s, symbol));
}

/* ---- sections ---- */

/* A table that no reader may find twice: packed if it fits into one frame. */
static void table_put(struct buf *b, struct partition_writer *w, uint16_t kind,
                      const struct buf *table)
{
    if (table->status != SKEIN_OK) {
        b->status = table->status;
    } else if (table->len < PACK_FROM || table->len > PARTITION_BLOCK_RAW_MAX) {
        section_put(b, kind, table);
    } else {
        section_put_packed(b, kind, table->data, table->len);
        w->pack.raw_bytes += table->len;
    }
}

static void stacks_section(struct buf *b, struct partition_writer *w)
{
    const struct intern_table *stacks = &w->names.stacks;
    struct buf table = {0};
    buf_put_uleb(&table, stacks->count);
    for (size_t i = 0; i < stacks->count; i++)
        buf_put(&table, intern_table_bytes(stacks, i), stacks->entries[i].len);
    table_put(b, w, SECTION_STACKS, &table);
    buf_fini(&table);
}

/* By start; of those with one start, in the order in which they came (F-46). */
static int mappings_compare(const void *a, const void *b)
{
    const struct partition_mapping *const *x = a, *const *y = b;
    if ((*x)->start != (*y)->start)
        return (*x)->start < (*y)->start ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

static void mappings_section(struct buf *b, struct partition_writer *w)
{
    size_t n = w->names.mapping_entries.count;
    struct buf table = {0}, entry = {0};
    const struct partition_mapping **sorted = calloc(n + 1, sizeof *sorted);
    if (sorted == NULL)
        table.status = SKEIN_NO_MEMORY;
    for (size_t i = 0; sorted != NULL && i < n; i++)
        sorted[i] = &w->names.mappings[i].row;
    if (sorted != NULL)
        qsort(sorted, n, sizeof *sorted, mappings_compare);
    buf_put_uleb(&table, n);
    for (size_t i = 0; sorted != NULL && i < n; i++) {
        buf_clear(&entry);
        mapping_put(&entry, sorted[i]);
        if (entry.status != SKEIN_OK)
            table.status = entry.status;
        buf_put_text(&table, (const char *)entry.data, entry.len);
    }
    table_put(b, w, SECTION_MAPPINGS, &table);
    buf_fini(&entry);
    buf_fini(&table);
    free(sorted);
}

static int symbols_compare(const void *a, const void *b)
{
    const struct writer_symbol *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static void symbols_flush(struct buf *b, struct partition_writer *w, uint64_t count,
                          struct buf *entries, struct buf *whole)
{
    buf_clear(whole);
    buf_put_uleb(whole, count);
    buf_put(whole, entries->data, entries->len);
    if (entries->status != SKEIN_OK)
        whole->status = entries->status;
    table_put(b, w, SECTION_SYMBOLS, whole);
    buf_clear(entries);
}

/* F-47: as many sections as it takes; sorts what the writer has. */
void symbols_put(struct buf *b, struct partition_writer *w)
{
    struct writer_stacks *s = &w->names;
    struct buf entries = {0}, whole = {0};
    uint64_t count = 0;
    const size_t room = PARTITION_BLOCK_RAW_MAX - 16;
    if (s->addresses.count == 0)
        return;
    qsort(s->symbols, s->addresses.count, sizeof *s->symbols, symbols_compare);
    for (size_t i = 0; i < s->addresses.count; i++) {
        const struct writer_symbol *symbol = &s->symbols[i];
        if (symbol->len + 10u > room - entries.len) {
            symbols_flush(b, w, count, &entries, &whole);
            count = 0;
        }
        buf_put_text(&entries, (const char *)s->symbol_bytes.data + symbol->at, symbol->len);
        count++;
    }
    symbols_flush(b, w, count, &entries, &whole);
    buf_fini(&entries);
    buf_fini(&whole);
}

void stacks_put(struct buf *b, struct partition_writer *w)
{
    if (w->names.stacks.count > 0)
        stacks_section(b, w);
    if (w->names.mapping_entries.count > 0)
        mappings_section(b, w);
    symbols_put(b, w);
}
