/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of goroutines, processors, threads and tasks while a Go trace is read. For the import
 * of Go's traces (import_go_int.h) alone.
 */
#ifndef IMPORT_GO_STATES_H
#define IMPORT_GO_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import_go_kinds.h"

/* A resource's count of changes, which begins anew with each generation. */
struct go_seq {
    uint64_t generation, number;
};

/* Texts are numbers of import_keep, stacks of import_stack. */
struct go_region {
    uint64_t task, since_ns;
    uint32_t name, stack;
};

/* A stretch of time that is under way. */
struct go_stretch {
    bool on, cut; /* cut: it had begun earlier */
    uint64_t since_ns;
    uint32_t stack, text; /* text: why, of which kind */
};

struct go_goroutine {
    uint64_t id, m, p, by;
    struct go_seq seq;
    enum go_status status;
    enum go_status is; /* what `state` tells of */
    struct go_stretch state, assist, stw;
    struct go_region *regions;
    size_t region_count, region_cap;
    uint32_t name; /* of its function; 0: not known */
};

struct go_thread {
    uint64_t id, g, p; /* an M */
};

struct go_processor {
    uint64_t id;
    struct go_seq seq;
    enum go_proc status;
    struct go_stretch sweep;
};

struct go_task {
    uint64_t id, parent, g, since_ns;
    uint32_t name, stack, goroutine; /* goroutine: its name */
};

#endif
