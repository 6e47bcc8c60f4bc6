/* SPDX-License-Identifier: Apache-2.0
 *
 * Footers (docs/format.md F-33 to F-35), losses, and the small parsers that all tables share. Pure
 * functions over bytes; hostile input expected; a failed decode leaves nothing behind.
 */
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "digits.h"
#include "partition_entries_int.h"
#include "partition_int.h"

const char *partition_loss_text(uint8_t reason)
{
    switch (reason) {
#define X(name, value, text)                                                                       \
    case PARTITION_LOSS_##name:                                                                    \
        return text;
        PARTITION_LOSS_LIST(X)
#undef X
    default:
        return "unknown";
    }
}

const char *partition_stack_end_text(uint8_t end)
{
    switch (end & ~PARTITION_STACK_EXACT) {
#define X(name, value, text)                                                                       \
    case PARTITION_STACK_##name:                                                                   \
        return text;
        PARTITION_STACK_END_LIST(X)
#undef X
    default:
        return "unknown";
    }
}

/* A cursor's status that names a rule, far from those of enum skein_status. */
#define STATUS_OF_RULE(rule) (-1000 - (int)(rule))

void rule_break(struct cursor *c, enum format_rule rule, const uint8_t *at)
{
    if (c->status != SKEIN_OK)
        return;
    c->pos = at;
    cursor_fail(c, STATUS_OF_RULE(rule));
}

enum format_rule cursor_rule(const struct cursor *c, enum format_rule otherwise)
{
    if (c->status == SKEIN_NO_MEMORY)
        return F_NONE;
    if (c->status <= STATUS_OF_RULE(0))
        return (enum format_rule)(STATUS_OF_RULE(0) - c->status);
    return c->status == SKEIN_CORRUPT ? F_1 : otherwise; /* a uleb beyond 64 bits */
}

struct cursor entry_get(struct cursor *parent)
{
    const uint8_t *at = parent->pos;
    uint64_t n = cursor_uleb(parent);
    if (n > cursor_left(parent))
        rule_break(parent, F_6, at);
    const uint8_t *bytes = cursor_bytes(parent, n);
    struct cursor entry;
    cursor_init(&entry, bytes == NULL ? (const uint8_t *)"" : bytes, bytes == NULL ? 0 : (size_t)n);
    return entry;
}

void entry_close(struct cursor *parent, const struct cursor *entry)
{
    if (entry->status == SKEIN_OK || parent->status != SKEIN_OK)
        return;
    parent->pos = entry->pos;
    cursor_fail(parent, entry->status);
}

uint64_t count_get(struct cursor *c, uint64_t max, size_t min_bytes)
{
    const uint8_t *at = c->pos;
    uint64_t count = cursor_uleb(c);
    if (count > max) {
        rule_break(c, F_4, at);
        return 0;
    }
    if (count > cursor_left(c) / min_bytes) {
        c->pos = at;
        cursor_fail(c, SKEIN_TRUNCATED);
        return 0;
    }
    return count;
}

void *table_new(struct cursor *c, size_t n, size_t size)
{
    void *rows = calloc(n + 1, size);
    if (rows == NULL)
        cursor_fail(c, SKEIN_NO_MEMORY);
    return rows;
}

const char *text_get(struct cursor *c, size_t max, enum format_rule rule, size_t *n)
{
    struct cursor length = *c;
    uint64_t len = cursor_uleb(&length);
    if (length.status == SKEIN_OK && len > max)
        rule_break(c, rule, c->pos);
    return cursor_text(c, max, n);
}

char *text_copy(struct cursor *c)
{
    size_t n = 0;
    const char *text = text_get(c, PARTITION_NAME_MAX, F_3, &n);
    if (text == NULL)
        return NULL;
    char *copy = malloc(n + 1);
    if (copy == NULL) {
        cursor_fail(c, SKEIN_NO_MEMORY);
        return NULL;
    }
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

/* ---- losses ---- */

void losses_put(struct buf *b, const struct partition_loss *losses, size_t count)
{
    struct buf entry = {0};
    buf_put_uleb(b, count);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&entry);
        buf_put_uleb(&entry, losses[i].thread == UINT32_MAX ? 0 : (uint64_t)losses[i].thread + 1);
        buf_put_uleb(&entry, losses[i].reason);
        buf_put_uleb(&entry, losses[i].events);
        buf_put_uleb(&entry, losses[i].from_ticks);
        buf_put_uleb(&entry, losses[i].to_ticks);
        if (entry.status != SKEIN_OK)
            b->status = SKEIN_NO_MEMORY;
        buf_put_text(b, (const char *)entry.data, entry.len);
    }
    buf_fini(&entry);
}

