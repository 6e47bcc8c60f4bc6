/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a chunk's rows: the tight loop over plain records ends where the decoder that takes one
 * at a time ends, with the same partition. */
#include "fuzz_target.h"
#include "quick_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct quick_decoded quick = quick_decode(bytes, n, true);
    struct quick_decoded slow = quick_decode(bytes, n, false);
    if (!quick_same(&quick, &slow))
        abort();
    buf_fini(&quick.bytes);
    buf_fini(&slow.bytes);
    return 0;
}
