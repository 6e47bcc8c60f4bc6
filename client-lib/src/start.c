/* SPDX-License-Identifier: Apache-2.0
 *
 * Start and stop of recording: owns the options, the fork handlers and the exit handler. Any
 * thread; not signal-safe, except skein_snapshot and skein_health.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "attach_client.h"
#include "placement.h"
#include "writer_int.h"

#define DEFAULT_SOCKET "/run/skein/agent.sock"

static pthread_once_t process_once BESIDE_DATA = PTHREAD_ONCE_INIT;
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
    int saved = errno;
    (void)unused;
    session_exit_say(status);
    attach_client_end();
    errno = saved;
}

static void process_init(void)
{
    process_status = thread_cold_init();
    if (process_status == SKEIN_OK &&
        (pthread_atfork(attach_client_fork_before, attach_client_fork_parent, in_child) ||
         on_exit(at_exit, NULL)))
        process_status = SKEIN_NO_MEMORY;
}

/* Copies a text with its NUL; false if it does not fit. */
static bool copy_text(char *to, size_t to_bytes, const char *from)
{
    size_t bytes = strnlen(from, to_bytes);
    if (bytes == to_bytes)
        return false;
    memset(to, 0, to_bytes);
    memcpy(to, from, bytes);
    return true;
}

static const char *text_or(const char *value, const char *variable, const char *fallback)
{
    if (!value)
        value = secure_getenv(variable); /* who starts a setuid program chooses no agent for it */
    return value && *value ? value : fallback;
}

static bool labels_valid(const char *labels)
{
    while (*labels) {
        size_t bytes = strcspn(labels, ",");
        const char *equals = memchr(labels, '=', bytes);
        if (!equals || equals == labels)
            return false;
        labels += bytes;
        if (*labels == ',')
            labels++;
    }
    return true;
}

static int options_take(const struct skein_options *given, struct visit_settings *out)
{
    struct skein_options o = {0};
    if (given && given->size)
        memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
    memset(out, 0, sizeof *out);
    out->ring_bytes = o.ring_bytes;
    out->mode = (uint8_t)o.mode;
    bool fits = copy_text(out->service, sizeof out->service,
                          text_or(o.service, "SKEIN_SERVICE", program_invocation_short_name)) &&
                copy_text(out->labels, sizeof out->labels, text_or(o.labels, "SKEIN_LABELS", "")) &&
                copy_text(out->socket_path, sizeof out->socket_path,
                          text_or(o.agent_socket, "SKEIN_SOCKET", DEFAULT_SOCKET));
    bool known = (unsigned)o.mode <= SKEIN_MODE_STREAMING;
    return fits && known && labels_valid(out->labels) ? SKEIN_OK : SKEIN_INVALID;
}

int start_when_old(const struct skein_options *options, unsigned young_ms)
{
    struct visit_settings taken;
    if (secure_getenv("SKEIN_CHECK"))
        return SKEIN_REFUSED;
    int status = options_take(options, &taken);
    if (status < 0)
        return status;
    pthread_once(&process_once, process_init);
    return process_status < 0 ? process_status : attach_client_start(&taken, young_ms);
}

int skein_start(const struct skein_options *options)
{
    return start_when_old(options, 0);
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
