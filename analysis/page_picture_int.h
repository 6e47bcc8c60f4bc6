/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the picture: for page_picture*.c alone.
 */
#ifndef PAGE_PICTURE_INT_H
#define PAGE_PICTURE_INT_H

#include "page_int.h"

/* In units of the SVG, of which 1,000 are the window's width. */
#define PICTURE_WIDTH  1000
#define PICTURE_AXIS   50   /* height of the axis and the moment's words */
#define PICTURE_LETTER 6.1  /* width of a letter */
#define PICTURE_NAMED  12.0 /* narrower regions have no title of their own */

#define PICTURE_THREADS  24u
#define PICTURE_DEPTHS   8u
#define PICTURE_COUNTERS 6u
#define PICTURE_LOSSES   40u
#define PICTURE_ITEMS    500u /* of a lane, at most */
#define PICTURE_FEW      40u  /* at least */

#define PICTURE_BOX 255

struct picture {
    const struct page *page;
    struct buf body;
    double y; /* where the next lane begins */
    double span_ns, zero_ns;
    struct lanes_item *items;     /* PICTURE_ITEMS */
    uint8_t looks[PICTURE_ITEMS]; /* of each: PICTURE_BOX, or hue and shade */
    const struct page_thread *chosen[PICTURE_THREADS];
    size_t chosen_count, drawn, lanes_left;
    uint64_t threads_left, silent, deeper, counters_left;
};

double picture_x(const struct picture *p, double ns);
/* Where an item stands, at least so wide. */
void picture_span(const struct picture *p, const struct lanes_item *item, double least, double *x,
                  double *width);
bool picture_is_of(const struct page_thread *t, const struct lane *lane);

/* Items of lane i into p->items: as many as there is room for, at most `most`. */
size_t picture_view(struct picture *p, size_t i, size_t most);

void picture_regions(struct picture *p, size_t lane);
void picture_states(struct picture *p, const struct page_thread *t);
void picture_marks(struct picture *p, size_t lane);
void picture_hatch(struct picture *p, const struct lanes_item *item, double top, double height);
void picture_counters(struct picture *p);

#endif
