/* SPDX-License-Identifier: Apache-2.0
 * Texts as people are shown them: nothing that steers a terminal is left, and what is shown is shown
 * again as it is. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "text_shown.h"
#include "utf8_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct buf once = {0}, again = {0};
    uint32_t point;
    text_shown_put(&once, (const char *)bytes, n);
    for (size_t i = 0, length; i < once.len; i += length) {
        length = utf8_scan(once.data + i, once.len - i, &point);
        if (length == 0 || text_unseen(point))
            abort();
    }
    text_shown_put(&again, once.data != NULL ? (const char *)once.data : "", once.len);
    if (once.status == SKEIN_OK && again.status == SKEIN_OK) {
        if (once.len != again.len)
            abort();
        if (once.data != NULL && again.data != NULL && memcmp(once.data, again.data, once.len) != 0)
            abort();
    }
    buf_fini(&once);
    buf_fini(&again);
    return 0;
}
