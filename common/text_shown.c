/* SPDX-License-Identifier: Apache-2.0
 *
 * See text_shown.h. Owns which characters cannot be shown as they are.
 */
#include "text_shown.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "utf8_scan.h"

#define MARKS_MOST 2 /* on one letter */

static bool within(uint32_t point, const uint32_t (*ranges)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i][0] && point <= ranges[i][1])
            return true;
    return false;
}

/* What steers a terminal, turns, hides or joins its neighbours, or is no character: controls (C0, C1),
 * Unicode's formats, separators of lines, variation selectors, tags, private use, and those that are
 * none. */
bool text_unseen(uint32_t point)
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

size_t text_shown_next(struct text_shown *shown, const char *s, size_t n)
{
    uint32_t point = 0;
    size_t len = utf8_scan((const uint8_t *)s, n, &point);
    bool mark = len > 0 && is_mark(point);
    char *out = shown->bytes;
    int columns;
    shown->marks = mark ? shown->marks + 1 : 0;
    shown->point = 0;
    if (len == 0) {
        columns = snprintf(out, TEXT_SHOWN_BYTES, "\\x%02x", (uint8_t)*s);
        len = 1;
    } else if (text_unseen(point) || shown->marks > MARKS_MOST) {
        columns = snprintf(out, TEXT_SHOWN_BYTES,
                           point < 0x80 ? "\\x%02" PRIx32 : "\\u{%" PRIx32 "}", point);
    } else {
        memcpy(out, s, len);
        out[len] = '\0';
        columns = mark ? 0 : point < 0x1100 ? 1 : 2;
        shown->point = point;
    }
    shown->columns = (unsigned)columns;
    return len;
}

void text_json_digits(struct buf *b, uint32_t point)
{
    if (point < 0x10000)
        buf_printf(b, "\\u%04" PRIx32, point);
    else
        buf_printf(b, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((point - 0x10000) >> 10),
                   0xdc00 + (point & 0x3ff));
}

void text_shown_put(struct buf *b, const char *text, size_t n)
{
    struct text_shown shown = {.marks = 0};
    for (size_t i = 0; i < n;) {
        if (text[i] >= 0x20 && text[i] < 0x7f) { /* most of what there is */
            size_t plain = i + 1;
            while (plain < n && text[plain] >= 0x20 && text[plain] < 0x7f)
                plain++;
            buf_put(b, text + i, plain - i);
            shown.marks = 0;
            i = plain;
            continue;
        }
        i += text_shown_next(&shown, text + i, n - i);
        buf_put(b, shown.bytes, strlen(shown.bytes));
    }
}

void shown_put(struct buf *b, const char *text)
{
    text_shown_put(b, text, strlen(text));
}

void shown_put_between(struct buf *b, const char *before, const char *text, const char *after)
{
    buf_put(b, before, strlen(before));
    shown_put(b, text);
    buf_put(b, after, strlen(after));
}
