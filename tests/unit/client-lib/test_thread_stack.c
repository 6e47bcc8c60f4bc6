/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks of threads and coroutines of which the program itself says where they are, rightly or not:
 * what is walked is what the C library's backtrace() finds, and wrong bounds do no harm.
 */
#include "skein/skein.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "walk_truth.h"

static void *asking(void *unused)
{
    (void)unused;
    walk_plain(look);
    ck_assert(!found);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(skein_thread_stack(NULL, 0), SKEIN_OK);
        shapes_check();
    }
    return NULL;
}

static void *asking_child(void *unused)
{
    (void)unused;
    pid_t pid = fork();
    if (pid == 0) { /* its only thread, on the stack of one that was not the first */
        int status = skein_thread_stack(NULL, 0);
        walk_deep(look, 5);
        _exit(status == SKEIN_OK && found && seen.end == STACK_END_WHOLE &&
                      seen.count == truth_count
                  ? 0
                  : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    return NULL;
}

START_TEST(a_thread_is_walked_once_it_has_asked_for_its_stack)
{
    ck_assert_int_eq(skein_thread_stack(NULL, 0),
                     SKEIN_OK); /* the first, before there is anything */
    prepare();
    ck_assert_int_eq(skein_thread_stack(NULL, 0), SKEIN_OK);
    shapes_check();
    thread_run(NULL, asking, NULL);
    thread_run(NULL, asking_child, NULL);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
    thread_run(&attributes, asking, NULL);
    void *own = aligned_alloc(4096, 256 << 10);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, own, 256 << 10), 0);
    thread_run(&attributes, asking, NULL);
    free(own);
    pthread_attr_destroy(&attributes);
}
END_TEST

START_TEST(what_are_no_bounds_is_refused)
{
    const char *last = (const char *)(uintptr_t)(UINTPTR_MAX - 4096);
    char here[1];
    ck_assert_int_eq(skein_thread_stack(NULL, 65536), SKEIN_INVALID);
    ck_assert_int_eq(skein_thread_stack(here, 0), SKEIN_INVALID);
    ck_assert_int_eq(skein_thread_stack(here, 8192), SKEIN_INVALID);
    ck_assert_int_eq(skein_thread_stack(last, 65536), SKEIN_INVALID);
    ck_assert_int_eq(skein_thread_stack(here, SIZE_MAX), SKEIN_INVALID);
    ck_assert_int_eq(skein_thread_stack(here, 8193), SKEIN_OK);
}
END_TEST

/* ---- foreign stacks that the program declares ---- */

static ucontext_t home, other;

#define COROUTINE_BYTES ((size_t)256 << 10)

static char *stack_map(size_t bytes)
{
    char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(stack != MAP_FAILED);
    return stack;
}

static void (*errand)(void); /* what a coroutine is for */

static void errand_run(void)
{
    errand();
    swapcontext(&other, &home);
}

static void run_on(char *stack, size_t bytes, void (*what)(void))
{
    errand = what;
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = bytes;
    other.uc_link = NULL;
    makecontext(&other, errand_run, 0);
    outermost = STACK_END_BROKEN;
    swapcontext(&home, &other);
    outermost = STACK_END_WHOLE;
}

static void none_check(void)
{
    walk_plain(look);
    ck_assert(!found);
}

static void *declare_both(void *unused)
{
    (void)unused;
    char *one = stack_map(COROUTINE_BYTES), *two = stack_map(COROUTINE_BYTES);
    sigset_t before, after;
    ck_assert_int_eq(skein_thread_stack(NULL, 0), SKEIN_OK);
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    for (int again = 0; again < 3; again++) {
        ck_assert_int_eq(skein_thread_stack(one, COROUTINE_BYTES), SKEIN_OK);
        run_on(one, COROUTINE_BYTES, shapes_check);
        run_on(two, COROUTINE_BYTES, none_check);
        ck_assert_int_eq(skein_thread_stack(two, COROUTINE_BYTES), SKEIN_OK);
        run_on(two, COROUTINE_BYTES, shapes_check);
        run_on(one, COROUTINE_BYTES, none_check);
        shapes_check(); /* at home, where nothing need be declared */
    }
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    for (int number = 1; number < NSIG; number++)
        ck_assert_int_eq(sigismember(&before, number), sigismember(&after, number));
    munmap(one, COROUTINE_BYTES);
    munmap(two, COROUTINE_BYTES);
    return NULL;
}

