/* SPDX-License-Identifier: Apache-2.0
 *
 * What this process may do to others at all; see thread_dump.h. It tries system calls on itself,
 * which a filter answers before the kernel looks at whom they are about. Keeps nothing.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dump_int.h"
#include "proc_info.h"

static bool is_barred(int error)
{
    return error == EPERM || error == EACCES || error == ENOSYS;
}

/* A filter's answer, as nobody else refuses a look at oneself. */
static const char *barred_call(void)
{
    char from = 'x', to = '\0';
    const struct iovec local = {&to, 1}, remote = {&from, 1};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) < 0 && is_barred(errno))
        return "process_vm_readv";
    errno = 0; /* it is traced by nobody: ESRCH */
    if (ptrace(PTRACE_PEEKUSER, getpid(), NULL, NULL) < 0 && is_barred(errno))
        return "ptrace";
    return NULL;
}

static bool has_powers(void)
{
    char status[4096];
    const uint64_t wanted = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH;
    if (text_file_read("/proc/self/status", status, sizeof status) <= 0)
        return true; /* nobody says otherwise */
    const char *line = strstr(status, "\nCapEff:");
    return line == NULL || (strtoull(line + 8, NULL, 16) & wanted) == wanted;
}

void thread_dump_refused(char *why, size_t bytes)
{
    const char *call = barred_call();
    why[0] = '\0';
    if (call != NULL)
        snprintf(why, bytes, "%s is barred; needs a seccomp filter that allows it", call);
    else if (!has_powers())
        snprintf(why, bytes,
                 "of other users' programs; needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH");
}
