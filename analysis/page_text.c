/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts and numbers of a page. Pure; hostile input expected.
 */
#include "page_int.h"
#include "text_shown.h"
#include "trace_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void page_raw(struct buf *b, const char *markup)
{
    buf_put(b, markup, strlen(markup));
}

/* One character at s as it stands on the page; returns the bytes it took. */
static size_t shown(struct text_shown *state, const char *s, size_t n, const char **out)
{
    size_t took = text_shown_next(state, s, n);
    *out = state->point == '<'    ? "&lt;"
           : state->point == '>'  ? "&gt;"
           : state->point == '&'  ? "&amp;"
           : state->point == '"'  ? "&quot;"
           : state->point == '\'' ? "&#39;"
                                  : state->bytes;
    return took;
}

void page_text(struct buf *b, const char *text, size_t n, size_t most)
{
    size_t begin = b->len;
    struct text_shown state = {.marks = 0};
    const char *out;
    for (size_t at = 0; at < n;) {
        size_t took = shown(&state, text + at, n - at, &out);
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
    struct text_shown state = {.marks = 0};
    while (at < n && used <= columns) {
        at += text_shown_next(&state, text + at, n - at);
        used += state.columns;
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
