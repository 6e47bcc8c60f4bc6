/* SPDX-License-Identifier: Apache-2.0
 *
 * What the recorder remembers: counters of the host by name, rows of traced processes, and who was
 * on top; each of the last VITALS_SECONDS. Bounded: STORE_SERIES_MAX counters of 5 KB,
 * STORE_ROWS_MAX rows of 208 bytes, VITALS_SECONDS tops of 1 KB: 14 MB at most, and about 1 MB on
 * a host of 4 cores and 5 devices with one process.
 *
 * One thread writes, any reads: what readers look at changes under the store's mutex alone, and
 * nobody reads a file with it.
 */
#ifndef VITALS_STORE_H
#define VITALS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process_row.h"

#define VITALS_SECONDS    600
#define STORE_SERIES_MAX  1024
#define STORE_ROWS_MAX    38400
#define STORE_NAME_BYTES  72
#define STORE_TOP         10
#define STORE_UNKNOWN     (__builtin_nan(""))
#define STORE_IS_KNOWN(v) (!__builtin_isnan(v))

enum top_kind { TOP_CPU, TOP_MEMORY, TOP_IO, TOP_KINDS };
struct top_entry {
    double value; /* %, bytes, bytes/s */
    uint32_t pid;
    char name[16];
};
/* Who used most: between took_ns ago and at_ns. */
struct top_row {
    uint64_t at_ns, took_ns;
    uint32_t count[TOP_KINDS], processes;
    struct top_entry entries[TOP_KINDS][STORE_TOP];
};

struct vitals_store;
int vitals_store_new(struct vitals_store **out); /* SKEIN_OK, SKEIN_NO_MEMORY */
void vitals_store_free(struct vitals_store **store);

/* ---- the writer's ---- */

/* Begins a sample of the host: counters that are not put until store_commit are not there. */
void store_begin(struct vitals_store *store, uint64_t at_ns);
/* A value as it is. What finds no room is counted. `unit` is static. */
void store_gauge(struct vitals_store *store, const char *name, const char *unit, double value);
/* A number that only grows: what is stored is its growth in a second, times scale; nothing at the
 * first time, and where it shrank. */
void store_rate(struct vitals_store *store, const char *name, const char *unit, uint64_t raw,
                double scale);
/* Two such numbers: the growth of raw as a share (%) of that of `of`, or of of_each_second where
 * that is more. */
void store_share(struct vitals_store *store, const char *name, uint64_t raw, uint64_t of,
                 double of_each_second);
/* Two such numbers: the growth of raw for each one of `of`; nothing where there was none. */
void store_ratio(struct vitals_store *store, const char *name, const char *unit, uint64_t raw,
                 uint64_t of);
void store_commit(struct vitals_store *store);

void store_row_add(struct vitals_store *store, const struct process_row *row);
void store_top_add(struct vitals_store *store, const struct top_row *top);

/* ---- readers' ---- */

/* All that is known of [from_ns, to_ns], series by series, each from old to new; fn runs with the
 * mutex held. */
typedef void store_value_fn(void *context, const char *name, const char *unit, uint64_t at_ns,
                            double value);
void store_values_each(struct vitals_store *store, uint64_t from_ns, uint64_t to_ns,
                       store_value_fn *fn, void *context);
typedef void store_row_fn(void *context, const struct process_row *row);
void store_rows_each(struct vitals_store *store, uint32_t pid, uint64_t start_ticks,
                     uint64_t from_ns, uint64_t to_ns, store_row_fn *fn, void *context);
typedef void store_top_fn(void *context, const struct top_row *top);
void store_tops_each(struct vitals_store *store, uint64_t from_ns, uint64_t to_ns, store_top_fn *fn,
                     void *context);

/* The first and the last sample of the host that are remembered; false: there is none. */
bool store_bounds(struct vitals_store *store, uint64_t *first_ns, uint64_t *last_ns);
uint64_t store_left_out(struct vitals_store *store); /* counters in the last sample without room */
size_t store_bytes(struct vitals_store *store);      /* of memory, now */

#endif
