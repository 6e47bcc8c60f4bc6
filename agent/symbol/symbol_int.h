/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the symbolizer, shared by symbolizer.c (callers and queue), symbol_work.c (what is
 * done for a request) and symbol_rows.c (files) alone.
 *
 * A request: queued -> steps of the thread -> done. Its caller may leave in between; then the rest of
 * names is done for the cache alone, and of walks nothing more.
 */
#ifndef SYMBOL_INT_H
#define SYMBOL_INT_H

#include <pthread.h>
#include <sys/queue.h>

#include "symbol_cache.h"
#include "symbol_child.h"
#include "symbol_file.h"
#include "symbolizer.h"

#define SYMBOL_ROWS_MAX      1024
#define SYMBOL_BAD_PROCESSES 16

/* A file that the child was given, or must not be given again. */
struct symbol_row {
    struct symbol_identity identity, debug;
    uint8_t build_id[BUILD_ID_MAX], build_id_bytes;
    uint8_t form;
    bool unfit;      /* a child died of it, or it is none that can be read */
    uint32_t number; /* never used twice; also the child's for it */
    uint64_t life;   /* of the child that has it */
    uint64_t used;   /* by counting uses */
    uint64_t bytes;  /* of both files */
};

enum symbol_request_kind { REQUEST_MAPS, REQUEST_NAMES, REQUEST_UNWIND, REQUEST_KINDS };

struct request_address {
    uint64_t address;
    bool looked;    /* what can be known is */
    bool loose;     /* not in a file */
    uint8_t *lines; /* of symbol_lines_clean; NULL: none */
    size_t bytes;
};
struct request_walk {
    uint64_t *pcs; /* NULL: none yet */
    uint32_t count;
    uint8_t end;
};

struct symbol_request {
    TAILQ_ENTRY(symbol_request) link;
    enum symbol_request_kind kind;
    /* constant */
    pid_t pid;
    uint64_t start_clock_ticks;
    struct partition_mapping *mappings; /* by address */
    size_t mapping_count;
    char *paths;
    size_t address_count, sample_count;
    uint32_t most_frames;
    /* the thread's */
    struct symbol_place place;
    bool opened, mapped; /* place is open; the child has the process */
    uint32_t walked;     /* s->walked.number when it was mapped */
    size_t next;         /* address, or sample */
    uint64_t life;
    /* under the mutex */
    uint32_t references;
    bool left;         /* by its caller */
    bool done, missed; /* missed: something was not looked for */
    int status;
    struct request_address *addresses;       /* by address */
    const struct symbolizer_sample *samples; /* the caller's, until it leaves */
    struct request_walk *walks;
    struct process_maps maps;
};

struct symbolizer {
    char program[4096];
    int (*find)(void *context, const struct partition_mapping *mapping, int *fd, int *debug_fd);
    void *context;
    uint64_t memory_bytes;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* the queue, or a request of it */
    TAILQ_HEAD(, symbol_request) queue;
    size_t queued;
    struct symbol_request *current; /* the thread's hands are on it */
    bool stopping, ended;
    struct symbolizer_counters counters;
    /* the thread's */
    struct symbol_child child;
    struct symbol_cache *cache;
    struct symbol_row *rows; /* SYMBOL_ROWS_MAX: they stay where they are */
    size_t row_count;
    uint32_t last_number;
    uint64_t uses;
    struct {
        uint32_t number;  /* the child's for it; 0: none */
        uint64_t life;    /* of the child that has it */
        struct buf asked; /* of which process, and which files lie where in it */
    } walked;             /* the process that was walked last: the child keeps it mapped */
    struct {
        pid_t pid;
        uint64_t start_clock_ticks;
    } bad[SYMBOL_BAD_PROCESSES];
    size_t bad_next;
    struct buf ask, reply;
};

/* symbol_work.c: one step of a request; true: it was the last. The thread; takes the mutex. */
bool symbol_request_step(struct symbolizer *s, struct symbol_request *request);

/* Where the files are; opened with the first call. The thread. */
const struct symbol_place *symbol_request_place(struct symbol_request *request);

/* symbol_rows.c, the thread: opens what a mapping is of, NULL: JIT; its row is told to the child
 * where load. SKEIN_OK; SKEIN_AGAIN: the child has a pause; another status: it cannot be had. */
int symbol_row_have(struct symbolizer *s, struct symbol_request *request,
                    const struct partition_mapping *mapping, bool load, struct symbol_row **row);
int symbol_row_load(struct symbolizer *s, struct symbol_request *request,
                    const struct partition_mapping *mapping, struct symbol_row *row);
/* Gives the mapping the build id of its file, which the process has. False: it cannot be had. */
bool symbol_row_build_id(struct symbolizer *s, struct symbol_request *request,
                         struct partition_mapping *mapping);
/* The child died or hung while it had to do with the row. */
void symbol_row_spoil(struct symbolizer *s, struct symbol_row *row);
/* Ends a child that has grown large. */
void symbol_child_renew(struct symbolizer *s);
void symbol_count_add(struct symbolizer *s, uint64_t *counter, uint64_t n);

/* symbol_lines.c: the next address's lines of a NAMES answer, checked, into *out (cleared first),
 * with characters that a terminal obeys made harmless. False: c has failed. */
bool symbol_lines_clean(struct cursor *c, struct buf *out);
/* What symbol_lines_clean has made. The count, or a status below 0; *lines and *texts are the
 * caller's to free. */
int symbol_lines_read(const uint8_t *bytes, size_t n, struct partition_line **lines, char **texts);

#endif
