/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks against those that the C library's backtrace() finds, which shares no code with ours, on
 * code of many shapes; and where there must be none: foreign stacks, alternate ones, threads of
 * which nothing is known.
 */
#include "stack_walk.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "stack_rules.h"
#include "support.h"
#include "walk_truth.h"

START_TEST(every_shape_of_code_is_walked_to_the_outermost_frame)
{
    prepare();
    shapes_check();
}
END_TEST

START_TEST(a_stack_deeper_than_the_limit_is_cut_there)
{
    prepare();
    walk_deep(look, 150);
    ck_assert(found);
    ck_assert_uint_eq(seen.count, STACK_FRAMES_MAX);
    ck_assert_uint_eq(seen.end, STACK_END_CUT);
    for (uint32_t i = 0; i < seen.count; i++)
        ck_assert_uint_eq(seen.pcs[i], truth[i]);
}
END_TEST

START_TEST(code_without_rules_is_passed_by_its_frame_pointer_and_so_told)
{
    prepare();
    walk_without_rules(look);
    ck_assert(found);
    ck_assert_uint_ge(seen.count, 2);
    Dl_info info;
    ck_assert_int_ne(dladdr((void *)(uintptr_t)seen.pcs[0], &info), 0);
    ck_assert_uint_gt(seen.pcs[0], (uint64_t)(uintptr_t)walk_without_rules);
    ck_assert_uint_lt(seen.pcs[0], (uint64_t)(uintptr_t)walk_without_rules + 32);
    ck_assert_uint_eq(seen.end, STACK_END_BROKEN);
    walk_lost(look);
    ck_assert(found);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_uint_eq(seen.end, STACK_END_BROKEN);
}
END_TEST

/* ---- threads ---- */

static uint64_t attr_usable(const pthread_attr_t *attributes)
{
    size_t bytes, guard;
    ck_assert_int_eq(pthread_attr_getstacksize(attributes, &bytes), 0);
    ck_assert_int_eq(pthread_attr_getguardsize(attributes, &guard), 0);
    return stack_walk_usable(bytes, guard);
}

static void *told(void *usable)
{
    stack_walk_tell(*(uint64_t *)usable);
    shapes_check();
    return NULL;
}

static void *untold(void *unused)
{
    (void)unused;
    walk_plain(look);
    ck_assert(!found);
    return NULL;
}

START_TEST(a_thread_is_walked_if_its_stack_is_known_and_only_then)
{
    prepare();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    uint64_t usable = attr_usable(&attributes);
    thread_run(NULL, told, &usable);
    thread_run(NULL, untold, NULL);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
    usable = attr_usable(&attributes);
    thread_run(&attributes, told, &usable);
    void *own = aligned_alloc(4096, 256 << 10); /* the program's own memory */
    ck_assert_int_eq(pthread_attr_setstack(&attributes, own, 256 << 10), 0);
    usable = attr_usable(&attributes);
    thread_run(&attributes, told, &usable);
    free(own);
    pthread_attr_destroy(&attributes);
}
END_TEST

/* What is said of a thread's stack is never more than the stack. */
static void *bounds(void *usable)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes, guard;
    ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attributes), 0);
    ck_assert_int_eq(pthread_attr_getstack(&attributes, &low, &bytes), 0);
    ck_assert_int_eq(pthread_attr_getguardsize(&attributes, &guard), 0);
    uint64_t top = (uint64_t)(uintptr_t)pthread_self(); /* the descriptor, at the thread pointer */
    ck_assert_uint_le((uint64_t)(uintptr_t)low, top - *(uint64_t *)usable);
    ck_assert_uint_lt(top, (uint64_t)(uintptr_t)low + bytes);
    pthread_attr_destroy(&attributes);
    return NULL;
}

START_TEST(what_is_told_of_a_stack_lies_inside_of_it)
{
    static const size_t sizes[] = {16 << 10, 20 << 10, 64 << 10, 1 << 20, 8 << 20};
    static const size_t guards[] = {0, 4096, 16384, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t k = 0; k < sizeof guards / sizeof *guards; k++) {
            pthread_attr_t attributes;
            pthread_attr_init(&attributes);
            pthread_attr_setstacksize(&attributes, sizes[i]);
            pthread_attr_setguardsize(&attributes, guards[k]);
            uint64_t usable = attr_usable(&attributes);
            if (guards[k] < sizes[i])
                thread_run(&attributes, bounds, &usable);
            else
                ck_assert_uint_eq(usable, 0);
            pthread_attr_destroy(&attributes);
        }
    }
}
END_TEST

/* ---- foreign stacks ---- */

static ucontext_t home, other;

static void coroutine(void)
{
    walk_plain(look);
    swapcontext(&other, &home);
}

static void coroutine_run(void)
{
    const size_t bytes = 256 << 10;
    char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(stack != MAP_FAILED);
    ck_assert_int_eq(mprotect(stack, 4096, PROT_NONE), 0);
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = bytes;
    other.uc_link = NULL;
    makecontext(&other, coroutine, 0);
    found = true;
    swapcontext(&home, &other);
    ck_assert(!found);
    munmap(stack, bytes);
    walk_plain(look); /* and at home again */
    whole_check();
}

