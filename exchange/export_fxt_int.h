/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of Fuchsia's trace format, and what the two halves of its export share. Included by
 * export_fxt*.c alone. Words are 64 bits, little-endian; a record begins with one that says its kind
 * (bits 0 to 3) and its words (bits 4 to 15).
 */
#ifndef EXPORT_FXT_INT_H
#define EXPORT_FXT_INT_H

#include "export_int.h"

#define FXT_MAGIC       UINT64_C(0x0016547846040010)
#define FXT_WORDS_MAX   4095
#define FXT_STRINGS_MAX 0x7fff
#define FXT_NAME_MAX    4096  /* bytes of a name: one of a trace has 1,024, each may become three */
#define FXT_VALUE_MAX   16000 /* bytes of a text */
#define FXT_PROVIDER    1

enum {
    FXT_METADATA = 0,
    FXT_INITIALIZATION = 1,
    FXT_STRING = 2,
    FXT_THREAD = 3,
    FXT_EVENT = 4,
    FXT_KERNEL_OBJECT = 7,
    FXT_SCHEDULING = 8,
    FXT_LOG = 9
};
enum { FXT_PROVIDER_INFO = 1, FXT_PROVIDER_EVENT = 3 };
enum { FXT_EVENT_INSTANT = 0, FXT_EVENT_COUNTER = 1, FXT_EVENT_COMPLETE = 4 };
enum { FXT_OBJECT_PROCESS = 1, FXT_OBJECT_THREAD = 2 };
enum { FXT_SWITCH = 1, FXT_WAKEUP = 2 };
enum { FXT_STATE_READY = 0, FXT_STATE_SUSPENDED = 2, FXT_STATE_BLOCKED = 3 };
enum {
    FXT_ARG_NULL = 0,
    FXT_ARG_I32 = 1,
    FXT_ARG_U32 = 2,
    FXT_ARG_I64 = 3,
    FXT_ARG_U64 = 4,
    FXT_ARG_F64 = 5,
    FXT_ARG_STRING = 6,
    FXT_ARG_POINTER = 7,
    FXT_ARG_KOID = 8,
    FXT_ARG_BOOL = 9
};

struct fxt_place {
    uint64_t process, thread; /* koids */
};

/* A thread that has left a CPU, and nobody knows yet why. */
struct fxt_leaving {
    bool waits;
    uint32_t process;
    uint64_t ns, cpu, koid;
};

struct fxt {
    struct intern_table strings;   /* number + 1 is the reference */
    struct intern_table described; /* threads that no row is of, and that are named */
    struct fxt_place threads[256]; /* the table of threads, by reference */
    struct fxt_leaving *leaving;   /* by number of the thread of evidence */
    size_t leaving_cap;
    struct buf args; /* of the event at hand */
    unsigned arg_count;
    struct buf text, name, stack;
    struct skein_frame frames[256];
};

/* The reference of a text that repeats, which is registered first; 0 for "". */
uint16_t fxt_string(struct export_run *x, const char *text);
void fxt_words_pad(struct buf *out);

/* Where the row is; names it where it has not been named. SKEIN_OK, SKEIN_NO_MEMORY. */
int fxt_place(struct export_run *x, const struct export_row *row, struct fxt_place *place);

/* Names a thread that no row is of, once. SKEIN_OK, SKEIN_NO_MEMORY. */
int fxt_thread_name(struct export_run *x, uint64_t koid, uint64_t process, const char *text);

/* Arguments of the event at hand. type: FXT_ARG_U64, FXT_ARG_POINTER, … */
void fxt_arg_text(struct export_run *x, const char *name, const char *text, size_t n);
void fxt_arg_u64(struct export_run *x, const char *name, unsigned type, uint64_t v);

/* ---- export_fxt_sched.c ---- */

/* Scheduling records of a row of evidence, if it tells of that. SKEIN_OK, SKEIN_NO_MEMORY. */
int fxt_sched_row(struct export_run *x, const struct export_row *row);
int fxt_sched_end(struct export_run *x);

#endif
