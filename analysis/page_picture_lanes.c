/* SPDX-License-Identifier: Apache-2.0
 *
 * Single lanes of the picture. What is wide enough has its own box, name and title; what is narrower
 * is drawn together, colour by colour. Pure.
 */
#include "page_picture_int.h"

#include <string.h>

#define REGION_HEIGHT  13
#define STATE_HEIGHT   4
#define MARK_HEIGHT    9
#define COUNTER_HEIGHT 30
#define SHADES         4
#define HUES           12
#define LOOKS_A_HUE    8u
#define BYTES_AN_ITEM  30 /* about */
#define BYTES_A_BOX    250
#define BOX_SHARE      0.9

/* Bytes that a lane may take, so that all that are left have as much. */
static size_t picture_room(const struct picture *p)
{
    size_t room = p->body.len < PAGE_PICTURE_BYTES ? PAGE_PICTURE_BYTES - p->body.len : 0;
    return room / (p->lanes_left > 0 ? p->lanes_left : 1);
}

size_t picture_view(struct picture *p, size_t i, size_t most)
{
    const struct page *page = p->page;
    size_t pixels = picture_room(p) / BYTES_AN_ITEM;
    pixels = pixels < PICTURE_FEW ? PICTURE_FEW : pixels;
    pixels = pixels < most ? pixels : most;
    return lanes_view(page->lanes, i, 0, page->to_ns - page->from_ns + 1, pixels, p->items);
}

/* 1, little of the time is busy, to SHADES: all of it. */
static unsigned shade_of(const struct lanes_item *item)
{
    double share = item->row ? 1 : item->share;
    return share >= 0.8 ? SHADES : share >= 0.45 ? 3 : share >= 0.15 ? 2 : 1;
}

static void box_path(struct buf *b, double x, double y, double width, double height)
{
    buf_printf(b, "M%.1f %.0fh%.1fv%.0fh-%.1fz", x, y, width, height, width);
}

/* ---- regions ---- */

static const char *name_of(const struct picture *p, const struct lanes_item *item)
{
    return p->page->type_name(p->page->context, item->type);
}

static void range_put(struct picture *p, const struct lanes_item *item)
{
    page_raw(&p->body, " (");
    page_when(&p->body, p->page, item->from_ns);
    page_raw(&p->body, " to ");
    page_when(&p->body, p->page, item->to_ns);
    page_raw(&p->body, ")");
}

static void region_box(struct picture *p, const struct lanes_item *item, double x, double width)
{
    struct buf *b = &p->body;
    const char *name = name_of(p, item);
    size_t n = strlen(name);
    page_raw(b, "<g><title>");
    if (!item->row)
        page_raw(b, "longest here: ");
    page_text(b, name, n, PAGE_NAME);
    page_raw(b, " ");
    page_duration(b, (uint64_t)item->longest_ns);
    if (!item->row) {
        page_raw(b, "; busy ");
        page_share(b, item->share);
    }
    range_put(p, item);
    buf_printf(
        b, "</title><rect class=\"h%u s%u\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\"/>",
        page_hue(name, n), shade_of(item), x, p->y, width, REGION_HEIGHT - 1);
    if (width > 4 * PICTURE_LETTER) {
        buf_printf(b, "<text x=\"%.1f\" y=\"%.0f\">", x + 3, p->y + 9.5);
        page_fit(b, name, n, (size_t)((width - 5) / PICTURE_LETTER));
        page_raw(b, "</text>");
    }
    page_raw(b, "</g>\n");
}

/* The narrow ones that look the same as one path. */
static void region_path(struct picture *p, size_t count, unsigned hue, unsigned shade)
{
    struct buf *b = &p->body;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        double x, width;
        if (p->looks[i] != hue * LOOKS_A_HUE + shade)
            continue;
        if (!any)
            buf_printf(b, "<path class=\"h%u s%u\" d=\"", hue, shade);
        any = true;
        picture_span(p, &p->items[i], 1, &x, &width);
        box_path(b, x, p->y, width, REGION_HEIGHT - 1);
    }
    page_raw(b, any ? "\"/>\n" : "");
}

/* A box of its own is for what is one region, or nearly, and wide enough for its name. */
static bool has_box(const struct picture *p, const struct lanes_item *item, double least)
{
    double x, width;
    picture_span(p, item, 1, &x, &width);
    return width >= least &&
           (item->row || item->longest_ns >= BOX_SHARE * (item->to_ns - item->from_ns));
}

