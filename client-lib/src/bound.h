/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the C library that an event needs, and that libskein-preload.so binds when it is
 * loaded. The others are bound when they are first called, which takes 4 KiB of the stack: more than
 * a signal handler may have that waits. Built by a compiler that does not know how to say so (clang),
 * the library binds these with the others. Included by client-lib's files only.
 */
#ifndef BOUND_H
#define BOUND_H

#include <errno.h>
#include <pthread.h>
#include <time.h>

#if defined(__has_attribute)
#if __has_attribute(noplt)
#define BOUND(function) extern __typeof__(function) function __attribute__((noplt))
BOUND(__errno_location);
BOUND(clock_gettime);
BOUND(pthread_setspecific);
#undef BOUND
#endif
#endif

#endif
