/* SPDX-License-Identifier: Apache-2.0
 *
 * The calling thread's stack as the walk finds it, and as the C library's backtrace() does, which shares
 * no code with it, from one place. For tests of the walk.
 */
#ifndef WALK_TRUTH_H
#define WALK_TRUTH_H

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>

#include "stack_rules.h"
#include "stack_walk.h"
#include "support.h"
#include "walk_subject.h"

#define TRUTH_MAX 256

static __thread struct stack_frames seen;
static __thread uint64_t truth[TRUTH_MAX];
static __thread uint32_t truth_count;
static __thread volatile bool found; /* raise() is said to call nothing here */

static inline void prepare(void)
{
    const struct stack_settings settings = {.finder = _dl_find_object};
    void *warm[4];
    backtrace(warm, 4); /* loads what it needs */
    stack_walk_prepare(&settings);
}

/* Both from the same place: the caller of this function is the first. backtrace() begins here, or in what a
 * sanitizer puts before it. */
static __attribute__((noinline, unused)) void look(void)
{
    void *addresses[TRUTH_MAX];
    found = stack_walk(__builtin_frame_address(0), &seen);
    uint32_t count = (uint32_t)backtrace(addresses, TRUTH_MAX), first = 0;
    while (first < count && addresses[first] != __builtin_return_address(0))
        first++;
    truth_count = count - first;
    for (uint32_t i = 0; i < truth_count; i++)
        truth[i] = (uint64_t)(uintptr_t)addresses[first + i];
}

/* makecontext() has its function return to the first byte of another one, in front of which there is no
 * call: all frames are there, and that they are all is not known. */
static __thread enum stack_end outermost = STACK_END_WHOLE;

static inline void whole_check(void)
{
    ck_assert(found);
    ck_assert_uint_eq(seen.count, truth_count);
    for (uint32_t i = 0; i < truth_count; i++)
        ck_assert_msg(seen.pcs[i] == truth[i], "frame %u of %u: %lx, not %lx", i, truth_count,
                      seen.pcs[i], truth[i]);
    ck_assert_uint_eq(seen.end, outermost);
}

static inline void shapes_check(void)
{
    for (int again = 0; again < 3; again++) { /* from the tables, then from the cache */
        walk_plain(look);
        whole_check();
        walk_deep(look, 20);
        whole_check();
        ck_assert_uint_gt(seen.count, 20);
        walk_alloca(look, 700);
        whole_check();
        walk_aligned(look, 333);
        whole_check();
        walk_sorted(look);
        whole_check();
        walk_many_registers(look);
        whole_check();
    }
}

static inline void thread_run(const pthread_attr_t *attributes, void *(*run)(void *),
                              void *argument)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, attributes, run, argument), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

#endif
