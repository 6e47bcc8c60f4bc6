/* SPDX-License-Identifier: Apache-2.0
 *
 * What a failure is set beside: when it began (its onset), which baseline is taken, and why (docs/diff.md).
 * Terminal and collector find them alike and say the same. No I/O. One owner, one thread.
 */
#ifndef DIFF_BASELINE_H
#define DIFF_BASELINE_H

#include "summary.h"

#define DIFF_WHY_BYTES  384
#define DIFF_TEXT_BYTES 64
#define DIFF_ONSET_USUAL_NS                                                                        \
    UINT64_C(1000000000)                       /* so long before the failure, where nothing tells */
#define DIFF_BEFORE_LEAST UINT64_C(1000000000) /* of an earlier time that is worth a comparison */

/* baseline, word; in the order in which `auto` tries them */
#define DIFF_BASELINE_LIST(X)                                                                      \
    X(EARLIER, "earlier")       /* the same processes before the onset */                          \
    X(SAMPLE, "sample")         /* a healthy sample of the service, by a policy */                 \
    X(NEIGHBOURS, "neighbours") /* other processes of the service, at the same time */             \
    X(GIVEN, "given")           /* two sides picked by hand */
enum diff_baseline {
#define X(baseline, word) DIFF_##baseline,
    DIFF_BASELINE_LIST(X)
#undef X
        DIFF_BASELINES
};
const char *diff_baseline_text(enum diff_baseline baseline);
/* "auto" gives DIFF_BASELINES. False: it is none that can be asked for ("given" is not). */
bool diff_baseline_parse(const char *text, enum diff_baseline *baseline);

/* When what is wrong at a moment began. */
struct diff_onset {
    bool found;                 /* a region tells it; else it is a second before */
    bool sought;                /* that region was not in progress at the failure */
    uint64_t from_ns, at_ns;    /* at_ns: the failure */
    uint64_t until_ns;          /* when that region ended */
    uint64_t lasted_ns, p99_ns; /* that region until at_ns; of the others of its name: 0: none */
    char name[DIFF_TEXT_BYTES], service[DIFF_TEXT_BYTES];
};

/* The begin of the longest region that was in progress at at_ns and had lasted twice as long as 99 of
 * 100 others of its name in its process; where there is none, of the longest such region that began
 * before, if it took a hundredth of all the time; else a second before at_ns. Of the regions of a name
 * those are looked at that the summary keeps as examples, and those in progress at the end. Left out:
 * what is idle, and what has lasted for nine tenths of the time that is known, which is how a thread
 * lives. at_ns is held inside the summary's bounds; DIFF_AT_UNKNOWN: the failure is when that region
 * ended. */
#define DIFF_AT_UNKNOWN UINT64_MAX
void diff_onset_find(const struct summary *summary, uint64_t at_ns, struct diff_onset *onset);

/* Which baseline was taken, and why. All-zero but for `chosen`: two sides that somebody named. */
struct diff_choice {
    enum diff_baseline chosen;
    bool automatic;
    bool has_onset;
    struct diff_onset onset;
    char why[DIFF_WHY_BYTES];                     /* what it is, as a sentence; "" */
    char why_not[DIFF_BASELINES][DIFF_WHY_BYTES]; /* of the others; "": not asked for */
    char capture[33];                             /* the one that it is of; "": none */
};
/* Says of `onset` in words when and by what. */
void diff_onset_words(const struct diff_onset *onset, char out[DIFF_WHY_BYTES]);
/* Whether there is enough of the time before the onset, in a summary from from_ns on (0: its begin);
 * else says why not in choice->why_not. Of `earlier`. */
bool diff_earlier_exists(const struct summary *summary, uint64_t from_ns,
                         struct diff_choice *choice);
/* Its members "baseline" and "onset", with a comma before each. */
void diff_choice_json(const struct diff_choice *choice, struct buf *out);

#endif
