/* SPDX-License-Identifier: Apache-2.0
 *
 * A generation of a Go trace: batches of events, and the tables that these name. For the import of
 * Go's traces (import_go_int.h) alone.
 */
#ifndef IMPORT_GO_GENERATION_H
#define IMPORT_GO_GENERATION_H

#include "import.h"
#include "import_map.h"

#define GO_FRAMES_MAX 128 /* of a stack */
#define GO_STRING_MAX 1024

struct go_batch {
    uint64_t m, time;
    size_t at, n; /* its events in `bytes` */
};

struct go_text {
    size_t at;
    uint32_t n;
};

struct go_stack {
    size_t pcs;
    uint32_t count;
    uint32_t number; /* of import_stack; 0: not asked yet */
};

struct go_sample {
    uint64_t time, m, p, g, stack;
};

struct go_generation {
    uint64_t number; /* 0: none begun */
    struct buf bytes;
    struct go_batch *batches;
    size_t batch_count, batch_cap;
    struct import_map string_ids, stack_ids;
    struct go_text *strings;
    size_t string_count, string_cap;
    struct go_stack *stacks;
    size_t stack_count, stack_cap;
    uint64_t *pcs;
    size_t pc_count, pc_cap;
    struct go_sample *samples;
    size_t sample_count, sample_cap;
    uint64_t frequency; /* units of time in a second; 0: not told */
    uint64_t first;     /* the least time of a batch */
    bool has_wall;
    uint64_t wall_at, wall_s, wall_ns; /* the time of day at `wall_at` */
};

void go_generation_clear(struct go_generation *g);
void go_generation_fini(struct go_generation *g);

/* One batch, whose payload is in g->bytes already, into tables or the list. SKEIN_OK, SKEIN_CORRUPT
 * with a sentence, SKEIN_NO_MEMORY. */
int go_batch_take(struct go_generation *g, const struct go_batch *batch, struct import_told *told);

/* Behind the last batch: what is named is there, samples are in order. As go_batch_take. */
int go_generation_close(struct go_generation *g, struct import_told *told);

/* A string's text, with a NUL behind it, until the next call with the same `room`. Unknown: "". */
const char *go_text(const struct go_generation *g, uint64_t id, char room[GO_STRING_MAX + 1]);

uint64_t go_ns(const struct go_generation *g, uint64_t time);

#endif
