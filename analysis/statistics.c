/* SPDX-License-Identifier: Apache-2.0
 *
 * See statistics.h. The tails of the binomial and of Student's distribution are the incomplete beta
 * function, which is a continued fraction (Lentz's way of taking it).
 */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

#define FRACTION_STEPS 2000
#define TINY           1e-300

static double not_zero(double v)
{
    return fabs(v) < TINY ? TINY : v;
}

static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), h = d;
    for (int m = 1; m <= FRACTION_STEPS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        h *= d * c;
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return h;
}

double beta_share(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    int sign; /* lgamma would write it where other threads read it */
    double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) +
                       a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double counts_test(uint64_t before, double before_time, uint64_t after, double after_time)
{
    if (!(before_time > 0) || !(after_time > 0) || (before == 0 && after == 0))
        return 1;
    double share = after_time / (before_time + after_time);
    double k = (double)after, rest = (double)before;
    double at_least = after == 0 ? 1 : beta_share(k, rest + 1, share);
    double at_most = before == 0 ? 1 : beta_share(rest, k + 1, 1 - share);
    double p = 2 * (at_least < at_most ? at_least : at_most);
    return p < 1 ? p : 1;
}

double durations_test(const struct histogram *before, const struct histogram *after,
                      double *after_more)
{
    double n1 = (double)before->count, n2 = (double)after->count, n = n1 + n2;
    double below = 0, u = 0, ties = 0;
    *after_more = .5;
    if (n1 < DURATIONS_MIN || n2 < DURATIONS_MIN)
        return 1;
    for (unsigned level = 0; level < HISTOGRAM_LEVELS; level++) {
        double one = (double)histogram_count(before, level);
        double other = (double)histogram_count(after, level), both = one + other;
        u += other * (below + one / 2); /* pairs in which `after` is longer */
        below += one;
        ties += both * both * both - both;
    }
    *after_more = u / (n1 * n2);
    double variance = n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1)));
    if (variance <= 0)
        return 1;
    double distance = fabs(u - n1 * n2 / 2) - .5;
    return distance <= 0 ? 1 : erfc(distance / sqrt(2 * variance));
}

static double variance_of(const struct statistics_values *v, double mean)
{
    double n = (double)v->count, sum = v->squares - n * mean * mean;
    return sum > 0 ? sum / (n - 1) : 0;
}

double means_test(const struct statistics_values *before, const struct statistics_values *after)
{
    if (before->count < VALUES_MIN || after->count < VALUES_MIN)
        return 1;
    double n1 = (double)before->count, n2 = (double)after->count;
    double m1 = before->sum / n1, m2 = after->sum / n2;
    double s1 = variance_of(before, m1) / n1, s2 = variance_of(after, m2) / n2, s = s1 + s2;
    if (s <= 1e-12 * (m1 * m1 + m2 * m2))
        return 1;
    double freedom = s * s / (s1 * s1 / (n1 - 1) + s2 * s2 / (n2 - 1));
    double t2 = (m1 - m2) * (m1 - m2) / s;
    return beta_share(freedom / 2, .5, freedom / (freedom + t2));
}

/* ---- many tests at once ---- */

static int pointers_compare(const void *a, const void *b)
{
    double x = **(double *const *)a, y = **(double *const *)b;
    return (x > y) - (x < y);
}

int discoveries_adjust(double *p, size_t count)
{
    double **order = malloc((count + 1) * sizeof *order), least = 1;
    if (order == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        order[i] = &p[i];
    qsort(order, count, sizeof *order, pointers_compare);
    for (size_t i = count; i > 0; i--) {
        double q = *order[i - 1] * (double)count / (double)i;
        least = q < least ? q : least;
        *order[i - 1] = least;
    }
    free(order);
    return SKEIN_OK;
}
