/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a page: for page*.c alone. Failures are the buf's, which every function passes on.
 */
#ifndef PAGE_INT_H
#define PAGE_INT_H

#include "page.h"

/* Bytes of output that a part may take before it tells the rest; it goes beyond by one element. */
#define PAGE_FACTS_BYTES    40000u
#define PAGE_FINDINGS_BYTES 120000u
#define PAGE_MISSING_BYTES  40000u
#define PAGE_PICTURE_BYTES  300000u
#define PAGE_LATENCY_BYTES  90000u
#define PAGE_FLAME_BYTES    100000u /* of each of two */
#define PAGE_TABLE_BYTES    60000u  /* of each of two */
#define PAGE_TASKS_BYTES    40000u

/* Of one text, in bytes of output. */
#define PAGE_NAME      160u
#define PAGE_SENTENCE  1200u
#define PAGE_UNLIMITED SIZE_MAX

extern const char page_style[], page_script[];
extern const char page_style_hash[], page_script_hash[];

/* Markup of our own: no text of a trace goes through it. */
void page_raw(struct buf *b, const char *markup);

/* Hostile text, for an element or an attribute in double quotes: at most `most` bytes, then how long
 * it was. */
void page_text(struct buf *b, const char *text, size_t n, size_t most);
void page_str(struct buf *b, const char *text, size_t most);

/* The beginning of a hostile text that fits so many columns of a fixed-width font, for an SVG; false
 * and nothing, where not even one letter and a mark of omission do. */
bool page_fit(struct buf *b, const char *text, size_t n, size_t columns);

/* "12,345", "1.234 ms", "-1.204 s", "12.3 %"; a coordinate with two digits at most. */
void page_count(struct buf *b, uint64_t n);
void page_number(struct buf *b, double value);
void page_duration(struct buf *b, uint64_t ns);
/* A time since the window's begin; the time from which the page counts. */
double page_since(const struct page *page, uint64_t time_ns);
double page_zero(const struct page *page);
void page_when(struct buf *b, const struct page *page, double since_from_ns);
void page_share(struct buf *b, double share);
void page_xy(struct buf *b, const char *name, double value);

/* One of 12 colours that a name always has. */
unsigned page_hue(const char *name, size_t n);

/* "More facts, which have no room on the page: 12": a paragraph, where n is not 0. */
void page_left_out(struct buf *b, uint64_t n, const char *what);

void page_picture(struct buf *b, const struct page *page);
void page_latencies(struct buf *b, const struct page *page);
void page_flames(struct buf *b, const struct page *page);
void page_tasks(struct buf *b, const struct page *page);
void page_tables(struct buf *b, const struct page *page);

#endif
