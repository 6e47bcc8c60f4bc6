/* SPDX-License-Identifier: Apache-2.0
 *
 * Somebody who takes what there is, for tests of shares.
 *
 *   whole_crowd SOCKET ask N       asks for N snapshots, one after the other
 *   whole_crowd SOCKET crash N     N processes, each of a service of its own, abort
 *   whole_crowd SOCKET places N    N processes with small rings stay until this one is told to end
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "skein/skein.h"

static void rest(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static int join(const char *socket, const char *service)
{
    const struct skein_options options = {
        .size = sizeof options, .service = service, .agent_socket = socket, .ring_bytes = 65536};
    if (skein_start(&options) != SKEIN_OK)
        return 1;
    int status = skein_wait_attached(20000) == SKEIN_OK ? 0 : 1;
    for (int i = 0; i < 10; i++)
        SKEIN_INSTANT("here");
    return status;
}

static int ask(const char *socket, int n)
{
    if (join(socket, "crowd") != 0)
        return 1;
    for (int i = 0; i < n; i++) {
        SKEIN_INSTANT("asked");
        while (skein_snapshot("the crowd asks") != SKEIN_OK)
            rest(20);
    }
    rest(1000); /* the agent reads no further where the process has ended */
    return 0;
}

static pid_t branch(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

static int crash(const char *socket, int n)
{
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    for (int i = 0; i < n; i++) {
        pid_t child = branch();
        if (child == 0) {
            char service[32];
            (void)snprintf(service, sizeof service, "crowd-%d", i);
            if (join(socket, service) != 0)
                _exit(0);
            abort();
        }
        (void)waitpid(child, NULL, 0);
    }
    return 0;
}

__attribute__((noreturn)) static void places(const char *socket, int n)
{
    for (int i = 0; i < n; i++) {
        if (branch() == 0) {
            (void)join(socket, "crowd");
            for (;;)
                pause();
        }
    }
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int n = (int)strtol(argv[3], NULL, 10);
    if (strcmp(argv[2], "ask") == 0)
        return ask(argv[1], n);
    if (strcmp(argv[2], "crash") == 0)
        return crash(argv[1], n);
    places(argv[1], n);
}
