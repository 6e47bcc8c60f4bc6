/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuchsia's trace format (FXT), as its trace manager, magic-trace and `skein export --to fxt` write it.
 *
 *   records ─▶ first pass: names, and the last time
 *           ─▶ second pass: events ─▶ import_many
 *
 * Memory: the tables of strings of each provider, and what import_many holds. Every byte is hostile: a
 * record that does not fit its own size is left out, and one whose size is none ends the file.
 */
#ifndef IMPORT_FXT_H
#define IMPORT_FXT_H

#include "import.h"

#define FXT_PROVIDERS_MAX 256

struct fxt_told {
    uint64_t records, providers, processes;
    uint64_t blobs, blob_bytes; /* not in the trace */
    uint64_t dropped;           /* how often a provider had no room for records */
};

/* SKEIN_OK, also where something was left out: *told says it. SKEIN_CORRUPT, SKEIN_NOT_FOUND with a
 * sentence in told->why; SKEIN_NO_MEMORY, and what `to->put` and the source return. */
int import_fxt(const struct skein_trace_source *source, const struct import_to *to,
               struct import_told *told, struct fxt_told *fxt);

#endif
