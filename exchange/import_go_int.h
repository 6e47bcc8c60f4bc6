/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the import of Go's traces:
 *
 *   import_go.c           the file: generations, one after the other
 *   import_go_read.c      a generation: its batches, strings, stacks, samples
 *   import_go_frontier.c  which event comes next
 *   import_go_order.c     whether it can, and who is where
 *   import_go_emit.c      what an event says, as records
 *   import_go_names.c     kinds of events, and types of records
 *
 * For these alone.
 */
#ifndef IMPORT_GO_INT_H
#define IMPORT_GO_INT_H

#include "import_go.h"
#include "import_go_generation.h"
#include "import_go_kinds.h"
#include "import_go_states.h"
#include "import_out.h"

#define GO_NONE        UINT64_MAX /* of an M, a P or a goroutine */
#define GO_ARGS_MAX    4          /* of an event, behind its time */
#define GO_REGIONS_MAX 1024       /* open at a time on a goroutine */
#define GO_TASKS_MAX   1000000u
#define GO_THREADS_MAX 65536u /* in a generation */

struct go_cursor {
    uint64_t m;
    size_t batch;            /* the next one of it */
    const uint8_t *at, *end; /* of the current one */
    uint64_t time;           /* of the event, as the file has it */
    unsigned kind;
    uint64_t args[GO_ARGS_MAX];
};

struct go_import {
    const struct skein_trace_source *source;
    const struct import_to *to;
    struct import_told *told;
    struct go_told *go;
    struct import_out *out;
    struct go_generation gen;
    uint64_t at;    /* in the file */
    bool tail_left; /* what ends the file is in no generation that is given */

    /* by place; freed ones are used again */
    struct go_goroutine **goroutines;
    size_t goroutine_count, goroutine_cap;
    struct go_thread *ms;
    size_t m_count, m_cap;
    struct go_processor *ps;
    size_t p_count, p_cap;
    struct go_task *tasks;
    size_t task_count, task_cap;
    struct import_map g_places, m_places, p_places, task_places;
    uint64_t first_generation; /* since states are known; 0: not yet */
    bool gc_known, gc_on;
    uint64_t gc_seq;
    struct go_stretch gc;

    struct go_cursor *cursors; /* a heap by time */
    size_t cursor_count, cursor_cap;
    uint64_t first_ns, last_ns; /* of what went first and last */
    uint64_t latest_ns;         /* of all that went, as the file has it */
    bool any;

    uint32_t types[GO_TYPES];
    struct import_map waits; /* types of waits, by reason's checksum */
    uint32_t other_wait;
    int status; /* of records: no memory */
};

/* Where and when an event was. */
struct go_where {
    uint64_t ns, m, p, g; /* GO_NONE: none */
};

/* ---- import_go_frontier.c ---- */

/* All events of the generation. SKEIN_OK; SKEIN_CORRUPT with a sentence: those behind are left out,
 * and counted; SKEIN_NO_MEMORY, or what the flush gave. */
int go_generation_order(struct go_import *i);

/* ---- import_go_order.c ---- */

/* An event, where its thread is, and where that will be behind it. */
struct go_step {
    struct go_import *i;
    const struct go_cursor *e;
    struct go_where at, to;
};

/* It went, it cannot go yet, or never will. Changes nothing but where it went. */
enum go_went { GO_BROKEN = -1, GO_LATER = 0, GO_WENT = 1 };
int go_advance(struct go_step *s);

struct go_goroutine *go_goroutine_get(const struct go_import *i, uint64_t id);
void go_goroutine_drop(struct go_import *i, struct go_goroutine *g);
struct go_processor *go_processor_get(const struct go_import *i, uint64_t id);
struct go_thread *go_thread_get(const struct go_import *i, uint64_t id);
bool go_thread_make(struct go_import *i, uint64_t id, uint64_t g);

/* Nothing is known of anybody any more, and their memory is given back. */
void go_states_forget(struct go_import *i);

/* ---- import_go_emit.c ---- */

/* The goroutine's state from now on; ends the one before. A stack's id, or 0. */
void go_state_begin(struct go_import *i, struct go_goroutine *g, enum go_status status,
                    const struct go_where *where, uint64_t stack, const char *reason, bool cut);

/* It ends, and all that it had begun. Its memory is given back. */
void go_goroutine_end(struct go_import *i, struct go_goroutine *g, uint64_t ns);

/* All that is not of the order: ranges, annotations, counters, creations. */
void go_event_emit(struct go_import *i, const struct go_cursor *event,
                   const struct go_where *where);
void go_sample_emit(struct go_import *i, const struct go_sample *sample, uint64_t ns);

/* Nothing more is known: what is under way ends here, as cut, and regions and tasks are open. */
int go_all_end(struct go_import *i);

/* ---- import_go_names.c ---- */

int go_types_make(struct go_import *i);

/* The type of waits for a reason. */
uint32_t go_wait_type(struct go_import *i, const char *reason);

/* A span of a cut that is called so, of tasks or regions. */
uint32_t go_named_type(struct go_import *i, const char *name, bool task);

#endif
