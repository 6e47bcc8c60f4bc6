/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-sent events: the same bytes at once and one by one give the same events.
 */
#include <stdlib.h>
#include <string.h>

#include "cli_sse.h"
#include "fuzz_target.h"

static int take(void *context, const struct sse_event *event)
{
    struct buf *said = context;
    buf_printf(said, "%s|%s|", event->type, event->id);
    buf_put(said, event->data, event->bytes + 1);
    return SKEIN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sse whole = {.retry_ms = 0}, pieces = {.retry_ms = 0};
    struct buf a = {0}, b = {0};
    int first = sse_feed(&whole, data, n, take, &a), second = SKEIN_OK;
    for (size_t i = 0; i < n && second == SKEIN_OK; i++)
        second = sse_feed(&pieces, data + i, 1, take, &b);
    if (first != second || a.len != b.len || (a.len > 0 && memcmp(a.data, b.data, a.len) != 0) ||
        whole.retry_ms != pieces.retry_ms || strcmp(whole.id, pieces.id) != 0)
        abort();
    sse_fini(&whole);
    sse_fini(&pieces);
    buf_fini(&a);
    buf_fini(&b);
    return 0;
}
