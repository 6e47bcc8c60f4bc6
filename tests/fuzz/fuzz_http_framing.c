/* SPDX-License-Identifier: Apache-2.0
 * The framing filter: what comes out does not depend on how the bytes came in, is hardly more than
 * they were, and holds no doubt when it is read once more. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "http_framing.h"

static void check(bool good)
{
    if (!good)
        abort();
}

static size_t whole(struct http_framing *f, const uint8_t *bytes, size_t n, uint8_t *out)
{
    size_t len = http_framing_feed(f, bytes, n, out, n + HTTP_FRAMING_MORE);
    check(f->pending_len == 0);
    check(f->wrong == NULL || f->cut);
    if (f->cut)
        check(http_framing_feed(f, bytes, n, out + len, n) == 0);
    return len;
}

/* A few bytes at a time, and never room for more than they are. */
static size_t in_parts(const uint8_t *bytes, size_t n, uint8_t *out)
{
    struct http_framing f = {0};
    size_t len = 0;
    for (size_t at = 0, step = 1; at < n; at += step) {
        step = 1 + (at * 7 + n) % 5;
        step = step < n - at ? step : n - at;
        len += http_framing_feed(&f, bytes + at, step, out + len, step + f.pending_len);
    }
    return len + http_framing_feed(&f, bytes, 0, out + len, HTTP_FRAMING_MORE);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct http_framing f = {0}, again = {0};
    uint8_t *one = malloc(n + HTTP_FRAMING_MORE), *two = malloc(n + 2 * HTTP_FRAMING_MORE);
    if (one != NULL && two != NULL) {
        size_t len = whole(&f, bytes, n, one);
        check(in_parts(bytes, n, two) == len && memcmp(one, two, len) == 0);
        check(whole(&again, one, len, two) == len || again.cut);
        check(again.wrong == NULL && again.request == f.request);
    }
    free(one);
    free(two);
    return 0;
}
