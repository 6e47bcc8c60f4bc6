/* SPDX-License-Identifier: Apache-2.0
 *
 * How a program ends itself. The ends that run no handlers say their status in the ring, as exit()
 * does by a handler (start.c). Where the program calls one, an event stands before it: without a
 * threshold, for its place and its thread. Signal-safe; a vfork child says nothing, and no event is
 * written where system calls are barred, as nobody there can tell that it is none.
 */
#include <stdlib.h>

#include "attach_client.h"
#include "emit.h"
#include "preload_wait.h"
#include "session.h"
#include "sys_raw.h"

/* <assert.h> declares it where assertions are on. */
_Noreturn void __assert_fail(const char *assertion, const char *file, unsigned line,
                             const char *function);

/* stack: whoever reads it will ask why. */
static void end_tell(enum site site, const union skein_value *values, bool stack,
                     const void *caller)
{
    const struct session *session = session_current();
    if (session == NULL || caller_is_own(caller) || attach_client_is_barred() ||
        session_record(session)->pid != raw_getpid())
        return;
    int saved = errno;
    if (stack)
        emit_with_stack(&sites[site], values);
    else
        skein_emit(&sites[site], values);
    errno = saved;
}

#define EXIT_LIST(X) X(_exit) X(_Exit) X(quick_exit)

#define X(function)                                                                                \
    EXPORT _Noreturn void function(int status)                                                     \
    {                                                                                              \
        const union skein_value value = {.i64 = status};                                           \
        end_tell(SITE_exit, &value, status != 0, CALLER);                                          \
        session_exit_say(status);                                                                  \
        REAL(function)(status);                                                                    \
        __builtin_unreachable();                                                                   \
    }
EXIT_LIST(X)
#undef X

EXPORT _Noreturn void exit(int status)
{
    const union skein_value value = {.i64 = status};
    end_tell(SITE_exit, &value, status != 0, CALLER);
    REAL(exit)(status);
    __builtin_unreachable();
}

EXPORT _Noreturn void abort(void)
{
    const union skein_value values[3] = {{.i64 = 0}};
    end_tell(SITE_abort, values, true, CALLER);
    REAL(abort)();
    __builtin_unreachable();
}

/* What assert() calls where it does not hold; the C library's own abort() is not seen. */
EXPORT _Noreturn void __assert_fail(const char *assertion, const char *file, unsigned line,
                                    const char *function)
{
    const union skein_value values[3] = {{.i64 = line}, {.str = assertion}, {.str = file}};
    end_tell(SITE_abort, values, true, CALLER);
    REAL(__assert_fail)(assertion, file, line, function);
    __builtin_unreachable();
}
