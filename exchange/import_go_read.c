/* SPDX-License-Identifier: Apache-2.0
 *
 * A generation of a Go trace: batches of events by thread, and the tables that these name.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "import_go_generation.h"
#include "import_go_kinds.h"
#include "import_out.h"

void go_generation_clear(struct go_generation *g)
{
    g->number = g->frequency = g->first = 0;
    g->has_wall = false;
    g->batch_count = g->string_count = g->stack_count = g->pc_count = g->sample_count = 0;
    buf_clear(&g->bytes);
    import_map_clear(&g->string_ids);
    import_map_clear(&g->stack_ids);
}

void go_generation_fini(struct go_generation *g)
{
    buf_fini(&g->bytes);
    import_map_fini(&g->string_ids);
    import_map_fini(&g->stack_ids);
    free(g->batches);
    free(g->strings);
    free(g->stacks);
    free(g->pcs);
    free(g->samples);
    *g = (struct go_generation){.number = 0};
}

const char *go_text(const struct go_generation *g, uint64_t id, char room[GO_STRING_MAX + 1])
{
    uint32_t at = import_map_get(&g->string_ids, id);
    if (at == IMPORT_MAP_NONE)
        return "";
    const struct go_text *text = &g->strings[at];
    memcpy(room, g->bytes.data + text->at, text->n);
    room[text->n] = '\0';
    return room;
}

uint64_t go_ns(const struct go_generation *g, uint64_t time)
{
    double ns = (double)time * (1e9 / (double)g->frequency);
    return ns < (double)IMPORT_TIME_MAX ? (uint64_t)ns : IMPORT_TIME_BEYOND;
}

static int corrupt(struct import_told *told, const char *what)
{
    import_why(told, "%s", what);
    return SKEIN_CORRUPT;
}

/* ---- tables ---- */

static int strings_take(struct go_generation *g, struct cursor *c, struct import_told *told)
{
    while (cursor_left(c) > 0) {
        if (cursor_u8(c) != GO_STRING)
            return corrupt(told, "its table of strings holds something else");
        uint64_t id = cursor_uleb(c);
        size_t n;
        const char *text = cursor_text(c, GO_STRING_MAX, &n);
        if (text == NULL)
            return corrupt(told, "its table of strings is cut");
        if (!array_grow(g->strings, g->string_count + 1, &g->string_cap) ||
            !import_map_set(&g->string_ids, id, (uint32_t)g->string_count))
            return SKEIN_NO_MEMORY;
        g->strings[g->string_count++] = (struct go_text){
            .at = (size_t)((const uint8_t *)text - g->bytes.data), .n = (uint32_t)n};
    }
    return SKEIN_OK;
}

/* A frame's pc and the numbers of its names lie in `pcs` one after the other, four in all. */
static int stack_take(struct go_generation *g, struct cursor *c, struct import_told *told)
{
    uint64_t id = cursor_uleb(c), frames = cursor_uleb(c);
    if (c->status != SKEIN_OK || frames > GO_FRAMES_MAX)
        return corrupt(told, "its table of stacks has one with too many frames");
    if (!array_grow(g->pcs, g->pc_count + (size_t)frames * 4, &g->pc_cap) ||
        !array_grow(g->stacks, g->stack_count + 1, &g->stack_cap) ||
        !import_map_set(&g->stack_ids, id, (uint32_t)g->stack_count))
        return SKEIN_NO_MEMORY;
    g->stacks[g->stack_count++] = (struct go_stack){.pcs = g->pc_count, .count = (uint32_t)frames};
    for (uint64_t i = 0; i < frames * 4; i++)
        g->pcs[g->pc_count++] = cursor_uleb(c);
    return c->status == SKEIN_OK ? SKEIN_OK : corrupt(told, "its table of stacks is cut");
}

static int stacks_take(struct go_generation *g, struct cursor *c, struct import_told *told)
{
    int status = SKEIN_OK;
    while (cursor_left(c) > 0 && status == SKEIN_OK) {
        if (cursor_u8(c) != GO_STACK)
            return corrupt(told, "its table of stacks holds something else");
        status = stack_take(g, c, told);
    }
    return status;
}

