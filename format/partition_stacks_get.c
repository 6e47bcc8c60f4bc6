/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks, mappings and symbols of the partition reader (docs/format.md, section 8). Every byte is
 * hostile: counts are held against F-4 and against the bytes that are left before anything is
 * allocated. The lines of a symbol are checked when it is opened, and copied when they are asked
 * for. One thread.
 */
#include <stdlib.h>

#include "array.h"
#include "partition_entries_int.h"
#include "partition_reader_int.h"
#include "partition_tables_int.h"

void stacks_close(struct partition_reader *r)
{
    free(r->stacks);
    free(r->pcs);
    free(r->mappings);
    free(r->symbols);
}

/* ---- STACKS ---- */

/* F-44 */
static void stack_get(struct partition_reader *r, struct cursor *c, struct reader_stack *stack)
{
    stack->end = cursor_u8(c);
    stack->at = r->pc_count;
    const uint8_t *at = c->pos;
    uint32_t count = (uint32_t)count_get(c, PARTITION_FRAMES_MAX, 1);
    if (count > FRAMES_MAX - r->pc_count)
        rule_break(c, F_4, at);
    else if (!reader_may(r, count * sizeof *r->pcs) ||
             !array_grow(r->pcs, r->pc_count + count + 1, &r->pc_cap))
        cursor_fail(c, SKEIN_NO_MEMORY);
    uint64_t pc = 0;
    for (; stack->count < count && c->status == SKEIN_OK; stack->count++) {
        pc = stack->count == 0 ? cursor_uleb(c) : pc + (uint64_t)cursor_sleb(c);
        r->pcs[r->pc_count++] = pc;
    }
}

int stacks_open(struct partition_reader *r, struct cursor *c)
{
    size_t n = (size_t)count_get(c, STACKS_MAX, 2);
    r->stacks = reader_table_new(r, c, n, sizeof *r->stacks);
    for (; r->stack_count < n && c->status == SKEIN_OK; r->stack_count++)
        stack_get(r, c, &r->stacks[r->stack_count]);
    return c->status == SKEIN_OK ? SKEIN_OK : reader_table_fail(r, c, F_44, "stacks");
}

size_t partition_reader_stack_count(const struct partition_reader *r)
{
    return r->stack_count;
}

bool partition_reader_stack(const struct partition_reader *r, uint32_t id,
                            struct partition_stack *stack)
{
    if (id == 0 || id > r->stack_count)
        return false;
    const struct reader_stack *s = &r->stacks[id - 1];
    *stack = (struct partition_stack){r->pcs + s->at, s->count, s->end};
    return true;
}

/* ---- MAPPINGS ---- */

/* F-46 */
static void mapping_get(struct partition_reader *r, struct cursor *c,
                        struct partition_mapping *mapping)
{
    struct cursor entry = entry_get(c);
    const uint8_t *at = entry.pos;
    size_t n = 0;
    mapping->start = cursor_uleb(&entry);
    mapping->end = cursor_uleb(&entry);
    mapping->offset = cursor_uleb(&entry);
    const char *build_id = text_get(&entry, PARTITION_BUILD_ID_MAX, F_46, &n);
    mapping->path = reader_name_get(r, &entry);
    if (mapping->end <= mapping->start)
        rule_break(&entry, F_46, at);
    entry_close(c, &entry);
    if (c->status != SKEIN_OK)
        return;
    mapping->build_id_bytes = (uint8_t)n;
    for (size_t i = 0; i < n; i++)
        mapping->build_id[i] = (uint8_t)build_id[i];
}

int mappings_open(struct partition_reader *r, struct cursor *c)
{
    size_t n = (size_t)count_get(c, MAPPINGS_MAX, 6);
    r->mappings = reader_table_new(r, c, n, sizeof *r->mappings);
    for (; r->mapping_count < n && c->status == SKEIN_OK; r->mapping_count++) {
        struct partition_mapping *mapping = &r->mappings[r->mapping_count];
        const uint8_t *at = c->pos;
        mapping_get(r, c, mapping);
        if (r->mapping_count > 0 && mapping->start < mapping[-1].start)
            rule_break(c, F_46, at);
    }
    return c->status == SKEIN_OK ? SKEIN_OK : reader_table_fail(r, c, F_46, "mappings");
}

