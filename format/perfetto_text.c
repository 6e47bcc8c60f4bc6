/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of a Perfetto export: protobuf's strings are UTF-8, and decoders refuse others. What a program
 * has traced may be anything: a byte that is none becomes U+FFFD. Pure.
 */
#include <string.h>

#include "perfetto_export_int.h"
#include "protobuf_put.h"
#include "utf8_scan.h"

static size_t valid_length(const uint8_t *text, size_t n)
{
    uint32_t point;
    size_t at = 0, len;
    for (;;) {
        while (at < n && text[at] < 0x80)
            at++;
        len = at < n ? utf8_scan(text + at, n - at, &point) : 0;
        if (len == 0)
            return at;
        at += len;
    }
}

void export_text_put(struct buf *b, unsigned field, const char *text, size_t n)
{
    struct buf mended = {0};
    const uint8_t *at = (const uint8_t *)text;
    size_t good = n > 0 ? valid_length(at, n) : 0;
    if (good == n) {
        pb_bytes(b, field, text, n);
        return;
    }
    while (good < n) {
        buf_put(&mended, at, good);
        buf_put(&mended, "\xef\xbf\xbd", 3);
        at += good + 1;
        n -= good + 1;
        good = valid_length(at, n);
    }
    buf_put(&mended, at, n);
    pb_message(b, field, &mended);
    buf_fini(&mended);
}

void export_text(struct buf *b, unsigned field, const char *text)
{
    export_text_put(b, field, text, strlen(text));
}

void export_text_made(struct buf *b, unsigned field, struct buf *text)
{
    if (text->status != SKEIN_OK)
        b->status = text->status;
    export_text_put(b, field, text->len > 0 ? (const char *)text->data : "", text->len);
    buf_clear(text);
}
