/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of profiles: stack_profile.c (taking events) and stack_profile_put.c (giving them).
 * Included by these two alone.
 */
#ifndef STACK_PROFILE_INT_H
#define STACK_PROFILE_INT_H

#include "intern_table.h"
#include "stack_profile.h"

/* Rows of tables: what is equal there is kept once. Numbers in them count from 1; 0: none. */
struct profile_function {
    uint32_t name, file;
};
struct profile_mapping {
    uint64_t start, end, offset;
    uint32_t process, path, build_id;
    uint32_t unused;
};
struct profile_line {
    uint32_t function, line;
};
/* Followed by its lines, the innermost inlined function first. */
struct profile_location {
    uint64_t address;
    uint32_t mapping, process;
};
/* Followed by its locations, u32, innermost first. */
struct profile_stack {
    uint32_t end;
};
struct profile_row {
    uint32_t stack, service, pid, thread, tid, event;
};
struct profile_values {
    uint64_t samples, cpu_ns, waits, wait_ns;
    uint64_t contentions, contention_ns; /* of the waits, those for a lock */
};

struct stack_profile {
    size_t most_bytes; /* 0: no bound */
    struct intern_table processes, strings, functions, mappings, locations, stacks, rows;
    struct profile_values *values; /* of each row */
    size_t value_cap;
    struct profile_values sum;
    /* The partition of `known`. By its key: the next reader may lie where this one's lay. */
    struct partition_key key;
    uint32_t *known; /* number of each of its stacks; 0: not seen yet */
    size_t known_cap;
    uint64_t from_ns, to_ns;                 /* of all that was taken; from UINT64_MAX: nothing */
    uint64_t sampled_from_ns, sampled_to_ns; /* when CPUs were sampled; from UINT64_MAX: never */
    struct buf scratch;
};

/* Whether so many bytes are more than are allowed. */
static inline bool profile_is_over(const struct stack_profile *p, size_t bytes)
{
    return p->most_bytes != 0 && bytes > p->most_bytes;
}

_Static_assert(sizeof(struct profile_mapping) == 40, "no padding: rows are compared as bytes");
_Static_assert(sizeof(struct profile_location) == 16, "no padding");
_Static_assert(sizeof(struct profile_row) == 24, "no padding");

/* The row's fields; what follows them is at + its size. */
#define profile_get(table, number, row)                                                            \
    memcpy((row), intern_table_bytes(&(table), (number)-1), sizeof *(row))

#endif
