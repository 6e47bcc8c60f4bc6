/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions to a Perfetto trace (protobuf written by hand; field numbers in
 * docs/format.md's annex). Streams: one partition in, packets out. One owner, one thread.
 */
#ifndef PERFETTO_EXPORT_H
#define PERFETTO_EXPORT_H

#include "buf.h"
#include "partition_reader.h"

/* A name that packets of switches intern: spans of evidence in the same file tell these switches, too.
 * Nobody else writes it, so that an import leaves out our own switches and no others. */
#define PERFETTO_EXPORT_SWITCHES                                                                   \
    "skein: spans of evidence say this, 6f2d9f0e3c414b0b9a570d3c8d1e52a4"

struct perfetto_export;

/* Events of these groups alone; 0: all (event_type_shown). SKEIN_OK, SKEIN_NO_MEMORY. */
int perfetto_export_new(uint64_t groups, struct perfetto_export **out);
void perfetto_export_free(struct perfetto_export **exporter);

/* Appends packets of one partition until they are `bytes` or more, or its last; partitions of one
 * process in their order. Packets may take a thousand times the partition's bytes, because every text
 * is spelt out. 1: more will come, call again with the same reader; SKEIN_OK: that was all;
 * SKEIN_NO_MEMORY, or the reader's status, and nothing more comes of this partition. */
int perfetto_export_some(struct perfetto_export *exporter, struct partition_reader *reader,
                         size_t bytes, struct buf *out);

/* Appends the closing packet (trace statistics). */
int perfetto_export_finish(struct perfetto_export *exporter, struct buf *out);

#endif
