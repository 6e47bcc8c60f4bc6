/* SPDX-License-Identifier: Apache-2.0
 * In place of skein-analyst: one that a trace has taken over, or that is none. It writes the bytes of
 * its messages by hand. */
#include "analyst_liar.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void say(const void *bytes, size_t n)
{
    (void)!send(STDIN_FILENO, bytes, n, MSG_NOSIGNAL);
}

/* u32 trace, u64 offset, u32 bytes */
static void ask(uint8_t trace, uint8_t offset_high, uint8_t bytes)
{
    uint8_t message[24] = {16, 0, 0, 0, 0x81, 0, 0, 0, trace};
    message[19] = offset_high;
    message[20] = bytes;
    say(message, sizeof message);
}

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

static void more_answer(void)
{
    static uint8_t part[8 + 60000] = {0x60, 0xea, 0, 0, 0x82};
    say(part, sizeof part);
    say(part, sizeof part);
    wait_for_ever();
}

static void spin(void)
{
    struct rlimit limit = {1, 2};
    setrlimit(RLIMIT_CPU, &limit);
    for (volatile unsigned i = 0;; i++)
        continue;
}

int main(int argc, char **argv)
{
    static const uint8_t bad_end[] = {3, 0, 0, 0, 0x83, 0, 0, 0, 200, 1, 'x'};
    switch (argc == 3 ? (enum liar)strtoul(argv[1], NULL, 10) : LIAR_EXITS) {
    case LIAR_ABORTS:
        signal(SIGABRT, SIG_DFL);
        abort();
    case LIAR_HANGS:
        wait_for_ever();
        break;
    case LIAR_BABBLES:
        say("GET / HTTP/1.1\r\n\r\n", 18);
        wait_for_ever();
        break;
    case LIAR_ANSWERS_MORE:
        more_answer();
        break;
    case LIAR_ASKS_BEHIND:
        ask(0, 1, 8);
        wait_for_ever();
        break;
    case LIAR_ASKS_OTHER:
        ask(1, 0, 8);
        wait_for_ever();
        break;
    case LIAR_ASKS_NOTHING:
        ask(0, 0, 0);
        wait_for_ever();
        break;
    case LIAR_ENDS_BADLY:
        say(bad_end, sizeof bad_end);
        wait_for_ever();
        break;
    case LIAR_HEAD_ALONE:
        say(bad_end, 5);
        return 0;
    case LIAR_READS_NOT:
        for (;;)
            ask(0, 0, 200);
    case LIAR_CONFINED_NOT:
        return 3;
    case LIAR_SPINS:
        spin();
        break;
    case LIAR_EXITS:
    default:
        break;
    }
    return 0;
}
