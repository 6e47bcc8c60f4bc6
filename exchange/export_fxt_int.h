/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the export of Fuchsia's trace format share. Included by export_fxt*.c alone.
 */
#ifndef EXPORT_FXT_INT_H
#define EXPORT_FXT_INT_H

#include "export_int.h"
#include "fxt_numbers.h"

#define FXT_NAME_MAX  4096  /* bytes of a name: one of a trace has 1,024, each may become three */
#define FXT_VALUE_MAX 16000 /* bytes of a text */
#define FXT_PROVIDER  1

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
