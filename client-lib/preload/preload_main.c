/* SPDX-License-Identifier: Apache-2.0
 *
 * libskein-preload.so's beginning: reads the environment and starts recording. Runs once in the
 * program's first thread, before main(); wrappers that are called earlier pass straight on. Never
 * prints, never exits: where recording cannot start, the program runs untraced.
 *
 * SKEIN_SERVICE, SKEIN_LABELS and SKEIN_SOCKET mean what they do for the client library;
 * SKEIN_IO_THRESHOLD_US is the shortest I/O that is recorded where the agent has set no threshold,
 * SKEIN_ATTACH_MS the age at which a process is recorded (0: from its beginning on). Without it
 * that is ATTACH_YOUNG_MS, and 0 in the process that was started as the service, by `skein run`
 * (SKEIN_SERVICE_PID) or systemd (SYSTEMD_EXEC_PID): its descendants inherit the variable, and have
 * another pid. One that happens to have the same begins earlier than it need, no more.
 */
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "attach_client.h"
#include "placement.h"
#include "preload_exec.h"
#include "preload_program.h"
#include "preload_wait.h"
#include "program_labels.h"
#include "session.h"
#include "start.h"
#include "sys_raw.h"

/* Whose fork handlers these are; otherwise in the compiler's start files (CMakeLists.txt). */
extern void *__dso_handle; /* NOLINT(bugprone-reserved-identifier): the C++ ABI's name */
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

#define IO_THRESHOLD_US_MAX UINT64_C(3600000000)
#define ATTACH_MS_MAX       UINT64_C(60000)
#define SERVICE_BYTES       sizeof((struct visit_settings *)NULL)->service

static bool program_is_go(void)
{
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = segments != NULL ? getauxval(AT_PHNUM) : 0;
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

static const char *or_else(const char *text, const char *otherwise)
{
    return text != NULL && *text ? text : otherwise;
}

static void text_cut(const char *text, char *out, size_t bytes)
{
    size_t n = strnlen(text, bytes - 1);
    memcpy(out, text, n);
    out[n] = '\0';
}

static const char *name_of_program(const char *path)
{
    const char *name = path != NULL ? path : "";
    for (const char *c = name; *c; c++)
        if (*c == '/')
            name = c + 1;
    return name;
}

static bool is_the_service(const struct environment *environment)
{
    uint64_t pid = raw_getpid();
    return number_of_text(environment->service_pid, UINT32_MAX, 0) == pid ||
           number_of_text(environment->systemd_pid, UINT32_MAX, 0) == pid;
}

/* A process that is recorded may fork often, and each child would look for what its parent does not
 * call. */
static void fork_begins(void)
{
    static bool found BESIDE_DATA;
    if (found || session_current() == NULL)
        return;
    real_find_all();
    found = true;
}

static void recording_prepare(void)
{
    sites_fill();
    wait_stacks_prepare();
}

static void preload_start(const char *path, char *const *lines,
                          const struct environment *environment)
{
    const bool is_go = program_is_go(); /* of one little is seen, and its captures say so */
    char labels[LABELS_BYTES], service[SERVICE_BYTES];
    if (is_go)
        exec_entry_drop(lines);
    labels_fit(is_go ? "runtime=go" : NULL, environment->labels, labels);
    text_cut(or_else(environment->service, name_of_program(path)), service, sizeof service);
    uint64_t threshold_us =
        number_of_text(environment->io_threshold_us, IO_THRESHOLD_US_MAX, UINT64_MAX);
    if (threshold_us != UINT64_MAX)
        wait_thresholds(threshold_us * 1000);
    unsigned young_ms = (unsigned)number_of_text(environment->attach_ms, ATTACH_MS_MAX,
                                                 is_the_service(environment) ? 0 : ATTACH_YOUNG_MS);
    const struct start_settings settings = {.service = service,
                                            .labels = labels,
                                            .socket_path =
                                                or_else(environment->socket, START_SOCKET),
                                            .young_ms = young_ms ? young_ms : ATTACH_YOUNG_MS,
                                            .is_service = is_the_service(environment),
                                            .prepare = recording_prepare};
    pthread_atfork(fork_begins, NULL, wait_forked);
    if (start_recording(&settings) < 0)
        return;
    if (young_ms == 0) {
        int saved = errno;
        (void)attach_client_now();
        errno = saved;
    }
    wait_enable();
}

/* The C library gives a library's constructors what it gives main(). Who starts a setuid program
 * chooses nothing of it by the environment. */
__attribute__((constructor)) static void preload_begin(int count, char **arguments, char **lines)
{
    struct environment environment = {0};
    real_libraries_are_here();
    if (!getauxval(AT_SECURE))
        environment_read(lines, &environment);
    if (environment.check == NULL)
        preload_start(count > 0 ? arguments[0] : NULL, lines, &environment);
}