/* Boxes cost most: those that are wide enough to fit the lane's room. */
static void looks_find(struct picture *p, size_t count)
{
    size_t room = picture_room(p) / BYTES_A_BOX, boxes;
    double least = PICTURE_NAMED / 2;
    do {
        boxes = 0;
        least *= 2;
        for (size_t i = 0; i < count; i++)
            boxes += has_box(p, &p->items[i], least);
    } while (boxes > room && least < PICTURE_WIDTH);
    for (size_t i = 0; i < count; i++) {
        const char *name = name_of(p, &p->items[i]);
        unsigned look = page_hue(name, strlen(name)) * LOOKS_A_HUE + shade_of(&p->items[i]);
        p->looks[i] = has_box(p, &p->items[i], least) ? PICTURE_BOX : (uint8_t)look;
    }
}

void picture_regions(struct picture *p, size_t i)
{
    struct buf *b = &p->body;
    const struct lane *lane = lanes_at(p->page->lanes, i);
    size_t count = picture_view(p, i, PICTURE_ITEMS);
    page_raw(b, "<g><title>");
    page_count(b, lane->rows);
    page_raw(b, " regions at depth ");
    page_count(b, lane->number);
    page_raw(b, "; the longest took ");
    page_duration(b, (uint64_t)lane->longest_ns);
    page_raw(b, "</title>\n");
    looks_find(p, count);
    for (unsigned hue = 0; hue < HUES; hue++)
        for (unsigned shade = 1; shade <= SHADES; shade++)
            region_path(p, count, hue, shade);
    for (size_t k = 0; k < count; k++) {
        double x, width;
        picture_span(p, &p->items[k], 1, &x, &width);
        if (p->looks[k] == PICTURE_BOX)
            region_box(p, &p->items[k], x, width);
    }
    page_raw(b, "</g>\n");
    p->y += REGION_HEIGHT;
}

/* ---- scheduling ---- */

static void state_strip(struct picture *p, size_t i, double y)
{
    static const struct {
        const char *name, *words;
    } states[] = {
        {"run", "it ran "}, {"wait", "it waited for a CPU "}, {"block", "it was blocked "}};
    struct buf *b = &p->body;
    const struct lane *lane = lanes_at(p->page->lanes, i);
    size_t count = picture_view(p, i, PICTURE_ITEMS);
    unsigned state = lane->number - LANE_RUNNING;
    page_raw(b, "<g><title>");
    page_raw(b, states[state].words);
    page_duration(b, lane->busy_ns);
    page_raw(b, " in all, ");
    page_duration(b, (uint64_t)lane->longest_ns);
    page_raw(b, " at a time at most</title>\n");
    for (unsigned shade = 1; shade <= SHADES; shade++) {
        bool any = false;
        for (size_t k = 0; k < count; k++) {
            double x, width;
            picture_span(p, &p->items[k], 1, &x, &width);
            if (shade_of(&p->items[k]) != shade)
                continue;
            if (!any)
                buf_printf(b, "<path class=\"%s s%u\" d=\"", states[state].name, shade);
            any = true;
            box_path(b, x, y, width, STATE_HEIGHT);
        }
        page_raw(b, any ? "\"/>\n" : "");
    }
    page_raw(b, "</g>\n");
}

void picture_states(struct picture *p, const struct page_thread *t)
{
    bool any = false;
    for (size_t i = 0; i < lanes_count(p->page->lanes); i++) {
        const struct lane *lane = lanes_at(p->page->lanes, i);
        if (lane->kind != LANE_STATE || !picture_is_of(t, lane))
            continue;
        state_strip(p, i, p->y + STATE_HEIGHT * (double)(lane->number - LANE_RUNNING));
        any = true;
    }
    p->y += any ? 3 * STATE_HEIGHT + 2 : 0;
}

/* ---- marks ---- */

/* Severities as they are drawn: instants and quiet logs, warnings and errors. */
static bool is_loud(const struct lanes_item *item)
{
    return item->severity >= 1 + SKEIN_WARN;
}

void picture_marks(struct picture *p, size_t i)
{
    struct buf *b = &p->body;
    const struct lane *lane = lanes_at(p->page->lanes, i);
    size_t count = picture_view(p, i, PICTURE_ITEMS);
    page_raw(b, "<g><title>");
    page_count(b, lane->rows);
    page_raw(b, " instants and logs</title>\n");
    for (unsigned loud = 0; loud < 2; loud++) {
        bool any = false;
        for (size_t k = 0; k < count; k++) {
            if (is_loud(&p->items[k]) != (loud == 1))
                continue;
            page_raw(b, any    ? ""
                        : loud ? "<path class=\"mark sev3\" d=\""
                               : "<path class=\"mark\" d=\"");
            any = true;
            box_path(b, picture_x(p, p->items[k].from_ns), p->y + 1, 1.5, MARK_HEIGHT - 2);
        }
        page_raw(b, any ? "\"/>\n" : "");
    }
    page_raw(b, "</g>\n");
    p->y += MARK_HEIGHT;
}

