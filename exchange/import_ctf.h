/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces in the Common Trace Format 1.8, as LTTng and babeltrace2 write them: a folder with a file
 * `metadata` (TSDL) and a file for each stream.
 *
 *   metadata ─▶ types of streams and events ─┐
 *   streams  ─▶ packets, one of each stream ─┴▶ events by time ─▶ records
 *
 * Memory: one packet of each stream, and what import_out holds. Every byte is hostile.
 */
#ifndef IMPORT_CTF_H
#define IMPORT_CTF_H

#include "import.h"

#define CTF_METADATA_BYTES_MAX (16u << 20)
#define CTF_PACKET_BYTES_MAX   (256u << 20)
#define CTF_STREAMS_MAX        4096
#define CTF_PROCESSES_MAX      4096

struct ctf_told {
    uint64_t packets, discarded; /* discarded: events that the tracer had no room for */
    uint64_t lost_packets;       /* which their numbers say that there were */
    uint64_t streams, processes;
};

/* One folder. SKEIN_OK, also where something was left out: *told says it. SKEIN_UNSUPPORTED,
 * SKEIN_CORRUPT, SKEIN_NOT_FOUND with a sentence in told->why; SKEIN_NO_MEMORY, and what `to->put` and
 * the sources return. *told and *ctf are added to. pairs: events `NAME_entry` and `NAME_exit`,
 * `NAME_begin` and `NAME_end` of a thread become regions `NAME`. */
int import_ctf(const struct skein_trace_source *metadata, const struct skein_trace_source *streams,
               size_t count, bool pairs, const struct import_to *to, struct import_told *told,
               struct ctf_told *ctf);

#endif
