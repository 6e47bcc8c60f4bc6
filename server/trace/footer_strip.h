/* SPDX-License-Identifier: Apache-2.0
 *
 * What footers tell of a strip of time without a partition being unpacked: how many records lie in each
 * of its buckets, what was lost when, which kinds of evidence are there. A block's records are spread
 * evenly over the block's time. Pure, but for the reads of its source; every byte is hostile.
 * One owner.
 */
#ifndef FOOTER_STRIP_H
#define FOOTER_STRIP_H

#include "partition_slice.h"

struct strip_loss {
    uint8_t reason;          /* enum partition_loss_reason */
    uint64_t from_ns, to_ns; /* bounds, by the collector's clock */
    uint64_t records;        /* lost at least; of those that were counted */
    uint64_t unknown;        /* losses without a number */
};

/* Zeroed but for these three; footer_strip_init makes the rest. */
struct footer_strip {
    uint64_t from_ns, to_ns; /* from included, to excluded; from below to */
    size_t buckets;          /* at least 1 */
    double *records;         /* of each bucket: whole numbers */
    double outside;          /* before and behind the strip */
    double evidence;         /* records that agents made of what they saw; in no bucket */
    uint32_t kinds;          /* of evidence: EVIDENCE_BIT of each */
    struct strip_loss *losses;
    size_t loss_count, loss_cap;
};

/* SKEIN_OK, SKEIN_NO_MEMORY. */
int footer_strip_init(struct footer_strip *strip);
void footer_strip_fini(struct footer_strip *strip);

/* Adds what the footer of one partition says. SKEIN_OK; SKEIN_CORRUPT and SKEIN_VERSION: it cannot be
 * read, and nothing is added; SKEIN_NO_MEMORY; what the source's read gives. */
int footer_strip_add(struct footer_strip *strip, const struct partition_source *source);

/* Sorts the losses by reason and time, and makes one of those of a reason that are at most a bucket
 * apart: of each reason one more than buckets are left, at most. After the last _add. */
void footer_strip_settle(struct footer_strip *strip);

#endif
