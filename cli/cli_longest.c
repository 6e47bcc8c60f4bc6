/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the kept regions: a binary heap with the shortest at its root, so that a longer one replaces
 * it. An event's texts are copied, as its pointers die with the next event. One thread.
 */
#include "cli_longest.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cli.h"
#include "cli_out.h"
#include "json.h"
#include "trace_json.h"
#include "trace_stack.h"
#include "trace_text.h"

struct kept {
    uint64_t dur_ns, time_ns;
    struct buf line;  /* a line of JSON */
    struct buf args;  /* as text, for a table; ends in a NUL */
    struct buf stack; /* lines below it; ends in a NUL */
};
#define STACK_INDENT 8

struct longest {
    bool json;
    uint64_t wanted;
    size_t count, room;
    struct kept *heap;
};

int longest_new(uint64_t wanted, bool json, struct longest **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->wanted = wanted;
    (*out)->json = json;
    return SKEIN_OK;
}

static void kept_fini(struct kept *kept)
{
    buf_fini(&kept->line);
    buf_fini(&kept->args);
    buf_fini(&kept->stack);
}

void longest_free(struct longest **longest)
{
    if (*longest == NULL)
        return;
    for (size_t i = 0; i < (*longest)->count; i++)
        kept_fini(&(*longest)->heap[i]);
    free((*longest)->heap);
    free(*longest);
    *longest = NULL;
}

/* Of two as long, the later one counts as shorter. */
static bool shorter(const struct kept *a, const struct kept *b)
{
    return a->dur_ns != b->dur_ns ? a->dur_ns < b->dur_ns : a->time_ns > b->time_ns;
}

static void spans_swap(struct kept *a, struct kept *b)
{
    struct kept c = *a;
    *a = *b;
    *b = c;
}

static void sift_up(struct kept *heap, size_t i)
{
    while (i > 0 && shorter(&heap[i], &heap[(i - 1) / 2])) {
        spans_swap(&heap[i], &heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void sift_down(struct kept *heap, size_t count)
{
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < count; child++)
            if (shorter(&heap[child], &heap[least]))
                least = child;
        if (least == i)
            return;
        spans_swap(&heap[i], &heap[least]);
        i = least;
    }
}

int longest_add(struct longest *longest, struct partition_reader *reader,
                const struct trace_event *event)
{
    struct kept kept = {.dur_ns = event->dur_ns, .time_ns = event->time_ns};
    bool full = longest->count == longest->wanted;
    if (longest->wanted == 0 || (full && !shorter(&longest->heap[0], &kept)))
        return SKEIN_OK;
    trace_json_put(&kept.line, partition_reader_info(reader), event, longest->json ? reader : NULL);
    if (!longest->json) {
        trace_text_put_args(&kept.args, event);
        trace_stack_text(&kept.stack, reader, event->stack, STACK_INDENT);
    }
    buf_put_u8(&kept.args, 0);
    buf_put_u8(&kept.stack, 0);
    if (kept.line.status != SKEIN_OK || kept.args.status != SKEIN_OK ||
        kept.stack.status != SKEIN_OK ||
        (!full && !array_grow(longest->heap, longest->count + 1, &longest->room))) {
        kept_fini(&kept);
        say_error("out of memory");
        return SKEIN_NO_MEMORY;
    }
    if (full) {
        kept_fini(&longest->heap[0]);
        longest->heap[0] = kept;
        sift_down(longest->heap, longest->count);
    } else {
        longest->heap[longest->count] = kept;
        sift_up(longest->heap, longest->count++);
    }
    return SKEIN_OK;
}

static int longest_first(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    return shorter(x, y) - shorter(y, x);
}

/* ---- as a table ---- */

/* The line with what a table shows added to it. */
static void row_add(cJSON *rows, const struct kept *kept)
{
    char error[128];
    cJSON *row = json_parse((const char *)kept->line.data, kept->line.len, error, sizeof error);
    if (row == NULL)
        return;
    json_add_time(row, "began", kept->time_ns);
    cJSON_DeleteItemFromObjectCaseSensitive(row, "dur_ns");
    json_add_u64(row, "dur_ns", kept->dur_ns);
    cJSON_AddStringToObject(
        row, "text", (const char *)kept->args.data + strspn((const char *)kept->args.data, " "));
    cJSON_AddStringToObject(row, TABLE_BELOW, (const char *)kept->stack.data);
    cJSON_AddItemToArray(rows, row);
}

int longest_print(struct longest *longest)
{
    static const struct table_column columns[] = {{"TOOK", "dur_ns", TABLE_NS},
                                                  {"BEGAN", "began", TABLE_TIME},
                                                  {"SERVICE", "service", TABLE_TEXT | TABLE_SPARE},
                                                  {"THREAD", "thread", TABLE_TEXT},
                                                  {"TID", "tid", TABLE_NUMBER | TABLE_SPARE},
                                                  {"TYPE", "type", TABLE_TEXT | TABLE_SPARE},
                                                  {"NAME", "name", TABLE_TEXT},
                                                  {"ARGUMENTS", "text", TABLE_TEXT},
                                                  {NULL, NULL, TABLE_TEXT}};
    if (longest->count)
        qsort(longest->heap, longest->count, sizeof *longest->heap, longest_first);
    if (longest->json) {
        bool written = true;
        for (size_t i = 0; i < longest->count && written; i++)
            written = out_write(&longest->heap[i].line);
        return written ? out_close() : CLI_FAILED;
    }
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < longest->count; i++)
        row_add(rows, &longest->heap[i]);
    int status = table_print(rows, false, columns, "no regions");
    cJSON_Delete(rows);
    return status;
}