static int samples_take(struct go_generation *g, struct cursor *c, struct import_told *told)
{
    while (cursor_left(c) > 0) {
        struct go_sample sample;
        if (cursor_u8(c) != GO_CPU_SAMPLE)
            return corrupt(told, "its table of samples holds something else");
        sample.time = cursor_uleb(c);
        sample.m = cursor_uleb(c);
        sample.p = cursor_uleb(c);
        sample.g = cursor_uleb(c);
        sample.stack = cursor_uleb(c);
        if (c->status != SKEIN_OK)
            return corrupt(told, "its table of samples is cut");
        if (!array_grow(g->samples, g->sample_count + 1, &g->sample_cap))
            return SKEIN_NO_MEMORY;
        g->samples[g->sample_count++] = sample;
    }
    return SKEIN_OK;
}

static int frequency_take(struct go_generation *g, struct cursor *c, struct import_told *told)
{
    uint64_t frequency = cursor_uleb(c);
    if (c->status != SKEIN_OK || frequency == 0 || g->frequency != 0)
        return corrupt(told, "its clock's frequency is 0, cut, or told twice");
    g->frequency = frequency;
    return SKEIN_OK;
}

/* Since Go 1.25: frequency, and the same instant on three clocks. */
static int sync_take(struct go_generation *g, const struct go_batch *batch, struct cursor *c,
                     struct import_told *told)
{
    int status = SKEIN_OK;
    while (cursor_left(c) > 0 && status == SKEIN_OK) {
        uint8_t kind = cursor_u8(c);
        if (kind == GO_FREQUENCY) {
            status = frequency_take(g, c, told);
        } else if (kind == GO_CLOCK_SNAPSHOT) {
            g->wall_at = batch->time + cursor_uleb(c);
            (void)cursor_uleb(c); /* CLOCK_MONOTONIC */
            g->wall_s = cursor_uleb(c);
            g->wall_ns = cursor_uleb(c);
            g->has_wall = c->status == SKEIN_OK;
        } else {
            return corrupt(told, "its clocks are followed by something else");
        }
        if (c->status != SKEIN_OK)
            return corrupt(told, "its clocks are cut");
    }
    return status;
}

/* ---- batches ---- */

int go_batch_take(struct go_generation *g, const struct go_batch *batch, struct import_told *told)
{
    struct cursor c;
    if (g->first == 0 || batch->time < g->first)
        g->first = batch->time;
    if (batch->n == 0)
        return SKEIN_OK;
    cursor_init(&c, g->bytes.data + batch->at + 1, batch->n - 1);
    switch (g->bytes.data[batch->at]) {
    case GO_STRINGS:
        return strings_take(g, &c, told);
    case GO_STACKS:
        return stacks_take(g, &c, told);
    case GO_CPU_SAMPLES:
        return samples_take(g, &c, told);
    case GO_FREQUENCY:
        return frequency_take(g, &c, told);
    case GO_SYNC:
        return sync_take(g, batch, &c, told);
    default:
        if (!array_grow(g->batches, g->batch_count + 1, &g->batch_cap))
            return SKEIN_NO_MEMORY;
        g->batches[g->batch_count++] = *batch;
        return SKEIN_OK;
    }
}

static int samples_compare(const void *a, const void *b)
{
    const struct go_sample *x = a, *y = b;
    return x->time < y->time ? -1 : x->time > y->time;
}

/* By thread, as they came. */
static int batches_compare(const void *a, const void *b)
{
    const struct go_batch *x = a, *y = b;
    if (x->m != y->m)
        return x->m < y->m ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

int go_generation_close(struct go_generation *g, struct import_told *told)
{
    if (g->frequency == 0)
        return corrupt(told, "it does not say how fast its clock runs");
    if (g->sample_count > 0)
        qsort(g->samples, g->sample_count, sizeof *g->samples, samples_compare);
    if (g->batch_count > 0)
        qsort(g->batches, g->batch_count, sizeof *g->batches, batches_compare);
    return SKEIN_OK;
}