static void loss_get(struct cursor *c, struct partition_loss *loss)
{
    struct cursor entry = entry_get(c);
    const uint8_t *at = entry.pos;
    uint64_t thread = cursor_uleb(&entry);
    uint64_t reason = cursor_uleb(&entry);
    loss->events = cursor_uleb(&entry);
    loss->from_ticks = cursor_uleb(&entry);
    loss->to_ticks = cursor_uleb(&entry);
    if (thread > THREADS_MAX)
        rule_break(&entry, F_31, at);
    entry_close(c, &entry);
    loss->thread = thread == 0 ? UINT32_MAX : (uint32_t)(thread - 1);
    loss->reason = reason > UINT8_MAX ? UINT8_MAX : (uint8_t)reason; /* F-32: unknown */
}

int losses_get(struct cursor *c, struct partition_loss **losses, size_t *count)
{
    *losses = NULL;
    *count = 0;
    size_t n = (size_t)count_get(c, LOSSES_MAX, 6);
    struct partition_loss *rows = table_new(c, n, sizeof *rows);
    for (size_t i = 0; i < n && c->status == SKEIN_OK; i++)
        loss_get(c, &rows[i]);
    if (c->status != SKEIN_OK) {
        free(rows);
        return c->status;
    }
    *losses = rows;
    *count = n;
    return SKEIN_OK;
}

/* ---- footer ---- */

static void blocks_put(struct buf *b, const struct partition_footer *footer)
{
    struct buf entry = {0};
    buf_put_uleb(b, footer->block_count);
    for (size_t i = 0; i < footer->block_count; i++) {
        const struct partition_block *block = &footer->blocks[i];
        buf_clear(&entry);
        buf_put_uleb(&entry, block->offset);
        buf_put_uleb(&entry, block->stored_bytes);
        buf_put_uleb(&entry, block->raw_bytes);
        buf_put_uleb(&entry, block->threads);
        buf_put_uleb(&entry, block->events);
        buf_put_uleb(&entry, block->from_ticks);
        buf_put_uleb(&entry, block->to_ticks);
        if (footer->slice || footer->reaches)
            buf_put_uleb(&entry, block->left_out);
        if (footer->reaches) {
            buf_put_uleb(&entry, block->from_ticks - block->since_ticks);
            buf_put_uleb(&entry, block->until_ticks - block->to_ticks);
        }
        if (entry.status != SKEIN_OK)
            b->status = SKEIN_NO_MEMORY;
        buf_put_text(b, (const char *)entry.data, entry.len);
    }
    buf_fini(&entry);
}

static void types_put(struct buf *b, const struct partition_footer *footer)
{
    struct buf entry = {0};
    buf_put_uleb(b, footer->type_count);
    for (size_t i = 0; i < footer->type_count; i++) {
        buf_clear(&entry);
        buf_put_text(&entry, footer->types[i].name, strlen(footer->types[i].name));
        buf_put_u8(&entry, footer->types[i].klass);
        buf_put_uleb(&entry, footer->types[i].events);
        if (entry.status != SKEIN_OK)
            b->status = SKEIN_NO_MEMORY;
        buf_put_text(b, (const char *)entry.data, entry.len);
    }
    buf_fini(&entry);
}

/* F-42 */
static void open_ranges_put(struct buf *b, const struct partition_footer *footer)
{
    struct buf entry = {0};
    buf_put_uleb(b, footer->open_range_count);
    for (size_t i = 0; i < footer->open_range_count; i++) {
        buf_clear(&entry);
        buf_put_uleb(&entry, footer->open_ranges[i].thread);
        buf_put_uleb(&entry, footer->open_ranges[i].type);
        buf_put_uleb(&entry, footer->open_ranges[i].since_ticks);
        if (entry.status != SKEIN_OK)
            b->status = SKEIN_NO_MEMORY;
        buf_put_text(b, (const char *)entry.data, entry.len);
    }
    buf_fini(&entry);
}

