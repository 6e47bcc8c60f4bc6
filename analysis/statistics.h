/* SPDX-License-Identifier: Apache-2.0
 *
 * How unlikely it is that two samples differ so much by chance (docs/diff.md says with which
 * limits). Pure functions; any thread.
 */
#ifndef STATISTICS_H
#define STATISTICS_H

#include "histogram.h"

/* The regularised incomplete beta function: the share below x of a beta distribution, a and b > 0. */
double beta_share(double a, double b, double x);

/* Two counts of events in two lengths of time, each as a Poisson process: how likely it is that,
 * given their sum, they lie at least so far to one side, both sides together. 1 where a time is 0. */
double counts_test(uint64_t before, double before_time, uint64_t after, double after_time);

/* Mann and Whitney's test of two histograms, levels as ties, by the normal approximation. *after_more
 * is how likely one duration of `after` is longer than one of `before`, equal ones by half (0.5: no
 * difference). 1 where either has fewer than DURATIONS_MIN. */
#define DURATIONS_MIN 8
double durations_test(const struct histogram *before, const struct histogram *after,
                      double *after_more);

/* Welch's test of two means by count, sum and sum of squares. 1 where either has fewer than
 * VALUES_MIN, or nothing varies. */
#define VALUES_MIN 5
struct statistics_values {
    uint64_t count;
    double sum, squares;
};
double means_test(const struct statistics_values *before, const struct statistics_values *after);

/* Benjamini and Hochberg's: turns `count` p into the least rate of false discoveries at which each is
 * one, p[order[i]] sorted by order. SKEIN_OK, SKEIN_NO_MEMORY. */
int discoveries_adjust(double *p, size_t count);

#endif
