/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks are taken in many threads while exceptions are thrown through them, libraries come and go,
 * signals strike anywhere, and children are forked that go on taking stacks. Nothing stands still,
 * and each stack that a record carries has as many frames of the recursion as the record says.
 * SKEIN_STRESS_STACKS sets how many operations a thread makes.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decoded_ring.h"
#include "fake_agent.h"
#include "skein/skein.h"
#include "skein_atomic.h"
#include "stack_walk.h"
#include "support.h"

#define THREADS    4
#define OPERATIONS 20000
#define DEPTH_MAX  40
#define FORKS      60

/* A sanitizer's malloc, unlike glibc's, may be locked for ever in the child of a process with threads;
 * an exception is allocated. */
#define CHILD_THROWS (!SANITIZED)

void stack_load_dive(unsigned depth, bool throws);
extern const char __start_dive_text[], __stop_dive_text[];

static struct fake_agent agent;
static struct fake_ring ring;
static struct decoded_ring decoded;
static uint64_t usable;
static unsigned operations;
static uint32_t over;

static struct skein_site handled =
    SKEIN_SITE(SKEIN_CLASS_SPAN, SKEIN_GROUP_APP, "handled", (i64, "none", 0));

static void handler(int number)
{
    (void)number;
    const union skein_value value = {.u64 = 0};
    struct skein_op op = skein_op_enter(&handled, 0);
    skein_op_leave(&op, 0, &value);
}

static void *diver(void *seed)
{
    unsigned random = (unsigned)(uintptr_t)seed * 2654435761u;
    stack_walk_tell(usable);
    for (unsigned i = 0; i < operations; i++) {
        random = random * 1664525u + 1013904223u;
        stack_load_dive((random >> 8) % DEPTH_MAX, random >> 20 & 1);
    }
    return NULL;
}

static void dive_below(void) /* a library that goes */
{
    stack_load_dive(3, false);
}

static void *loader(void *unused)
{
    const char *const paths[] = {WALK_PLUGIN_A, WALK_PLUGIN_B};
    stack_walk_tell(usable);
    for (unsigned i = 0; !skein_load32(&over); i++) {
        void *library = dlopen(paths[i % 2], RTLD_NOW);
        ck_assert_ptr_nonnull(library);
        void (*work)(void (*)(void)) = NULL;
        *(void **)&work = dlsym(library, "walk_plugin_work");
        work(dive_below);
        dlclose(library);
    }
    return unused;
}

static void *forker(void *unused)
{
    stack_walk_tell(usable);
    for (unsigned i = 0; i < FORKS; i++) {
        stack_load_dive(i % DEPTH_MAX, i & 1);
        pid_t pid = fork();
        if (pid == 0) { /* without libcheck, whose lock another thread may have held */
            struct stack_frames frames;
            bool walked = stack_walk(__builtin_frame_address(0), &frames);
            stack_load_dive(5, CHILD_THROWS);
            _exit(walked && frames.end == STACK_END_WHOLE ? 0 : 1);
        }
        ck_assert_int_ge(pid, 0);
        int status;
        while (waitpid(pid, &status, 0) < 0) {
        }
        ck_assert_int_eq(status, 0);
    }
    return unused;
}

static pthread_t thread_begin(void *(*run)(void *), uintptr_t argument)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, run, (void *)argument), 0);
    return thread;
}

static void everything_run(void)
{
    pthread_t divers[THREADS], others[2];
    for (unsigned i = 0; i < THREADS; i++)
        divers[i] = thread_begin(diver, i + 1);
    others[0] = thread_begin(loader, 0);
    others[1] = thread_begin(forker, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        for (unsigned n = 0; n < 200; n++) {
            pthread_kill(divers[i], SIGUSR1);
            pthread_kill(others[n % 2], SIGUSR1);
            sched_yield();
            if (n % 50 == 0) /* a new one, so that the table and the threads move on */
                skein_generation_store(&agent.host->generation, 100 + 200 * i + n);
        }
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(divers[i], NULL);
    pthread_join(others[1], NULL);
    skein_store32(&over, 1);
    pthread_join(others[0], NULL);
}

static unsigned frames_of_dive(const struct decoded_stack *stack)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < stack->count; i++)
        count += stack->pcs[i] > (uint64_t)(uintptr_t)__start_dive_text &&
                 stack->pcs[i] <= (uint64_t)(uintptr_t)__stop_dive_text;
    return count;
}

START_TEST(stacks_are_right_while_all_else_moves)
{
    const struct stack_settings settings = {.finder = _dl_find_object};
    const char *asked = getenv("SKEIN_STRESS_STACKS");
    operations = asked != NULL ? (unsigned)strtoul(asked, NULL, 10) : OPERATIONS;
    pthread_attr_t attributes;
    size_t bytes, guard;
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_getguardsize(&attributes, &guard);
    usable = stack_walk_usable(bytes, guard);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    stack_walk_prepare(&settings);
    fake_agent_init(&agent, 7);
    fake_agent_attach_self(&agent, &ring, SKEIN_MODE_CIRCULAR, 16 << 20);
    skein_store64(&ring.page->stack_ns, 1);
    everything_run();
    ck_assert_msg(ring_decode(ring.ring, &ring.geometry, &decoded), "%s", decoded.error);
    size_t with = 0, count = 0;
    for (size_t i = 0; i < decoded.event_count; i++) {
        const struct decoded_event *event = &decoded.events[i];
        if (strcmp(event->name, "dive") != 0 || event->stack == 0)
            continue;
        const struct decoded_stack *stack = &decoded.stacks[event->stack - 1];
        count++;
        if (stack->end != STACK_END_WHOLE || stack->count == 0)
            continue;
        with++;
        unsigned depth = (unsigned)event->args[0].i64;
        /* The operation behind a caught exception is at depth 0, and not in the recursion at all. */
        unsigned frames = frames_of_dive(stack);
        bool behind = depth == 0 && event->args[1].u64 == 1 && frames == 0;
        ck_assert_msg(behind || frames == depth + 1, "depth %u, %u frames", depth, frames);
    }
    ck_assert_uint_gt(with, 1000);
    ck_assert_uint_eq(with, count); /* none was broken, nor cut */
}
END_TEST

int main(void)
{
    return suite_run(suite_of("stack_load", stacks_are_right_while_all_else_moves, NULL));
}
