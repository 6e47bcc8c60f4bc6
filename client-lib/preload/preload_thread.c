/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads as the program makes and names them. Every thread that this library's own code creates
 * (the client library's helper) is marked here and never traced. Any thread.
 */
#include <threads.h>

#include "attach_client.h"
#include "preload_wait.h"
#include "stack_walk.h"

/* A thread between its creation and its first instruction. From a fixed pool, not from malloc():
 * an allocator may create threads while it holds its own locks. */
#define BIRTHS 256

struct birth {
    uint32_t taken; /* acquire when claimed, release when given back */
    bool ignored;
    void *(*run)(void *);
    thrd_start_t run_c11; /* in place of run */
    void *argument;
    uint64_t stack_bytes; /* that may be walked: stack_walk_tell */
};
static struct birth births[BIRTHS];

static struct birth *birth_claim(void)
{
    for (unsigned i = 0; i < BIRTHS; i++) {
        uint32_t none = 0;
        if (__atomic_load_n(&births[i].taken, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&births[i].taken, &none, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return &births[i];
    }
    return NULL;
}

static void birth_release(struct birth *birth)
{
    __atomic_store_n(&birth->taken, 0, __ATOMIC_RELEASE);
}

/* Of a thread that is made with these attributes, without the guard below it. The C library asks for
 * the same when it makes the stack. */
static uint64_t stack_bytes_of(const pthread_attr_t *attributes)
{
    pthread_attr_t ordinary;
    size_t bytes = 0, guard = 0;
    if (attributes == NULL && pthread_attr_init(&ordinary))
        return 0;
    const pthread_attr_t *asked = attributes != NULL ? attributes : &ordinary;
    if (pthread_attr_getstacksize(asked, &bytes) || pthread_attr_getguardsize(asked, &guard))
        bytes = 0;
    if (attributes == NULL)
        pthread_attr_destroy(&ordinary);
    return stack_walk_usable(bytes, guard);
}

static struct skein_site site_thread_start = {
    .name = "thread_start",
    .text = "a thread begins",
    .file = "",
    .klass = SKEIN_CLASS_INSTANT,
    .group = SKEIN_GROUP_THREAD,
    .nargs = 1,
    .args = {{SKEIN_T_PTR, "function", "address"}},
};

/* Also runs where the thread is cancelled or calls pthread_exit(). */
static void thread_end(const char *unused)
{
    (void)unused;
    loop_end();
}

static void thread_begin(const struct birth *birth, uintptr_t function)
{
    stack_walk_tell(birth->stack_bytes);
    if (birth->ignored) {
        wait_ignore_thread();
        return;
    }
    int saved = errno;
    union skein_value value = {.u64 = function};
    skein_emit(&site_thread_start, &value);
    errno = saved;
}

/* First function of every thread. `argument` is a struct birth, given back here. */
static void *thread_start(void *argument)
{
    struct birth birth = *(struct birth *)argument;
    birth_release(argument);
    const char scope __attribute__((cleanup(thread_end), unused)) = 0;
    thread_begin(&birth, (uintptr_t)birth.run);
    return birth.run(birth.argument);
}

static int thread_c11_start(void *argument)
{
    struct birth birth = *(struct birth *)argument;
    birth_release(argument);
    const char scope __attribute__((cleanup(thread_end), unused)) = 0;
    thread_begin(&birth, (uintptr_t)birth.run_c11);
    return birth.run_c11(birth.argument);
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                          void *(*run)(void *), void *restrict argument)
{
    struct birth *birth = birth_claim();
    if (birth == NULL) /* hundreds at once: its start is not recorded, its waits are */
        return REAL(pthread_create)(thread, attributes, run, argument);
    birth->ignored = caller_is_own(CALLER);
    birth->run = run;
    birth->argument = argument;
    birth->stack_bytes = stack_bytes_of(attributes);
    int error = REAL(pthread_create)(thread, attributes, thread_start, birth);
    if (error == EAGAIN) { /* as many as there may be, and the visitor is one of them */
        attach_client_hold();
        error = REAL(pthread_create)(thread, attributes, thread_start, birth);
        attach_client_release();
    }
    if (error)
        birth_release(birth);
    return error;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    struct birth *birth = birth_claim();
    if (birth == NULL)
        return REAL(thrd_create)(thread, run, argument);
    birth->ignored = false;
    birth->run_c11 = run;
    birth->argument = argument;
    birth->stack_bytes = stack_bytes_of(NULL);
    int status = REAL(thrd_create)(thread, thread_c11_start, birth);
    if (status == thrd_error) {
        attach_client_hold();
        status = REAL(thrd_create)(thread, thread_c11_start, birth);
        attach_client_release();
    }
    if (status != thrd_success)
        birth_release(birth);
    return status;
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    int error = REAL(pthread_setname_np)(thread, name);
    if (error || caller_is_own(CALLER))
        return error;
    int saved = errno;
    if (pthread_equal(thread, pthread_self()))
        skein_thread_name(name);
    else
        names_changed();
    errno = saved;
    return error;
}
