/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening of a partition, for partition_tables.c, partition_stacks_get.c, partition_check.c and
 * partition_reader.c alone.
 */
#ifndef PARTITION_TABLES_INT_H
#define PARTITION_TABLES_INT_H

#include "partition_reader_int.h"

/* partition_tables.c: head, tail, sections, tables, footer of r->bytes. */
int tables_open(struct partition_reader *r);
/* A NUL-terminated copy of the text at c; "" with a failed cursor. */
const char *reader_name_get(struct partition_reader *r, struct cursor *c);
/* table_new, of what the reader may have. */
void *reader_table_new(struct partition_reader *r, struct cursor *c, size_t n, size_t size);
/* The table of this rule and name is malformed where c stands, or there was no memory. */
int reader_table_fail(struct partition_reader *r, const struct cursor *c, enum format_rule rule,
                      const char *table);

/* partition_check.c: where in the footer a field lies, of a list its entry from 1 (0: its count);
 * for messages. */
enum footer_field {
    FOOTER_KEY,
    FOOTER_PID,
    FOOTER_TIMES,
    FOOTER_EVENTS,
    FOOTER_LOST,
    FOOTER_THREADS,
    FOOTER_NAMES,
    FOOTER_BLOCKS,
    FOOTER_TYPES,
    FOOTER_LOSSES,
    FOOTER_OPEN_RANGES,
    FOOTER_EVIDENCE
};
const uint8_t *footer_field(const struct partition_reader *r, enum footer_field field,
                            size_t entry);

/* partition_stacks_get.c: a section's payload each (section 8). */
int stacks_open(struct partition_reader *r, struct cursor *c);
int mappings_open(struct partition_reader *r, struct cursor *c);
int symbols_open(struct partition_reader *r, struct cursor *c);
void stacks_close(struct partition_reader *r);

#endif
