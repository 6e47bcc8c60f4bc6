/* SPDX-License-Identifier: Apache-2.0
 * The end of a file that any program has written: its pieces are all of it, in order, of a size that
 * an event's text has room for, and cut no character. The kernel's lines of a descriptor, besides. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "last_words.h"
#include "utf8_scan.h"

/* Whether `at` lies inside of a well-formed character. */
static bool cuts(const uint8_t *bytes, size_t n, size_t at)
{
    uint32_t point;
    for (size_t back = 1; back < 4 && back <= at; back++)
        if (utf8_scan(bytes + at - back, n - at + back, &point) > back)
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct words_place place = {.mount = 1};
    uint8_t *copy = malloc(n + (n == 0)); /* its end is the end of memory */
    char *text = malloc(n + 1);
    if (copy == NULL || text == NULL)
        abort();
    memcpy(copy, bytes, n);
    size_t at = words_skip((const char *)copy, n, true);
    if (at > n || (at < n && copy[at] == '\0'))
        abort();
    while (at < n) {
        size_t piece = words_piece((const char *)copy + at, n - at);
        if (piece == 0 || piece > WORDS_PIECE || piece > n - at)
            abort();
        bool last = piece == n - at, line = copy[at + piece - 1] == '\n';
        if (!last && !line && cuts(copy + at, n - at, piece))
            abort();
        at += piece;
    }
    memcpy(text, bytes, n);
    text[n] = '\0';
    if (!words_fdinfo_parse(text, &place) && (place.mount != 1 || place.writes))
        abort();
    free(text);
    free(copy);
    return 0;
}
