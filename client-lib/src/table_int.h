/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two files of the tables share: table.c (lock, epochs, sites, strings) and stack_table.c
 * (stacks, mappings). Included by those only.
 */
#ifndef TABLE_INT_H
#define TABLE_INT_H

#include "writer_int.h"

/* The table's lock for a record of the lane, which the calling thread holds; only ever tried. */
bool table_lock(struct session *session, const struct skein_lane *lane);
void table_unlock(struct session *session);

/* begins the next epoch if no chunk refers to the one that lives in the other half. */
bool table_epoch_switch(struct session *session);

/* A record's payload, encoded beside the table and copied in. Its bytes are in the session, under
 * its lock: a handler's stack may be of a few KiB. */
struct table_record {
    uint8_t *bytes;
    size_t used;
};
static inline void table_byte(struct table_record *e, uint8_t value)
{
    e->bytes[e->used++] = value;
}
static inline void table_leb(struct table_record *e, uint64_t value)
{
    e->used += leb_put(e->bytes + e->used, value);
}

/* Appends kind, length, payload to the current half. False: no room. */
bool table_append(struct session *session, uint8_t kind, const struct table_record *e);
/* Whether it has room that only lacks memory yet: whoever waits finds it, and needs no next
 * epoch. R-35 */
bool table_waits(struct session *session);

#endif
