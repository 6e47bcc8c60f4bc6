/* SPDX-License-Identifier: Apache-2.0
 *
 * Strips of hostile footers. 16 bytes say the strip, whose buckets are of the first. What is added to
 * buckets and beside them must be whole numbers, and all records of the footer; losses must lie in the
 * strip, in order.
 */
#include "footer_strip.h"

#include <math.h>

#include "fuzz_framed.h"
#include "fuzz_target.h"

static void strip_try(const uint8_t *bytes, size_t n, uint64_t from_ns, uint64_t to_ns)
{
    struct memory memory = {bytes, n};
    const struct partition_source source = {memory_read, &memory, n};
    struct footer_strip strip = {
        .from_ns = from_ns, .to_ns = to_ns, .buckets = 1 + (size_t)(from_ns % 300)};
    struct partition_footer footer;
    double sum = 0, all = 0;
    require(footer_strip_init(&strip) == SKEIN_OK);
    int status = footer_strip_add(&strip, &source);
    footer_strip_settle(&strip);
    for (size_t i = 0; i < strip.buckets; i++) {
        require(strip.records[i] >= 0 && floor(strip.records[i]) == strip.records[i]);
        sum += strip.records[i];
    }
    sum += strip.outside + strip.evidence;
    if (status == SKEIN_OK) {
        require(partition_footer_read(&source, &footer, NULL) == SKEIN_OK);
        for (size_t i = 0; i < footer.block_count; i++)
            all += fmin((double)footer.blocks[i].events, 1099511627776.0);
        require(footer.block_count > 8192 || sum == all);
        partition_footer_free(&footer);
    } else {
        require(status == SKEIN_NO_MEMORY || (sum == 0 && strip.loss_count == 0));
    }
    for (size_t i = 0; i < strip.loss_count; i++) {
        require(strip.losses[i].from_ns < to_ns && strip.losses[i].to_ns >= from_ns);
        require(i == 0 || strip.losses[i - 1].reason <= strip.losses[i].reason);
    }
    footer_strip_fini(&strip);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < WINDOW_BYTES)
        return 0;
    uint64_t from = number(bytes), to = number(bytes + 8);
    struct buf framed = {0};
    if (from >= to)
        return 0;
    strip_try(bytes + WINDOW_BYTES, n - WINDOW_BYTES, from, to);
    frame(&framed, bytes + WINDOW_BYTES, n - WINDOW_BYTES);
    strip_try(framed.data, framed.len, from, to);
    buf_fini(&framed);
    return 0;
}
