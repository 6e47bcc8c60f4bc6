/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of text/event-stream, as the HTML standard defines it. One thread.
 */
#include "cli_sse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sse_reset(struct sse *sse)
{
    buf_clear(&sse->line);
    buf_clear(&sse->data);
    sse->type[0] = '\0';
    snprintf(sse->next_id, sizeof sse->next_id, "%s", sse->id);
    sse->after_cr = false;
}

void sse_fini(struct sse *sse)
{
    buf_fini(&sse->line);
    buf_fini(&sse->data);
}

/* An empty line: an event, where there is data, and its id in any case. */
static int sse_dispatch(struct sse *sse, sse_fn *fn, void *context)
{
    int status = SKEIN_OK;
    memcpy(sse->id, sse->next_id, sizeof sse->id);
    if (sse->data.len > 0) {
        sse->data.data[sse->data.len - 1] = '\0'; /* the last line's end */
        struct sse_event event = {sse->type[0] ? sse->type : "message", sse->id,
                                  (const char *)sse->data.data, sse->data.len - 1};
        status = fn(context, &event);
    }
    buf_clear(&sse->data);
    sse->type[0] = '\0';
    return status;
}

/* A value that does not fit, or holds a NUL, is left out. */
static void text_take(char *to, size_t room, const char *value, size_t n)
{
    if (n >= room || memchr(value, '\0', n) != NULL)
        return;
    memcpy(to, value, n);
    to[n] = '\0';
}

static int data_take(struct sse *sse, const char *value, size_t n)
{
    if (n >= SSE_LINE_MAX - sse->data.len)
        return SKEIN_TOO_LARGE;
    buf_put(&sse->data, value, n);
    buf_put_u8(&sse->data, '\n');
    return sse->data.status;
}

static int line_take(struct sse *sse, sse_fn *fn, void *context)
{
    size_t n = sse->line.len;
    if (n == 0)
        return sse_dispatch(sse, fn, context);
    const char *line = (const char *)sse->line.data;
    const char *colon = memchr(line, ':', n);
    size_t name = colon != NULL ? (size_t)(colon - line) : n;
    size_t at = colon != NULL ? name + 1 : n;
    at += at < n && line[at] == ' ';
    const char *value = line + at;
    int status = SKEIN_OK;
    if (name == 4 && memcmp(line, "data", 4) == 0) {
        status = data_take(sse, value, n - at);
    } else if (name == 5 && memcmp(line, "event", 5) == 0) {
        text_take(sse->type, sizeof sse->type, value, n - at);
    } else if (name == 2 && memcmp(line, "id", 2) == 0) {
        text_take(sse->next_id, sizeof sse->next_id, value, n - at);
    } else if (name == 5 && memcmp(line, "retry", 5) == 0) {
        char digits[12] = "";
        text_take(digits, sizeof digits, value, n - at);
        if (digits[0] && strspn(digits, "0123456789") == strlen(digits))
            sse->retry_ms = strtoull(digits, NULL, 10);
    }
    buf_clear(&sse->line);
    return status;
}

int sse_feed(struct sse *sse, const void *bytes, size_t n, sse_fn *fn, void *context)
{
    const char *text = bytes;
    int status = SKEIN_OK;
    for (size_t i = 0; i < n && status == SKEIN_OK; i++) {
        char c = text[i];
        bool second = sse->after_cr && c == '\n'; /* of "\r\n": the line has ended already */
        sse->after_cr = c == '\r';
        if (second)
            continue;
        if (c == '\n' || c == '\r') {
            status = line_take(sse, fn, context);
        } else if (sse->line.len >= SSE_LINE_MAX) {
            status = SKEIN_TOO_LARGE;
        } else {
            buf_put_u8(&sse->line, (uint8_t)c);
            status = sse->line.status;
        }
    }
    return status;
}
