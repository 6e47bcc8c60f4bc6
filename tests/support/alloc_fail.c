/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the count-down to the allocation that fails; one for each thread, so that a test's helper
 * threads are not disturbed. Not for signal handlers.
 */
#include "alloc_fail.h"

#include <errno.h>
#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);

static _Thread_local unsigned left; /* 0: off */
static _Thread_local bool for_ever, failed;

void alloc_fail_at(unsigned n)
{
    left = n;
    for_ever = failed = false;
}

void alloc_fail_from(unsigned n)
{
    alloc_fail_at(n);
    for_ever = true;
}

bool alloc_fail_end(void)
{
    left = 0;
    return failed;
}

static bool fails_now(void)
{
    if (left == 0 || (left > 1 && left--))
        return false;
    if (!for_ever)
        left = 0;
    failed = true;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t n)
{
    return fails_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
    return fails_now() ? NULL : __real_calloc(count, n);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails_now() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
    return fails_now() ? NULL : __real_strndup(text, n);
}
