/* SPDX-License-Identifier: Apache-2.0
 *
 * When a process is sampled: record_ms of every every_ms, so that a steady share of the fleet is on
 * at any moment. Agents sample by it and the collector counts by it. Pure functions; times are
 * realtime on the collector's clock.
 *
 *   period  |<------------------ every_ms ------------------>|     begins at a multiple of every_ms
 *   slots   | 0 | 1 | 2 | …                            | n-1 |     each of record_ms; n = every/record
 *
 * Each process has a slot, which its hash gives, and is on while it lasts. The slots tile the
 * period, so what is on at a moment are the processes of one slot: n of them on average, give or
 * take the root of n, and those of one host no more often together than chance has it.
 */
#ifndef SAMPLING_H
#define SAMPLING_H

#include "ids.h"

#define SAMPLING_SLOTS_MAX 10000

struct sampling_plan {
    uint64_t record_ms, every_ms; /* every_ms is 2 to SAMPLING_SLOTS_MAX times record_ms */
};
bool sampling_plan_valid(const struct sampling_plan *plan);

uint32_t sampling_slots(const struct sampling_plan *plan);
uint32_t sampling_slot_of(const struct sampling_plan *plan, const struct process_uid *process);
uint32_t sampling_slot_at(const struct sampling_plan *plan, uint64_t now_ns);

/* The first begin of the slot at now_ns or later. */
uint64_t sampling_next_ns(const struct sampling_plan *plan, uint32_t slot, uint64_t now_ns);

/* Whether that begin is one of another clock: farther ahead than any next one can be. */
bool sampling_is_astray(const struct sampling_plan *plan, uint64_t begin_ns, uint64_t now_ns);

/* What begins within one span is one capture: a period, or a minute where a period is longer, so
 * that a capture of a large fleet stays of a size to work with and ends soon. */
uint64_t sampling_span_ms(const struct sampling_plan *plan);

/* The capture of what begins at begin_ns, the same for every process. `generation` is the
 * policy's: a policy that has changed has captures of its own. */
struct capture_id sampling_capture(const struct sampling_plan *plan, const char *policy,
                                   uint64_t generation, uint64_t begin_ns);
uint64_t sampling_span_begin_ns(const struct capture_id *id); /* of such a capture */

#endif
