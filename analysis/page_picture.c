/* SPDX-License-Identifier: Apache-2.0
 *
 * The picture of a page: the window of the trace as lanes of its threads, as SVG. Pure.
 */
#include "page_picture_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double picture_x(const struct picture *p, double ns)
{
    return ns <= 0 ? 0 : ns >= p->span_ns ? PICTURE_WIDTH : ns / p->span_ns * PICTURE_WIDTH;
}

void picture_span(const struct picture *p, const struct lanes_item *item, double least, double *x,
                  double *width)
{
    double end = picture_x(p, item->to_ns);
    *x = picture_x(p, item->from_ns);
    *width = end - *x > least ? end - *x : least;
    if (*x + *width > PICTURE_WIDTH)
        *x = PICTURE_WIDTH - *width;
}

/* ---- the axis ---- */

#define TICKS_MOST 20u

/* 1, 2 or 5 times a power of ten: about eight of them are the span. */
static double tick_step(double span_ns)
{
    double step = pow(10, floor(log10(span_ns / 8)));
    double times = span_ns / 8 / step;
    return step * (times > 5 ? 10 : times > 2 ? 5 : times > 1 ? 2 : 1);
}

/* "-1.5 s" in the unit of the step. */
static void tick_text(struct buf *b, double ns, double step)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    unsigned u = 0;
    while (u < 3 && step < units[u].ns * 0.09)
        u++;
    if (fabs(ns) < step / 2)
        page_raw(b, "0");
    else
        buf_printf(b, "%+.*f %s", step < units[u].ns * 0.999 ? 1 : 0, ns / units[u].ns,
                   units[u].name);
}

static void axis_put(struct buf *b, const struct picture *p, double height)
{
    double step = tick_step(p->span_ns), zero = p->zero_ns;
    double first = ceil(-zero / step), last = floor((p->span_ns - zero) / step);
    for (unsigned i = 0; i < TICKS_MOST && first + i <= last; i++) {
        double tick = first + i, x = picture_x(p, zero + tick * step);
        page_raw(b, "<line class=\"grid\"");
        page_xy(b, "x1", x);
        page_xy(b, "x2", x);
        buf_printf(b, " y1=\"%d\" y2=\"%.0f\"/><text class=\"tick\"", PICTURE_AXIS - 6, height);
        page_xy(b, "x", x);
        buf_printf(b, " y=\"%d\" text-anchor=\"%s\">", PICTURE_AXIS - 10,
                   x < 30                   ? "start"
                   : x > PICTURE_WIDTH - 30 ? "end"
                                            : "middle");
        tick_text(b, tick * step, step);
        page_raw(b, "</text>\n");
    }
}

/* The moment of the trigger: a line through all, and what happened at its head. */
static void moment_put(struct buf *b, const struct picture *p, double height)
{
    const struct page *page = p->page;
    double x = picture_x(p, p->zero_ns);
    bool left = 2 * x > PICTURE_WIDTH;
    if (page->at_ns < page->from_ns || page->at_ns > page->to_ns)
        return;
    page_raw(b, "<g class=\"moment\"><title>");
    page_str(b, page->at, PAGE_SENTENCE);
    page_raw(b, "</title><line");
    page_xy(b, "x1", x);
    page_xy(b, "x2", x);
    buf_printf(b, " y1=\"14\" y2=\"%.0f\"/><path d=\"M%.1f 24l-5 -10h10z\"/><text", height, x);
    page_xy(b, "x", left ? x - 9 : x + 9);
    buf_printf(b, " y=\"14\" text-anchor=\"%s\">", left ? "end" : "start");
    page_fit(b, page->at, strlen(page->at),
             (size_t)((left ? x : PICTURE_WIDTH - x) / PICTURE_LETTER) - 2);
    page_raw(b, "</text></g>\n");
}

/* ---- tracks ---- */

bool picture_is_of(const struct page_thread *t, const struct lane *lane)
{
    for (size_t i = 0; i < t->number_count; i++)
        if (lane->process == t->process && lane->thread == t->numbers[i])
            return true;
    return false;
}

static bool is_hatched_on(const struct page_thread *t, const struct lane *lane)
{
    return lane->kind == LANE_LOSS &&
           (picture_is_of(t, lane) || (lane->process == t->process && lane->thread == SKEIN_NONE));
}

