/* SPDX-License-Identifier: Apache-2.0
 * Cursors of strangers: a number, and what is behind it. */
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    uint64_t number = 0;
    const char *rest = NULL;
    if (text == NULL)
        return 0;
    if (n > 0)
        memcpy(text, bytes, n);
    text[n] = '\0';
    if (api_cursor_parse(text, &number, &rest) &&
        (number > INT64_MAX || rest <= text || rest > text + strlen(text) || rest[-1] != '-' ||
         strtoull(text, NULL, 10) != number))
        abort();
    free(text);
    return 0;
}
