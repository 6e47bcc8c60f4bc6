/* SPDX-License-Identifier: Apache-2.0
 *
 * The peer's traced service: allocates and frees in a loop, so that LTTng's malloc wrapper
 * (LD_PRELOAD) records two events a round. Fills once a line on standard input, answers each with a
 * line, and ends with the input. One thread.
 */
#include <stdio.h>
#include <stdlib.h>

/* 1.2 million events of some 26 bytes: a 16 MiB ring, filled nearly twice */
#define ROUNDS 600000

int main(void)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        for (unsigned i = 0; i < ROUNDS; i++) {
            void *volatile p = malloc(16 + i % 512);
            free(p);
        }
        puts("filled");
        fflush(stdout);
    }
    return 0;
}
