/* SPDX-License-Identifier: Apache-2.0
 *
 * The uplink's thread and what others ask of it; see uplink.h. The protocol itself is in
 * uplink_control.c and uplink_data.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock.h"
#include "descriptor.h"
#include "hello.h"
#include "json.h"
#include "uplink_int.h"

struct outgoing *outgoing_new(uint8_t type, const char *key, const char *text, size_t n)
{
    struct outgoing *out = malloc(sizeof *out + n);
    if (out == NULL)
        return NULL;
    memset(out, 0, sizeof *out);
    out->type = type;
    out->len = n;
    snprintf(out->key, sizeof out->key, "%s", key);
    memcpy(out->text, text, n);
    return out;
}

void outgoing_put_locked(struct uplink *uplink, struct outgoing *out)
{
    struct outgoing *old, *next;
    for (old = TAILQ_FIRST(&uplink->list); old != NULL && out->key[0] != '\0'; old = next) {
        next = TAILQ_NEXT(old, link);
        if (strcmp(old->key, out->key) == 0) {
            TAILQ_REMOVE(&uplink->list, old, link);
            free(old);
        }
    }
    TAILQ_INSERT_TAIL(&uplink->list, out, link);
}

void uplink_wake(struct uplink *uplink)
{
    uint64_t one = 1;
    ssize_t n;
    do {
        n = write(uplink->wake_fd, &one, sizeof one);
    } while (n < 0 && errno == EINTR);
}

int uplink_report(struct uplink *uplink, const char *key, const struct capture_id *capture,
                  const struct process_uid *process, const char *text, size_t n)
{
    if (n > WIRE_CONTROL_BODY_MAX)
        return SKEIN_TOO_LARGE;
    struct outgoing *out = outgoing_new(WIRE_REPORT, key, text, n);
    if (out == NULL)
        return SKEIN_NO_MEMORY;
    if (capture != NULL && process != NULL) {
        out->on_target = true;
        out->capture = *capture;
        out->process = *process;
    }
    pthread_mutex_lock(&uplink->mutex);
    outgoing_put_locked(uplink, out);
    pthread_mutex_unlock(&uplink->mutex);
    uplink_wake(uplink);
    return SKEIN_OK;
}

static bool key_begins(const struct outgoing *out, const char *prefix)
{
    return out->revision == 0 && out->key[0] != '\0' &&
           strncmp(out->key, prefix, strlen(prefix)) == 0;
}

bool uplink_awaits(struct uplink *uplink, const char *key_prefix)
{
    pthread_mutex_lock(&uplink->mutex);
    struct outgoing *out = TAILQ_FIRST(&uplink->list);
    while (out != NULL && !key_begins(out, key_prefix))
        out = TAILQ_NEXT(out, link);
    pthread_mutex_unlock(&uplink->mutex);
    return out != NULL;
}

void uplink_forget(struct uplink *uplink, const char *key_prefix)
{
    pthread_mutex_lock(&uplink->mutex);
    struct outgoing *out, *next;
    for (out = TAILQ_FIRST(&uplink->list); out != NULL; out = next) {
        next = TAILQ_NEXT(out, link);
        if (key_begins(out, key_prefix)) {
            TAILQ_REMOVE(&uplink->list, out, link);
            free(out);
        }
    }
    pthread_mutex_unlock(&uplink->mutex);
}

void uplink_command_ack(struct uplink *uplink, uint64_t frame_id, const char *command,
                        const char *error)
{
    const struct command_ack ack = {
        .agent = uplink->agent, .command = command, .ok = error == NULL, .error = error};
    struct buf text = {0};
    command_ack_put(&ack, &text);
    struct outgoing *out = NULL;
    if (text.status == SKEIN_OK)
        out = outgoing_new(WIRE_COMMAND_ACK, "", (const char *)text.data, text.len);
    buf_fini(&text);
    if (out == NULL)
        return; /* the collector repeats the command (P-7) */
    out->id = frame_id;
    pthread_mutex_lock(&uplink->mutex);
    outgoing_put_locked(uplink, out);
    pthread_mutex_unlock(&uplink->mutex);
    uplink_wake(uplink);
}

void uplink_set_policies_generation(struct uplink *uplink, uint64_t generation)
{
    __atomic_store_n(&uplink->policies_generation, generation, __ATOMIC_RELAXED);
}

void uplink_set_rules_generation(struct uplink *uplink, uint64_t generation)
{
    __atomic_store_n(&uplink->rules_generation, generation, __ATOMIC_RELAXED);
}

