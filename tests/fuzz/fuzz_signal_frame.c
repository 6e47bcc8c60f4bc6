/* SPDX-License-Identifier: Apache-2.0
 * A copied stack with anything on it, and raw records of events: what is read lies in the bytes, and
 * the search ends. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "signal_frame.h"
#include "signal_record.h"

static void records_get(const uint8_t *bytes, size_t n)
{
    struct signal_layout layout = {.kinds = {[SIGNAL_ENDS] = {260, {8, 4}, {16, 4}, {0, 0}},
                                             [SIGNAL_SENT] = {261, {8, 4}, {16, 4}, {36, 4}}}};
    struct signal_record record;
    if (signal_record_get(&layout, bytes, n, &record) &&
        n < (record.kind == SIGNAL_ENDS ? 20u : 40u))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint64_t address = 0x7fff00000000;
    struct signal_frame frame;
    size_t at = 0;
    if (n < sizeof address)
        return 0;
    uint8_t *copy = malloc(n); /* its end is the end of memory */
    if (copy == NULL)
        return 0;
    memcpy(&address, bytes, sizeof address);
    memcpy(copy, bytes + sizeof address, n - sizeof address);
    n -= sizeof address;
    for (size_t before = 0; signal_frame_next(copy, n, address, &at, &frame); before = at)
        if (at <= before || at > n)
            abort();
    if (at != n)
        abort();
    records_get(copy, n);
    free(copy);
    return 0;
}
