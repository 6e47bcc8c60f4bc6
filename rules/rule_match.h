/* SPDX-License-Identifier: Apache-2.0
 *
 * Which events meet a rule's condition (latency, log, counter), and when enough of them lie close
 * together. Pure; one owner. Agents and collector share it, so that a rule that was tried on what
 * is stored does the same on what comes.
 */
#ifndef RULE_MATCH_H
#define RULE_MATCH_H

#include "rule_spec.h"

/* What a condition has seen so far: when the last `count` events that match it happened. */
struct scan_window {
    uint64_t *times_ns; /* of count places, used in turn */
    uint64_t count, next, held;
    uint64_t fresh; /* since it fired */
};
int scan_window_init(struct scan_window *window, uint64_t count); /* SKEIN_OK, SKEIN_NO_MEMORY */
void scan_window_fini(struct scan_window *window);
/* Takes one event. True: `count` of them, none of which has fired before, lie within window_ns. */
bool scan_window_add(struct scan_window *window, uint64_t at_ns, uint64_t window_ns);
/* Whether `count` of them lie within window_ns before until_ns. */
bool scan_window_holds(const struct scan_window *window, uint64_t until_ns, uint64_t window_ns);

/* An event that matches a condition. */
struct scan_hit {
    uint64_t at_ns;   /* realtime, when it happened: of a region, when it ended */
    char reason[192]; /* what was measured, against the limit */
};
int scan_hit_compare(const void *left, const void *right); /* for qsort: by time */

struct trace_event;
/* Whether the event matches; fills *hit. */
bool scan_event_matches(const struct rule_spec *spec, const struct trace_event *event,
                        struct scan_hit *hit);

/* Why a condition of `count` events fired: of the last one and, where there are more, their number.
 */
void scan_reason(const struct rule_spec *spec, const struct scan_hit *hit, char *out,
                 size_t out_bytes);

/* How a process has ended: in order, also where a signal asked it to (or where it says so, as
 * shells do, with the status 128 + that signal); by itself, with an exit status that tells of a
 * failure; by a signal. `signal` 0: none. */
enum rule_death { RULE_DEATH_ORDERLY, RULE_DEATH_EXIT, RULE_DEATH_SIGNAL };
enum rule_death rule_death_of(int signal, int status);

/* Whether an end by itself is a service's: of what was started as one, or has lived for a second.
 * Of all else that a script starts, a failing status is most often its answer (grep, test, diff). */
#define RULE_SERVICE_LIVES_NS UINT64_C(1000000000)
bool rule_exit_counts(bool is_service, uint64_t start_ns, uint64_t end_ns);
/* Why it did not count, behind how it ended. */
#define RULE_EXIT_HELD "it was not started as the service, and lived for less than a second"

#endif
