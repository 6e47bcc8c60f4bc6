/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence of a target (docs/evidence.md): asked for beside its first cut and beside its last
 * one, and waited for until a deadline. For agent_capture.c and capture_job.c alone.
 *
 *   loop      begin ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ timer ──┐ late
 *   worker            last job: ask, cuts ──▶ wait ──────▶ end: report, release
 *   evidence  dump …             └─▶ the rest ─────▶ done ─┘ whichever comes first
 */
#ifndef CAPTURE_EVIDENCE_H
#define CAPTURE_EVIDENCE_H

#include "capture_job.h"

/* Loop thread: begins to ask for the target, and puts in its result that nothing is taken yet. */
void capture_evidence_begin(struct target *target, const struct evidence_wish *wish);

/* Worker: the target's window is over, at to_ns, and its last job begins. */
void capture_evidence_ask(struct target *target, uint64_t to_ns);

/* Worker: the target's last job is done. Calls capture_target_end at once, or, on the worker, as
 * soon as there is evidence or the time is over. */
void capture_evidence_wait(struct target *target);

/* Loop thread: the agent ends. Nothing is waited for from now on; what waits ends on the worker. */
void capture_evidence_drain(struct captures *captures);

#endif