void footer_put(struct buf *b, const struct partition_footer *footer)
{
    buf_put(b, footer->key.process.bytes, sizeof footer->key.process.bytes);
    buf_put_uleb(b, footer->key.epoch);
    buf_put_uleb(b, footer->key.sequence);
    buf_put_uleb(b, footer->pid);
    buf_put_uleb(b, footer->from_ns);
    buf_put_uleb(b, footer->to_ns);
    buf_put_uleb(b, footer->window_from_ns);
    buf_put_uleb(b, footer->window_to_ns);
    buf_put_uleb(b, footer->events);
    buf_put_uleb(b, footer->lost);
    buf_put_uleb(b, footer->threads);
    buf_put_uleb(b, footer->fixed_up);
    buf_put_text(b, footer->host, strlen(footer->host));
    buf_put_text(b, footer->service, strlen(footer->service));
    buf_put_text(b, footer->labels, strlen(footer->labels));
    buf_put_text(b, footer->exe, strlen(footer->exe));
    blocks_put(b, footer);
    types_put(b, footer);
    losses_put(b, footer->losses, footer->loss_count);
    buf_put_uleb(b, footer->trace_id_filter_words);
    for (size_t i = 0; i < footer->trace_id_filter_words; i++)
        buf_put_u64(b, footer->trace_id_filter[i]);
    if (!footer->slice && !footer->reaches)
        return;
    buf_put_u8(b, footer->slice);
    buf_put_uleb(b, footer->left_out_behind);
    buf_put_uleb(b, footer->left_out_events);
    if (footer->reaches) {
        open_ranges_put(b, footer);
        buf_put_u8(b, footer->evidence);
    }
}

static void blocks_get(struct cursor *c, struct partition_footer *footer)
{
    size_t n = (size_t)count_get(c, BLOCKS_MAX, 8);
    footer->blocks = table_new(c, n, sizeof *footer->blocks);
    for (; footer->block_count < n && c->status == SKEIN_OK; footer->block_count++) {
        struct partition_block *block = &footer->blocks[footer->block_count];
        struct cursor entry = entry_get(c);
        const uint8_t *at = entry.pos;
        block->offset = cursor_uleb(&entry);
        uint64_t stored = cursor_uleb(&entry), raw = cursor_uleb(&entry);
        uint64_t batches = cursor_uleb(&entry);
        block->events = cursor_uleb(&entry);
        block->from_ticks = cursor_uleb(&entry);
        block->to_ticks = cursor_uleb(&entry);
        uint64_t left_out = cursor_left(&entry) > 0 ? cursor_uleb(&entry) : 0;
        uint64_t before = cursor_left(&entry) > 0 ? cursor_uleb(&entry) : 0;
        uint64_t behind = cursor_left(&entry) > 0 ? cursor_uleb(&entry) : 0;
        if (stored > PARTITION_BYTES_MAX || raw > PARTITION_BLOCK_RAW_MAX ||
            batches > PARTITION_BLOCK_RAW_MAX || left_out > BLOCKS_MAX)
            rule_break(&entry, F_4, at);
        if (before > block->from_ticks || behind > UINT64_MAX - block->to_ticks)
            rule_break(&entry, F_42, at);
        entry_close(c, &entry);
        block->since_ticks = block->from_ticks - before;
        block->until_ticks = block->to_ticks + behind;
        block->stored_bytes = (uint32_t)stored;
        block->raw_bytes = (uint32_t)raw;
        block->threads = (uint32_t)batches;
        block->left_out = (uint32_t)left_out;
    }
}

static void types_get(struct cursor *c, struct partition_footer *footer)
{
    size_t n = (size_t)count_get(c, TYPES_MAX, 4);
    footer->types = table_new(c, n, sizeof *footer->types);
    while (footer->type_count < n && c->status == SKEIN_OK) {
        struct partition_type_count *type = &footer->types[footer->type_count++];
        struct cursor entry = entry_get(c);
        type->name = text_copy(&entry);
        type->klass = cursor_u8(&entry);
        type->events = cursor_uleb(&entry);
        entry_close(c, &entry);
    }
}

