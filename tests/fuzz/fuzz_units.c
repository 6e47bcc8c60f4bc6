/* SPDX-License-Identifier: Apache-2.0
 * Durations and sizes as people write them. The first byte chooses the unit. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "units.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return 0;
    char *text = malloc(n);
    if (!text)
        return 0;
    memcpy(text, bytes + 1, n - 1);
    text[n - 1] = '\0';
    uint64_t value = 5;
    int status = unit_parse(text, (enum unit)(bytes[0] % (UNIT_BYTES + 1)), &value);
    if (status != SKEIN_OK &&
        (value != 5 || (status != SKEIN_INVALID && status != SKEIN_TRUNCATED)))
        abort();
    if (status == SKEIN_OK && strspn(text, "0123456789.") == strlen(text) && value != 0)
        abort();
    free(text);
    return 0;
}
