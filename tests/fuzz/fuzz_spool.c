/* SPDX-License-Identifier: Apache-2.0
 * Files of a spool folder, whatever a disk or a stranger made of them: a head that reads is written
 * back to the same bytes, and a report that reads lies inside of its file. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "spool_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct spool_head head;
    if (spool_head_get(bytes, n, &head) == SKEIN_OK) {
        uint8_t again[SPOOL_FILE_HEAD_BYTES];
        char name[SPOOL_NAME_BYTES];
        spool_head_put(again, &head);
        spool_file_name(&head, name);
        struct spool_head second;
        uint8_t third[SPOOL_FILE_HEAD_BYTES];
        if (spool_head_get(again, sizeof again, &second) != SKEIN_OK)
            abort();
        spool_head_put(third, &second);
        if (memcmp(again, third, sizeof again) != 0)
            abort();
    }
    const char *text;
    if (spool_report_get(bytes, n, &head, &text) == SKEIN_OK &&
        ((const uint8_t *)text < bytes || head.payload_bytes != n - SPOOL_FILE_HEAD_BYTES))
        abort();
    /* With a checksum that fits, the fields behind it are looked at as well. */
    if (n >= SPOOL_FILE_HEAD_BYTES) {
        struct spool_head made = {.kind = (uint16_t)(bytes[6] % 6),
                                  .payload_bytes = n - SPOOL_FILE_HEAD_BYTES};
        memcpy(made.capture.bytes, bytes + 8, 16);
        memcpy(&made.key, bytes + 24, sizeof made.key);
        uint8_t packed[SPOOL_FILE_HEAD_BYTES];
        spool_head_put(packed, &made);
        (void)spool_head_get(packed, sizeof packed, &head);
    }
    return 0;
}
