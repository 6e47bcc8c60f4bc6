/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the shapes that compilers make, each of which calls `leaf` from its depth: built
 * with -O2 -fomit-frame-pointer, whatever the build type.
 */
#ifndef WALK_SUBJECT_H
#define WALK_SUBJECT_H

typedef void walk_leaf(void);

void walk_plain(walk_leaf *leaf);
void walk_deep(walk_leaf *leaf, unsigned depth);
void walk_alloca(walk_leaf *leaf, unsigned bytes);
void walk_aligned(walk_leaf *leaf, unsigned bytes); /* its stack is aligned to 64 */
void walk_sorted(walk_leaf *leaf);                  /* below the C library's qsort() */
void walk_many_registers(walk_leaf *leaf);
void walk_without_rules(walk_leaf *leaf); /* hand-written, with a frame pointer */
void walk_lost(walk_leaf *leaf);          /* hand-written, and the frame pointer is a number */
void walk_astray(walk_leaf *leaf, const void *frame); /* hand-written, and it is this one */

#endif
