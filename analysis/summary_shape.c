/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what two log lines have in common when they say the same of different things, and adds lines
 * to a summary by that. One thread enters.
 *
 *   "order 4711 of 10.0.0.7:80 took 1.5 ms"     order # of #.#.#.#:# took #.# ms
 *   "cart 0x7f3a of a81bc81b-dead-4e5d-abff-90865d1e13b1"      cart # of #
 *   "worker-12 read deadbeef00"                  worker-# read #
 */
#include <ctype.h>
#include <string.h>

#include "summary_feed.h"

#define UUID_BYTES  36
#define SHAPE_BYTES 200
#define ID_MIN      6 /* hex digits with a decimal one among them */

static bool is_hex(char c)
{
    return isxdigit((unsigned char)c) != 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || ((unsigned char)c & 0x80) != 0;
}

static bool is_uuid(const char *text, size_t n)
{
    if (n < UUID_BYTES || (n > UUID_BYTES && is_word(text[UUID_BYTES])))
        return false;
    for (size_t i = 0; i < UUID_BYTES; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-' : !is_hex(text[i]))
            return false;
    return true;
}

/* How long an id is that begins here; 0: none does. */
static size_t id_length(const char *text, size_t n)
{
    size_t i = n > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 2 : 0;
    size_t from = i, digits = 0;
    if (is_uuid(text, n))
        return UUID_BYTES;
    for (; i < n && is_hex(text[i]); i++)
        digits += isdigit((unsigned char)text[i]) != 0;
    if (i < n && is_word(text[i]))
        return 0;
    if (from > 0)
        return i > from ? i : 0;
    return digits > 0 && i >= ID_MIN ? i : 0;
}

/* Whether a number goes on here; behind an id none does. */
static bool digit_at(const char *text, size_t i, size_t used)
{
    return isdigit((unsigned char)text[i + used]) != 0;
}

void log_shape_put(struct buf *out, const char *text, size_t n, size_t most)
{
    size_t begin = out->len;
    for (size_t i = 0; i < n && out->status == SKEIN_OK;) {
        size_t used = i == 0 || !is_word(text[i - 1]) ? id_length(text + i, n - i) : 0;
        while (used < n - i && digit_at(text, i, used))
            used++;
        buf_put_u8(out, used > 0 ? '#' : (uint8_t)text[i]);
        i += used > 0 ? used : 1;
        if (out->len - begin < most || i == n)
            continue;
        while (out->len > begin && (out->data[out->len - 1] & 0xc0) == 0x80)
            out->len--; /* no letter is cut in two */
        if (out->len > begin && (out->data[out->len - 1] & 0x80) != 0)
            out->len--;
        buf_put(out, "…", strlen("…"));
        return;
    }
}

int feed_log_take(struct summary_feed *f, const struct feed_event *event)
{
    const struct skein_arg *args = event->args;
    struct buf shape = {0};
    bool fresh;
    uint64_t level = args[0].u64;
    log_shape_put(&shape, args[1].text, args[1].len, SHAPE_BYTES);
    int64_t text =
        shape.status == SKEIN_OK
            ? text_intern(f->s, shape.data != NULL ? (const char *)shape.data : "", shape.len)
            : SKEIN_NO_MEMORY;
    buf_fini(&shape);
    size_t n = args[1].len < SHAPE_BYTES ? args[1].len : SHAPE_BYTES;
    int64_t example = text < 0 ? text : text_intern(f->s, args[1].text, n);
    struct summary_log *log =
        example < 0 ? NULL
                    : (struct summary_log *)summary_row_get(f->s, SUMMARY_LOG, event->process,
                                                            (uint32_t)text, level, &fresh);
    if (log == NULL)
        return SKEIN_NO_MEMORY;
    row_touch(&log->row, event->end_ns);
    log->count++;
    log->example = (uint32_t)example;
    return SKEIN_OK;
}