static void *coroutine_thread(void *usable)
{
    stack_walk_tell(*(uint64_t *)usable);
    coroutine_run();
    return NULL;
}

START_TEST(a_coroutine_has_no_stack_of_the_thread)
{
    prepare();
    coroutine_run();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    uint64_t usable = attr_usable(&attributes);
    thread_run(NULL, coroutine_thread, &usable);
    pthread_attr_destroy(&attributes);
}
END_TEST

static void handler(int number)
{
    (void)number;
    look();
}

START_TEST(an_alternate_stack_is_left_alone_and_a_handler_ends_the_walk)
{
    prepare();
    struct sigaction action = {.sa_handler = handler};
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    raise(SIGUSR1);
    ck_assert(found);
    ck_assert_uint_eq(seen.end, STACK_END_BROKEN);
    ck_assert_uint_lt(seen.count, truth_count); /* up to where the handler returns to */
    for (uint32_t i = 0; i < seen.count; i++)
        ck_assert_uint_eq(seen.pcs[i], truth[i]);
    stack_t alternate = {.ss_sp = malloc(64 << 10), .ss_size = 64 << 10};
    ck_assert_int_eq(sigaltstack(&alternate, NULL), 0);
    action.sa_flags = SA_ONSTACK;
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    found = true;
    raise(SIGUSR1);
    ck_assert(!found);
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    free(alternate.ss_sp);
}
END_TEST

/* ---- children ---- */

static void *fork_in_thread(void *usable)
{
    stack_walk_tell(*(uint64_t *)usable);
    pid_t pid = fork();
    if (pid == 0) {
        walk_deep(look, 5);
        _exit(found && seen.end == STACK_END_WHOLE && seen.count == truth_count &&
                      memcmp(seen.pcs, truth, 8 * (size_t)seen.count) == 0
                  ? 0
                  : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    return NULL;
}

START_TEST(a_child_goes_on_with_the_stack_that_it_has)
{
    prepare();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    uint64_t usable = attr_usable(&attributes);
    thread_run(NULL, fork_in_thread, &usable);
    pthread_attr_destroy(&attributes);
    pid_t pid = vfork(); /* NOLINT: on its parent's stack, which is what is tried here */
    if (pid == 0) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): whether this does harm is what is tried */
        found = stack_walk(__builtin_frame_address(0), &seen);
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert(found); /* it shares our memory */
}
END_TEST

START_TEST(without_rules_frame_pointers_alone_stay_inside_the_stack)
{
    const struct stack_settings settings = {.finder = NULL};
    void *warm[4];
    backtrace(warm, 4);
    stack_walk_prepare(&settings);
    walk_deep(look, 30);
    ck_assert(found); /* some frame at least: the caller's return address */
    ck_assert_uint_eq(seen.pcs[0], truth[0]);
    ck_assert_uint_eq(seen.end, STACK_END_BROKEN);
}
END_TEST

/* ---- objects ---- */

START_TEST(an_object_is_what_the_kernel_has_mapped)
{
    prepare();
    static const char *const names[] = {"qsort", "pthread_create"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t address = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, names[i]);
        struct code_object object;
        struct code_mapping mapping;
        ck_assert(code_object_find(address, &object));
        ck_assert(code_object_mapping(&object, address, &mapping));
        ck_assert_uint_gt(object.build_id_bytes, 0);
        FILE *maps = fopen("/proc/self/maps", "r");
        char line[512];
        bool same = false;
        while (fgets(line, sizeof line, maps) != NULL) {
            unsigned long start, end, offset;
            /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
            ck_assert_int_eq(sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset), 3);
            if (address >= start && address < end)
                same = mapping.start == start && mapping.end == end && mapping.offset == offset &&
                       strstr(line, object.path) != NULL;
        }
        fclose(maps);
        ck_assert_msg(same, "%s", names[i]);
    }
    struct code_object none;
    ck_assert(!code_object_find((uint64_t)(uintptr_t)&home, &none) || none.index != NULL);
    ck_assert(!code_object_find(4096, &none));
}
END_TEST

int main(void)
{
    return suite_run(suite_of("stack_walk", every_shape_of_code_is_walked_to_the_outermost_frame,
                              a_stack_deeper_than_the_limit_is_cut_there,
                              code_without_rules_is_passed_by_its_frame_pointer_and_so_told,
                              a_thread_is_walked_if_its_stack_is_known_and_only_then,
                              what_is_told_of_a_stack_lies_inside_of_it,
                              a_coroutine_has_no_stack_of_the_thread,
                              an_alternate_stack_is_left_alone_and_a_handler_ends_the_walk,
                              a_child_goes_on_with_the_stack_that_it_has,
                              without_rules_frame_pointers_alone_stay_inside_the_stack,
                              an_object_is_what_the_kernel_has_mapped, NULL));
}
