/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of a snapshot goes, as its agent's log tells (level debug): lines of cuts and of
 * what the collector has acknowledged. Included by bench_snapshot alone. One thread.
 */
#ifndef SNAPSHOT_PARTS_H
#define SNAPSHOT_PARTS_H

#include <stdbool.h>
#include <stdio.h>

enum part {
    PART_REQUEST, /* from the request until the first cut began: collector, command, agent's queue */
    PART_COPY,    /* the cuts' chunks out of the rings */
    PART_PACK,    /* their records into columns and blocks */
    PART_NAMES,   /* of addresses */
    PART_END,     /* the last blocks, and each partition in one piece */
    PART_SPOOL,   /* and onto the disk of the agent's host */
    PART_UPLOAD,  /* from there until the collector has synced the last one, evidence too */
    PART_REPORT,  /* from there until the bench saw the capture complete */
    PARTS
};
extern const char *const part_names[PARTS];

/* Reads the log on from where it stands, until so many partitions are acknowledged. Times of the snapshot are of the host's clock, in ms. Of many
 * cuts PART_COPY to PART_SPOOL are sums, and evidence that comes with them makes PART_UPLOAD longer;
 * the log's own clock has ms. false: they never were. */
bool parts_read(FILE *log, unsigned partitions, double begin_ms, double end_ms,
                double parts[PARTS]);

#endif
