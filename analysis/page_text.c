/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts and numbers of a page. Pure; hostile input expected.
 */
#include "page_int.h"
#include "trace_text.h"
#include "utf8_scan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MARKS_MOST 2 /* on one letter; more would reach into other lines */

void page_raw(struct buf *b, const char *markup)
{
    buf_put(b, markup, strlen(markup));
}

static bool within(uint32_t point, const uint32_t (*ranges)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i][0] && point <= ranges[i][1])
            return true;
    return false;
}

/* What turns, hides or joins its neighbours, or is no character: Unicode's formats, separators of
 * lines, variation selectors, tags, private use, and those that are none. */
static bool is_unseen(uint32_t point)
{
    static const uint32_t ranges[][2] = {
        {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},     {0x34f, 0x34f},
        {0x61c, 0x61c},     {0x115f, 0x1160},   {0x17b4, 0x17b5}, {0x180b, 0x180f},
        {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f}, {0x3164, 0x3164},
        {0xe000, 0xf8ff},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
        {0xfff0, 0xfffb},   {0xfdd0, 0xfdef},   {0xfffe, 0xffff}, {0x1bca0, 0x1bca3},
        {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff}};
    return within(point, ranges, sizeof ranges / sizeof *ranges) || (point & 0xfffe) == 0xfffe;
}

static bool is_mark(uint32_t point)
{
    static const uint32_t ranges[][2] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                         {0x610, 0x61a},   {0x64b, 0x65f},   {0x1ab0, 0x1aff},
                                         {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xe31, 0xe3a},
                                         {0xe47, 0xe4e},   {0xfe20, 0xfe2f}};
    return within(point, ranges, sizeof ranges / sizeof *ranges);
}

/* One character at s as it stands on the page; returns the bytes it took. *columns: that it fills. */
static size_t shown(const char *s, size_t n, unsigned *marks, char out[16], unsigned *columns)
{
    uint32_t point = 0;
    size_t len = utf8_scan((const uint8_t *)s, n, &point);
    const char *entity = point == '<'    ? "&lt;"
                         : point == '>'  ? "&gt;"
                         : point == '&'  ? "&amp;"
                         : point == '"'  ? "&quot;"
                         : point == '\'' ? "&#39;"
                                         : NULL;
    bool mark = len > 0 && is_mark(point);
    *marks = mark ? *marks + 1 : 0;
    *columns = 1;
    if (len == 0)
        *columns = (unsigned)snprintf(out, 16, "\\x%02x", (uint8_t)*s);
    else if (is_unseen(point) || *marks > MARKS_MOST)
        *columns = (unsigned)(point < 0x80 ? snprintf(out, 16, "\\x%02" PRIx32, point)
                                           : snprintf(out, 16, "\\u{%" PRIx32 "}", point));
    else if (entity != NULL)
        snprintf(out, 16, "%s", entity);
    else
        memcpy(out, s, len), out[len] = '\0', *columns = mark ? 0 : point < 0x1100 ? 1 : 2;
    return len > 0 ? len : 1;
}

void page_text(struct buf *b, const char *text, size_t n, size_t most)
{
    size_t begin = b->len;
    unsigned marks = 0, columns;
    char out[16];
    for (size_t at = 0; at < n;) {
        size_t took = shown(text + at, n - at, &marks, out, &columns);
        if (b->len - begin + strlen(out) > most) {
            buf_printf(b, "\u2026 (cut; it has %zu bytes)", n);
            return;
        }
        page_raw(b, out);
        at += took;
    }
}

void page_str(struct buf *b, const char *text, size_t most)
{
    page_text(b, text, strlen(text), most);
}

bool page_fit(struct buf *b, const char *text, size_t n, size_t columns)
{
    size_t fits = 0, used = 0, at = 0; /* fits: bytes of the text that leave a column for "…" */
    unsigned marks = 0, wide;
    char out[16];
    while (at < n && used <= columns) {
        at += shown(text + at, n - at, &marks, out, &wide);
        used += wide;
        if (used + 1 <= columns)
            fits = at;
    }
    bool whole = at == n && used <= columns;
    if (!whole && fits == 0)
        return false;
    page_text(b, text, whole ? n : fits, PAGE_UNLIMITED);
    if (!whole)
        page_raw(b, "\u2026");
    return n > 0;
}

void page_count(struct buf *b, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            buf_put_u8(b, ',');
        buf_put_u8(b, (uint8_t)digits[i]);
    }
}

void page_number(struct buf *b, double value)
{
    double whole = fabs(value);
    if (whole < 1000 || whole > 1e15) {
        buf_printf(b, "%.4g", value);
        return;
    }
    page_raw(b, value < 0 ? "-" : "");
    page_count(b, (uint64_t)(whole + 0.5));
}

void page_duration(struct buf *b, uint64_t ns)
{
    char text[TRACE_DURATION_BYTES];
    trace_duration_text(ns, text);
    page_raw(b, text);
}

double page_since(const struct page *page, uint64_t time_ns)
{
    return time_ns >= page->from_ns ? (double)(time_ns - page->from_ns)
                                    : -(double)(page->from_ns - time_ns);
}

double page_zero(const struct page *page)
{
    return page->at_ns > 0 ? page_since(page, page->at_ns) : 0;
}

/* A time since the window's begin, as it is told: from the moment of the trigger, where there is one. */
void page_when(struct buf *b, const struct page *page, double since_from_ns)
{
    double since = since_from_ns - page_zero(page);
    buf_put_u8(b, since < 0 ? '-' : '+');
    page_duration(b, (uint64_t)fmin(fabs(since), 1e18));
}

void page_share(struct buf *b, double share)
{
    buf_printf(b, share > 0 && share < 0.001 ? "under 0.1 %%" : "%.1f %%", 100 * share);
}

void page_xy(struct buf *b, const char *name, double value)
{
    char digits[40];
    int len = snprintf(digits, sizeof digits, "%.2f", value);
    while (len > 1 && digits[len - 1] == '0')
        len--;
    if (digits[len - 1] == '.')
        len--;
    buf_printf(b, " %s=\"%.*s\"", name, len, digits);
}

unsigned page_hue(const char *name, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n && i < 256; i++)
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    return (h ^ h >> 15) % 12;
}

void page_left_out(struct buf *b, uint64_t n, const char *what)
{
    if (n == 0)
        return;
    page_raw(b, "<p class=\"left\">");
    page_raw(b, what);
    page_raw(b, ": ");
    page_count(b, n);
    page_raw(b, "</p>\n");
}