void uplink_set_processes_version(struct uplink *uplink, uint64_t version)
{
    __atomic_store_n(&uplink->processes_version, version, __ATOMIC_RELAXED);
}

struct clock_map uplink_clock_map(struct uplink *uplink)
{
    pthread_mutex_lock(&uplink->mutex);
    struct clock_map map = uplink->map;
    pthread_mutex_unlock(&uplink->mutex);
    return map;
}

int64_t uplink_clock_offset(struct uplink *uplink)
{
    return uplink_clock_map(uplink).offset_ns;
}

void uplink_set_samples(struct uplink *uplink, const struct heartbeat_samples *samples)
{
    pthread_mutex_lock(&uplink->mutex);
    uplink->samples = *samples;
    pthread_mutex_unlock(&uplink->mutex);
}

void uplink_set_refused(struct uplink *uplink, const struct heartbeat_refused *refused)
{
    pthread_mutex_lock(&uplink->mutex);
    uplink->refused = *refused;
    pthread_mutex_unlock(&uplink->mutex);
}

uint64_t uplink_captures_per_hour(struct uplink *uplink)
{
    pthread_mutex_lock(&uplink->mutex);
    uint64_t bound = uplink->captures_per_hour;
    pthread_mutex_unlock(&uplink->mutex);
    return bound;
}

void uplink_set_local(struct uplink *uplink, const struct agent_counters *counters)
{
    pthread_mutex_lock(&uplink->mutex);
    uplink->counters.attach_accepted = counters->attach_accepted;
    uplink->counters.attach_adopted = counters->attach_adopted;
    uplink->counters.attach_refused = counters->attach_refused;
    uplink->counters.attach_silent = counters->attach_silent;
    uplink->counters.attach_malformed = counters->attach_malformed;
    uplink->counters.captures_refused = counters->captures_refused;
    uplink->counters.symbols_asked = counters->symbols_asked;
    uplink->counters.symbols_named = counters->symbols_named;
    uplink->counters.symbolizer_failures = counters->symbolizer_failures;
    uplink->counters.stacks_missed = counters->stacks_missed;
    pthread_mutex_unlock(&uplink->mutex);
}

void uplink_count(struct uplink *uplink, struct agent_counters *out)
{
    pthread_mutex_lock(&uplink->mutex);
    *out = uplink->counters;
    pthread_mutex_unlock(&uplink->mutex);
}

/* Whether there is a reason to go on while draining. */
static bool drained(struct uplink *uplink, uint64_t now_ns)
{
    uint64_t stop_by_ns = __atomic_load_n(&uplink->stop_by_ns, __ATOMIC_ACQUIRE);
    if (stop_by_ns == 0)
        return false;
    if (now_ns >= stop_by_ns || !uplink->up)
        return true;
    pthread_mutex_lock(&uplink->mutex);
    bool waiting = !TAILQ_EMPTY(&uplink->list);
    pthread_mutex_unlock(&uplink->mutex);
    return !waiting && uplink_data_idle(uplink);
}

static void work_await(struct uplink *uplink, uint64_t now_ns, uint64_t wake_ns)
{
    struct pollfd fds[4] = {
        {.fd = uplink->wake_fd, .events = POLLIN},
        {.fd = uplink->control != NULL ? transport_poll_fd(uplink->control) : -1, .events = POLLIN},
        {.fd = uplink->data != NULL ? transport_poll_fd(uplink->data) : -1, .events = POLLIN},
        {.fd = uplink->data != NULL && uplink->data_full ? transport_send_fd(uplink->data) : -1,
         .events = POLLIN}};
    uint64_t wait_ms = wake_ns > now_ns ? (wake_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
    if (poll(fds, 4, wait_ms > 1000 ? 1000 : (int)wait_ms) <= 0)
        return;
    uint64_t count;
    if ((fds[0].revents & POLLIN) != 0 && read(uplink->wake_fd, &count, sizeof count) < 0)
        return;
    if ((fds[1].revents & POLLIN) != 0)
        uplink_control_receive(uplink);
    if ((fds[2].revents & POLLIN) != 0)
        uplink_data_receive(uplink);
}

static void *uplink_run(void *context)
{
    struct uplink *uplink = context;
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns(), wake_ns = now_ns + 1000 * NS_PER_MS;
        uplink_control_step(uplink, now_ns, &wake_ns);
        uplink_data_step(uplink, now_ns, &wake_ns);
        if (drained(uplink, now_ns))
            return NULL;
        uint64_t stop_by_ns = __atomic_load_n(&uplink->stop_by_ns, __ATOMIC_ACQUIRE);
        if (stop_by_ns != 0 && stop_by_ns < wake_ns)
            wake_ns = stop_by_ns;
        work_await(uplink, clock_monotonic_ns(), wake_ns);
    }
}

