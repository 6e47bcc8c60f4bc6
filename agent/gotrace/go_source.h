/* SPDX-License-Identifier: Apache-2.0
 *
 * The source of evidence "go". When a capture begins that wants it, and a selector names where the
 * process's runtime answers (go_pprof, go_flight), each address is asked on a thread of its own;
 * what has come is kept in the partition, whole or not at all:
 *
 *   go.trace        kind ("before": what led to the capture; "after": from its begin on), bytes,
 *                   checksum (XXH3 of them), parts
 *   go.trace.part   kind, offset, data (base64)
 */
#ifndef GO_SOURCE_H
#define GO_SOURCE_H

#include "evidence.h"

#define GO_TRACE_MS        500                 /* of "after", at most */
#define GO_TRACE_BYTES_MAX ((uint64_t)4 << 20) /* of each; a larger one is not kept */
#define GO_FETCHES_MAX     16                  /* at once, of an agent */
#define GO_PART_BYTES      765                 /* of a part: its text is 1,020 letters */
#define GO_TRACE_EVENT     "go.trace"
#define GO_PART_EVENT      PARTITION_BULK_EVENT

struct go_source;

/* SKEIN_OK, SKEIN_NO_MEMORY. */
int go_source_new(struct go_source **out);
/* Takes no more fetches, and ends those that are under way; their tasks hear of it. Returns 1 where
 * one hangs: then nothing that it uses may be freed; else 0. Before evidence_free. */
size_t go_source_stop(struct go_source *source);
void go_source_free(struct go_source **source); /* it is stopped, or was never asked */

/* Whether traces are left out, as evidence.privacy is not off: programs log into them. Any thread. */
void go_source_leave_out(struct go_source *source, bool leave_out);

bool go_source_concerns(const struct process *p);
evidence_collect_fn go_source_collect; /* EVIDENCE_FETCHED */
void go_source_state_free(void *state);

#endif
