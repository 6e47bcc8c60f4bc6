/* SPDX-License-Identifier: Apache-2.0
 *
 * Becomes a program that may do less, as containers and service managers start them. One thread.
 *
 *   confined [-u UID] [-c NUMBER,...] [-n] [-f] PROGRAM ...
 *     -u: of that user, without groups; -c: root with these capabilities alone; -n: with
 *     no_new_privs; -f: perf_event_open, ptrace and process_vm_* answer EPERM, as under the filters
 *     of older Dockers
 */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0 /* as any other: the filter then bars nothing, and the tests that use it fail */
#endif

static int user_become(uid_t uid)
{
    return setgroups(0, NULL) == 0 && setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0
               ? 0
               : -1;
}

/* What is in no bounding set, root does not get with its next program. */
static int powers_bound(const char *numbers)
{
    bool kept[64] = {false};
    for (char *end; *numbers != '\0'; numbers = *end == ',' ? end + 1 : end) {
        unsigned long number = strtoul(numbers, &end, 10);
        if (end == numbers || number >= 64) {
            errno = EINVAL;
            return -1;
        }
        kept[number] = true;
    }
    for (int i = 0; i < 64 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (!kept[i] && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0)
            return -1;
    return 0;
}

static int filter_set(void)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};
    const struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* LeakSanitizer needs ptrace when the program ends. */
static void leaks_unlooked(void)
{
    char text[512];
    const char *given = getenv("ASAN_OPTIONS");
    (void)snprintf(text, sizeof text, "%s%sdetect_leaks=0", given ? given : "", given ? ":" : "");
    (void)setenv("ASAN_OPTIONS", text, 1);
}

int main(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "+u:c:nf")) != -1) {
        int failed = 1;
        if (option == 'u') {
            failed = user_become((uid_t)strtoul(optarg, NULL, 10));
        } else if (option == 'c') {
            failed = powers_bound(optarg);
        } else if (option == 'n') {
            failed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        } else if (option == 'f') {
            failed = filter_set();
            leaks_unlooked();
        }
        if (failed) {
            fprintf(stderr, "confined: -%c: %s\n", option, strerror(errno));
            return 125;
        }
    }
    if (argv[optind] == NULL)
        return 125;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* another user's is forgotten */
    execvp(argv[optind], &argv[optind]);
    fprintf(stderr, "confined: %s: %s\n", argv[optind], strerror(errno));
    return 127;
}