static void picture_head_put(struct picture *p, const struct page_thread *t)
{
    struct buf *b = &p->body;
    struct buf line = {0};
    buf_printf(b, "<text class=\"head\" x=\"2\" y=\"%.0f\">", p->y + 12);
    page_fit(&line, t->name, strlen(t->name), 40);
    buf_printf(&line, "/%u \u00b7 ", t->tid);
    page_fit(&line, t->service, strlen(t->service), 30);
    buf_printf(&line, "[%u]", t->pid);
    if (t->why[0] != '\0') {
        page_raw(&line, " \u00b7 <tspan class=\"why\">");
        page_fit(&line, t->why, strlen(t->why), 70);
        page_raw(&line, "</tspan>");
    }
    if (line.status != SKEIN_OK)
        b->status = line.status;
    buf_put(b, line.data, line.len);
    buf_fini(&line);
    page_raw(b, "</text>\n");
    p->y += 17;
}

static void hatches_put(struct picture *p, const struct page_thread *t, double top)
{
    const struct page *page = p->page;
    for (size_t i = 0; i < lanes_count(page->lanes); i++) {
        const struct lane *lane = lanes_at(page->lanes, i);
        size_t count = is_hatched_on(t, lane) ? picture_view(p, i, PICTURE_LOSSES) : 0;
        for (size_t k = 0; k < count; k++)
            picture_hatch(p, &p->items[k], top, p->y - top);
    }
}

/* One thread: its head, the scheduler's strips, regions by depth, marks; losses over all. */
static void track_put(struct picture *p, const struct page_thread *t)
{
    const struct page *page = p->page;
    unsigned rows = 0;
    picture_head_put(p, t);
    double top = p->y;
    picture_states(p, t);
    for (size_t i = 0; i < lanes_count(page->lanes); i++) {
        const struct lane *lane = lanes_at(page->lanes, i);
        if (lane->kind != LANE_REGION || !picture_is_of(t, lane))
            continue;
        if (rows++ < PICTURE_DEPTHS)
            picture_regions(p, i);
        else
            p->deeper++;
    }
    for (size_t i = 0; i < lanes_count(page->lanes); i++)
        if (lanes_at(page->lanes, i)->kind == LANE_MARK &&
            picture_is_of(t, lanes_at(page->lanes, i)))
            picture_marks(p, i);
    if (p->y <= top) /* nothing but losses: there is a place for them */
        p->y += 10;
    buf_printf(&p->body, "<line class=\"base\" x1=\"0\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
               PICTURE_WIDTH, p->y + 2, p->y + 2);
    hatches_put(p, t, top);
    p->y += 9;
}

/* Lanes that are still to be drawn: the room is shared by them. Samples are the flame's. */
static size_t lanes_of(const struct page *page, const struct page_thread *t)
{
    size_t count = 0;
    for (size_t i = 0; i < lanes_count(page->lanes); i++) {
        const struct lane *lane = lanes_at(page->lanes, i);
        bool drawn = lane->kind != LANE_COUNTER && lane->kind != LANE_SAMPLE;
        count += drawn && picture_is_of(t, lane);
    }
    return count < PICTURE_DEPTHS + 5 ? count : PICTURE_DEPTHS + 5;
}

/* The first threads of which there is something to draw. */
static void tracks_choose(struct picture *p)
{
    const struct page *page = p->page;
    for (size_t i = 0; i < page->thread_count; i++) {
        size_t lanes = lanes_of(page, &page->threads[i]);
        if (lanes == 0) {
            p->silent++;
        } else if (p->chosen_count == PICTURE_THREADS) {
            p->threads_left++;
        } else {
            p->chosen[p->chosen_count++] = &page->threads[i];
            p->lanes_left += lanes;
        }
    }
    p->lanes_left += PICTURE_COUNTERS;
}

static void tracks_put(struct picture *p)
{
    tracks_choose(p);
    while (p->drawn < p->chosen_count && p->body.len < PAGE_PICTURE_BYTES) {
        track_put(p, p->chosen[p->drawn]);
        p->lanes_left -= lanes_of(p->page, p->chosen[p->drawn]);
        p->drawn++;
    }
    p->threads_left += p->chosen_count - p->drawn;
    picture_counters(p);
}

/* ---- the whole ---- */

