/* SPDX-License-Identifier: Apache-2.0
 *
 * Execution traces of Go's runtime, wire format v2 (Go 1.22 to 1.26): what runtime/trace writes, what
 * flight recorders and net/http/pprof answer, and what agents keep (`skein export --to go-trace`).
 *
 *   file ─▶ generation ─▶ order ─▶ what it says of goroutines ─▶ records
 *           (batches,      by sequence numbers: an event goes when
 *            strings,      it can follow what went before; time is
 *            stacks)       a hint, and raised where it is wrong
 *
 * Memory: one generation, the goroutines that live, the functions that the program has, and what
 * import_out holds. What is broken ends a generation; those before it are whole, and one behind it
 * begins anew. Every byte is hostile.
 */
#ifndef IMPORT_GO_H
#define IMPORT_GO_H

#include "import.h"

#define GO_GENERATION_BYTES_MAX (UINT64_C(1) << 30)
#define GO_EVENT_KINDS          137 /* numbers of the wire format; those that are not used are 0 */

struct go_told {
    unsigned version; /* of the wire format: 22 for Go 1.22, … */
    uint64_t generations, goroutines;
    uint64_t kinds[GO_EVENT_KINDS]; /* events of the file that were put in order, by kind */
};

/* The name of a kind, as Go's own tools call it; NULL: there is none. */
const char *go_kind_name(unsigned kind);

/* SKEIN_OK, also where something was left out: *told says it. SKEIN_VERSION, SKEIN_UNSUPPORTED,
 * SKEIN_CORRUPT and SKEIN_NOT_FOUND (nothing whole in it) with a sentence in told->why;
 * SKEIN_NO_MEMORY, and what `to->put` and the source return. */
int import_go(const struct skein_trace_source *source, const struct import_to *to,
              struct import_told *told, struct go_told *go);

#endif
