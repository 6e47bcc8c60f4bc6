/* SPDX-License-Identifier: Apache-2.0
 *
 * See sched_keep.h. Pages lie in an array from `head` on; what is in front of it is given back when
 * it is as much as the rest.
 */
#include "sched_keep.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "skein/status.h"

int sched_keep_init(struct sched_keep *keep, const struct page_shape *shape, uint32_t cpus,
                    size_t cpu_bytes, uint64_t since_ns)
{
    *keep = (struct sched_keep){.shape = *shape, .cpu_bytes = cpu_bytes};
    keep->cpus = calloc(cpus, sizeof *keep->cpus);
    if (keep->cpus == NULL)
        return SKEIN_NO_MEMORY;
    keep->count = cpus;
    for (uint32_t i = 0; i < cpus; i++)
        keep->cpus[i].until_ns = since_ns;
    return SKEIN_OK;
}

void sched_keep_fini(struct sched_keep *keep)
{
    for (uint32_t i = 0; i < keep->count; i++) {
        struct kept_cpu *cpu = &keep->cpus[i];
        for (size_t k = 0; k < cpu->count; k++)
            free(cpu->pages[cpu->head + k].bytes);
        free(cpu->pages);
    }
    free(keep->cpus);
    *keep = (struct sched_keep){0};
}

/* The next one has lost what this one had. */
static void oldest_drop(struct kept_cpu *cpu)
{
    struct kept_page *page = &cpu->pages[cpu->head];
    cpu->bytes -= page->n;
    free(page->bytes);
    cpu->head++;
    cpu->count--;
    if (cpu->count > 0) {
        struct kept_page *next = &cpu->pages[cpu->head];
        next->gap_from_ns = page->gap ? page->gap_from_ns : page->first_ns;
        next->gap_records = 0;
        next->gap = true;
    }
    if (cpu->head >= 64 && cpu->head >= cpu->count) {
        memmove(cpu->pages, cpu->pages + cpu->head, cpu->count * sizeof *cpu->pages);
        cpu->head = 0;
    }
}

/* Its first and last time. SKEIN_NOT_FOUND: it holds no record. */
static int page_times(struct page_cursor cursor, struct kept_page *page)
{
    const uint8_t *record;
    size_t n;
    uint64_t time_ns;
    int more = page_next(&cursor, &time_ns, &record, &n);
    if (more <= 0)
        return more == 0 ? SKEIN_NOT_FOUND : more;
    page->first_ns = time_ns;
    while (more == 1) {
        page->last_ns = time_ns;
        more = page_next(&cursor, &time_ns, &record, &n);
    }
    return more;
}

static int page_keep(struct kept_cpu *cpu, const struct kept_page *page, const uint8_t *bytes)
{
    if (!array_grow(cpu->pages, cpu->head + cpu->count + 1, &cpu->cap))
        return SKEIN_NO_MEMORY;
    struct kept_page *to = &cpu->pages[cpu->head + cpu->count];
    *to = *page;
    to->bytes = malloc(page->n);
    if (to->bytes == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(to->bytes, bytes, page->n);
    cpu->bytes += page->n;
    cpu->count++;
    cpu->until_ns = page->last_ns;
    return SKEIN_OK;
}

int sched_keep_page(struct sched_keep *keep, uint32_t number, const uint8_t *bytes, size_t n)
{
    struct kept_cpu *cpu = &keep->cpus[number];
    struct page_cursor cursor;
    struct kept_page page = {.gap = false};
    int status = page_open(&cursor, &keep->shape, bytes, n);
    if (status == SKEIN_OK)
        status = page_times(cursor, &page);
    if (status == SKEIN_NOT_FOUND)
        return SKEIN_OK;
    if (status != SKEIN_OK) {
        cpu->broken++;
        return SKEIN_OK;
    }
    page.n = cursor.used;
    page.gap = cursor.missed || cpu->broken > 0;
    page.gap_from_ns = cpu->until_ns;
    page.gap_records = cpu->broken > 0 ? 0 : cursor.missed_records;
    status = page_keep(cpu, &page, bytes);
    cpu->broken = status == SKEIN_OK ? 0 : cpu->broken + 1;
    while (cpu->bytes > keep->cpu_bytes && cpu->count > 1)
        oldest_drop(cpu);
    return status;
}
