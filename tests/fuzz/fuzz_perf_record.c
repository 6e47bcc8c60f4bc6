/* SPDX-License-Identifier: Apache-2.0
 * Records of a perf ring, as odd as they may be: what is given lies in the bytes that came. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "perf_record.h"
#include "sample_stack.h"

struct seen {
    const uint8_t *bytes;
    size_t n;
    uint64_t count;
};

static bool sample_look(void *context, const struct perf_sample *sample)
{
    struct seen *seen = context;
    struct sample_stack stack;
    struct process_map map = {.mapping = {.start = 0x1000, .end = UINT64_MAX / 2, .path = ""}};
    const struct process_maps maps = {.items = &map, .count = 1};
    if (sample->kernel.count > PERF_FRAMES_MAX || sample->user.count > PERF_FRAMES_MAX)
        abort();
    if (sample->stack != NULL &&
        (sample->stack < seen->bytes ||
         sample->stack_bytes > (size_t)(seen->bytes + seen->n - sample->stack)))
        abort();
    if (sample->raw != NULL && (sample->raw < seen->bytes ||
                                sample->raw_bytes > (size_t)(seen->bytes + seen->n - sample->raw)))
        abort();
    sample_stack_make(sample, NULL, &maps, &stack);
    if (stack.count == 0 || stack.count > SAMPLE_STACK_PCS || stack.in_kernel > stack.count)
        abort();
    seen->count++;
    return seen->count < 100;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct perf_walk walk;
    uint8_t *copy = malloc(n + 1); /* its end is the end of memory */
    if (copy == NULL)
        return 0;
    memcpy(copy, bytes, n);
    struct seen seen = {copy, n, 0};
    struct perf_head head;
    if (n >= PERF_HEAD_BYTES && perf_head_get(copy, &head) &&
        (head.bytes < 8 || (head.kind != PERF_KIND_LOST && head.lost != 0)))
        abort();
    perf_records_walk(copy, n, sample_look, &seen, &walk);
    if (walk.samples != seen.count || walk.bytes > n)
        abort();
    seen.count = 0;
    perf_raw_records_walk(copy, n, sample_look, &seen, &walk);
    if (walk.samples != seen.count || walk.bytes > n)
        abort();
    free(copy);
    return 0;
}
