/* SPDX-License-Identifier: Apache-2.0
 *
 * libskein-preload.so's beginning: reads the environment and starts recording. Runs once in the
 * program's first thread, before main(); wrappers that are called earlier pass straight on. Never
 * prints, never exits: where recording cannot start, the program runs untraced.
 *
 * SKEIN_SERVICE, SKEIN_LABELS and SKEIN_SOCKET are read by the client library;
 * SKEIN_IO_THRESHOLD_US is the shortest I/O that is recorded where the agent has set no threshold,
 * SKEIN_ATTACH_MS the age at which a process is recorded (0: from its beginning on). Without it
 * that is ATTACH_YOUNG_MS, and 0 in the process that was started as the service, by `skein run`
 * (SKEIN_SERVICE_PID) or systemd (SYSTEMD_EXEC_PID): its descendants inherit the variable, and have
 * another pid. One that happens to have the same begins earlier than it need, no more.
 */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "attach_client.h"
#include "preload_program.h"
#include "preload_wait.h"
#include "writer_int.h"

#define IO_THRESHOLD_US_MAX UINT64_C(3600000000)
#define ATTACH_MS_MAX       UINT64_C(60000)

/* A number of the environment, or `otherwise` where there is none up to `most`. */
static uint64_t number_of(const char *variable, uint64_t most, uint64_t otherwise)
{
    return number_of_text(getenv(variable), most, otherwise);
}

static bool program_is_go(void)
{
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = segments ? getauxval(AT_PHNUM) : 0;
    uintptr_t base = 0;
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_PHDR)
            base = (uintptr_t)segments - segments[i].p_vaddr;
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_NOTE &&
            notes_say_go((const uint8_t *)(base + segments[i].p_vaddr), segments[i].p_memsz))
            return true;
    return false;
}

/* Of a Go program little is seen, and its captures say so: the labels that the client library is
 * given, or NULL where it finds its own. */
static const char *labels_of_program(void)
{
    static char labels[512];
    const char *theirs = secure_getenv("SKEIN_LABELS");
    if (!program_is_go())
        return NULL;
    snprintf(labels, sizeof(labels), "runtime=go%s%s", theirs && *theirs ? "," : "",
             theirs ? theirs : "");
    return labels;
}

static bool is_the_service(void)
{
    uint64_t pid = (uint64_t)getpid();
    return number_of("SKEIN_SERVICE_PID", UINT32_MAX, 0) == pid ||
           number_of("SYSTEMD_EXEC_PID", UINT32_MAX, 0) == pid;
}

__attribute__((constructor)) static void preload_begin(void)
{
    int saved = errno;
    uint64_t threshold_us = number_of("SKEIN_IO_THRESHOLD_US", IO_THRESHOLD_US_MAX, UINT64_MAX);
    if (threshold_us != UINT64_MAX)
        wait_thresholds(threshold_us * 1000);
    unsigned young_ms = (unsigned)number_of("SKEIN_ATTACH_MS", ATTACH_MS_MAX,
                                            is_the_service() ? 0 : ATTACH_YOUNG_MS);
    pthread_atfork(NULL, NULL, wait_forked);
    const struct skein_options options = {.size = sizeof(options), .labels = labels_of_program()};
    if (start_when_old(&options, young_ms ? young_ms : ATTACH_YOUNG_MS) == SKEIN_OK) {
        if (young_ms == 0)
            (void)attach_client_now();
        wait_enable();
    }
    errno = saved;
}
