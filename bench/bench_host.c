/* SPDX-License-Identifier: Apache-2.0
 *
 * Folder, ports and child processes of a bench. Owns the folder; entered by the main thread only.
 */
#include "bench_host.h"

#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port.h"

static char folder[256];

void bench_fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

void bench_folder_remove(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void folder_remove(void)
{
    bench_folder_remove(folder);
}

const char *bench_folder(void)
{
    if (folder[0])
        return folder;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/skein-bench.XXXXXX", base ? base : "/tmp");
    bench_must(mkdtemp(folder) != NULL, "no folder could be made");
    atexit(folder_remove);
    return folder;
}

uint16_t bench_free_port(void)
{
    uint16_t port = port_take();
    bench_must(port != 0, "no free port");
    return port;
}

void bench_die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
}

pid_t bench_spawn(const char *const argv[])
{
    pid_t parent = getpid(), pid = fork();
    bench_must(pid >= 0, "no process could be started");
    if (pid)
        return pid;
    bench_die_with(parent);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

void bench_stop(pid_t pid)
{
    kill(pid, SIGTERM);
    for (int i = 0; i < 1000; i++) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            return;
        poll(NULL, 0, 10);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}
