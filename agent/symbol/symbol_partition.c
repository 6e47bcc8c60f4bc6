/* SPDX-License-Identifier: Apache-2.0
 *
 * From stacks to names in one partition; see symbol_partition.h.
 */
#include "symbol_partition.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "symbol_int.h"

struct addresses {
    uint64_t *items;
    size_t count, cap;
};

static int addresses_compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Each once. */
static int addresses_list(struct partition_writer *w, struct addresses *out)
{
    size_t count = partition_writer_stack_count(w);
    for (uint32_t id = 1; id <= count; id++) {
        struct partition_stack stack;
        if (!partition_writer_stack_at(w, id, &stack))
            break;
        if (!array_grow(out->items, out->count + stack.count, &out->cap))
            return SKEIN_NO_MEMORY;
        for (uint32_t i = 0; i < stack.count; i++)
            out->items[out->count++] = partition_stack_address(&stack, i);
    }
    if (out->count == 0)
        return SKEIN_OK;
    qsort(out->items, out->count, sizeof *out->items, addresses_compare);
    size_t kept = 1;
    for (size_t i = 1; i < out->count; i++)
        if (out->items[i] != out->items[kept - 1])
            out->items[kept++] = out->items[i];
    out->count = kept;
    return SKEIN_OK;
}

struct naming {
    struct partition_writer *writer;
    uint64_t bytes, left_raw;
    int status;
};

static void symbol_write(void *context, const struct partition_symbol *symbol)
{
    struct naming *naming = context;
    uint64_t bytes = 10;
    for (uint32_t i = 0; i < symbol->line_count; i++)
        bytes += strlen(symbol->lines[i].function) + strlen(symbol->lines[i].file) + 8;
    int status = naming->bytes + bytes <= SYMBOL_PARTITION_BYTES
                     ? partition_writer_symbol(naming->writer, symbol)
                     : SKEIN_TOO_LARGE;
    if (status == SKEIN_TOO_LARGE)
        naming->left_raw++;
    else if (status != SKEIN_OK)
        naming->status = status;
    else
        naming->bytes += bytes;
}

static int mappings_list(const struct partition_writer *w, struct partition_mapping **out,
                         size_t *count)
{
    *count = partition_writer_mapping_count(w);
    *out = calloc(*count + 1, sizeof **out);
    for (size_t i = 0; *out != NULL && i < *count; i++)
        if (!partition_writer_mapping_at(w, i, &(*out)[i]))
            *count = i;
    return *out != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

int symbol_partition_name(struct symbolizer *s, pid_t pid, uint64_t start_clock_ticks,
                          uint64_t deadline_ns, struct partition_writer *w)
{
    struct addresses addresses = {.items = NULL};
    struct symbolizer_process process = {.pid = pid, .start_clock_ticks = start_clock_ticks};
    struct partition_mapping *mappings = NULL;
    struct naming naming = {.writer = w};
    int status = addresses_list(w, &addresses);
    if (status == SKEIN_OK && addresses.count > 0)
        status = mappings_list(w, &mappings, &process.mapping_count);
    process.mappings = mappings;
    if (status == SKEIN_OK && addresses.count > 0)
        status = symbolizer_names(s, &process, addresses.items, addresses.count, deadline_ns,
                                  symbol_write, &naming);
    free(mappings);
    free(addresses.items);
    symbol_count_add(s, &s->counters.left_raw, naming.left_raw);
    if (status == SKEIN_OK || status == SKEIN_TIMEOUT || status == SKEIN_BUSY)
        status = naming.status;
    return status;
}
