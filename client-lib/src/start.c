/* SPDX-License-Identifier: Apache-2.0
 *
 * Start and stop of recording: owns the fork handlers and the exit handler. Any thread; not
 * signal-safe, except skein_snapshot and skein_health. The way to the start calls next to nothing
 * of libc: a process of a millisecond pays more for finding a function than for running it.
 */
#include "start.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "attach_client.h"
#include "placement.h"
#include "sys_raw.h"
#include "writer_int.h"

enum { PROCESS_STARTING = 1, PROCESS_READY };
static uint32_t process_state BESIDE_DATA; /* atomic */
static int process_status BESIDE_DATA;

/* Also called where the handlers are not: a fork by a system call. */
static void in_child(void)
{
    session_child_reset(thread_child_reset());
    table_child_reset();
    attach_client_fork_child();
}

/* Tells the status, for an agent that the kernel does not tell (before 6.15). Other threads go on
 * until the kernel ends them, and so does what is recorded of them. */
static void at_exit(int status, void *unused)
{
    (void)unused;
    session_exit_say(status);
    attach_client_end();
}

static int process_init(void)
{
    int status = thread_cold_init();
    if (status == SKEIN_OK &&
        (pthread_atfork(attach_client_fork_before, attach_client_fork_parent, in_child) ||
         on_exit(at_exit, NULL)))
        status = SKEIN_NO_MEMORY;
    return status;
}

/* Starting twice at once in two threads is no use, but must do no harm. */
static int process_init_once(void)
{
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(&process_state, &none, PROCESS_STARTING, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        process_status = process_init();
        __atomic_store_n(&process_state, PROCESS_READY, __ATOMIC_RELEASE);
    }
    unsigned steps = 0;
    while (__atomic_load_n(&process_state, __ATOMIC_ACQUIRE) != PROCESS_READY)
        raw_step_aside(&steps);
    return process_status;
}

/* With its NUL. */
static bool text_fits(const char *text, size_t bytes)
{
    size_t n = 0;
    while (n < bytes && text[n])
        n++;
    return n < bytes;
}

/* NAME=VALUE,NAME=VALUE; a value may be empty, a name not. */
static bool settings_labels_valid(const char *labels)
{
    while (*labels) {
        const char *end = labels, *equals = NULL;
        for (; *end && *end != ','; end++)
            if (*end == '=' && equals == NULL)
                equals = end;
        if (equals == NULL || equals == labels)
            return false;
        labels = *end ? end + 1 : end;
    }
    return true;
}

int start_recording(const struct start_settings *settings)
{
    const struct visit_settings *room = NULL;
    if ((unsigned)settings->mode > SKEIN_MODE_STREAMING ||
        !text_fits(settings->service, sizeof room->service) ||
        !text_fits(settings->labels, sizeof room->labels) ||
        !text_fits(settings->socket_path, sizeof room->socket_path) ||
        !settings_labels_valid(settings->labels))
        return SKEIN_INVALID;
    int status = process_init_once();
    return status < 0 ? status : attach_client_start(settings);
}

void start_fork_child(void)
{
    in_child();
}

void skein_stop(void)
{
    int saved = errno;
    attach_client_stop();
    errno = saved;
}

int skein_wait_attached(unsigned timeout_ms)
{
    return attach_client_wait(timeout_ms);
}

int skein_snapshot(const char *reason)
{
    return attach_client_snapshot(reason);
}

int skein_health(bool ok, const char *why)
{
    return attach_client_health(ok, why);
}
