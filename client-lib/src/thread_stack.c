/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program says of the stacks of its threads (skein_thread_stack), which the preload library
 * would see for itself. Keeps nothing: stack_walk.c does. Any thread.
 */
#include <errno.h>
#include <pthread.h>

#include "skein/skein.h"
#include "stack_walk.h"
#include "sys_raw.h"

/* The thread's own, as the C library has made it. It puts a thread's descriptor, to which
 * pthread_self() points, at the top of the thread's stack; only the first thread's lies elsewhere. */
static int own_tell(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes, guard;
    int error = pthread_getattr_np(pthread_self(), &attributes);
    if (error)
        return error == ENOMEM ? SKEIN_NO_MEMORY : SKEIN_UNSUPPORTED;
    error = pthread_attr_getstack(&attributes, &low, &bytes) |
            pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    if (error)
        return SKEIN_UNSUPPORTED;
    uint64_t from = (uint64_t)(uintptr_t)low, top = (uint64_t)(uintptr_t)pthread_self();
    if (top <= from || top - from > bytes) /* the first thread's, which is known */
        return RAW0(SYS_gettid) == raw_getpid() ? SKEIN_OK : SKEIN_UNSUPPORTED;
    /* Some C libraries count the guard in, some do not. */
    if (top - from <= guard || top - from - guard <= STACK_ROOM_BYTES)
        return SKEIN_UNSUPPORTED;
    stack_walk_tell(top - from - guard);
    return SKEIN_OK;
}

int skein_thread_stack(const void *low, size_t bytes)
{
    uint64_t from = (uint64_t)(uintptr_t)low, top;
    if (low == NULL && bytes == 0)
        return stack_walk_knows(__builtin_frame_address(0)) ? SKEIN_OK : own_tell();
    if (low == NULL || bytes <= STACK_ROOM_BYTES || __builtin_add_overflow(from, bytes, &top))
        return SKEIN_INVALID;
    stack_walk_declare(from, top);
    return SKEIN_OK;
}
