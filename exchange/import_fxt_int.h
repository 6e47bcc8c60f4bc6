/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the import of FXT: import_fxt.c (the file, tables, names), import_fxt_event.c (events
 * and their arguments), import_fxt_sched.c (switches and wakeups). For these alone.
 */
#ifndef IMPORT_FXT_INT_H
#define IMPORT_FXT_INT_H

#include "fxt_numbers.h"
#include "import_fxt.h"
#include "import_many.h"
#include "import_map.h"
#include "import_stream.h"
#include "intern_table.h"

#define FXT_ARGS_MAX 16    /* of a record, by its four bits, and an id */
#define FXT_TEXT_MAX 32767 /* bytes */

struct fxt_thread {
    uint64_t process, koid;
};

struct fxt_provider {
    uint32_t id;
    bool ours;    /* it is called skein */
    bool unnamed; /* records came in front of any provider: the first that is named has them */
    bool any;     /* it has an event: */
    struct fxt_thread last;    /* of the last one, */
    uint64_t last_ns, loss_ns; /* and when it was; up to when what it lost is told */
    uint32_t *strings;         /* FXT_STRINGS_MAX + 1: numbers of texts + 1 */
    struct fxt_thread threads[256];
    bool has_thread[256];
};

/* Whose a thread is, and how it is called so far. */
struct fxt_owner {
    uint64_t process;
    uint32_t name; /* of texts, + 1 */
};

/* A process whose koid has had another name before: what came until then keeps that. */
struct fxt_life {
    uint32_t number, name; /* name: of texts, + 1 */
    bool any;              /* it has had an event */
};

/* Words of one record. */
struct fxt_words {
    const uint8_t *bytes;
    size_t at, n;
    bool failed;
};
uint64_t fxt_word(struct fxt_words *w);
static inline uint64_t fxt_bits(uint64_t word, unsigned first, unsigned last)
{
    return word >> first & ((UINT64_C(1) << (last - first + 1)) - 1);
}

struct fxt_import {
    const struct import_to *to;
    struct import_told *told;
    struct fxt_told *fxt;
    struct import_stream stream;
    struct import_many *many;
    bool second; /* pass */
    struct fxt_provider *providers;
    size_t provider_count;
    struct fxt_provider *provider; /* of the records that follow */
    struct intern_table texts;     /* with their NULs */
    struct import_map process_of;  /* of a thread's koid: its place in `owners` */
    struct fxt_owner *owners;
    size_t owner_count, owner_cap;
    struct import_map life_at; /* of a process's koid: its place in `lives` */
    struct fxt_life *lives;
    size_t life_count, life_cap;
    uint64_t ticks_per_s, last_ns;
    const char *wrong;  /* with the record at hand; NULL: it does not fit its size */
    struct buf scratch; /* texts of the record at hand */
    struct import_value values[FXT_ARGS_MAX];
    unsigned count;
    int status;
};

/* A record's text by its reference, of the table or of the words that follow; lasts as long as the record.
 * NULL: there is none. */
const char *fxt_text(struct fxt_import *i, struct fxt_words *w, uint64_t reference);
bool fxt_thread(struct fxt_import *i, struct fxt_words *w, uint64_t reference,
                struct fxt_thread *thread);
uint64_t fxt_ns(struct fxt_import *i, uint64_t ticks);
/* Which of import_many's processes this koid is now; of an event, it has one from now on. */
uint64_t fxt_process(struct fxt_import *i, uint64_t koid, bool event);
/* The same of a thread, which is known from now on. */
uint64_t fxt_process_of(struct fxt_import *i, const struct fxt_thread *thread, bool event);

/* Into i->values; false: they do not fit. */
bool fxt_arguments(struct fxt_import *i, struct fxt_words *w, unsigned count);
const struct import_value *fxt_value(const struct fxt_import *i, const char *name);

/* False: the record is broken. */
bool fxt_event(struct fxt_import *i, struct fxt_words *w, uint64_t head);
bool fxt_log(struct fxt_import *i, struct fxt_words *w, uint64_t head);
bool fxt_scheduling(struct fxt_import *i, struct fxt_words *w, uint64_t head);

#endif