static void uplink_release(struct uplink *uplink)
{
    struct outgoing *out;
    while ((out = TAILQ_FIRST(&uplink->list)) != NULL) {
        TAILQ_REMOVE(&uplink->list, out, link);
        free(out);
    }
    while (uplink->held_count > 0)
        agent_command_free(&uplink->held[--uplink->held_count]);
    uplink_data_close(uplink);
    transport_free(&uplink->control);
    fd_close(&uplink->wake_fd);
    pthread_mutex_destroy(&uplink->mutex);
    free(uplink->control_address);
    free(uplink->data_address);
    free(uplink->host);
    free(uplink->version);
    free(uplink->boot);
    free(uplink->labels);
    free(uplink);
}

static int settings_copy(struct uplink *uplink, const struct uplink_settings *settings)
{
    uplink->agent = settings->agent;
    uplink->epoch = settings->epoch;
    uplink->spool = settings->spool;
    uplink->seal = settings->seal;
    uplink->resend_ns = (settings->resend_ms != 0 ? settings->resend_ms : 5000) * NS_PER_MS;
    uplink->idle_ns = (settings->idle_ms != 0 ? settings->idle_ms : 60000) * NS_PER_MS;
    uplink->heartbeat_ns =
        (settings->heartbeat_ms != 0 ? settings->heartbeat_ms : 10000) * NS_PER_MS;
    uplink->control_address = strdup(settings->control_address);
    uplink->data_address = strdup(settings->data_address);
    uplink->host = strdup(settings->host);
    uplink->version = strdup(settings->version);
    uplink->boot = strdup(settings->boot);
    uplink->labels = strdup(settings->labels);
    bool copied = uplink->control_address != NULL && uplink->data_address != NULL &&
                  uplink->host != NULL && uplink->version != NULL && uplink->boot != NULL &&
                  uplink->labels != NULL;
    return copied ? SKEIN_OK : SKEIN_NO_MEMORY;
}

int uplink_new(const struct uplink_settings *settings, const struct uplink_hooks *hooks,
               struct uplink **out)
{
    *out = NULL;
    struct uplink *uplink = calloc(1, sizeof *uplink);
    if (uplink != NULL)
        uplink->captures_per_hour = WELCOME_CAPTURES_DEFAULT;
    if (uplink == NULL)
        return SKEIN_NO_MEMORY;
    uplink->hooks = *hooks;
    pthread_mutex_init(&uplink->mutex, NULL);
    TAILQ_INIT(&uplink->list);
    for (size_t i = 0; i < UPLINK_UPLOADS; i++)
        uplink->uploads[i].fd = -1;
    uplink->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int status = uplink->wake_fd >= 0 ? settings_copy(uplink, settings) : SKEIN_IO;
    /* Ids of an agent that has restarted differ from those of the run before. */
    uplink->next_id = uplink->epoch << 32;
    if (getrandom(&uplink->random, sizeof uplink->random, 0) != (ssize_t)sizeof uplink->random)
        uplink->random = clock_monotonic_ns();
    uplink->random |= 1;
    uplink->instance = uplink->random >> 1;
    if (status == SKEIN_OK)
        status = transport_dial(uplink->control_address, WIRE_CONTROL_MAX, &uplink->control);
    if (status != SKEIN_OK) {
        uplink_release(uplink);
        return status;
    }
    *out = uplink;
    return SKEIN_OK;
}

int uplink_start(struct uplink *uplink)
{
    if (pthread_create(&uplink->thread, NULL, uplink_run, uplink) != 0)
        return SKEIN_NO_MEMORY;
    uplink->started = true;
    return SKEIN_OK;
}

void uplink_free(struct uplink **uplink_p, uint64_t drain_ms)
{
    struct uplink *uplink = *uplink_p;
    if (uplink == NULL)
        return;
    *uplink_p = NULL;
    uint64_t stop_by_ns = clock_monotonic_ns() + drain_ms * NS_PER_MS;
    __atomic_store_n(&uplink->stop_by_ns, stop_by_ns, __ATOMIC_RELEASE);
    uplink_wake(uplink);
    if (uplink->started)
        pthread_join(uplink->thread, NULL);
    uplink_release(uplink);
}
