/* SPDX-License-Identifier: Apache-2.0
 *
 * The ends that run no handlers: with which status a program ends is said in its ring, as exit()
 * does by a handler (start.c). Signal-safe; a vfork child says nothing.
 */
#include <stdlib.h>

#include "preload_wait.h"
#include "writer_int.h"

#define EXIT_LIST(X) X(_exit) X(_Exit) X(quick_exit)

#define X(function)                                                                                \
    EXPORT _Noreturn void function(int status)                                                     \
    {                                                                                              \
        session_exit_say(status);                                                                  \
        REAL(function)(status);                                                                    \
        __builtin_unreachable();                                                                   \
    }
EXIT_LIST(X)
#undef X
