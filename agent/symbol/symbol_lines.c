/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of an address as the child answers them, which is hostile, and as the cache keeps them. Any
 * thread.
 */
#include <stdlib.h>
#include <string.h>

#include "symbol_int.h"
#include "utf8_scan.h"

static void text_clean(struct cursor *c, struct buf *out)
{
    size_t n;
    const char *text = cursor_text(c, SYMBOL_TEXT_MAX, &n);
    if (text == NULL)
        return;
    buf_put_uleb(out, n);
    for (size_t i = 0; i < n;) {
        uint32_t point;
        size_t bytes = utf8_scan((const uint8_t *)text + i, n - i, &point);
        bool good = bytes > 0 && point >= 0x20 && point != 0x7f && !(point >= 0x80 && point < 0xa0);
        if (good)
            buf_put(out, text + i, bytes);
        for (size_t left = bytes > 0 ? bytes : 1; !good && left > 0; left--)
            buf_put_u8(out, '?');
        i += bytes > 0 ? bytes : 1;
    }
}

bool symbol_lines_clean(struct cursor *c, struct buf *out)
{
    buf_clear(out);
    uint32_t count = symbol_count_get(c, SYMBOL_LINES_MAX, 3);
    buf_put_uleb(out, count);
    for (uint32_t i = 0; i < count; i++) {
        text_clean(c, out);
        text_clean(c, out);
        uint64_t line = cursor_uleb(c);
        if (line > UINT32_MAX)
            (void)cursor_fail(c, SKEIN_CORRUPT);
        buf_put_uleb(out, line);
    }
    return c->status == SKEIN_OK && out->status == SKEIN_OK;
}

static const char *text_take(struct cursor *c, char **to)
{
    size_t n;
    const char *text = cursor_text(c, SYMBOL_TEXT_MAX, &n);
    char *copy = *to;
    if (text == NULL)
        return "";
    memcpy(copy, text, n);
    copy[n] = '\0';
    *to += n + 1;
    return copy;
}

int symbol_lines_read(const uint8_t *bytes, size_t n, struct partition_line **lines, char **texts)
{
    struct cursor c;
    cursor_init(&c, bytes, n);
    uint32_t count = symbol_count_get(&c, SYMBOL_LINES_MAX, 3);
    *lines = calloc(count > 0 ? count : 1, sizeof **lines);
    *texts = malloc(n + 2 * SYMBOL_LINES_MAX + 1); /* a length takes at least the byte of a NUL */
    if (*lines == NULL || *texts == NULL) {
        free(*lines);
        free(*texts);
        *lines = NULL;
        *texts = NULL;
        return SKEIN_NO_MEMORY;
    }
    char *to = *texts;
    for (uint32_t i = 0; i < count; i++) {
        struct partition_line *line = &(*lines)[i];
        line->function = text_take(&c, &to);
        line->file = text_take(&c, &to);
        line->line = (uint32_t)cursor_uleb(&c);
    }
    return c.status == SKEIN_OK ? (int)count : c.status;
}