static void legend_put(struct buf *b)
{
    page_raw(
        b,
        "<ul class=\"legend\">\n"
        "<li><svg class=\"key\" viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect class=\"h0\" width=\"24\" "
        "height=\"12\"/></svg> a region; one inside of another stands below it. Equal colours are equal "
        "names</li>\n"
        "<li><svg class=\"key\" viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect class=\"h0 s1\" "
        "width=\"24\" height=\"12\"/></svg> many short ones in a small place: the colour is that of the "
        "longest, paler where less of the time is busy</li>\n"
        "<li><svg class=\"key\" viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect class=\"run\" width=\"24\" "
        "height=\"4\"/><rect class=\"wait\" y=\"4\" width=\"24\" height=\"4\"/><rect class=\"block\" "
        "y=\"8\" width=\"24\" height=\"4\"/></svg> the scheduler, from above: it ran; it waited for a CPU; "
        "it was blocked</li>\n"
        "<li><svg class=\"key\" viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect class=\"lost\" "
        "width=\"24\" height=\"12\"/></svg> records are missing here: what is blank is not known</li>\n"
        "<li><svg class=\"key\" viewBox=\"0 0 24 12\" aria-hidden=\"true\"><path class=\"mark\" "
        "d=\"M4 2h1.5v9h-1.5z\"/><path class=\"mark sev3\" d=\"M14 2h1.5v9h-1.5z\"/></svg> an instant or "
        "a log; red: a warning or an error</li>\n"
        "</ul>\n");
}

static void left_out_put(struct buf *b, const struct picture *p)
{
    const struct page *page = p->page;
    struct lanes_totals totals;
    lanes_totals(page->lanes, &totals);
    page_left_out(b, p->threads_left + page->threads_left_out,
                  "More threads, for which the picture has no room");
    page_left_out(b, p->silent, "Threads of which there is nothing to draw");
    page_left_out(b, p->deeper, "Deeper lanes of these threads, which are not drawn");
    page_left_out(b, p->counters_left, "More counters, which are not drawn");
    page_left_out(
        b, totals.left_out,
        "Records that are not in the picture, as its memory was full or they lie too deep");
    page_left_out(b, totals.ends, "Ends of regions whose begin is lost, which are not drawn");
    page_left_out(b, totals.crowded, "Records that are drawn only where none before them is");
}

static void svg_put(struct buf *b, const struct picture *p)
{
    double height = p->y + 4;
    buf_printf(b,
               "<svg class=\"picture\" role=\"img\" aria-labelledby=\"picture-t picture-d\" "
               "viewBox=\"0 0 %d %.0f\">\n<title id=\"picture-t\">The window of ",
               PICTURE_WIDTH, height);
    page_duration(b, (uint64_t)p->span_ns);
    page_raw(b, " as lanes of threads</title>\n<desc id=\"picture-d\">");
    page_count(b, p->drawn);
    page_raw(b, " threads, those that are affected most first:");
    for (size_t i = 0; i < p->drawn; i++) {
        const struct page_thread *t = p->chosen[i];
        page_raw(b, i > 0 ? "; " : " ");
        page_str(b, t->name, PAGE_NAME);
        buf_printf(b, "/%u", t->tid);
        if (t->why[0] != '\0') {
            page_raw(b, ", ");
            page_str(b, t->why, PAGE_NAME);
        }
    }
    page_raw(
        b,
        ". Their numbers are in the tables below.</desc>\n"
        "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect class=\"hatch-ground\" width=\"6\" "
        "height=\"6\"/><rect class=\"hatch-line\" width=\"2\" height=\"6\"/></pattern></defs>\n");
    axis_put(b, p, height);
    buf_put(b, p->body.data, p->body.len);
    moment_put(b, p, height);
    page_raw(b, "</svg>\n");
}

void page_picture(struct buf *b, const struct page *page)
{
    struct picture p = {.page = page, .y = PICTURE_AXIS};
    if (page->lanes == NULL || page->thread_count == 0 || page->to_ns <= page->from_ns)
        return;
    p.span_ns = (double)(page->to_ns - page->from_ns);
    p.zero_ns = page_zero(page);
    p.items = calloc(PICTURE_ITEMS, sizeof *p.items);
    if (p.items == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return;
    }
    tracks_put(&p);
    if (p.body.status != SKEIN_OK)
        b->status = p.body.status;
    page_raw(b, "<section id=\"picture\">\n<h2>The window</h2>\n<p>");
    page_raw(b, page->at_ns > 0 ? "Times count from the moment of the trigger. "
                                : "Times count from the begin of the window. ");
    page_raw(
        b,
        "Point at something, or focus the picture and use the arrow keys, to read what it "
        "is.</p>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"The window as a picture\">\n");
    svg_put(b, &p);
    page_raw(b, "</div>\n<p class=\"says\" role=\"status\"></p>\n");
    legend_put(b);
    left_out_put(b, &p);
    page_raw(b, "</section>\n");
    buf_fini(&p.body);
    free(p.items);
}
