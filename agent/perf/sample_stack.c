/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks of samples; see sample_stack.h.
 */
#include "sample_stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

#define RANGES_MAX 65536 /* of a process; beyond, they are not used */

#define END_WHOLE  0u
#define END_CUT    1u
#define END_BROKEN 2u

bool code_range_parse(const char *line, struct code_range *out)
{
    char *end;
    errno = 0;
    uint64_t from = strtoull(line, &end, 16);
    if (end == line || *end != '-')
        return false;
    const char *second = end + 1;
    uint64_t to = strtoull(second, &end, 16);
    if (errno != 0 || end == second || strnlen(end, 5) < 5 || end[0] != ' ' || end[3] != 'x' ||
        from >= to)
        return false;
    *out = (struct code_range){from, to};
    return true;
}

/* Where it does not stand in order, that is no list of the kernel's. */
static int code_range_add(struct code_ranges *ranges, struct code_range range)
{
    if (ranges->count == RANGES_MAX ||
        (ranges->count > 0 && ranges->items[ranges->count - 1].end > range.start))
        return SKEIN_CORRUPT;
    if (!array_grow(ranges->items, ranges->count + 1, &ranges->cap))
        return SKEIN_NO_MEMORY;
    ranges->items[ranges->count++] = range;
    return SKEIN_OK;
}

int code_ranges_read(uint32_t pid, struct code_ranges *out)
{
    char path[48], *line = NULL;
    size_t room = 0;
    struct code_range range;
    int status = SKEIN_OK;
    *out = (struct code_ranges){.items = NULL};
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return SKEIN_IO;
    while (status == SKEIN_OK && getline(&line, &room, file) > 0) {
        if (code_range_parse(line, &range))
            status = code_range_add(out, range);
    }
    if (status == SKEIN_OK && out->count == 0)
        status = SKEIN_IO;
    free(line);
    fclose(file);
    if (status != SKEIN_OK)
        code_ranges_fini(out);
    return status;
}

void code_ranges_fini(struct code_ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct code_ranges){.items = NULL};
}

static bool is_code(const struct code_ranges *ranges, uint64_t pc)
{
    size_t at;
    if (ranges == NULL || ranges->count == 0)
        return true;
    array_find(at, 0, ranges->count, ranges->items[at].end <= pc);
    return at < ranges->count && ranges->items[at].start <= pc;
}

static void pcs_add(struct sample_stack *out, const uint64_t *pcs, uint32_t count)
{
    memcpy(out->pcs + out->count, pcs, count * sizeof *pcs);
    out->count += count;
}

void sample_stack_make(const struct perf_sample *sample, const struct code_ranges *ranges,
                       struct sample_stack *out)
{
    out->count = 0;
    if (sample->kernel.count > 0)
        pcs_add(out, sample->kernel.pcs, sample->kernel.count);
    else if (sample->in_kernel || sample->user.count == 0)
        pcs_add(out, &sample->ip, 1);
    out->in_kernel = sample->in_kernel || sample->kernel.count > 0 ? out->count : 0;
    out->end = (uint8_t)(END_WHOLE | PARTITION_STACK_EXACT);
    if (sample->kernel.cut) {
        out->end = (uint8_t)(END_CUT | PARTITION_STACK_EXACT);
        return;
    }
    uint32_t good = 0;
    while (good < sample->user.count && is_code(ranges, sample->user.pcs[good] - (good > 0)))
        good++;
    if (good == 0 && sample->user.count > 0)
        good = 1; /* where it is known to have been: code that is not mapped any more */
    pcs_add(out, sample->user.pcs, good);
    /* Nobody says that a frame pointer's chain is whole: it ends where it ends. */
    if (sample->user.count > 0)
        out->end =
            (uint8_t)((good == sample->user.count && sample->user.cut ? END_CUT : END_BROKEN) |
                      PARTITION_STACK_EXACT);
}
