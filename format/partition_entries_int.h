/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries of tables, texts and losses, and footers: partition_footer.c, for format/ alone. Pure
 * functions; no threads.
 */
#ifndef PARTITION_ENTRIES_INT_H
#define PARTITION_ENTRIES_INT_H

#include "partition_int.h"

/* ---- partition_footer.c ---- */

void footer_put(struct buf *b, const struct partition_footer *footer);
/* partition_footer_get, with the reason in *fault, whose byte is one of `bytes`. */
int footer_explain(const uint8_t *bytes, size_t n, struct partition_footer *footer, size_t *need,
                   struct partition_fault *fault);
void losses_put(struct buf *b, const struct partition_loss *losses, size_t count);
int losses_get(struct cursor *c, struct partition_loss **losses,
               size_t *count); /* *losses is malloc'ed */

/* Fails c because the bytes at `at`, where it then stands, break the rule: cursor_rule knows it. */
void rule_break(struct cursor *c, enum format_rule rule, const uint8_t *at);
/* The rule that a failed cursor broke: `otherwise` where its bytes just end too early. */
enum format_rule cursor_rule(const struct cursor *c, enum format_rule otherwise);

/* Cursor over one entry (F-6): the parent moves behind it. On failure the entry is empty and the
 * parent failed. */
struct cursor entry_get(struct cursor *parent);
/* Fails the parent as the entry failed, and where it did. */
void entry_close(struct cursor *parent, const struct cursor *entry);

/* count of entries of at least min_bytes each that can still follow; fails c beyond `max` (F-4) or
 * beyond what is left. */
uint64_t count_get(struct cursor *c, uint64_t max, size_t min_bytes);

/* Room for n rows of a table, and one more: zeros, malloc'ed. NULL with c failed. */
void *table_new(struct cursor *c, size_t n, size_t size);

/* cursor_text where more than `max` bytes break the rule. */
const char *text_get(struct cursor *c, size_t max, enum format_rule rule, size_t *n);

/* A text as a NUL-terminated copy in malloc'ed memory, "" when empty; NULL with c failed. NULs
 * inside are cut there. */
char *text_copy(struct cursor *c);

void trace_id_add(uint64_t *filter, size_t words, uint64_t hash);

#endif
