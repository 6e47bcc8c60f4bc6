/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks that are kept beyond their partition, each once, by a number from 1, as text and as JSON.
 * One owner, one thread.
 */
#ifndef CLI_STACKS_H
#define CLI_STACKS_H

#include "json.h"
#include "partition_reader.h"

struct kept_stacks;

/* `lines`: for people, too. NULL: no memory. */
struct kept_stacks *kept_stacks_new(bool lines);
void kept_stacks_free(struct kept_stacks **kept);

/* The number of a stack of the partition that is being read; a reader is asked until the next one
 * comes. 0: it has none (id 0). SKEIN_NO_MEMORY. */
int64_t kept_stacks_put(struct kept_stacks *kept, struct partition_reader *reader, uint32_t id);

/* Adds "frames" and "stack_end" to `row`, and what kept_stacks_below adds; nothing for 0. */
void kept_stacks_add(const struct kept_stacks *kept, uint32_t number, cJSON *row);
/* Adds the lines as TABLE_BELOW, if there are to be any. */
void kept_stacks_below(const struct kept_stacks *kept, uint32_t number, cJSON *row);

/* Moves the members of an object, which is text, into `row`; nothing where it is none. */
void row_members_add(cJSON *row, const char *text);

#endif
