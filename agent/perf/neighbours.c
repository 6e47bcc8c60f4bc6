/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples by process; see neighbours.h.
 */
#include "neighbours.h"

#include <stdlib.h>
#include <string.h>

#include "skein/status.h"

int neighbours_new(struct neighbours **out)
{
    *out = calloc(1, sizeof **out);
    return *out != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void neighbours_free(struct neighbours **neighbours)
{
    free(*neighbours);
    *neighbours = NULL;
}

static void neighbour_grow(struct neighbour *to, uint64_t samples, uint64_t ns)
{
    to->samples += samples;
    to->ns += ns;
}

void neighbours_note(struct neighbours *neighbours, uint32_t pid, uint64_t ns)
{
    for (uint32_t i = 0; i < NEIGHBOURS_MAX; i++) {
        struct neighbour *slot = &neighbours->slots[(pid + i) % NEIGHBOURS_MAX];
        if (slot->samples == 0) {
            slot->pid = pid;
            neighbours->count++;
        }
        if (slot->pid == pid) {
            neighbour_grow(slot, 1, ns);
            return;
        }
    }
    neighbour_grow(&neighbours->rest, 1, ns);
}

/* Puts one into the row by its time, if it belongs there; what falls out goes to the rest. */
static size_t top_put(struct neighbour *top, size_t count, struct neighbour one,
                      struct neighbour *rest, size_t *rest_count)
{
    size_t at = count;
    while (at > 0 && top[at - 1].ns < one.ns)
        at--;
    if (count == NEIGHBOURS_SHOWN) {
        struct neighbour out = at < count ? top[count - 1] : one;
        neighbour_grow(rest, out.samples, out.ns);
        (*rest_count)++;
        if (at == count)
            return count;
        count--;
    }
    memmove(top + at + 1, top + at, (count - at) * sizeof *top);
    top[at] = one;
    return count + 1;
}

size_t neighbours_top(const struct neighbours *neighbours, struct neighbour top[NEIGHBOURS_SHOWN],
                      struct neighbour *rest, size_t *rest_count)
{
    size_t count = 0;
    *rest = neighbours->rest;
    *rest_count = 0;
    for (size_t i = 0; i < NEIGHBOURS_MAX; i++) {
        if (neighbours->slots[i].samples > 0)
            count = top_put(top, count, neighbours->slots[i], rest, rest_count);
    }
    return count;
}
