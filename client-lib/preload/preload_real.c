/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the table of real functions. Any thread may look up at any time, also while libraries are
 * still being initialised; lookups race harmlessly because they all find the same address.
 * Never allocates, never locks.
 */
#include "preload_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

void *real_table[REAL_COUNT];

static const char *const names[REAL_COUNT] = {
#define X(name) [REAL_##name] = #name,
    REAL_LIST(X)
#undef X
};

/* Set while this thread is inside dlsym(), which may lock or allocate through our wrappers. */
static __thread bool resolving;

static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

#ifdef __x86_64__
/* Old programs have an incompatible condition variable under the same names; without a version
 * some C libraries give that one. */
static const char *version_of(enum real_index index)
{
    if (index == REAL_pthread_cond_wait || index == REAL_pthread_cond_timedwait)
        return "GLIBC_2.3.2";
    return NULL;
}
#else
static const char *version_of(enum real_index index)
{
    (void)index;
    return NULL;
}
#endif

void *real_find(enum real_index index)
{
    if (resolving)
        return (void *)missing;
    int saved = errno;
    resolving = true;
    const char *version = version_of(index);
    void *address = version ? dlvsym(RTLD_NEXT, names[index], version) : NULL;
    if (!address)
        address = dlsym(RTLD_NEXT, names[index]);
    resolving = false;
    errno = saved;
    if (!address)
        address = (void *)missing;
    __atomic_store_n(&real_table[index], address, __ATOMIC_RELAXED);
    return address;
}

void real_find_all(void)
{
    for (unsigned i = 0; i < REAL_COUNT; i++)
        real_address((enum real_index)i);
    dlerror(); /* a function that this libc lacks must not show up in the program's own dlerror() */
}
