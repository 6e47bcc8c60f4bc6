/* SPDX-License-Identifier: Apache-2.0
 *
 * What is found from the ends of a partition: head, tail and footer. The input is taken as such,
 * and as a footer's payload in a sound frame. A footer that decodes is encoded again and must
 * decode to the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "partition_entries_int.h"
#include "partition_int.h"
#include "trace_file.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool is_zero(const struct partition_footer *footer)
{
    static const struct partition_footer none;
    return footer->blocks == none.blocks && footer->types == NULL && footer->losses == NULL &&
           footer->host == NULL && footer->trace_id_filter == NULL && footer->events == 0;
}

static void footer_try(const uint8_t *bytes, size_t n, struct buf *again)
{
    struct partition_footer footer;
    size_t need = 0;
    static const uint8_t id[16] = {1, 2, 3};
    int status = partition_footer_get(bytes, n, &footer, &need);
    if (status != SKEIN_OK) {
        require(is_zero(&footer));
        require(status != SKEIN_TRUNCATED || need > n);
        return;
    }
    partition_footer_has_trace_id(&footer, id);
    footer_put(again, &footer);
    partition_footer_free(&footer);
}

/* A partition of nothing but this footer. */
static void frame(struct buf *b, const uint8_t *payload, size_t n)
{
    buf_clear(b);
    head_put(b, HEAD_PARTITION, HEAD_BYTES + SECTION_HEAD_BYTES + n + TAIL_BYTES);
    size_t last = section_begin(b, SECTION_FOOTER);
    buf_put(b, payload, n);
    section_end(b, last);
    tail_put(b, 0, last, HEAD_PARTITION);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint64_t length = 0;
    bool is_table = false;
    struct buf framed = {0}, first = {0}, second = {0};
    if (trace_head_get(bytes, n, &length, &is_table) == SKEIN_OK)
        require(length >= HEAD_BYTES + TAIL_BYTES && length <= PARTITION_BYTES_MAX);
    footer_try(bytes, n, &first);
    buf_clear(&first);
    frame(&framed, bytes, n);
    footer_try(framed.data, framed.len, &first);
    if (first.len > 0) {
        frame(&framed, first.data, first.len);
        footer_try(framed.data, framed.len, &second);
        require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
    }
    buf_fini(&framed);
    buf_fini(&first);
    buf_fini(&second);
    return 0;
}