size_t partition_reader_mapping_count(const struct partition_reader *r)
{
    return r->mapping_count;
}

const struct partition_mapping *partition_reader_mapping_at(const struct partition_reader *r,
                                                            size_t i)
{
    return i < r->mapping_count ? &r->mappings[i] : NULL;
}

const struct partition_mapping *partition_reader_mapping(const struct partition_reader *r,
                                                         uint64_t address)
{
    size_t at;
    array_find(at, 0, r->mapping_count, r->mappings[at].start <= address);
    return at > 0 && address < r->mappings[at - 1].end ? &r->mappings[at - 1] : NULL;
}

/* ---- SYMBOLS ---- */

/* F-47 */
static void symbol_get(struct partition_reader *r, struct cursor *c, struct reader_symbol *symbol)
{
    struct cursor entry = entry_get(c);
    const uint8_t *at = entry.pos;
    size_t n;
    symbol->address = cursor_uleb(&entry);
    symbol->line_count = (uint32_t)count_get(&entry, PARTITION_LINES_MAX, 3);
    symbol->bytes = entry.pos;
    symbol->len = (uint32_t)cursor_left(&entry);
    for (uint32_t i = 0; i < symbol->line_count && entry.status == SKEIN_OK; i++) {
        text_get(&entry, PARTITION_NAME_MAX, F_3, &n);
        text_get(&entry, PARTITION_NAME_MAX, F_3, &n);
        cursor_uleb(&entry);
    }
    r->line_count += symbol->line_count;
    if (r->line_count > LINES_MAX)
        rule_break(&entry, F_4, at);
    entry_close(c, &entry);
}

int symbols_open(struct partition_reader *r, struct cursor *c)
{
    size_t n = (size_t)count_get(c, SYMBOLS_MAX - r->symbol_count, 3);
    if (!reader_may(r, n * sizeof *r->symbols) ||
        !array_grow(r->symbols, r->symbol_count + n + 1, &r->symbol_cap))
        cursor_fail(c, SKEIN_NO_MEMORY);
    for (size_t i = 0; i < n && c->status == SKEIN_OK; i++) {
        struct reader_symbol *symbol = &r->symbols[r->symbol_count];
        const uint8_t *at = c->pos;
        *symbol = (struct reader_symbol){0};
        symbol_get(r, c, symbol);
        if (r->symbol_count > 0 && symbol->address <= symbol[-1].address)
            rule_break(c, F_47, at);
        r->symbol_count++;
    }
    return c->status == SKEIN_OK ? SKEIN_OK : reader_table_fail(r, c, F_47, "symbols");
}

static const struct partition_line *lines_copy(struct partition_reader *r,
                                               const struct reader_symbol *symbol)
{
    struct cursor c;
    struct partition_line *lines = reader_alloc(r, (symbol->line_count + 1) * sizeof *lines);
    cursor_init(&c, symbol->bytes, symbol->len);
    for (uint32_t i = 0; lines != NULL && i < symbol->line_count; i++) {
        lines[i].function = reader_name_get(r, &c);
        lines[i].file = reader_name_get(r, &c);
        uint64_t line = cursor_uleb(&c);
        lines[i].line = line > UINT32_MAX ? UINT32_MAX : (uint32_t)line;
    }
    return c.status == SKEIN_OK ? lines : NULL;
}

size_t partition_reader_symbol_count(const struct partition_reader *r)
{
    return r->symbol_count;
}

bool partition_reader_symbol(struct partition_reader *r, uint64_t address,
                             struct partition_symbol *symbol)
{
    size_t at;
    array_find(at, 0, r->symbol_count, r->symbols[at].address < address);
    if (at == r->symbol_count || r->symbols[at].address != address)
        return false;
    struct reader_symbol *found = &r->symbols[at];
    if (found->lines == NULL)
        found->lines = lines_copy(r, found);
    if (found->lines == NULL) {
        reader_no_memory(r, "symbols");
        return false;
    }
    *symbol = (struct partition_symbol){address, found->lines, found->line_count};
    return true;
}
