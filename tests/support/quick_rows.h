/* SPDX-License-Identifier: Apache-2.0
 *
 * A chunk's rows decoded into a partition of their own, by the tight loop over plain records or
 * without it. Included by its test and its fuzz target. A failure of what is not under test aborts.
 */
#ifndef QUICK_ROWS_H
#define QUICK_ROWS_H

#include <stdlib.h>
#include <string.h>

#include "ring_decode.h"
#include "ring_layout.h"

enum { QUICK_TYPES = 6 };

static const struct partition_event_type quick_types[QUICK_TYPES] = {
    {.name = "range",
     .klass = SKEIN_CLASS_RANGE_BEGIN,
     .nargs = 1,
     .args = {{SKEIN_T_U64, "a", ""}}},
    {.name = "span",
     .klass = SKEIN_CLASS_SPAN,
     .nargs = 3,
     .args = {{SKEIN_T_I64, "a", ""}, {SKEIN_T_BOOL, "b", ""}, {SKEIN_T_PTR, "c", ""}}},
    {.name = "plain",
     .klass = SKEIN_CLASS_INSTANT,
     .nargs = 6,
     .args = {{SKEIN_T_U64, "a", ""},
              {SKEIN_T_U64, "b", ""},
              {SKEIN_T_PTR, "c", ""},
              {SKEIN_T_U64, "d", ""},
              {SKEIN_T_U64, "e", ""},
              {SKEIN_T_U64, "f", ""}}},
    {.name = "text", .klass = SKEIN_CLASS_INSTANT, .nargs = 1, .args = {{SKEIN_T_STR, "a", ""}}},
    {.name = "share", .klass = SKEIN_CLASS_COUNTER, .nargs = 1, .args = {{SKEIN_T_F64, "a", ""}}},
    {.name = "bare", .klass = SKEIN_CLASS_INSTANT}};

static inline void quick_must(bool fine)
{
    if (!fine)
        abort();
}

static inline int64_t quick_thread(void *context, const void *stream)
{
    (void)context;
    (void)stream;
    return 0;
}

struct quick_decoded {
    enum ring_decode end;
    struct ring_rows rows;
    struct buf bytes;
};

static inline struct partition_writer *quick_writer(void)
{
    const struct partition_info info = {
        .pid = 1,
        .end = {UINT64_C(1) << 40, UINT64_C(64) << 40, UINT64_C(64) << 40, UINT64_C(64) << 40}};
    struct partition_writer *w;
    quick_must(partition_writer_new(&info, &w) == SKEIN_OK);
    quick_must(partition_writer_thread(w, &(struct partition_thread){1, "main", 1}) == 0);
    return w;
}

static inline struct quick_decoded quick_decode(const uint8_t *bytes, size_t n, bool quick)
{
    struct partition_writer *w = quick_writer();
    struct ring_type placed[QUICK_TYPES];
    for (unsigned i = 0; i < QUICK_TYPES; i++) {
        placed[i] =
            (struct ring_type){.state = RING_TYPE_GOOD,
                               .klass = quick_types[i].klass,
                               .nargs = quick_types[i].nargs,
                               .quick = quick && i != 3 && i != 4,
                               .plain = i == 0 || i == 2,
                               .index = (uint32_t)partition_writer_type(w, &quick_types[i])};
        for (unsigned k = 0; k < quick_types[i].nargs; k++)
            placed[i].args[k] = quick_types[i].args[k].type;
    }
    struct ring_names names = {.types = placed, .type_count = QUICK_TYPES};
    struct ring_decoder decoder = {.sink = {.writer = w, .exe = ""},
                                   .names = &names,
                                   .name_count = 1,
                                   .newest_generation = 7,
                                   .ticks_max = UINT64_C(1) << 41,
                                   .thread_of = quick_thread};
    struct quick_decoded d = {
        .rows = {.bytes = bytes, .n = n, .base_ticks = 1000, .generation = 7, .sequence = 1}};
    d.end = ring_decode(&decoder, &d.rows);
    quick_must(partition_writer_finish(w, &d.bytes, NULL) == SKEIN_OK);
    partition_writer_free(&w);
    return d;
}

/* Whether both came to the same end with the same partition. */
static inline bool quick_same(const struct quick_decoded *a, const struct quick_decoded *b)
{
    return a->end == b->end && a->rows.taken == b->rows.taken && a->rows.events == b->rows.events &&
           a->rows.first_ticks == b->rows.first_ticks && a->rows.last_ticks == b->rows.last_ticks &&
           a->rows.unnamed == b->rows.unnamed && a->bytes.len == b->bytes.len &&
           memcmp(a->bytes.data, b->bytes.data, a->bytes.len) == 0;
}

#endif
