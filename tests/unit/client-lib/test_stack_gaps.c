/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks of a program that is linked with gaps between its segments, as node is: the dynamic linker
 * then tells of each of its segments alone. Against backtrace(), and the kernel's list of mappings.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

#include "code_object.h"
#include "stack_walk.h"
#include "support.h"

#define TRUTH_MAX 64
#define FAR       __attribute__((noinline, section("far_text"))) /* tests.cmake */

static struct stack_frames seen;
static void *truth[TRUTH_MAX];
static int truth_count;
static volatile int depth;

static __attribute__((noinline)) void look(void)
{
    ck_assert(stack_walk(__builtin_frame_address(0), &seen));
    truth_count = backtrace(truth, TRUTH_MAX);
}

static FAR void walk_far(void)
{
    if (depth-- > 0)
        walk_far();
    else
        look();
    depth++; /* no call in place of a return */
}

/* The offset in its file of the piece of code that the kernel has around the address. */
static uint64_t kernel_offset(uint64_t address, uint64_t *start)
{
    char line[512], *at;
    uint64_t offset = UINT64_MAX;
    FILE *maps = fopen("/proc/self/maps", "re");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps) != NULL) { /* from-to rwxp offset … */
        uint64_t from = strtoull(line, &at, 16), to = strtoull(at + 1, &at, 16);
        if (address < from || address >= to)
            continue;
        *start = from;
        offset = strtoull(at + sizeof " rwxp", NULL, 16);
    }
    fclose(maps);
    return offset;
}

static void described_check(uint64_t address)
{
    struct code_object object;
    struct code_mapping mapping;
    uint64_t start = 0, offset = kernel_offset(address, &start);
    ck_assert(code_object_find(address, &object));
    ck_assert(code_object_mapping(&object, address, &mapping));
    ck_assert_uint_eq(mapping.start, start);
    ck_assert_uint_eq(mapping.offset, offset);
    ck_assert_uint_gt(object.build_id_bytes, 0);
    ck_assert_ptr_nonnull(object.index);
}

START_TEST(a_program_with_gaps_has_stacks_with_places)
{
    const struct stack_settings settings = {.finder = _dl_find_object};
    void *warm[4];
    backtrace(warm, 4); /* loads what it needs */
    stack_walk_prepare(&settings);
    depth = 3;
    walk_far();
    int first = 0;
    while (first < truth_count && (uint64_t)(uintptr_t)truth[first] != seen.pcs[0])
        first++;
    ck_assert_int_lt(first, truth_count);
    ck_assert_uint_eq(seen.count, (unsigned)(truth_count - first));
    for (uint32_t i = 0; i < seen.count; i++)
        ck_assert_uint_eq(seen.pcs[i], (uint64_t)(uintptr_t)truth[(uint32_t)first + i]);
    ck_assert_uint_gt(seen.count, 5);
    described_check((uint64_t)(uintptr_t)walk_far);
    described_check((uint64_t)(uintptr_t)look);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("stack gaps", a_program_with_gaps_has_stacks_with_places, NULL));
}
