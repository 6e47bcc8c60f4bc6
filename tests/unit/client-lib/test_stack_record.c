/* SPDX-License-Identifier: Apache-2.0
 *
 * Which records carry a stack, that each stack and each mapping is in the table once, what happens
 * when the table is full, and when a library takes the place of another. The truth about stacks is
 * the C library's backtrace(), about mappings the kernel's list.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "stack_walk.h"
#include "support.h"
#include "walk_subject.h"

static struct fake_agent agent;
static struct fake_ring ring;
static struct decoded_ring decoded;
static struct skein_site waits =
    SKEIN_SITE(SKEIN_CLASS_SPAN, SKEIN_GROUP_APP, "waits", (i64, "fd", 0), (i64, "result", 0));

static void attach(uint64_t bytes, uint64_t stack_ns)
{
    const struct stack_settings settings = {.finder = _dl_find_object};
    void *warm[4];
    backtrace(warm, 4);
    fake_agent_init(&agent, 7);
    stack_walk_prepare(&settings);
    fake_agent_attach_self(&agent, &ring, SKEIN_MODE_CIRCULAR, bytes);
    skein_store64(&ring.page->stack_ns, stack_ns);
}

static void decode(void)
{
    ring_decode_free(&decoded);
    ck_assert_msg(ring_decode(ring.ring, &ring.geometry, &decoded), "%s", decoded.error);
}

static uint64_t missed(void)
{
    const struct ring_process_record *record =
        (const void *)(ring.ring + ring.geometry.process_off);
    return skein_load64(&record->stacks_missed);
}

static void operation(void)
{
    const union skein_value values[2] = {{.i64 = 3}, {.i64 = 4}};
    struct skein_op op = skein_op_enter(&waits, 3);
    skein_op_leave(&op, 0, values);
}

/* From the caller of this function on. backtrace() begins here, or in what a sanitizer puts before it. */
static uint64_t truth[128];
static uint32_t truth_count;
static __attribute__((noinline)) void operation_and_truth(void)
{
    void *addresses[128];
    operation();
    uint32_t count = (uint32_t)backtrace(addresses, 128), first = 0;
    while (first < count && addresses[first] != __builtin_return_address(0))
        first++;
    truth_count = count - first;
    for (uint32_t i = 0; i < truth_count; i++)
        truth[i] = (uint64_t)(uintptr_t)addresses[first + i];
}

/* The frames of operation_and_truth() and, perhaps, operation() and skein_op_leave() come before the
 * truth. */
static void ck_is_truth(const struct decoded_stack *stack, enum stack_end end)
{
    ck_assert_uint_eq(stack->end, end);
    uint32_t extra = stack->count - truth_count;
    ck_assert(truth_count > 1 && extra >= 1 && extra <= 3);
    for (uint32_t i = 0; i < truth_count; i++)
        ck_assert_uint_eq(stack->pcs[i + extra], truth[i]);
}

static const struct decoded_stack *stack_of(const char *name, size_t n)
{
    const struct decoded_event *event = decoded_nth(&decoded, name, n);
    ck_assert_ptr_nonnull(event);
    return event->stack ? &decoded.stacks[event->stack - 1] : NULL;
}

START_TEST(what_lasts_carries_the_stack_of_its_end)
{
    attach(1 << 20, 1);
    operation_and_truth();
    operation_and_truth();
    decode();
    const struct decoded_stack *stack = stack_of("waits", 1);
    ck_assert_ptr_nonnull(stack);
    ck_is_truth(stack, STACK_END_WHOLE);
    ck_assert_uint_eq(missed(), 0);
}
END_TEST

START_TEST(nothing_carries_one_where_the_agent_asks_for_none)
{
    attach(1 << 20, 0); /* as in the page of an agent that knows of no stacks */
    operation();
    {
        SKEIN_REGION("region");
    }
    decode();
    ck_assert_ptr_null(stack_of("waits", 0));
    ck_assert_uint_eq(decoded.stack_count, 0);
    ck_assert_uint_eq(decoded.mapping_count, 0);
}
END_TEST

