/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that locks its memory (mlockall): what it may lock is as much as it has itself, and pages of
 * a ring are not made for it. Needs root, to become a user whose limit counts.
 */
#include "subject_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534

/* Long enough for a tracer to have come, and come back. */
static void grow_older(void)
{
    const struct timespec some = {0, 30 * 1000 * 1000};
    for (int i = 0; i < 50; i++)
        nanosleep(&some, NULL);
}

/* KiB of all mappings but rings: of their size, and of what is locked; and what is locked of rings. */
struct memory {
    unsigned long size, locked, ring_locked;
};

static struct memory memory_look(void)
{
    char line[512];
    struct memory memory = {0};
    int in_ring = 0;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strchr(line, ':');
        unsigned long kib = value != NULL ? strtoul(value + 1, NULL, 10) : 0;
        if (strncmp(line, "Size:", 5) == 0)
            memory.size += in_ring ? 0 : kib;
        else if (strncmp(line, "Locked:", 7) == 0)
            *(in_ring ? &memory.ring_locked : &memory.locked) += kib;
        else if (line[0] < 'A' || line[0] > 'Z') /* a mapping begins */
            in_ring = strstr(line, "memfd:skein-ring") != NULL;
    }
    if (file != NULL)
        fclose(file);
    return memory;
}

static void memory_say(const char *when)
{
    struct memory memory = memory_look();
    printf("%s: %s is locked, of rings %lu kB\n", when, memory.locked > 0 ? "much" : "nothing",
           memory.ring_locked);
}

static void lock_say(const char *when, int result)
{
    printf("%s: %s\n", when, result == 0 ? "locked" : strerror(errno));
    memory_say(when);
}

static void limit_set(unsigned long kib)
{
    const struct rlimit limit = {kib << 10, kib << 10};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        perror("limit");
}

/* Before a tracer comes, if it is not there at once. */
static void child_locks(int flags)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        lock_say("a young child", mlockall(flags));
        grow_older();
        memory_say("an older one");
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

int memory_locked(void)
{
    child_locks(MCL_CURRENT | MCL_FUTURE);
    grow_older();
    lock_say("root", mlockall(MCL_CURRENT | MCL_FUTURE));
    munlockall();
    memory_say("no more");
    lock_say("what is touched", mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
    munlockall();
    lock_say("by number", (int)syscall(SYS_mlockall, MCL_CURRENT));
    munlockall();
    limit_set(memory_look().size + 256);
    if (setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return 1;
    lock_say("enough", mlockall(MCL_CURRENT | MCL_FUTURE));
    munlockall();
    limit_set(memory_look().size / 2);
    lock_say("too little", mlockall(MCL_CURRENT | MCL_FUTURE));
    limit_set(0);
    lock_say("none", mlockall(MCL_CURRENT));
    lock_say("wrong", mlockall(MCL_ONFAULT));
    lock_say("wrong", mlockall(1 << 20));
    return 3;
}