START_TEST(a_coroutine_is_walked_on_the_stack_that_was_declared)
{
    prepare();
    (void)declare_both(NULL);
    thread_run(NULL, declare_both, NULL);
}
END_TEST

/* ---- wrong bounds ---- */

static void look_alone(void)
{
    int saved = errno = 4711;
    found = stack_walk(__builtin_frame_address(0), &seen);
    ck_assert_int_eq(errno, saved);
}

/*  low              stack            closed           hole             top
 *   +----------------+----------------+----------------+----------------+
 *   | may not be read| 256 KiB        | may not be read| nothing        |
 *   +----------------+----------------+----------------+----------------+
 */
#define CLOSED_BYTES ((size_t)64 << 10)
static char *trap_low, *trap_stack, *trap_closed, *trap_hole, *trap_top;

static void trap_make(void)
{
    trap_low = stack_map(CLOSED_BYTES * 3 + COROUTINE_BYTES);
    trap_stack = trap_low + CLOSED_BYTES;
    trap_closed = trap_stack + COROUTINE_BYTES;
    trap_hole = trap_closed + CLOSED_BYTES;
    trap_top = trap_hole + CLOSED_BYTES;
    ck_assert_int_eq(mprotect(trap_low, CLOSED_BYTES, PROT_NONE), 0);
    ck_assert_int_eq(mprotect(trap_closed, CLOSED_BYTES, PROT_NONE), 0);
    ck_assert_int_eq(munmap(trap_hole, CLOSED_BYTES), 0);
}

static void astray_check(const void *frame)
{
    walk_astray(look_alone, frame);
    ck_assert(found); /* the frame that called, if no other */
    ck_assert_uint_ge(seen.count, 1);
    ck_assert_uint_eq(seen.end, STACK_END_BROKEN);
}

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

static void astray_everywhere(void)
{
    uint64_t seed = 88172645463325252u;
    const char *const places[] = {
        trap_low,        trap_closed - 8, trap_closed - 16,    trap_closed,     trap_hole - 8,
        trap_hole,       trap_top - 16,   trap_top - 8,        trap_top - 4096, trap_top,
        trap_closed + 1, (char *)1,       (char *)~UINT64_C(7)};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        astray_check(places[i]);
    for (int i = 0; i < 20000; i++) {
        uint64_t span = (uint64_t)(trap_top - trap_low);
        astray_check(trap_low + (random_next(&seed) % span & ~UINT64_C(7)));
    }
}

static void bounds_everywhere(void)
{
    uint64_t seed = 2463534242u;
    const char *here = __builtin_frame_address(0);
    for (int i = 0; i < 20000; i++) {
        size_t below = random_next(&seed) % (COROUTINE_BYTES * 2);
        size_t bytes = 8193 + random_next(&seed) % (COROUTINE_BYTES * 8);
        ck_assert_int_eq(skein_thread_stack(here - below, bytes), SKEIN_OK);
        walk_astray(look_alone, here + (random_next(&seed) % (bytes + 4096) & ~UINT64_C(7)));
    }
}

static void whole_then_astray(void)
{
    shapes_check(); /* by rules, it never comes so far */
    astray_everywhere();
}

static void *wrong_bounds(void *unused)
{
    (void)unused;
    trap_make();
    ck_assert_int_eq(skein_thread_stack(trap_low, (size_t)(trap_top - trap_low)), SKEIN_OK);
    run_on(trap_stack, COROUTINE_BYTES, whole_then_astray);
    run_on(trap_stack, COROUTINE_BYTES, bounds_everywhere);
    /* Its stack is gone, and a smaller one has come in its place. */
    ck_assert_int_eq(skein_thread_stack(trap_low, (size_t)(trap_top - trap_low)), SKEIN_OK);
    ck_assert_int_eq(munmap(trap_stack + COROUTINE_BYTES / 2, COROUTINE_BYTES / 2), 0);
    run_on(trap_stack, COROUTINE_BYTES / 2, whole_then_astray);
    munmap(trap_low, CLOSED_BYTES * 3 + COROUTINE_BYTES);
    return NULL;
}

START_TEST(wrong_bounds_cost_stacks_and_never_harm)
{
    prepare();
    (void)wrong_bounds(NULL);
    thread_run(NULL, wrong_bounds, NULL);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("thread_stack", a_thread_is_walked_once_it_has_asked_for_its_stack,
                              what_are_no_bounds_is_refused,
                              a_coroutine_is_walked_on_the_stack_that_was_declared,
                              wrong_bounds_cost_stacks_and_never_harm, NULL));
}