START_TEST(what_is_short_carries_none_until_the_threshold_falls)
{
    attach(1 << 20, UINT64_C(3600) * 1000000000);
    operation();
    skein_store64(&ring.page->stack_ns, 1);
    /* Seen with the next generation, as everything is. */
    skein_generation_store(&agent.host->generation, 8);
    operation();
    operation();
    decode();
    ck_assert_ptr_null(stack_of("waits", 0));
    ck_assert_ptr_nonnull(stack_of("waits", 2));
}
END_TEST

static size_t ends_with_stack(void)
{
    size_t count = 0;
    for (size_t i = 0; i < decoded.event_count; i++)
        count += decoded.events[i].kind == DECODED_END && decoded.events[i].stack != 0;
    return count;
}

static __attribute__((noinline)) void regions(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        SKEIN_REGION("outer", (u64, "i", i));
        SKEIN_REGION("inner");
    }
}

START_TEST(the_end_of_a_region_carries_one_by_the_fast_way_and_by_the_slow)
{
    attach(1 << 20, 1);
    regions(1000); /* ends meet the ends of chunks, too */
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "outer"), 1000);
    ck_assert_uint_eq(ends_with_stack(), 2000);
    ck_assert_uint_eq(decoded.lost, 0);
    ck_assert_uint_eq(missed(), 0);
    /* Two places in one function, and the way by which they came: few stacks for 2000 records. */
    ck_assert_uint_le(decoded.stack_count, 8);
}
END_TEST

static void nest(unsigned depth)
{
    if (depth == 0)
        return;
    SKEIN_REGION("nested");
    nest(depth - 1);
}

START_TEST(regions_deeper_than_is_remembered_carry_none)
{
    attach(1 << 20, 1);
    nest(100);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "nested"), 100);
    ck_assert_uint_eq(ends_with_stack(), SKEIN_OPEN_MAX);
}
END_TEST

START_TEST(each_address_lies_in_a_mapping_that_the_kernel_has)
{
    attach(1 << 20, 1);
    operation();
    regions(2);
    decode();
    ck_assert_uint_gt(decoded.mapping_count, 0);
    for (size_t i = 0; i < decoded.stack_count; i++) {
        const struct decoded_stack *stack = &decoded.stacks[i];
        for (uint32_t k = 0; k < stack->count; k++) {
            size_t holds = 0;
            for (size_t m = 0; m < decoded.mapping_count; m++)
                holds += stack->pcs[k] - 1 >= decoded.mappings[m].start &&
                         stack->pcs[k] - 1 < decoded.mappings[m].end;
            ck_assert_uint_eq(holds, 1);
        }
    }
    for (size_t m = 0; m < decoded.mapping_count; m++) {
        const struct decoded_mapping *mapping = &decoded.mappings[m];
        char line[512], wanted[64];
        bool known = false;
        FILE *maps = fopen("/proc/self/maps", "r");
        snprintf(wanted, sizeof wanted, "%lx-%lx r-xp %08lx", mapping->start, mapping->end,
                 mapping->offset);
        while (fgets(line, sizeof line, maps) != NULL)
            known |=
                strncmp(line, wanted, strlen(wanted)) == 0 && strstr(line, mapping->path) != NULL;
        fclose(maps);
        ck_assert_msg(known, "%s %s", wanted, mapping->path);
        ck_assert_uint_gt(mapping->build_id_bytes, 0);
    }
}
END_TEST

/* As many ways to the same operation as there are numbers. */
static __attribute__((noinline)) void by_way(uint32_t way, unsigned bits);
static __attribute__((noinline)) void by_one(uint32_t way, unsigned bits)
{
    by_way(way, bits);
    __asm__ volatile("");
}
static __attribute__((noinline)) void by_two(uint32_t way, unsigned bits)
{
    by_way(way, bits);
    __asm__ volatile("" ::: "memory");
}
static __attribute__((noinline)) void by_way(uint32_t way, unsigned bits)
{
    if (bits == 0)
        operation();
    else if (way & 1)
        by_one(way >> 1, bits - 1);
    else
        by_two(way >> 1, bits - 1);
    __asm__ volatile("" ::: "memory");
}

