/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals in words; see signal_text.h.
 */
#include "signal_text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

void signal_name_put(int32_t signal, char out[SIGNAL_NAME_BYTES])
{
    const char *name = sigabbrev_np(signal); /* none: a real-time signal */
    if (name != NULL)
        snprintf(out, SIGNAL_NAME_BYTES, "SIG%s", name);
    else
        snprintf(out, SIGNAL_NAME_BYTES, "signal %d", signal);
}

struct cause {
    int32_t signal, code; /* signal 0: of any */
    const char *text;
};

/* clang-format off */
static const struct cause causes[] = {
    {SIGSEGV, SEGV_MAPERR, "address not mapped"},
    {SIGSEGV, SEGV_ACCERR, "access not allowed"},
    {SIGSEGV, 3, "bounds exceeded"},           /* SEGV_BNDERR */
    {SIGSEGV, 4, "protection key"},            /* SEGV_PKUERR */
    {SIGSEGV, SI_KERNEL, "address not valid"}, /* not canonical, or the processor gave none */
    {SIGBUS, BUS_ADRALN, "address not aligned"},
    {SIGBUS, BUS_ADRERR, "no memory behind the address"},
    {SIGBUS, BUS_OBJERR, "hardware error"},
    {SIGBUS, BUS_MCEERR_AR, "memory error"},
    {SIGBUS, BUS_MCEERR_AO, "memory error"},
    {SIGFPE, FPE_INTDIV, "division by zero"},
    {SIGFPE, FPE_INTOVF, "integer overflow"},
    {SIGFPE, FPE_FLTDIV, "floating-point division by zero"},
    {SIGFPE, FPE_FLTOVF, "floating-point overflow"},
    {SIGFPE, FPE_FLTUND, "floating-point underflow"},
    {SIGFPE, FPE_FLTRES, "floating-point inexact result"},
    {SIGFPE, FPE_FLTINV, "invalid floating-point operation"},
    {SIGILL, ILL_ILLOPC, "illegal opcode"},
    {SIGILL, ILL_ILLOPN, "illegal instruction"},
    {SIGILL, ILL_PRVOPC, "privileged opcode"},
    {SIGILL, ILL_BADSTK, "stack error"},
    {SIGTRAP, TRAP_BRKPT, "breakpoint"},
    {SIGTRAP, TRAP_TRACE, "trace trap"},
    {SIGTRAP, SI_KERNEL, "breakpoint"},
    {SIGSYS, 1, "system call not allowed"}, /* SYS_SECCOMP */
    {0, SI_USER, "sent by kill"},
    {0, SI_TKILL, "sent to the thread"},
    {0, SI_QUEUE, "sent by sigqueue"},
    {0, SI_TIMER, "by a timer"},
    {0, SI_KERNEL, "by the kernel"}};
/* clang-format on */

const char *signal_cause(int32_t signal, int32_t code)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (causes[i].code == code && (causes[i].signal == signal || causes[i].signal == 0))
            return causes[i].text;
    return "";
}
