/* SPDX-License-Identifier: Apache-2.0
 *
 * Time slices of hostile partitions. 16 bytes say the window. The rest is taken as a partition, and
 * as what lies in a sound frame. What is planned must lie in the partition, be
 * readable from any offset, and be a partition that says its own length.
 */
#include <stdlib.h>

#include "fuzz_framed.h"
#include "fuzz_target.h"
#include "partition_slice.h"
#include "trace_file.h"

static void slice_try(const uint8_t *bytes, size_t n, uint64_t from_ns, uint64_t to_ns)
{
    struct memory memory = {bytes, n};
    struct partition_source source = {memory_read, &memory, n};
    struct partition_slice slice;
    uint64_t length = 0;
    bool is_table = false;
    int status = partition_slice_plan(&source, from_ns, to_ns, &slice);
    require(status == SKEIN_OK || (slice.bytes == 0 && slice.runs == NULL));
    if (slice.bytes > 0) {
        uint8_t *out = malloc((size_t)slice.bytes), byte;
        require(out != NULL);
        require(partition_slice_read(&slice, &source, 0, out, (size_t)slice.bytes) == SKEIN_OK);
        for (size_t i = 0; i < slice.run_count; i++) {
            require(partition_slice_read(&slice, &source, slice.runs[i].at, &byte, 1) == SKEIN_OK);
            require(byte == out[slice.runs[i].at]);
        }
        require(trace_head_get(out, (size_t)slice.bytes, &length, &is_table) == SKEIN_OK);
        require(length == slice.bytes && !is_table);
        struct partition_footer footer;
        size_t need;
        require(partition_footer_get(out, (size_t)slice.bytes, &footer, &need) == SKEIN_OK);
        require(footer.slice || !slice.cut);
        partition_footer_free(&footer);
        free(out);
    }
    partition_slice_fini(&slice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < WINDOW_BYTES)
        return 0;
    uint64_t from = number(bytes), to = number(bytes + 8);
    struct buf framed = {0};
    slice_try(bytes + WINDOW_BYTES, n - WINDOW_BYTES, from, to);
    frame(&framed, bytes + WINDOW_BYTES, n - WINDOW_BYTES);
    slice_try(framed.data, framed.len, from, to);
    buf_fini(&framed);
    return 0;
}
