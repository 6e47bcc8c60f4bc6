/* SPDX-License-Identifier: Apache-2.0
 *
 * /proc and pidfd, behind functions that say what they find. Owns no state; any thread. Never
 * trusts that a pid still means the process it meant before: callers check their pidfd afterwards.
 */
#include "proc_info.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agent_clock.h"
#include "clock.h"
#include "descriptor.h"
#include "kept_file.h"
#include "proc_text.h"
#include "shares.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* The kernel's pidfd ioctl as of 6.15; the headers of older distributions lack it. The kernel fills
 * as many bytes as the size in the request says, so this prefix will do for all later versions. */
#define INFO_EXIT (UINT64_C(1) << 3)
struct info_prefix {
    uint64_t mask, cgroup_id;
    uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
_Static_assert(sizeof(struct info_prefix) == 64, "PIDFD_INFO_SIZE_VER0");
#define INFO_GET _IOWR(0xFF, 11, struct info_prefix)

#define STAT_BYTES 1024

int text_file_read(const char *path, char *text, size_t bytes)
{
    text[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return SKEIN_IO;
    size_t used = text_fill(fd, text, bytes);
    close(fd);
    return (int)used;
}

int proc_file_read(pid_t pid, const char *name, char *text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return text_file_read(path, text, bytes);
}

/* /proc/PID/stat from its third field on; NULL: it is gone. */
static const char *stat_read(pid_t pid, char text[STAT_BYTES])
{
    char name[16];
    return proc_file_read(pid, "stat", text, STAT_BYTES) > 0 ? text_stat(text, name, sizeof name)
                                                             : NULL;
}

static bool stat_number(pid_t pid, unsigned field, uint64_t *value)
{
    char text[STAT_BYTES];
    const char *fields = stat_read(pid, text);
    return fields != NULL && text_stat_number(fields, field, value);
}

pid_t proc_parent(pid_t pid)
{
    uint64_t parent;
    return stat_number(pid, 4, &parent) ? (pid_t)parent : 0;
}

int proc_start_ticks(pid_t pid, uint64_t *ticks)
{
    return stat_number(pid, 22, ticks) ? SKEIN_OK : SKEIN_NOT_FOUND;
}

bool proc_is_same(pid_t pid, uint64_t start_clock_ticks)
{
    uint64_t ticks;
    return proc_start_ticks(pid, &ticks) == SKEIN_OK && ticks == start_clock_ticks;
}

/* Where the first stack of a program ends whose addresses are not random. Its own strings are right below,
 * and of what the kernel puts behind them, the path of the file is the largest. */
#if defined(__x86_64__)
#define FIXED_STACK_END UINT64_C(0x7ffffffff000)
#elif defined(__aarch64__)
#define FIXED_STACK_END (UINT64_C(1) << 48)
#else
#define FIXED_STACK_END UINT64_MAX
#endif
#define BEHIND_MAX (UINT64_C(2) << 12)

uint64_t proc_start_stack(pid_t pid)
{
    uint64_t address;
    return stat_number(pid, 28, &address) ? address : 0;
}

uint64_t proc_random_stack(pid_t pid)
{
    char text[STAT_BYTES];
    const char *fields = stat_read(pid, text);
    uint64_t stack, strings_end;
    if (fields == NULL || !text_stat_number(fields, 28, &stack) ||
        !text_stat_number(fields, 51, &strings_end))
        return 0;
    return strings_end <= FIXED_STACK_END && FIXED_STACK_END - strings_end <= BEHIND_MAX ? 0
                                                                                         : stack;
}

uint64_t proc_code_kib(pid_t pid)
{
    char text[4096];
    uint64_t kib = 0;
    if (proc_file_read(pid, "status", text, sizeof text) > 0)
        (void)text_value(text, "VmExe", &kib);
    return kib;
}

/* Of a thread's fields: its program's first stack (28), where it has memory at all (23). A thread that
 * has ended has none. */
static enum proc_runs fields_run_on(const char *fields, uint64_t start_stack)
{
    uint64_t bytes, stack;
    if (fields == NULL || !text_stat_number(fields, 23, &bytes) || bytes == 0)
        return PROC_RUNS_NOT;
    if (!text_stat_number(fields, 28, &stack))
        return PROC_RUNS_ELSE;
    return stack == start_stack ? PROC_RUNS_ON : stack == 0 ? PROC_RUNS_UNKNOWN : PROC_RUNS_ELSE;
}

static enum proc_runs thread_runs_on(pid_t pid, const char *tid, uint64_t start_stack)
{
    char name[40], comm[16], text[STAT_BYTES];
    (void)snprintf(name, sizeof name, "task/%.20s/stat", tid);
    const char *fields = proc_file_read(pid, name, text, sizeof text) > 0
                             ? text_stat(text, comm, sizeof comm)
                             : NULL;
    return fields_run_on(fields, start_stack);
}

/* Of the first of its threads that has memory: where the main thread has ended, the others go on, or are
 * just being ended. No heap. */
static enum proc_runs others_run_on(pid_t pid, uint64_t start_stack)
{
    char path[40], entries[4096];
    enum proc_runs runs = PROC_RUNS_NOT;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long bytes = fd >= 0 ? syscall(SYS_getdents64, fd, entries, sizeof entries) : 0;
    uint16_t length = 0;
    for (long at = 0; at < bytes && runs == PROC_RUNS_NOT; at += length) {
        memcpy(&length, entries + at + offsetof(struct dirent64, d_reclen), sizeof length);
        const char *tid = entries + at + offsetof(struct dirent64, d_name);
        runs = tid[0] != '.' ? thread_runs_on(pid, tid, start_stack) : PROC_RUNS_NOT;
    }
    if (runs == PROC_RUNS_NOT && fd >= 0 && bytes != 0 &&
        syscall(SYS_getdents64, fd, entries, sizeof entries) != 0)
        runs = PROC_RUNS_ELSE; /* there are more of them */
    fd_close(&fd);
    return runs;
}

enum proc_runs proc_runs_on(pid_t pid, uint64_t start_clock_ticks, uint64_t start_stack)
{
    char text[STAT_BYTES];
    const char *fields = stat_read(pid, text);
    uint64_t ticks;
    if (fields == NULL || !text_stat_number(fields, 22, &ticks) || ticks != start_clock_ticks)
        return PROC_RUNS_ELSE;
    const enum proc_runs runs = fields_run_on(fields, start_stack);
    return runs == PROC_RUNS_NOT ? others_run_on(pid, start_stack) : runs;
}

static uint64_t ticks_ns(uint64_t clock_ticks)
{
    long hz = sysconf(_SC_CLK_TCK);
    uint64_t per_s = hz > 0 ? (uint64_t)hz : 100;
    return clock_ticks / per_s * 1000000000u + clock_ticks % per_s * (1000000000u / per_s);
}

uint64_t proc_start_realtime_ns(uint64_t start_clock_ticks)
{
    return agent_clock_ns() - clock_boottime_ns() + ticks_ns(start_clock_ticks);
}

uint64_t proc_start_monotonic_ns(uint64_t start_clock_ticks)
{
    /* In this order: the other way round, a host that never slept has slept for less than nothing. */
    uint64_t now_ns = clock_monotonic_ns(), asleep_ns = clock_boottime_ns() - now_ns;
    uint64_t start_ns = ticks_ns(start_clock_ticks);
    return start_ns > asleep_ns ? start_ns - asleep_ns : 0;
}

void proc_exe(pid_t pid, char *text, size_t bytes)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(path, text, bytes - 1);
    if (n >= 0) {
        text[n] = '\0';
        return;
    }
    proc_comm(pid, text, bytes);
}

bool proc_comm(pid_t pid, char *name, size_t bytes)
{
    bool there = proc_file_read(pid, "comm", name, bytes) > 0;
    name[strcspn(name, "\n")] = '\0';
    return there;
}

#define COMMAND_LINE_BYTES 512

void proc_title(pid_t pid, char *text, size_t bytes)
{
    char line[COMMAND_LINE_BYTES];
    size_t at = 0;
    int n = proc_file_read(pid, "cmdline", line, sizeof line);
    const char *end = line + (n > 0 ? n : 0), *word = line;
    const char *slash = n > 0 && line[0] == '/' ? strrchr(line, '/') : NULL;
    if (slash != NULL && slash[1] != '\0')
        word = slash + 1;
    for (bool first = true; word < end && (first || *word != '-'); first = false) {
        if (!first && *word != '\0' && at + 1 < bytes)
            text[at++] = ' ';
        for (; word < end && *word != '\0'; word++)
            if (at + 1 < bytes)
                text[at++] = *word >= ' ' && *word < 0x7f ? *word : '?';
        word++;
    }
    text[at] = '\0';
}

int pidfd_of_peer(int socket, pid_t pid)
{
    int fd = -1;
    socklen_t bytes = sizeof fd;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &bytes) == 0 && fd >= 0)
        return fd;
    return (int)syscall(SYS_pidfd_open, pid, 0u);
}

