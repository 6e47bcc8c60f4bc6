/* SPDX-License-Identifier: Apache-2.0
 *
 * Places for what goes on for long, shared by all who ask. The last quarter of them (one at least)
 * is for those who have none, so that nobody takes them all. Any thread.
 */
#ifndef PLACES_H
#define PLACES_H

#include <stdbool.h>
#include <stddef.h>

struct places;

/* NULL: no memory. */
struct places *places_new(size_t most);
void places_free(struct places **places); /* when all have been left */

/* Takes one for `who`, a name of less than 64 bytes; "": of nobody in particular, who may take any.
 * False: there is none. */
bool places_enter(struct places *p, const char *who);
void places_leave(struct places *p, const char *who);
size_t places_taken(struct places *p);

#endif
