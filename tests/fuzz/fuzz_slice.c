/* SPDX-License-Identifier: Apache-2.0
 *
 * Time slices of hostile partitions. 16 bytes say the window. The rest is taken as a partition, and
 * as what lies in a sound frame. What is planned must lie in the partition, be
 * readable from any offset, and be a partition that says its own length.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "partition_int.h"
#include "partition_slice.h"
#include "trace_file.h"

#define WINDOW_BYTES 16u

static void require(bool holds)
{
    if (!holds)
        abort();
}

struct memory {
    const uint8_t *bytes;
    size_t n;
};

static int memory_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct memory *memory = context;
    require(offset <= memory->n && n <= memory->n - offset);
    memcpy(out, memory->bytes + offset, n);
    return SKEIN_OK;
}

static uint64_t number(const uint8_t *bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)bytes[i] << (8 * i);
    return v;
}

/* INFO and footer as the input gives them, in a frame whose checksums hold: length of INFO (u8),
 * a quarter of the middle's (u8), INFO, middle, footer. */
static void frame(struct buf *b, const uint8_t *bytes, size_t n)
{
    size_t info = n > 0 ? bytes[0] : 0, middle = n > 1 ? (size_t)bytes[1] * 4 : 0;
    bytes += n < 2 ? n : 2;
    n -= n < 2 ? n : 2;
    info = info < n ? info : n;
    middle = middle < n - info ? middle : n - info;
    head_put(b, HEAD_PARTITION, 0);
    size_t at = section_begin(b, SECTION_INFO);
    buf_put(b, bytes, info);
    section_end(b, at);
    buf_put(b, bytes + info, middle);
    size_t last = section_begin(b, SECTION_FOOTER);
    buf_put(b, bytes + info + middle, n - info - middle);
    section_end(b, last);
    tail_put(b, 0, last, HEAD_PARTITION);
    size_t end = b->len;
    b->len = 0;
    head_put(b, HEAD_PARTITION, end);
    b->len = end;
}

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
