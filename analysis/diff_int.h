/* SPDX-License-Identifier: Apache-2.0
 * The inside of a comparison: pairs of rows (diff.c), what is said of them (diff_words.c), and what all
 * of it comes to (diff_outcome.c). Included by these alone. */
#ifndef DIFF_INT_H
#define DIFF_INT_H

#include "diff.h"
#include "intern_table.h"

struct diff_pair { /* one row of each side, under the same key */
    struct diff_change change;
    struct histogram lasted[2]; /* the summaries' own */
    struct statistics_sums {
        double sum, squares;
    } values[2];
    double p[2];                         /* of number, of length or mean; -1: no test */
    double tail[2];                      /* shares of regions beyond what 99 % of both took */
    bool number_changed, length_changed; /* surely, and not by little */
    bool told[2];                        /* scheduling: the side has some */
    bool idle;                           /* mostly idle on both sides */
};

struct diff {
    struct summary *sides[2]; /* by service */
    struct intern_table keys;
    struct diff_pair *pairs;
    size_t pair_count, pair_cap;
    struct diff_list list;
    size_t change_cap, note_cap;
};

/* diff_outcome.c: notes of what makes the comparison less sure; the outcome. After the list is made.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int diff_notes_add(struct diff *d, unsigned side);
int diff_outcome_find(struct diff *d);
/* Marks pairs of equal names. Before words are made. SKEIN_OK, SKEIN_NO_MEMORY. */
int diff_twins_mark(struct diff *d);
/* The service of this name of a side; NULL. */
const struct summary_process *diff_service_find(const struct summary *s, const char *name);

/* How much of a stack is shown: of its first frames, and "" or ";..." behind. */
size_t diff_stack_shown(const struct diff_change *c, const char **rest);

/* A sentence; NULL: no memory. */
char *diff_words(const struct diff_pair *pair);

#endif