START_TEST(a_full_table_costs_stacks_and_no_record)
{
    attach(128 << 10, 1);
    const uint32_t total = 1 << 11;
    for (uint32_t way = 0; way < total; way++)
        by_way(way, 11);
    decode();
    ck_assert_uint_eq(decoded.lost, 0);
    const struct ring_header *header = (const void *)ring.ring;
    ck_assert_uint_eq(header->num_records_dropped, 0);
    ck_assert_uint_gt(missed(), 0);
    ck_assert_uint_lt(missed(), total);
    ck_assert_uint_gt(decoded.stack_count, 0);
    size_t with = 0, count = decoded_count(&decoded, "waits");
    for (size_t i = 0; i < count; i++)
        with += stack_of("waits", i) != NULL;
    ck_assert_uint_gt(with, 0); /* also of the last ones: the table begins anew */
    ck_assert_uint_ge(missed() + with, count);
}
END_TEST

START_TEST(more_stacks_than_an_epoch_holds_are_counted)
{
    attach(UINT64_C(64) << 20, 1);
    const uint32_t total = 1 << 13;
    for (uint32_t way = 0; way < total; way++)
        by_way(way, 13);
    decode();
    ck_assert_uint_eq(decoded_count(&decoded, "waits"), total);
    size_t with = 0;
    for (uint32_t i = 0; i < total; i++)
        with += stack_of("waits", i) != NULL;
    ck_assert_uint_eq(with + missed(), total);
    ck_assert_uint_gt(with, 3000);
}
END_TEST

/* ---- threads of a program that links the library ---- */

static void *second_thread(void *unused)
{
    (void)unused;
    operation(); /* nothing is known of its stack yet */
    ck_assert_int_eq(skein_thread_stack(NULL, 0), SKEIN_OK);
    operation_and_truth();
    return NULL;
}