bool pidfd_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

static bool death_of_code(int code, int32_t *signal, int32_t *status)
{
    *signal = WIFSIGNALED(code) ? WTERMSIG(code) : 0;
    *status = WIFEXITED(code) ? WEXITSTATUS(code) : 0;
    return true;
}

/* Where we may not know a zombie's exit code, the kernel shows 0. */
static bool zombie_readable(pid_t pid)
{
    char path[48];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return geteuid() == 0 || (stat(path, &st) == 0 && st.st_uid == geteuid());
}

/* What the kernel keeps of a process that its parent has reaped. */
static bool reaped_death(int pidfd, int32_t *signal, int32_t *status)
{
    struct info_prefix info = {.mask = INFO_EXIT};
    return ioctl(pidfd, INFO_GET, &info) == 0 && (info.mask & INFO_EXIT) != 0 &&
           death_of_code(info.exit_code, signal, status);
}

bool pidfd_death(int pidfd, pid_t pid, int32_t *signal, int32_t *status)
{
    if (reaped_death(pidfd, signal, status))
        return true;

    /* Its parent has not reaped it yet, or the kernel is older. The pid of a zombie is not reused,
     * and field 52 is its exit code where we may know it; a live process shows 0 there. */
    char text[STAT_BYTES];
    const char *fields = stat_read(pid, text);
    uint64_t code;
    if (fields != NULL && (fields[0] == 'Z' || fields[0] == 'X') &&
        text_stat_number(fields, 52, &code) && (code != 0 || zombie_readable(pid)))
        return death_of_code((int)code, signal, status);
    if (reaped_death(pidfd, signal, status)) /* between the two looks */
        return true;
    *signal = *status = 0;
    return false;
}

