/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with the note that Go's linker leaves, or without. Told to stay, it does until it is
 * killed; told to crash, it does after its first event; told to beget, it has a child that crashes;
 * asked for its preloads, it names them.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef NO_NOTE
__attribute__((section(".note.go.buildid,\"a\",@note#"), used, aligned(4))) static const struct {
    uint32_t name_bytes, text_bytes, type;
    char name[4], text[4];
} note = {4, 4, 4, "Go", "abc"};
#endif

static int crash(void)
{
    usleep(100);
    return kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "pause") == 0)
        pause();
    if (argc > 1 && strcmp(argv[1], "crash") == 0)
        return crash();
    if (argc > 1 && strcmp(argv[1], "beget") == 0)
        return fork() ? wait(NULL) < 0 : crash();
    if (argc > 1 && strcmp(argv[1], "preloads") == 0)
        puts(getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
    while (argc > 1 && strcmp(argv[1], "stay") == 0)
        usleep(5000);
    printf("done\n");
    return 3;
}
