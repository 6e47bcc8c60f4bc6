/* SPDX-License-Identifier: Apache-2.0
 *
 * libskein-preload.so's beginning: reads the environment and starts recording. Runs once in the
 * program's first thread, before main(); wrappers that are called earlier pass straight on. Never
 * prints, never exits: where recording cannot start, the program runs untraced.
 *
 * SKEIN_SERVICE, SKEIN_LABELS and SKEIN_SOCKET are read by the client library;
 * SKEIN_IO_THRESHOLD_US is the shortest I/O that is recorded where the agent has set no threshold.
 */
#include <stdlib.h>

#include "preload_wait.h"

#define IO_THRESHOLD_US_MAX UINT64_C(3600000000)

static void read_io_threshold(void)
{
    const char *text = getenv("SKEIN_IO_THRESHOLD_US");
    char *end;
    if (!text || *text < '0' || *text > '9')
        return;
    uint64_t us = strtoull(text, &end, 10);
    if (*end == '\0' && us <= IO_THRESHOLD_US_MAX)
        wait_thresholds(us * 1000);
}

__attribute__((constructor)) static void preload_begin(void)
{
    int saved = errno;
    read_io_threshold();
    pthread_atfork(NULL, NULL, wait_forked);
    if (skein_start(&(struct skein_options){.size = sizeof(struct skein_options)}) == SKEIN_OK)
        wait_enable();
    errno = saved;
}