/* ---- whose it is ---- */

uint32_t proc_user(pid_t pid)
{
    char text[4096];
    uint64_t users[2]; /* real, effective */
    const char *at =
        proc_file_read(pid, "status", text, sizeof text) > 0 ? text_line_find(text, "Uid:") : NULL;
    return at != NULL && text_numbers(&at, users, 2) ? (uint32_t)users[1] : SHARE_USER_UNKNOWN;
}

static bool is_privileged(pid_t pid)
{
    char path[48];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (stat(path, &about) != 0)
        return errno != ENOENT; /* it ends, or is the kernel's own */
    return (about.st_mode & (S_ISUID | S_ISGID)) != 0 ||
           getxattr(path, "security.capability", NULL, 0) > 0;
}

bool proc_is_users(pid_t pid, uint32_t user)
{
    char path[48];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return stat(path, &about) == 0 && about.st_uid == user && !is_privileged(pid);
}

#define NAMESPACES_MAX 40 /* the kernel nests 32 */

/* The number of the outermost namespace below ours that `fd` lies in is in *about; its maker. Root, where
 * nobody can say. False: ours is not above it. Takes fd. */
static bool outermost_find(int fd, const struct stat *ours, struct stat *about, uid_t *maker)
{
    bool found = false;
    *maker = 0;
    for (int i = 0; fd >= 0 && i < NAMESPACES_MAX && !found; i++) {
        struct stat above;
        int parent = ioctl(fd, NS_GET_PARENT);
        found = parent >= 0 && fstat(parent, &above) == 0 && above.st_ino == ours->st_ino &&
                fstat(fd, about) == 0;
        if (found && ioctl(fd, NS_GET_OWNER_UID, maker) != 0)
            *maker = 0;
        close(fd);
        fd = parent;
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* Root makes namespaces for others, as for containers whose users are mapped: there each namespace is
 * charged as a user of its own, under its number. Those begin at 0xf0000000, where no user is. */
uint32_t proc_user_charged(pid_t pid, uint32_t user)
{
    char path[48];
    struct stat ours, its;
    uid_t maker;
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    int fd = user != 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return user;
    if (stat("/proc/self/ns/user", &ours) == 0 && fstat(fd, &its) == 0 && its.st_ino != ours.st_ino)
        return !outermost_find(fd, &ours, &its, &maker) ? user
               : maker != 0                             ? maker
                                                        : (uint32_t)its.st_ino;
    close(fd);
    return user;
}

bool proc_is_charged(pid_t pid, uint32_t user)
{
    return proc_user_charged(pid, proc_user(pid)) == user && !is_privileged(pid);
}
