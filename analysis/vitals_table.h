/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace's vitals come to (docs/evidence-vitals.md): each counter's least, median and most,
 * those that went farthest from their median first; who was on top of the host; what held processes
 * back. Takes events one by one and keeps 24 bytes of each counter's value; no I/O. One owner, one
 * thread.
 */
#ifndef VITALS_TABLE_H
#define VITALS_TABLE_H

#include "partition_reader.h"

struct vitals_table;

/* Of a host, or of a process: then service is not NULL; or of a thread of it: then thread is not.
 * Texts are the table's. */
struct vitals_of {
    const char *host, *service, *thread;
    uint32_t pid, tid;
};
struct vitals_value {
    uint64_t at_ns, over_ns; /* of the time over_ns before at_ns; 0: of that moment, or unknown */
    double value;
};
struct vitals_row {
    struct vitals_of of;
    const char *name, *unit;
    const struct vitals_value *values; /* `samples` of them, by at_ns */
    size_t samples;
    double least, median, most;
    /* The value that is farthest from the median, and how far: in the counter's usual distances
     * (the mean of all, yet at least 1 % of the median and what matters of its unit). */
    double farthest, deviation;
    uint64_t farthest_ns;
};
struct vitals_top {
    const char *host, *kind; /* "cpu", "memory", "io" */
    const char *unit;
    uint64_t pid;
    const char *name;
    double most;
    uint64_t at_ns; /* then */
    size_t times;   /* that it was among the first ten */
};
struct vitals_state {
    struct vitals_of of;
    const char *state;
    uint64_t at_ns, at_least_ns, at_most_ns; /* until then; at_most_ns 0: unknown */
    /* In all, where the state that followed is known; else what it had lasted until at_ns, and 0. */
    uint64_t lasted_least_ns, lasted_most_ns;
};
struct vitals_list {
    const struct vitals_row *rows; /* by deviation */
    size_t row_count;
    const struct vitals_top *tops; /* by host and kind, the most first */
    size_t top_count;
    const struct vitals_state *states; /* as they came */
    size_t state_count;
    uint64_t from_ns, to_ns; /* of all values; 0: there is none */
};

int vitals_table_new(struct vitals_table **out); /* SKEIN_OK, SKEIN_NO_MEMORY */
void vitals_table_free(struct vitals_table **table);

/* Events that are no vitals are passed over. The same value of a host in several partitions counts
 * once. SKEIN_OK, SKEIN_NO_MEMORY. */
int vitals_table_add(struct vitals_table *table, const struct partition_info *info,
                     const struct trace_event *event);

/* After the last event; *list is the table's. SKEIN_OK, SKEIN_NO_MEMORY. */
int vitals_table_end(struct vitals_table *table, const struct vitals_list **list);

/* Of a row in %: how much of that time its values come to, in ns. Time that no value tells of adds
 * nothing. */
uint64_t vitals_share_ns(const struct vitals_row *row, uint64_t from_ns, uint64_t to_ns);

#endif
