/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions to a Perfetto trace (protobuf written by hand; field numbers in
 * docs/format.md's annex). Streams: one partition in, packets out. One owner, one thread.
 */
#ifndef PERFETTO_EXPORT_H
#define PERFETTO_EXPORT_H

#include "buf.h"
#include "partition_reader.h"

struct perfetto_export;

int perfetto_export_new(struct perfetto_export **out);
void perfetto_export_free(struct perfetto_export **exporter);

/* Appends the packets of one partition; partitions of one process in their order. SKEIN_OK,
 * SKEIN_NO_MEMORY, or the reader's status. */
int perfetto_export_partition(struct perfetto_export *exporter, struct partition_reader *reader,
                              struct buf *out);

/* Appends the closing packet (trace statistics). */
int perfetto_export_finish(struct perfetto_export *exporter, struct buf *out);

#endif
