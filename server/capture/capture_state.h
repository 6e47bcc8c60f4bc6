/* SPDX-License-Identifier: Apache-2.0
 *
 * The states of targets and captures: who may enter which, and what follows. For capture*.c alone;
 * under the control lock.
 */
#ifndef CAPTURE_STATE_H
#define CAPTURE_STATE_H

#include "capture_int.h"
#include "index_ranges.h"

const char *target_status_text(enum target_status status);
bool target_is_final(enum target_status status);
/* Whether it ended with all that it lists stored: whole, or as far as it can be. */
bool target_is_stored(enum target_status status);
/* As target_is_stored, or with nothing to store: no late report changes that. */
bool target_has_ended_well(enum target_status status);
/* Whether its agent says that the process is watched from outside. */
bool target_lacks_ring(const struct report_target *report);
bool target_may(enum target_status from, enum target_status to);
/* Notes the state and when it was entered. */
void target_enter(struct capture *c, struct capture_target *t, enum target_status to);
/* Call it after its state or facts change: counts it among the whole ones, or no longer. */
void target_weigh(struct capture *c, struct capture_target *t);
/* Moves a target; refuses (false) what the table does not allow. `reason` NULL keeps the old
 * one. */
bool target_set(struct capture_engine *e, struct capture *c, struct capture_target *t,
                enum target_status to, const char *reason) CONTROL_LOCKED;
/* Ends the capture once all its targets have, and renews the verdict of an ended one. */
void capture_settle(struct capture_engine *e, struct capture *c) CONTROL_LOCKED;
/* Notes that processes of its window that ended before ns may be unknown; by our clock as it is set
 * now. */
void capture_know_from(struct capture *c, uint64_t ns);
/* Computes expires_ns anew from ttl_ms, pin and the capture's end. */
void capture_set_expiry(struct capture *c);
/* Sets the deadline: a monotonic time. */
void capture_set_due(struct capture *c, uint64_t due_ns);
/* How far behind the window's end our clock is; 0: the window is over. */
uint64_t capture_window_left_ns(const struct capture *c);
/* Lets an ended capture run again; call it before adding a target whose state is not final. The
 * deadline is then at least `due_ns`. */
void capture_reopen(struct capture_engine *e, struct capture *c, uint64_t due_ns) CONTROL_LOCKED;
/* Checks what holds for the capture and each target; linear in the targets. */
void capture_assert(const struct capture *c);
/* How far the times of the target's window may be from the true ones, by the agent's last report;
 * false: nobody knows. */
bool target_clock_error(const struct capture *c, const struct capture_target *t,
                        uint64_t *error_ns);
/* Takes a report with facts: it replaces the last one, and the index is asked what is stored. The
 * report's offset is of the capture's setting of our clock, as capture_agent.c stores it and rows
 * keep it. Owns json from here on. */
int target_take_facts(struct capture_engine *e, struct capture *c, struct capture_target *t,
                      cJSON *json) CONTROL_LOCKED;
bool target_lists(const struct capture_target *t, uint64_t epoch, uint64_t sequence);
/* A stored partition that was sent for the capture: what no report lists is the capture's all the
 * same, and counts for nothing, until one is complete. 1: it was news; 0; SKEIN_NO_MEMORY. */
int target_take_sent(struct capture_target *t, const struct partition_key *key, uint64_t to_ns);
/* Whether the capture has the partition: listed, or sent. */
bool target_has(const struct capture_target *t, uint64_t epoch, uint64_t sequence);
/* All that it has. SKEIN_OK, SKEIN_NO_MEMORY. */
int target_add_ranges(const struct capture_target *t, struct partition_ranges *ranges);
/* Counts a stored partition once, if the facts list it. 1: it was new; 0; SKEIN_NO_MEMORY. */
int target_count_stored(struct capture *c, struct capture_target *t,
                        const struct stored_note *note);
/* Asks the index which listed partitions, not known to be stored, are. One that is stored meanwhile
 * is counted when its note comes. SKEIN_OK or a status. */
int target_look_up(struct capture_engine *e, struct capture *c,
                   struct capture_target *t) CONTROL_LOCKED;
/* Asks the index again what of the target is stored, and what is damaged. SKEIN_OK or a status. */
int target_count_anew(struct capture_engine *e, struct capture *c,
                      struct capture_target *t) CONTROL_LOCKED;
void target_check_stored(struct capture_engine *e, struct capture *c,
                         struct capture_target *t) CONTROL_LOCKED;
/* Something of the capture itself, or of one target, is to be saved. */
void capture_touch(struct capture_engine *e, struct capture *c) CONTROL_LOCKED;
void target_touch(struct capture_engine *e, struct capture *c,
                  struct capture_target *t) CONTROL_LOCKED;

#endif
