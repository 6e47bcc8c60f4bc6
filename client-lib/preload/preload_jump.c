/* SPDX-License-Identifier: Apache-2.0
 *
 * Jumps out of a wait: a signal handler that calls longjmp() leaves a blocking call for good, and
 * its region ends there. Without an open wait this is one thread-local load. Any thread.
 */
#include "preload_wait.h"

EXPORT void longjmp(jmp_buf where, int value)
{
    wait_abandon_all();
    REAL(longjmp)(where, value);
    __builtin_unreachable();
}

EXPORT void _longjmp(jmp_buf where, int value)
{
    wait_abandon_all();
    REAL(_longjmp)(where, value);
    __builtin_unreachable();
}

EXPORT void siglongjmp(sigjmp_buf where, int value)
{
    wait_abandon_all();
    REAL(siglongjmp)(where, value);
    __builtin_unreachable();
}

EXPORT void __longjmp_chk(struct __jmp_buf_tag where[1], int value)
{
    wait_abandon_all();
    REAL(__longjmp_chk)(where, value);
    __builtin_unreachable();
}
