/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits and the filter of system calls; see sandbox.h.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#else
#error "unknown architecture"
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#define ALLOW(name)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1),                                        \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Allowed where the low half of the third argument has no PROT_EXEC. */
#define ALLOW_DATA(name)                                                                           \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 4),                                        \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),                \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),                                     \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),                                     \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Allowed where the low half of the first argument is so: it names a process, and others of the same
 * user, as the daemon, would be reached. */
#define ALLOW_OF(name, process)                                                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 4),                                        \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),                \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, process, 0, 1),                                        \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),                                              \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)
/* fcntl() but for the commands that say which process a descriptor sends a signal to. */
#define ALLOW_UNOWNED(name)                                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 5),                                        \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),                \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETOWN, 1, 0),                                       \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETOWN_EX, 0, 1),                                    \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),                                     \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

#define ITSELF  0           /* to calls that take a process */
#define OWN_PID 0xffffffffu /* stands for its number, which is known when it enters */

static const struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_HERE, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW_DATA(mmap),
    ALLOW_DATA(mprotect),
    ALLOW(read),
    ALLOW(recvfrom),
    ALLOW(write),
    ALLOW(pread64),
    ALLOW(lseek),
    ALLOW(sendto),
    ALLOW(sendmsg),
    ALLOW(recvmsg),
    ALLOW(close),
    ALLOW_UNOWNED(fcntl),
    ALLOW(dup),
    ALLOW(fstat),
#ifdef __NR_newfstatat
    ALLOW(newfstatat), /* of a descriptor; of a path it tells that there is one */
#endif
    ALLOW(munmap),
    ALLOW(mremap),
    ALLOW(madvise),
    ALLOW(brk),
    ALLOW(futex),
    ALLOW(getrandom),
    ALLOW(getrusage),
    ALLOW_OF(prlimit64, ITSELF),
    ALLOW(clock_gettime),
    ALLOW(restart_syscall),
    ALLOW(rt_sigreturn),
    ALLOW(rt_sigprocmask),
    ALLOW(getpid),
    ALLOW(gettid),
    ALLOW_OF(tgkill, OWN_PID), /* abort() */
    ALLOW(exit),
    ALLOW(exit_group),
#ifdef SANITIZED
    ALLOW(sigaltstack),
    ALLOW(rt_sigaction),
    ALLOW(sched_yield),
    ALLOW(readlink),
#endif
    /* Libraries that look for files hear that they may not. */
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
};

#define FILTER_LENGTH (sizeof filter / sizeof *filter)

/* With the number of this process in its place. */
static void filter_fill(struct sock_filter own[FILTER_LENGTH])
{
    memcpy(own, filter, sizeof filter);
    for (size_t i = 0; i < FILTER_LENGTH; i++)
        if (own[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && own[i].k == OWN_PID)
            own[i].k = (uint32_t)getpid();
}

static bool limit_set(__rlimit_resource_t what, uint64_t most)
{
    struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
    return setrlimit(what, &limit) == 0;
}

bool sandbox_enter(const struct sandbox_limits *limits)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    struct sock_filter own[FILTER_LENGTH];
    struct sock_fprog program = {.len = FILTER_LENGTH, .filter = own};
    filter_fill(own);
#ifndef SANITIZED /* whose shadow memory takes terabytes of addresses */
    if (!limit_set(RLIMIT_AS, limits->memory_bytes))
        return false;
#endif
    if (!limit_set(RLIMIT_CORE, 0) || !limit_set(RLIMIT_FSIZE, 0))
        return false;
    (void)limit_set(RLIMIT_NOFILE, limits->descriptors); /* or as few as its parent may have */
    if (limits->nice != 0)
        (void)setpriority(PRIO_PROCESS, 0, limits->nice);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_DUMPABLE, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    /* Where a filter of the parent's own refuses this, ours refuses all that they would be for. */
    (void)syscall(SYS_capset, &head, none);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool sandbox_allow(uint64_t processor_s)
{
    struct rusage used;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
        return false;
    limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + processor_s;
    return setrlimit(RLIMIT_CPU, &limit) == 0;
}
