/* SPDX-License-Identifier: Apache-2.0
 * The inside of a comparison: pairs of rows (diff.c) and what is said of them (diff_words.c). Included
 * by these two alone. */
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

/* A sentence; NULL: no memory. */
char *diff_words(const struct diff_pair *pair);

#endif