static void filter_get(struct cursor *c, struct partition_footer *footer)
{
    const uint8_t *at = c->pos;
    size_t words = (size_t)count_get(c, FILTER_WORDS_MAX, 8);
    if ((words & (words - 1)) != 0)
        rule_break(c, F_33, at);
    if (words == 0 || c->status != SKEIN_OK)
        return;
    footer->trace_id_filter = table_new(c, words, sizeof *footer->trace_id_filter);
    if (footer->trace_id_filter == NULL)
        return;
    footer->trace_id_filter_words = words;
    for (size_t i = 0; i < words; i++)
        footer->trace_id_filter[i] = cursor_u64(c);
}

/* F-42 */
static void open_ranges_get(struct cursor *c, struct partition_footer *footer)
{
    size_t n = (size_t)count_get(c, OPENS_MAX, 4);
    footer->reaches = true;
    footer->open_ranges = table_new(c, n, sizeof *footer->open_ranges);
    for (; footer->open_range_count < n && c->status == SKEIN_OK; footer->open_range_count++) {
        struct partition_open *range = &footer->open_ranges[footer->open_range_count];
        struct cursor entry = entry_get(c);
        const uint8_t *at = entry.pos;
        uint64_t thread = cursor_uleb(&entry), type = cursor_uleb(&entry);
        range->since_ticks = cursor_uleb(&entry);
        if (thread >= THREADS_MAX || type > TYPES_MAX)
            rule_break(&entry, F_42, at);
        entry_close(c, &entry);
        range->thread = (uint32_t)thread;
        range->type = (uint32_t)type;
    }
}

/* F-38, F-42; what is not there is no slice. */
static void slice_get(struct cursor *c, struct partition_footer *footer)
{
    if (cursor_left(c) == 0)
        return;
    footer->slice = cursor_u8(c) == 1;
    const uint8_t *at = c->pos;
    footer->left_out_behind = cursor_uleb(c);
    footer->left_out_events = cursor_uleb(c);
    if (footer->left_out_behind > BLOCKS_MAX)
        rule_break(c, F_4, at);
    if (c->status == SKEIN_OK && cursor_left(c) > 0)
        open_ranges_get(c, footer);
    if (c->status == SKEIN_OK && cursor_left(c) > 0) /* F-50 */
        footer->evidence = cursor_u8(c) == 1;
}

static void footer_payload_get(struct cursor *c, struct partition_footer *footer)
{
    const uint8_t *process = cursor_bytes(c, sizeof footer->key.process.bytes);
    if (process != NULL)
        memcpy(footer->key.process.bytes, process, sizeof footer->key.process.bytes);
    footer->key.epoch = cursor_uleb(c);
    footer->key.sequence = cursor_uleb(c);
    const uint8_t *at = c->pos;
    uint64_t pid = cursor_uleb(c);
    footer->pid = (uint32_t)pid;
    if (pid > UINT32_MAX)
        rule_break(c, F_33, at);
    footer->from_ns = cursor_uleb(c);
    footer->to_ns = cursor_uleb(c);
    footer->window_from_ns = cursor_uleb(c);
    footer->window_to_ns = cursor_uleb(c);
    footer->events = cursor_uleb(c);
    footer->lost = cursor_uleb(c);
    footer->threads = cursor_uleb(c);
    footer->fixed_up = cursor_uleb(c);
    footer->host = text_copy(c);
    footer->service = text_copy(c);
    footer->labels = text_copy(c);
    footer->exe = text_copy(c);
    if (c->status == SKEIN_OK)
        blocks_get(c, footer);
    if (c->status == SKEIN_OK)
        types_get(c, footer);
    if (c->status == SKEIN_OK)
        losses_get(c, &footer->losses, &footer->loss_count);
    if (c->status == SKEIN_OK)
        filter_get(c, footer);
    if (c->status == SKEIN_OK)
        slice_get(c, footer);
}

