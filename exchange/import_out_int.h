/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of import_out.c (what is noted) and import_put.c (how it becomes partitions). For these
 * two alone.
 */
#ifndef IMPORT_OUT_INT_H
#define IMPORT_OUT_INT_H

#include "import_map.h"
#include "import_out.h"
#include "intern_table.h"

struct out_type {
    struct partition_event_type type; /* its texts lie in `keep` */
    bool evidence;
    char *keep;
    int64_t at; /* in the partition that is being written; -1: not in it */
};

struct out_thread {
    uint32_t tid;
    uint64_t incarnation;
    uint32_t name;    /* of texts */
    uint64_t last_ns; /* of its records so far */
};

struct out_record {
    uint32_t type, thread;
    uint64_t time_ns, dur_ns;
    size_t values; /* place of the first */
    uint32_t stack;
    bool raised; /* it was earlier than its thread allowed */
};

struct out_stack {
    size_t pcs;
    uint32_t count;
    bool cut;
    uint32_t at; /* in the partition that is being written + 1; 0: not in it */
};

struct out_line {
    uint32_t function, file, line; /* texts of `names` */
};

struct out_name {
    size_t lines; /* place of the first */
    uint32_t count;
};

struct import_out {
    struct import_to to;
    struct import_told *told;
    struct partition_key key;
    uint32_t pid;
    int64_t ahead_ns;
    char *host, *service;
    int status;
    uint64_t sequence, evidence_sequence;

    /* as long as the import lasts */
    struct intern_table type_keys, names; /* names: function and file of addresses, texts kept */
    struct out_type *types;
    size_t type_cap;
    struct import_map pcs; /* to places in pc_names */
    struct out_name *pc_names;
    size_t pc_count, pc_cap;
    struct out_line *lines;
    size_t line_count, line_cap;
    struct intern_table stack_keys;
    uint64_t *stack_pcs;
    size_t stack_pc_count, stack_pc_cap;
    struct out_stack *stacks;
    size_t stack_count, stack_cap;

    /* until the flush */
    struct intern_table texts, thread_keys;
    struct out_thread *threads;
    size_t thread_cap;
    struct out_record *records;
    size_t record_count, record_cap;
    uint64_t *values;
    size_t value_count, value_cap;
    struct partition_open *opens;
    size_t open_count, open_cap;
    struct partition_loss *losses;
    size_t loss_count, loss_cap;
    bool begun; /* from_ns says where the chunk begins */
    uint64_t from_ns, last_ns,
        flushed_ns; /* last_ns: of all records so far; flushed_ns: of those before */
};

/* Keeps the first failure. */
static inline void out_fail(struct import_out *out, int status)
{
    if (out->status == SKEIN_OK)
        out->status = status;
}

/* import_put.c: writes all that is noted; SKEIN_OK or a status. Forgets nothing. */
int out_partitions_put(struct import_out *out);

#endif
