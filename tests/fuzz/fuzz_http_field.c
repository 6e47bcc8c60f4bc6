/* SPDX-License-Identifier: Apache-2.0
 * Header fields of strangers: no range leaves its body, no name its field, a name in the list is
 * found again, and no weight is above one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz_target.h"
#include "http_field.h"

static void check(bool good)
{
    if (!good)
        abort();
}

static void read_range(const char *text, uint64_t size)
{
    uint64_t from = 0, length = 0;
    switch (http_range_get(text, size, &from, &length)) {
    case HTTP_RANGE_WHOLE:
        check(from == 0 && length == size);
        break;
    case HTTP_RANGE_PART:
        check(length > 0 && from < size && length <= size - from);
        break;
    case HTTP_RANGE_OUTSIDE:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    if (text == NULL)
        return 0;
    memcpy(text, bytes, n);
    text[n] = '\0';
    size_t length = strlen(text), host = http_host_bytes(text);
    check(host <= length);
    check(!http_host_in("", text, host));
    check(length == 0 || http_host_in(text, text, length) == (strchr(text, ',') == NULL));
    const char *token = http_bearer(text);
    check(token == NULL || (token >= text + 7 && token <= text + length));
    static const uint64_t sizes[] = {0, 1, 4096, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        read_range(text, sizes[i]);
    struct http_origin origin;
    if (http_origin_get(text, &origin)) {
        check(origin.authority > text && origin.authority < text + length);
        check(http_origin_is(&origin, origin.authority));
        check(!http_origin_is(&origin, "another.example:1") ||
              strcasecmp(origin.authority, "another.example:1") == 0 ||
              strstr(origin.authority, ":0") != NULL); /* zeros before a port count for nothing */
    }
    if (http_etag_in_strongly(text, "\"etag\"") && !http_etag_in(text, "\"etag\""))
        abort();
    static const char *const names[] = {"gzip", "text/html"};
    for (size_t i = 0; i < 2; i++) {
        unsigned weight = http_weight(text, names[i], 1001);
        check(weight <= 1001);
        /* Further commas mean nothing. */
        char *more = malloc(length + 4);
        if (more == NULL)
            break;
        snprintf(more, length + 4, ", %s,", text);
        check(http_weight(more, names[i], 1001) == weight);
        free(more);
    }
    check(!http_takes_gzip(text) || http_weight(text, "gzip", 0) > 0);
    free(text);
    return 0;
}
