/* SPDX-License-Identifier: Apache-2.0
 *
 * A service for tests of the agent: traces until it is told to end.
 *
 *   agent_subject SOCKET SERVICE [paced|abort|exit|child|await]
 *
 * Makes the file SOCKET.traced once its ring holds records. SIGUSR1 asks for a snapshot, SIGUSR2
 * makes it unwell and, the second time, silent, SIGTERM ends it. With `abort` it writes a last
 * record as soon as it is attached, and aborts; with `exit` it ends with the status 3, with `child`
 * a child of it does, and it ends with 0. With
 * `await` it writes nothing before it is attached. With `paced` it writes one record then, and 1000 for
 * each byte from the FIFO at SOCKET.pace, and ends where they end.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "skein/skein.h"

static volatile sig_atomic_t asked, ended;

static void on_usr1(int signal)
{
    (void)signal;
    asked = 1;
}

static volatile sig_atomic_t troubles;

static void on_usr2(int signal)
{
    (void)signal;
    troubles++;
}

static void on_term(int signal)
{
    (void)signal;
    ended = 1;
}

static void say_traced(const char *socket)
{
    char path[256];
    snprintf(path, sizeof path, "%s.traced", socket);
    FILE *file = fopen(path, "w");
    if (file != NULL)
        fclose(file);
}

/* Records of some twenty bytes each, however far apart. */
static int paces_run(const char *socket)
{
    const uint64_t large = UINT64_C(1) << 60;
    char path[256], byte;
    snprintf(path, sizeof path, "%s.pace", socket);
    int paces = open(path, O_RDONLY | O_CLOEXEC);
    if (paces < 0 || skein_wait_attached(60000) != SKEIN_OK)
        return 1;
    SKEIN_INSTANT("first");
    say_traced(socket);
    while (read(paces, &byte, 1) == 1)
        for (uint64_t n = 0; n < 1000; n++)
            SKEIN_INSTANT("step", (u64, "a", large + n), (u64, "b", large), (u64, "c", large));
    close(paces);
    skein_stop();
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc == 4 ? argv[3] : "";
    bool paced = strcmp(how, "paced") == 0;
    bool aborts = strcmp(how, "abort") == 0, exits = strcmp(how, "exit") == 0;
    bool awaits = strcmp(how, "await") == 0, begets = strcmp(how, "child") == 0;
    if (argc != 3 && !paced && !aborts && !exits && !awaits && !begets)
        return 2;
    signal(SIGUSR1, on_usr1);
    signal(SIGUSR2, on_usr2);
    signal(SIGTERM, on_term);
    struct skein_options options = {
        .size = sizeof options, .service = argv[2], .agent_socket = argv[1], .labels = "zone=a"};
    if (skein_start(&options) != SKEIN_OK)
        return 1;
    if (paced)
        return paces_run(argv[1]);
    bool traced = false;
    if (begets && fork() != 0) {
        int status = 0;
        return wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 3;
    }
    exits = exits || begets;
    if (awaits && skein_wait_attached(60000) != SKEIN_OK)
        return 1;
    for (uint64_t n = 0; !ended; n++) {
        bool attached = skein_attached(); /* what is traced before goes nowhere */
        struct timespec pause = {.tv_nsec = 500000};
        if ((aborts || exits) && attached) {
            SKEIN_INSTANT("the end");
            if (exits)
                exit(3);
            abort();
        }
        SKEIN_INSTANT("tick", (u64, "n", n));
        SKEIN_COUNTER("ticks", n);
        if (n % 64 == 0)
            SKEIN_LOG(SKEIN_WARN, "still here");
        SKEIN_BEGIN("pause");
        nanosleep(&pause, NULL);
        SKEIN_END();
        if (attached && !traced) {
            traced = true;
            say_traced(argv[1]);
        }
        if (troubles < 2)
            (void)skein_health(troubles == 0, troubles == 0 ? NULL : "the queue is full");
        if (asked && skein_snapshot("the test asked") == SKEIN_OK)
            asked = 0;
    }
    skein_stop();
    return 0;
}
