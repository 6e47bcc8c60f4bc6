/* SPDX-License-Identifier: Apache-2.0
 *
 * A page of the kernel's trace buffer, as trace_pipe_raw gives it: a header and records with times.
 * Every byte is taken as hostile. No I/O; the cursor is the caller's.
 *
 *   +---------------+----------------+-----------------------------------------+
 *   | time of first | commit: bytes, | records: 5 bits type or length, 27 bits |
 *   | record        | flags of loss  | time since the one before, payload      | …
 *   +---------------+----------------+-----------------------------------------+
 */
#ifndef SCHED_PAGE_H
#define SCHED_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What events/header_page says. */
struct page_shape {
    uint32_t bytes; /* of a page, at most PAGE_BYTES_MAX */
    uint32_t commit_offset, commit_bytes, data_offset;
};
#define PAGE_BYTES_MAX (1u << 20)

/* Of the text of events/header_page. SKEIN_OK, SKEIN_CORRUPT. */
int page_shape_parse(const char *text, size_t n, struct page_shape *out);

struct page_cursor {
    const uint8_t *pos, *end; /* both on multiples of 4 of the data */
    uint64_t time_ns;
    bool missed;             /* the kernel dropped records in front of this page */
    uint64_t missed_records; /* 0: it did not say how many */
    size_t used;             /* bytes of the page that hold anything */
};

/* SKEIN_OK; SKEIN_TRUNCATED: fewer bytes than it says; SKEIN_CORRUPT. */
int page_open(struct page_cursor *c, const struct page_shape *shape, const uint8_t *page, size_t n);

/* The next record: 1; 0 at the end; SKEIN_CORRUPT: its length leads out of the page. */
int page_next(struct page_cursor *c, uint64_t *time_ns, const uint8_t **record, size_t *n);

#endif
