/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens a partition: head, tail, sections, tables, footer (docs/format.md, sections 2, 3, 5).
 * Entered through partition_reader_new. Every byte is hostile; counts are held against F-4 and
 * against the bytes that are left before anything is allocated.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "pack_lz4.h"
#include "partition_entries_int.h"
#include "partition_reader_int.h"
#include "partition_tables_int.h"
#include "trace_file.h"

enum { ARENA_CHUNK = 64 << 10 };

void *reader_alloc(struct partition_reader *r, size_t n)
{
    n = (n + 15) & ~(size_t)15;
    struct arena_chunk *chunk = r->arena;
    if (chunk == NULL || n > chunk->cap - chunk->used) {
        size_t cap = n > ARENA_CHUNK ? n : ARENA_CHUNK;
        if (!reader_may(r, cap))
            return NULL;
        chunk = malloc(sizeof *chunk + 16 + cap);
        if (chunk == NULL)
            return NULL;
        chunk->next = r->arena;
        chunk->used = 16 - ((uintptr_t)chunk->bytes & 15);
        chunk->cap = cap + 16;
        r->arena = chunk;
    }
    void *at = chunk->bytes + chunk->used;
    chunk->used += n;
    return at;
}

char *reader_text(struct partition_reader *r, const char *text, size_t n)
{
    char *copy = reader_alloc(r, n + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

const char *reader_name_get(struct partition_reader *r, struct cursor *c)
{
    size_t n = 0;
    const char *text = text_get(c, PARTITION_NAME_MAX, F_3, &n);
    if (text == NULL)
        return "";
    const char *copy = reader_text(r, text, n);
    if (copy == NULL)
        cursor_fail(c, SKEIN_NO_MEMORY);
    return copy == NULL ? "" : copy;
}

void *reader_table_new(struct partition_reader *r, struct cursor *c, size_t n, size_t size)
{
    if (c->status != SKEIN_OK || reader_may(r, (uint64_t)n * size))
        return table_new(c, n, size);
    cursor_fail(c, SKEIN_NO_MEMORY);
    return NULL;
}

int reader_table_fail(struct partition_reader *r, const struct cursor *c, enum format_rule rule,
                      const char *table)
{
    if (c->status == SKEIN_NO_MEMORY)
        return reader_no_memory(r, table);
    return reader_fail(r, SKEIN_CORRUPT, cursor_rule(c, rule), c->pos, "the %s are malformed",
                       table);
}

/* ---- INFO ---- */

static void snapshot_get(struct cursor *c, struct clock_snapshot *snapshot)
{
    snapshot->ticks = cursor_uleb(c);
    snapshot->monotonic_ns = cursor_uleb(c);
    snapshot->boottime_ns = cursor_uleb(c);
    snapshot->realtime_ns = cursor_uleb(c);
}

/* F-15, F-16 */
static int info_get(struct partition_reader *r, struct cursor *c)
{
    struct partition_info *info = &r->info;
    const uint8_t *process = cursor_bytes(c, sizeof info->key.process.bytes);
    if (process != NULL)
        memcpy(info->key.process.bytes, process, sizeof info->key.process.bytes);
    info->key.epoch = cursor_uleb(c);
    info->key.sequence = cursor_uleb(c);
    info->generation = cursor_uleb(c);
    const uint8_t *at = c->pos;
    uint64_t pid = cursor_uleb(c);
    info->pid = (uint32_t)pid;
    if (pid > UINT32_MAX)
        rule_break(c, F_15, at);
    info->process_start_ns = cursor_uleb(c);
    info->clock = cursor_u8(c);
    info->shift = cursor_u8(c);
    info->mode = cursor_u8(c);
    const uint8_t *clocks = c->pos;
    snapshot_get(c, &info->begin);
    snapshot_get(c, &info->end);
    info->clock_offset_ns = cursor_sleb(c);
    info->window_from_ticks = cursor_uleb(c);
    info->window_to_ticks = cursor_uleb(c);
    info->host = reader_name_get(r, c);
    info->service = reader_name_get(r, c);
    info->labels = reader_name_get(r, c);
    info->exe = reader_name_get(r, c);
    info->death.known = cursor_u8(c) == 1;
    info->death.signal = (int32_t)cursor_sleb(c);
    info->death.status = (int32_t)cursor_sleb(c);
    info->evidence = cursor_left(c) > 0 && cursor_u8(c) == 1;
    if (c->status != SKEIN_OK)
        return reader_table_fail(r, c, F_15, "process's facts (INFO)");
    if (tick_scale_init(&r->host_scale, info) != SKEIN_OK)
        return reader_fail(r, SKEIN_CORRUPT, F_16, clocks,
                           "the clock snapshots contradict each other");
    r->scale = tick_scale_shift(&r->host_scale, info->clock_offset_ns);
    return SKEIN_OK;
}

/* ---- TYPES ---- */

static void type_get(struct partition_reader *r, struct cursor *c,
                     struct partition_event_type *type, struct reader_type *facts)
{
    const uint8_t *at = c->pos;
    type->klass = cursor_u8(c);
    type->group = cursor_u8(c);
    uint64_t line = cursor_uleb(c);
    type->line = line > UINT32_MAX ? UINT32_MAX : (uint32_t)line;
    type->name = reader_name_get(r, c);
    type->text = reader_name_get(r, c);
    type->file = reader_name_get(r, c);
    unsigned nargs = cursor_u8(c);
    facts->columns = type->klass == SKEIN_CLASS_SPAN;
    for (unsigned i = 0; i < nargs && i < SKEIN_ARGS_MAX; i++) {
        struct partition_arg *arg = &type->args[i];
        const uint8_t *type_at = c->pos;
        arg->type = cursor_u8(c);
        arg->name = reader_name_get(r, c);
        arg->unit = reader_name_get(r, c);
        if (arg->type == 0)
            rule_break(c, F_19, type_at);
        facts->columns = (uint8_t)(facts->columns + (arg->type == SKEIN_T_SEQ ? 2 : 1));
        facts->sequences = (uint8_t)(facts->sequences + (arg->type == SKEIN_T_SEQ));
    }
    type->nargs = (uint8_t)(nargs < SKEIN_ARGS_MAX ? nargs : SKEIN_ARGS_MAX);
    facts->stack = type->klass == SKEIN_CLASS_STACK;
    bool numbered = nargs == 1 && type->args[0].type == SKEIN_T_U64; /* F-45 */
    if (type->klass == 0 || (facts->stack && !numbered))
        rule_break(c, type->klass == 0 ? F_19 : F_45, at);
}

/* F-18, F-19 */
static int types_open(struct partition_reader *r, struct cursor *c)
{
    size_t n = (size_t)count_get(c, TYPES_MAX, 8);
    r->types = reader_table_new(r, c, n, sizeof *r->types);
    r->type_facts = reader_table_new(r, c, n, sizeof *r->type_facts);
    for (; r->type_count < n && c->status == SKEIN_OK; r->type_count++) {
        struct cursor entry = entry_get(c);
        type_get(r, &entry, &r->types[r->type_count], &r->type_facts[r->type_count]);
        entry_close(c, &entry);
    }
    return c->status == SKEIN_OK ? SKEIN_OK : reader_table_fail(r, c, F_18, "event types");
}

/* ---- STRINGS and THREADS ---- */

/* F-20: the texts are copied, so that each has a NUL behind it: in place of its length. */
static int strings_open(struct partition_reader *r, struct cursor *c)
{
    size_t n = (size_t)count_get(c, STRINGS_MAX - r->string_count, 1);
    if (n > r->string_cap - r->string_count) {
        size_t cap = r->string_count + n;
        struct reader_string *strings =
            reader_may(r, n * sizeof *strings) ? realloc(r->strings, cap * sizeof *strings) : NULL;
        if (strings == NULL)
            cursor_fail(c, SKEIN_NO_MEMORY);
        else
            r->string_cap = cap;
        r->strings = strings == NULL ? r->strings : strings;
    }
    char *copy = reader_alloc(r, cursor_left(c) + 1);
    if (copy == NULL)
        cursor_fail(c, SKEIN_NO_MEMORY);
    for (size_t i = 0; copy != NULL && i < n && c->status == SKEIN_OK; i++) {
        size_t len = 0;
        const char *text = text_get(c, PARTITION_NAME_MAX, F_3, &len);
        if (text == NULL)
            break;
        memcpy(copy, text, len);
        copy[len] = 0;
        r->strings[r->string_count++] = (struct reader_string){copy, (uint32_t)len};
        copy += len + 1;
    }
    return c->status == SKEIN_OK ? SKEIN_OK : reader_table_fail(r, c, F_20, "strings");
}

static int threads_open(struct partition_reader *r, struct cursor *c)
{
    size_t n = (size_t)count_get(c, THREADS_MAX, 4);
    r->threads = reader_table_new(r, c, n, sizeof *r->threads);
    for (; r->thread_count < n && c->status == SKEIN_OK; r->thread_count++) {
        struct partition_thread *thread = &r->threads[r->thread_count];
        struct cursor entry = entry_get(c);
        const uint8_t *at = entry.pos;
        uint64_t tid = cursor_uleb(&entry);
        thread->tid = (uint32_t)tid;
        thread->incarnation = cursor_uleb(&entry);
        thread->name = reader_name_get(r, &entry);
        if (tid > UINT32_MAX)
            rule_break(&entry, F_21, at);
        entry_close(c, &entry);
    }
    return c->status == SKEIN_OK ? SKEIN_OK : reader_table_fail(r, c, F_21, "threads");
}

/* ---- OPEN and LOSS: they refer to types and threads, so these come before them (F-11) ---- */

static int opens_open(struct partition_reader *r, struct cursor *c)
{
    size_t n = (size_t)count_get(c, OPENS_MAX, 5);
    r->opens = reader_table_new(r, c, n, sizeof *r->opens);
    for (; r->open_count < n && c->status == SKEIN_OK; r->open_count++) {
        struct partition_open *open = &r->opens[r->open_count];
        struct cursor entry = entry_get(c);
        const uint8_t *at = entry.pos;
        uint64_t thread = cursor_uleb(&entry), type = cursor_uleb(&entry);
        open->since_ticks = cursor_uleb(&entry);
        open->detail = cursor_sleb(&entry);
        if (thread >= r->thread_count || type >= r->type_count)
            rule_break(&entry, F_30, at);
        else if (r->type_facts[type].stack)
            rule_break(&entry, F_45, at);
        entry_close(c, &entry);
        open->thread = (uint32_t)thread;
        open->type = (uint32_t)type;
    }
    return c->status == SKEIN_OK ? SKEIN_OK : reader_table_fail(r, c, F_30, "open operations");
}

static int loss_order(const void *a, const void *b)
{
    const struct partition_loss *x = a, *y = b;
    return (x->from_ticks > y->from_ticks) - (x->from_ticks < y->from_ticks);
}

static int losses_open(struct partition_reader *r, struct cursor *c)
{
    const uint8_t *at = c->pos;
    if (losses_get(c, &r->losses, &r->loss_count) != SKEIN_OK)
        return reader_table_fail(r, c, F_31, "losses");
    for (size_t i = 0; i < r->loss_count; i++)
        if (r->losses[i].thread != UINT32_MAX && r->losses[i].thread >= r->thread_count)
            return reader_fail(r, SKEIN_CORRUPT, F_31, at, "loss %zu names thread %u of %zu", i,
                               r->losses[i].thread, r->thread_count);
    qsort(r->losses, r->loss_count, sizeof *r->losses, loss_order);
    return SKEIN_OK;
}

/* ---- sections ---- */

/* F-10: the payload of a packed section, in memory of the reader. */
static int payload_open(struct partition_reader *r, const struct section *section, struct cursor *c)
{
    cursor_init(c, section->payload, (size_t)section->length);
    if (section->packing == PACKING_RAW)
        return SKEIN_OK;
    if (section->raw_bytes > RAW_BYTES_MAX - r->raw_bytes)
        return reader_fail(r, SKEIN_CORRUPT, F_4, r->bytes + section->offset,
                           "more than %" PRIu64 " bytes unpacked", (uint64_t)RAW_BYTES_MAX);
    r->raw_bytes += section->raw_bytes;
    uint8_t *raw = reader_alloc(r, section->raw_bytes);
    int status = raw == NULL ? SKEIN_NO_MEMORY
                             : lz4_unpack(section->payload, (size_t)section->length, raw,
                                          section->raw_bytes);
    if (status == SKEIN_NO_MEMORY)
        return reader_no_memory(r, "a packed section");
    if (status != SKEIN_OK)
        return reader_fail(r, status, F_10, r->bytes + section->offset,
                           "the section cannot be unpacked");
    r->opened = *section;
    r->unpacked = raw;
    cursor_init(c, raw, section->raw_bytes);
    return SKEIN_OK;
}

static int block_note(struct partition_reader *r, const struct section *section)
{
    if (section->packing != PACKING_LZ4)
        return reader_fail(r, SKEIN_CORRUPT, F_11, r->bytes + section->offset,
                           "the block is not packed");
    if (r->block_count == BLOCKS_MAX)
        return reader_fail(r, SKEIN_CORRUPT, F_4, r->bytes + section->offset, "more than %u blocks",
                           BLOCKS_MAX);
    if (!array_grow(r->blocks, r->block_count + 1, &r->block_cap))
        return reader_no_memory(r, "the list of blocks");
    r->blocks[r->block_count++] = (struct reader_block){.section = *section, .since = UINT64_MAX};
    return SKEIN_OK;
}

static int section_open(struct partition_reader *r, const struct section *section)
{
    struct cursor c;
    if (section->kind == SECTION_BLOCK)
        return block_note(r, section);
    bool may_pack = section->kind == SECTION_STRINGS || section->kind == SECTION_STACKS ||
                    section->kind == SECTION_MAPPINGS || section->kind > SECTION_FOOTER;
    if (section->packing != PACKING_RAW && !may_pack)
        return reader_fail(r, SKEIN_CORRUPT, F_11, r->bytes + section->offset,
                           "a section of kind %u must not be packed", section->kind);
    int status;
    switch (section->kind) {
    case SECTION_INFO:
        return payload_open(r, section, &c) != SKEIN_OK ? r->status : info_get(r, &c);
    case SECTION_TYPES:
        return payload_open(r, section, &c) != SKEIN_OK ? r->status : types_open(r, &c);
    case SECTION_STRINGS:
        status = payload_open(r, section, &c);
        return status != SKEIN_OK ? status : strings_open(r, &c);
    case SECTION_THREADS:
        return payload_open(r, section, &c) != SKEIN_OK ? r->status : threads_open(r, &c);
    case SECTION_STACKS:
        return payload_open(r, section, &c) != SKEIN_OK ? r->status : stacks_open(r, &c);
    case SECTION_MAPPINGS:
        return payload_open(r, section, &c) != SKEIN_OK ? r->status : mappings_open(r, &c);
    case SECTION_SYMBOLS:
        return payload_open(r, section, &c) != SKEIN_OK ? r->status : symbols_open(r, &c);
    case SECTION_OPEN:
        return payload_open(r, section, &c) != SKEIN_OK ? r->status : opens_open(r, &c);
    case SECTION_LOSS:
        return payload_open(r, section, &c) != SKEIN_OK ? r->status : losses_open(r, &c);
    default:
        break;
    }
    if (section->kind > SECTION_FOOTER && (section->flags & SECTION_NEEDED) != 0)
        return reader_fail(r, SKEIN_VERSION, F_12, r->bytes + section->offset,
                           "a section of kind %u needs a newer reader", section->kind);
    return SKEIN_OK;
}

/* F-11: where a kind stands in file order; 0: anywhere behind INFO. */
static unsigned section_rank(uint16_t kind)
{
    if (kind == SECTION_SYMBOLS)
        return SECTION_MAPPINGS * 2 + 1;
    return kind <= SECTION_FOOTER ? kind * 2u : 0;
}

/* F-11: order and number; *seen has a bit for each rank. */
static int section_place(struct partition_reader *r, const struct section *section, uint32_t *seen)
{
    unsigned rank = section_rank(section->kind);
    uint32_t bit = rank > 0 ? UINT32_C(1) << rank : 0;
    bool many = section->kind == SECTION_STRINGS || section->kind == SECTION_BLOCK ||
                section->kind > SECTION_FOOTER;
    bool first_wrong = (*seen == 0) != (section->kind == SECTION_INFO);
    /* known kinds come in rising order: nothing above this one may have been seen */
    uint32_t above = rank > 0 ? UINT32_MAX & ~((bit << 1) - 1) : 0;
    if (first_wrong || (!many && (*seen & bit) != 0) || (*seen & above) != 0)
        return reader_fail(r, SKEIN_CORRUPT, F_11, r->bytes + section->offset,
                           "a section of kind %u is out of place", section->kind);
    *seen |= bit | 1;
    return SKEIN_OK;
}

/* Why there is no section at `head`, with `left` bytes up to the footer (F-9). */
static int section_refuse(struct partition_reader *r, const uint8_t *head, size_t left)
{
    struct cursor c;
    cursor_init(&c, head, left);
    cursor_u16(&c);
    uint8_t packing = cursor_u8(&c);
    cursor_u8(&c);
    bool large = cursor_u32(&c) > PARTITION_BLOCK_RAW_MAX && packing == PACKING_LZ4;
    bool ends = cursor_u64(&c) > (uint64_t)left || c.status != SKEIN_OK;
    return reader_fail(r, SKEIN_CORRUPT, large && !ends ? F_4 : F_9, head,
                       "the section has impossible lengths");
}

static int sections_open(struct partition_reader *r, const uint8_t *footer)
{
    struct cursor c;
    uint32_t seen = 0;
    cursor_init(&c, r->bytes + HEAD_BYTES, (size_t)(footer - r->bytes) - HEAD_BYTES);
    while (cursor_left(&c) > 0) {
        const uint8_t *head = c.pos;
        uint64_t offset = (uint64_t)(head - r->bytes);
        struct section section;
        if (section_get(&c, offset, &section) != SKEIN_OK)
            return section_refuse(r, head, cursor_left(&c));
        if (section.kind != SECTION_BLOCK && !section_sound(&section, head))
            return reader_fail(r, SKEIN_CORRUPT, F_9, head, "the section fails its checksum");
        if (section.kind == SECTION_FOOTER)
            return reader_fail(r, SKEIN_CORRUPT, F_11, head, "a footer in the middle");
        int status = section_place(r, &section, &seen);
        if (status == SKEIN_OK)
            status = section_open(r, &section);
        r->unpacked = NULL;
        if (status != SKEIN_OK)
            return status;
    }
    if ((seen & (1u << section_rank(SECTION_INFO))) == 0)
        return reader_fail(r, SKEIN_CORRUPT, F_11, footer, "there is no INFO section");
    return SKEIN_OK;
}

/* F-34 */
static int footer_compare(struct partition_reader *r)
{
    if (r->footer.block_count != r->block_count)
        return reader_fail(r, SKEIN_CORRUPT, F_34, footer_field(r, FOOTER_BLOCKS, 0),
                           "the footer lists %zu blocks, there are %zu", r->footer.block_count,
                           r->block_count);
    uint32_t holes = 0;
    for (size_t i = 0; i < r->block_count; i++) {
        const struct section *section = &r->blocks[i].section;
        const struct partition_block *block = &r->footer.blocks[i];
        holes += block->left_out > 0;
        r->blocks[i].hole = holes;
        if (block->offset != section->offset || block->raw_bytes != section->raw_bytes ||
            block->stored_bytes != section->length + SECTION_HEAD_BYTES)
            return reader_fail(r, SKEIN_CORRUPT, F_34, footer_field(r, FOOTER_BLOCKS, i + 1),
                               "the footer's block %zu is not the one at byte %" PRIu64, i,
                               section->offset);
    }
    if (!partition_key_equal(&r->footer.key, &r->info.key))
        return reader_fail(r, SKEIN_CORRUPT, F_34, footer_field(r, FOOTER_KEY, 0),
                           "the footer names another partition than INFO");
    if (r->footer.evidence && !r->info.evidence)
        return reader_fail(r, SKEIN_CORRUPT, F_50, footer_field(r, FOOTER_EVIDENCE, 0),
                           "the footer tells of evidence, INFO does not");
    r->footer.evidence = r->info.evidence; /* who slices by an older version leaves it out */
    return SKEIN_OK;
}

int tables_open(struct partition_reader *r)
{
    uint64_t length;
    bool is_table;
    struct partition_fault fault = {.rule = F_NONE};
    int status = head_explain(r->bytes, r->n, &length, &is_table, &fault);
    if (status != SKEIN_OK)
        return reader_fault(r, status, &fault);
    if (is_table)
        return reader_fail(r, SKEIN_CORRUPT, F_8, r->bytes + 10,
                           "a table of partitions, not a partition");
    if (r->n != length)
        return reader_fail(r, r->n < length ? SKEIN_TRUNCATED : SKEIN_CORRUPT, F_14,
                           r->bytes + (r->n < length ? r->n : (size_t)length),
                           "%zu bytes, but the head says %" PRIu64, r->n, length);
    struct tail tail;
    const uint8_t *last;
    size_t need;
    if (tail_explain(r->bytes, r->n, &tail, &last, &need, &fault) != SKEIN_OK)
        return reader_fault(r, SKEIN_CORRUPT, &fault);
    if (tail.length != length)
        return reader_fail(r, SKEIN_CORRUPT, F_14, r->bytes + r->n - TAIL_BYTES + 8,
                           "the tail says %" PRIu64 " bytes, the head %" PRIu64, tail.length,
                           length);
    status = footer_explain(r->bytes, r->n, &r->footer, &need, &fault);
    if (status != SKEIN_OK)
        return reader_fault(r, status, &fault);
    r->footer_section = last;
    status = sections_open(r, last);
    return status != SKEIN_OK ? status : footer_compare(r);
}
