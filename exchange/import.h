/* SPDX-License-Identifier: Apache-2.0
 *
 * What every import is asked and tells. Bytes come through struct skein_trace_source (skein/trace.h),
 * partitions go out one by one, as they are full. No I/O of its own; one thread.
 */
#ifndef IMPORT_H
#define IMPORT_H

#include "buf.h"
#include "skein/trace.h"

#define IMPORT_ERROR_BYTES 256

/* Where it goes, and what the file does not say. Texts are "" where nothing is known; lasting. */
struct import_to {
    /* A whole partition, or several. SKEIN_OK, or a status that ends the import with it. */
    int (*put)(void *context, const uint8_t *bytes, size_t n);
    /* How much of the file has been read; may be NULL. */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
    const char *host, *service;
    uint32_t pid;        /* 0: unknown */
    uint64_t place;      /* a number of where the file lies: the same bytes elsewhere are others */
    uint64_t changed_ns; /* when the file was last written, the time of day; 0: unknown */
};

/* What became of it. */
struct import_told {
    uint64_t partitions, threads, events, stacks;
    uint64_t fixed_up;  /* times that were raised, so that no effect is before its cause */
    uint64_t clamped;   /* times that no trace can hold, shown at the bound */
    uint64_t left_out;  /* records that could not be placed or named, and are not in the trace */
    uint64_t cut_bytes; /* of what is broken or not whole, and not in the trace */
    uint64_t not_read;  /* records of kinds that are not read */
    bool time_guessed;  /* the file does not say the time of day: by when it was written */
    char why[IMPORT_ERROR_BYTES]; /* a sentence on what was left out, the first one; "": nothing */
};

#endif