/* ---- what is missing ---- */

void picture_hatch(struct picture *p, const struct lanes_item *item, double top, double height)
{
    struct buf *b = &p->body;
    double x, width;
    picture_span(p, item, 3, &x, &width);
    page_raw(b, "<g><title>records are missing: ");
    page_str(b, p->page->loss_name(p->page->context, item->type), PAGE_NAME);
    range_put(p, item);
    if (!item->row && item->share < 1) {
        page_raw(b, " for ");
        page_share(b, item->share);
        page_raw(b, " of this time");
    }
    buf_printf(b,
               "</title><rect class=\"lost l%u\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" "
               "height=\"%.0f\"/></g>\n",
               shade_of(item), x, top - 1, width, height + 3);
}

/* ---- counters ---- */

static double counter_y(const struct picture *p, const struct lane *lane, double value)
{
    double share = (value / 2 - lane->least / 2) / (lane->most / 2 - lane->least / 2);
    share = share > 0 ? share < 1 ? share : 1 : 0; /* also where it is no number */
    return p->y + 1 + (1 - share) * (COUNTER_HEIGHT - 2);
}

/* A value holds until the next: steps, and where a cell has several, a bar from least to most. */
static void counter_line(struct picture *p, const struct lane *lane, size_t count)
{
    struct buf *b = &p->body;
    page_raw(b, "<path class=\"counter\" d=\"");
    for (size_t k = 0; k < count; k++) {
        const struct lanes_item *item = &p->items[k];
        double x = picture_x(p, item->from_ns), least = counter_y(p, lane, item->least);
        double most = counter_y(p, lane, item->most);
        if (k == 0)
            buf_printf(b, "M%.1f %.1f", x, least);
        else
            buf_printf(b, "H%.1fV%.1f", x, least);
        if (item->most > item->least)
            buf_printf(b, "V%.1f", most);
        buf_printf(b, "V%.1f", counter_y(p, lane, item->last));
    }
    buf_printf(b, "H%d\"/>\n", PICTURE_WIDTH);
}

/* Whose it is, as far as the page's threads know. */
static void owner_put(struct buf *b, const struct page *page, const struct lane *lane)
{
    for (size_t i = 0; i < page->thread_count; i++) {
        const struct page_thread *t = &page->threads[i];
        if (t->process != lane->process)
            continue;
        page_raw(b, " \u00b7 ");
        page_fit(b, t->service, strlen(t->service), 30);
        buf_printf(b, "[%u]", t->pid);
        return;
    }
}

static void unit_put(struct buf *b, const struct page *page, const struct lane *lane)
{
    const char *unit = page->type_unit != NULL ? page->type_unit(page->context, lane->number) : "";
    if (*unit == '\0')
        return;
    page_raw(b, " ");
    page_fit(b, unit, strlen(unit), 20);
}

static void counter_put(struct picture *p, size_t i)
{
    struct buf *b = &p->body;
    const struct lane *lane = lanes_at(p->page->lanes, i);
    const char *name = p->page->type_name(p->page->context, lane->number);
    size_t count = picture_view(p, i, PICTURE_ITEMS);
    buf_printf(b, "<g><title>counter</title><text class=\"head\" x=\"2\" y=\"%.0f\">", p->y + 12);
    page_fit(b, name, strlen(name), 60);
    owner_put(b, p->page, lane);
    page_raw(b, " \u00b7 ");
    page_number(b, lane->least);
    page_raw(b, " to ");
    page_number(b, lane->most);
    unit_put(b, p->page, lane);
    page_raw(b, "</text>\n");
    p->y += 17;
    counter_line(p, lane, count);
    page_raw(b, "</g>\n");
    p->y += COUNTER_HEIGHT + 8;
    p->lanes_left -= p->lanes_left > 0;
}

/* Those that change: the service's own, then what the agent saw. */
void picture_counters(struct picture *p)
{
    const struct page *page = p->page;
    unsigned drawn = 0;
    for (unsigned evidence = 0; evidence < 2; evidence++)
        for (size_t i = 0; i < lanes_count(page->lanes); i++) {
            const struct lane *lane = lanes_at(page->lanes, i);
            if (lane->kind != LANE_COUNTER || lane->layer > 0 || !(lane->most > lane->least) ||
                lane->evidence != (evidence == 1))
                continue;
            if (drawn == PICTURE_COUNTERS || p->body.len > PAGE_PICTURE_BYTES) {
                p->counters_left++;
                continue;
            }
            drawn++;
            counter_put(p, i);
        }
}
