/* SPDX-License-Identifier: Apache-2.0
 *
 * What a child process of bench_read takes. Owns nothing beyond a call; one thread.
 */
#include "read_child.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_host.h"

struct figure read_child(void (*read)(const void *), const void *context)
{
    struct rusage used;
    int status;
    fflush(NULL);
    pid_t pid = fork();
    bench_must(pid >= 0, "a child");
    if (pid == 0) {
        read(context);
        _exit(0);
    }
    bench_must(wait4(pid, &status, 0, &used) == pid, "the end of a child");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return (struct figure){0};
    return (struct figure){(double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6 +
                               (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6,
                           (double)used.ru_maxrss / 1024};
}

struct figure read_child_best(void (*read)(const void *), const void *context, unsigned rounds)
{
    struct figure best = {0};
    for (unsigned i = 0; i < rounds; i++) {
        struct figure f = read_child(read, context);
        if (f.seconds > 0 && (best.seconds == 0 || f.seconds < best.seconds))
            best = f;
    }
    return best;
}

void read_program(const void *context)
{
    char *const *argv = (char *const *)(uintptr_t)context;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, 1);
    dup2(null, 2);
    execvp(argv[0], argv);
    _exit(127);
}
