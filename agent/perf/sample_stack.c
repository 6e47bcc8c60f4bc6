/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks of samples; see sample_stack.h.
 */
#include "sample_stack.h"

#include <string.h>

static void pcs_add(struct sample_stack *out, const uint64_t *pcs, uint32_t count)
{
    uint32_t room = SAMPLE_STACK_PCS - out->count;
    memcpy(out->pcs + out->count, pcs, (count < room ? count : room) * sizeof *pcs);
    out->count += count < room ? count : room;
    if (count > room)
        out->end = PARTITION_STACK_CUT;
}

/* How many frames of the chain lie in code: calls, but for the first. */
static uint32_t chain_good(const struct perf_chain *chain, const struct process_maps *maps)
{
    uint32_t good = 0;
    if (maps == NULL)
        return chain->count;
    while (good < chain->count && process_maps_find(maps, chain->pcs[good] - (good > 0)) != NULL)
        good++;
    /* The first is where it is known to have been: code that is not mapped any more. */
    return good == 0 && chain->count > 0 ? 1 : good;
}

static uint8_t walk_end(const struct partition_stack *walk)
{
    return walk->end & (uint8_t)~PARTITION_STACK_EXACT;
}

void sample_stack_make(const struct perf_sample *sample, const struct partition_stack *walk,
                       const struct process_maps *maps, struct sample_stack *out)
{
    const struct perf_chain *kernel = &sample->kernel, *user = &sample->user;
    uint32_t good = chain_good(user, maps);
    *out = (struct sample_stack){.end = PARTITION_STACK_WHOLE};
    if (kernel->count > 0)
        pcs_add(out, kernel->pcs, kernel->count);
    else if (sample->in_kernel)
        pcs_add(out, &sample->ip, 1);
    out->in_kernel = out->count;
    if (kernel->cut) {
        out->end = PARTITION_STACK_CUT;
    } else if (walk != NULL && walk->count > 0 &&
               (walk_end(walk) != PARTITION_STACK_BROKEN || walk->count >= good)) {
        out->walked = true;
        out->end = walk_end(walk);
        pcs_add(out, walk->pcs, walk->count);
    } else if (user->count > 0) {
        /* Nobody says that a frame pointer's chain is whole: it ends where it ends. */
        out->end = good == user->count && user->cut ? PARTITION_STACK_CUT : PARTITION_STACK_BROKEN;
        pcs_add(out, user->pcs, good);
    }
    if (out->count == 0)
        pcs_add(out, &sample->ip, 1);
    out->end |= PARTITION_STACK_EXACT;
}
