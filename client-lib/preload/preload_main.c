/* SPDX-License-Identifier: Apache-2.0
 *
 * libskein-preload.so's beginning: reads the environment and starts recording. Runs once in the
 * program's first thread, before main(); wrappers that are called earlier pass straight on. Never
 * prints, never exits: where recording cannot start, the program runs untraced.
 *
 * SKEIN_SERVICE, SKEIN_LABELS and SKEIN_SOCKET are read by the client library;
 * SKEIN_IO_THRESHOLD_US is the shortest I/O that is recorded where the agent has set no threshold,
 * SKEIN_ATTACH_MS the age at which a process is recorded (0: from its beginning on).
 */
#include <stdlib.h>

#include "attach_client.h"
#include "preload_wait.h"
#include "writer_int.h"

#define IO_THRESHOLD_US_MAX UINT64_C(3600000000)
#define ATTACH_MS_MAX       UINT64_C(60000)

/* A number of the environment, or `otherwise` where there is none up to `most`. */
static uint64_t number_of(const char *variable, uint64_t most, uint64_t otherwise)
{
    const char *text = getenv(variable);
    char *end;
    if (!text || *text < '0' || *text > '9')
        return otherwise;
    uint64_t number = strtoull(text, &end, 10);
    return *end == '\0' && number <= most ? number : otherwise;
}

__attribute__((constructor)) static void preload_begin(void)
{
    int saved = errno;
    uint64_t threshold_us = number_of("SKEIN_IO_THRESHOLD_US", IO_THRESHOLD_US_MAX, UINT64_MAX);
    if (threshold_us != UINT64_MAX)
        wait_thresholds(threshold_us * 1000);
    unsigned young_ms = (unsigned)number_of("SKEIN_ATTACH_MS", ATTACH_MS_MAX, ATTACH_YOUNG_MS);
    pthread_atfork(NULL, NULL, wait_forked);
    if (start_when_old(NULL, young_ms) == SKEIN_OK)
        wait_enable();
    errno = saved;
}