START_TEST(a_second_threads_wait_carries_one_once_it_has_asked_for_its_stack)
{
    pthread_t thread;
    attach(1 << 20, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, second_thread, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    decode();
    ck_assert_ptr_null(stack_of("waits", 0));
    ck_assert_ptr_nonnull(stack_of("waits", 1));
    ck_is_truth(stack_of("waits", 1), STACK_END_WHOLE);
    ck_assert_uint_eq(missed(), 0);
}
END_TEST

static ucontext_t home, other;
static const size_t other_bytes = 256 << 10;

static void coroutine(void)
{
    operation_and_truth();
    swapcontext(&other, &home);
}

static void *coroutine_thread(void *stack)
{
    for (int declared = 0; declared < 2; declared++) {
        if (declared)
            ck_assert_int_eq(skein_thread_stack(stack, other_bytes), SKEIN_OK);
        getcontext(&other);
        other.uc_stack.ss_sp = stack;
        other.uc_stack.ss_size = other_bytes;
        other.uc_link = NULL;
        makecontext(&other, coroutine, 0);
        swapcontext(&home, &other);
    }
    return NULL;
}

START_TEST(a_coroutines_wait_carries_one_on_a_stack_that_was_declared)
{
    pthread_t thread;
    void *stack = aligned_alloc(4096, other_bytes);
    attach(1 << 20, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, coroutine_thread, stack), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    decode();
    ck_assert_ptr_null(stack_of("waits", 0));
    ck_assert_ptr_nonnull(stack_of("waits", 1));
    ck_is_truth(stack_of("waits", 1), STACK_END_BROKEN); /* makecontext() tells of no end */
    free(stack);
}
END_TEST

/* ---- a library in the place of another ---- */

typedef void work_fn(void (*)(void));

static uint64_t load_and_work(const char *path, const char **name)
{
    void *library = dlopen(path, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    work_fn *work = (work_fn *)dlsym(library, "walk_plugin_work");
    *name = (const char *)dlsym(library, "walk_plugin_name");
    work(operation_and_truth);
    uint64_t place = (uint64_t)(uintptr_t)work;
    dlclose(library);
    return place;
}

static const struct {
    const char *first, *second;       /* files */
    const char *of_first, *of_second; /* in their paths */
} takers[] = {
    {WALK_PLUGIN_A, WALK_PLUGIN_B, "walk_plugin_a", "walk_plugin_b"},
    {WALK_PLUGIN_BARE_A, WALK_PLUGIN_BARE_B, "walk_plugin_bare_a", "walk_plugin_bare_b"},
};

START_TEST(a_library_in_the_place_of_another_is_not_taken_for_it)
{
    attach(1 << 20, 1);
    uint64_t first = 0, same = 0;
    const char *name;
    for (int i = 0; i < 40; i++) {
        bool second = i % 2 != 0;
        uint64_t place = load_and_work(second ? takers[_i].second : takers[_i].first, &name);
        first = i == 0 ? place : first;
        same += place == first;
        decode();
        const struct decoded_stack *stack = stack_of("waits", (size_t)i);
        if (stack == NULL) /* while the table has the other one's description */
            continue;
        ck_is_truth(stack, STACK_END_WHOLE);
        for (size_t m = 0; m < decoded.mapping_count; m++)
            if (decoded.mappings[m].epoch == stack->epoch && place >= decoded.mappings[m].start &&
                place < decoded.mappings[m].end)
                ck_assert_ptr_nonnull(strstr(decoded.mappings[m].path,
                                             second ? takers[_i].of_second : takers[_i].of_first));
    }
    ck_assert_msg(same > 1, "the loader never used the same place");
    ck_assert_uint_gt(missed(), 0);
}
END_TEST

/* ---- a library that a guess leads to ---- */

START_TEST(nothing_is_read_of_a_library_that_only_a_guess_leads_to)
{
    attach(1 << 20, 1);
    void *library = dlopen(WALK_PLUGIN_A, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    const uint64_t place = (uint64_t)(uintptr_t)dlsym(library, "walk_plugin_work") + 8;
    struct link_map *map;
    ck_assert_int_eq(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    /* As it is for another thread that is just unloading it. */
    ck_assert_int_eq(mprotect((void *)map->l_addr, 4096, PROT_NONE), 0);
    /* Looks like two frames; on the stack itself, where a sanitizer has arrays elsewhere. */
    uint64_t *frame = __builtin_alloca(4 * sizeof *frame);
    memcpy(frame, (uint64_t[4]){(uint64_t)(uintptr_t)&frame[2], place}, 4 * sizeof *frame);
    walk_astray(operation, frame);
    ck_assert_int_eq(mprotect((void *)map->l_addr, 4096, PROT_READ), 0);
    dlclose(library);
    decode();
    const struct decoded_stack *stack = stack_of("waits", 0);
    ck_assert_ptr_nonnull(stack);
    ck_assert_uint_eq(stack->end, STACK_END_BROKEN);
    ck_assert_uint_eq(stack->pcs[stack->count - 1], place);
    for (size_t m = 0; m < decoded.mapping_count; m++)
        ck_assert_ptr_null(strstr(decoded.mappings[m].path, "walk_plugin_a"));
    ck_assert_uint_gt(decoded.mapping_count, 0); /* the program's */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stack_record");
    TCase *c = tcase_create("all");
    tcase_add_test(c, what_lasts_carries_the_stack_of_its_end);
    tcase_add_test(c, nothing_carries_one_where_the_agent_asks_for_none);
    tcase_add_test(c, what_is_short_carries_none_until_the_threshold_falls);
    tcase_add_test(c, the_end_of_a_region_carries_one_by_the_fast_way_and_by_the_slow);
    tcase_add_test(c, regions_deeper_than_is_remembered_carry_none);
    tcase_add_test(c, each_address_lies_in_a_mapping_that_the_kernel_has);
    tcase_add_test(c, a_full_table_costs_stacks_and_no_record);
    tcase_add_test(c, more_stacks_than_an_epoch_holds_are_counted);
    tcase_add_test(c, a_second_threads_wait_carries_one_once_it_has_asked_for_its_stack);
    tcase_add_test(c, a_coroutines_wait_carries_one_on_a_stack_that_was_declared);
    tcase_add_loop_test(c, a_library_in_the_place_of_another_is_not_taken_for_it, 0,
                        (int)(sizeof takers / sizeof *takers));
    tcase_add_test(c, nothing_is_read_of_a_library_that_only_a_guess_leads_to);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
