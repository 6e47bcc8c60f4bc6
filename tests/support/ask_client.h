/* SPDX-License-Identifier: Apache-2.0
 *
 * A client that asks and does not wait, and a look at which processes another has begun. For tests of
 * what the collector has skein-analyst read.
 */
#ifndef ASK_CLIENT_H
#define ASK_CLIENT_H

#include <stdint.h>
#include <sys/types.h>

/* A statement that has no end. */
#define ENDLESS_SQL                                                                                \
    "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"

/* Posts {"query":sql} and returns the connection, from which nothing is read. */
int ask_send(uint16_t port, const char *capture, const char *sql);

/* How many live processes `parent` has; one of them in *child (may be NULL). */
unsigned children_of(pid_t parent, pid_t *child);
/* Whether it has ended; one that nobody has waited for has, too. */
int is_process_over(pid_t pid);

#endif