/* F-13: the last section, which is the footer, between its head and the tail. */
static int footer_section_get(const uint8_t *bytes, const struct tail *tail, const uint8_t *last,
                              struct section *section, struct partition_fault *fault)
{
    struct cursor c;
    uint64_t at = (uint64_t)(last - bytes);
    cursor_init(&c, last, (size_t)tail->last_bytes - TAIL_BYTES);
    if (tail->kind != HEAD_PARTITION)
        partition_fault_set(fault, F_13, at, "the tail is a table's, not a partition's");
    else if (section_get(&c, 0, section) != SKEIN_OK || cursor_left(&c) != 0)
        partition_fault_set(fault, F_9, at, "the last section has impossible lengths");
    else if (!section_sound(section, last))
        partition_fault_set(fault, F_9, at, "the last section fails its checksum");
    else if (section->kind != SECTION_FOOTER || section->packing != PACKING_RAW)
        partition_fault_set(fault, F_11, at, "the last section is of kind %u, not a plain footer",
                            section->kind);
    else
        return SKEIN_OK;
    return SKEIN_CORRUPT;
}

int footer_explain(const uint8_t *bytes, size_t n, struct partition_footer *footer, size_t *need,
                   struct partition_fault *fault)
{
    *footer = (struct partition_footer){0};
    struct tail tail;
    const uint8_t *last;
    struct cursor c;
    struct section section;
    int status = tail_explain(bytes, n, &tail, &last, need, fault);
    if (status == SKEIN_OK)
        status = footer_section_get(bytes, &tail, last, &section, fault);
    if (status != SKEIN_OK)
        return status;
    /* the tail alone does not tell a newer major version: the head does, if it is at hand */
    cursor_init(&c, section.payload, (size_t)section.length);
    footer->partition_bytes = tail.length;
    footer_payload_get(&c, footer);
    if (c.status == SKEIN_OK)
        return SKEIN_OK;
    partition_footer_free(footer);
    partition_fault_set(fault, cursor_rule(&c, F_33), (uint64_t)(c.pos - bytes), "%s",
                        c.status == SKEIN_NO_MEMORY ? "out of memory for the footer"
                                                    : "the footer is malformed");
    return c.status == SKEIN_NO_MEMORY ? SKEIN_NO_MEMORY : SKEIN_CORRUPT;
}

int partition_footer_get(const uint8_t *bytes, size_t n, struct partition_footer *footer,
                         size_t *need)
{
    return footer_explain(bytes, n, footer, need, NULL);
}

void partition_footer_free(struct partition_footer *footer)
{
    for (size_t i = 0; i < footer->type_count; i++)
        free(footer->types[i].name);
    free(footer->types);
    free(footer->blocks);
    free(footer->losses);
    free(footer->open_ranges);
    free(footer->trace_id_filter);
    free(footer->host);
    free(footer->service);
    free(footer->labels);
    free(footer->exe);
    *footer = (struct partition_footer){0};
}

uint64_t partition_footer_stacks(const struct partition_footer *footer)
{
    uint64_t stacks = 0;
    for (size_t i = 0; i < footer->type_count; i++)
        if (footer->types[i].klass == SKEIN_CLASS_STACK)
            stacks += footer->types[i].events;
    return stacks;
}

/* ---- F-35 ---- */

bool trace_id_parse(const char *text, size_t n, uint8_t id[16])
{
    return n == 32 && digits_bytes(text, id, 16);
}

void trace_id_add(uint64_t *filter, size_t words, uint64_t hash)
{
    uint64_t step = (hash >> 32) | 1, bits = (uint64_t)words * 64;
    for (uint64_t i = 0; i < FILTER_HASHES; i++) {
        uint64_t bit = (hash + i * step) & (bits - 1);
        filter[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
}

bool partition_footer_has_trace_id(const struct partition_footer *footer, const uint8_t id[16])
{
    size_t words = footer->trace_id_filter_words;
    if (words == 0)
        return false;
    uint64_t hash = checksum64(id, 16), step = (hash >> 32) | 1, bits = (uint64_t)words * 64;
    for (uint64_t i = 0; i < FILTER_HASHES; i++) {
        uint64_t bit = (hash + i * step) & (bits - 1);
        if ((footer->trace_id_filter[bit / 64] >> (bit % 64) & 1) == 0)
            return false;
    }
    return true;
}
