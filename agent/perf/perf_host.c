/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings of all CPUs; see perf_host.h.
 */
#include "perf_host.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "cpu_list.h"
#include "perf_ring.h"
#include "proc_info.h"

#define MS UINT64_C(1000000)

/* A sample with its numbers, registers, stack, and a call chain of some 30 frames. */
#define SAMPLE_BYTES (PERF_STACK_BYTES + 8 * (PERF_REGS + 40))

struct perf_host {
    struct perf_host_settings settings; /* constant */
    pthread_mutex_t mutex;              /* of all below */
    struct perf_ring *rings;
    size_t count, cap;
    struct cpu_list online; /* at the last look */
    unsigned refused;
    int error; /* of the last that was refused; 0: none */
};

size_t perf_host_ring_bytes(unsigned hz, uint64_t reach_ms)
{
    uint64_t need = hz * reach_ms / 1000 * SAMPLE_BYTES + 2 * PERF_RECORD_BYTES_MAX;
    size_t bytes = PERF_RING_BYTES_MIN;
    while (bytes < need && bytes < PERF_RING_BYTES_MAX)
        bytes *= 2;
    return bytes;
}

/* What settings and memory allow, for so many CPUs. */
static size_t host_ring_bytes(const struct perf_host *host)
{
    size_t bytes = perf_host_ring_bytes(host->settings.hz, host->settings.reach_ms);
    while (bytes > PERF_RING_BYTES_MIN && bytes * host->online.count > host->settings.memory_max)
        bytes /= 2;
    return bytes;
}

static uint64_t ring_reach_ms(const struct perf_host *host, size_t bytes)
{
    return (bytes - PERF_RECORD_BYTES_MAX) / SAMPLE_BYTES * 1000 / host->settings.hz;
}

void perf_host_why(int error, char out[PERF_HOST_WHY_BYTES])
{
    char paranoid[16] = "";
    if (error == EACCES || error == EPERM) {
        if (text_file_read("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof paranoid) < 0)
            paranoid[0] = '\0';
        paranoid[strcspn(paranoid, "\n")] = '\0';
        snprintf(out, PERF_HOST_WHY_BYTES,
                 "perf_event_open: %s; needs CAP_PERFMON, or kernel.perf_event_paranoid of 0 or "
                 "less (it is %s), and a seccomp filter that allows it",
                 error == EPERM ? "EPERM" : "EACCES", paranoid[0] != '\0' ? paranoid : "unknown");
    } else if (error == ENOSYS || error == ENOENT || error == EOPNOTSUPP) {
        snprintf(out, PERF_HOST_WHY_BYTES,
                 "perf_event_open: %s; needs a kernel with perf events, and a seccomp filter that "
                 "allows them",
                 error == ENOSYS   ? "ENOSYS"
                 : error == ENOENT ? "ENOENT"
                                   : "EOPNOTSUPP");
    } else {
        snprintf(out, PERF_HOST_WHY_BYTES, "perf_event_open: %s", strerror(error));
    }
}

static struct perf_ring *ring_find(struct perf_host *host, unsigned cpu)
{
    for (size_t i = 0; i < host->count; i++) {
        if (host->rings[i].cpu == cpu)
            return &host->rings[i];
    }
    return NULL;
}

/* A ring for a CPU, in the place of the one that it had. Locked. */
static void ring_renew_locked(struct perf_host *host, unsigned cpu)
{
    struct perf_ring ring, *before = ring_find(host, cpu);
    int error = ENOMEM;
    if (before != NULL)
        perf_ring_close(before); /* its place stays: who reads counts them */
    if (before != NULL || array_grow(host->rings, host->count + 1, &host->cap))
        error = perf_ring_open(cpu, host->settings.hz, host_ring_bytes(host), &ring);
    if (error != 0) {
        host->refused++;
        host->error = error;
    } else if (before != NULL) {
        *before = ring;
    } else {
        host->rings[host->count++] = ring;
    }
}

static bool online_read(const struct perf_host *host, struct cpu_list *out)
{
    char text[4096];
    const char *path = host->settings.online;
    return text_file_read(path, text, sizeof text) > 0 && cpu_list_parse(text, out) == SKEIN_OK;
}

/* A CPU that was away at the last look, or went and came since, has a ring that is dead. */
static void host_look_locked(struct perf_host *host)
{
    struct cpu_list before = host->online;
    if (!online_read(host, &host->online))
        return; /* as it was */
    host->refused = 0;
    host->error = 0;
    for (unsigned cpu = 0; cpu < CPU_LIST_MAX; cpu++) {
        if (!cpu_list_has(&host->online, cpu))
            continue;
        struct perf_ring *ring = ring_find(host, cpu);
        bool ran = ring != NULL && ring->fd >= 0 && perf_ring_ran(ring);
        if (!ran || !cpu_list_has(&before, cpu))
            ring_renew_locked(host, cpu);
    }
}

int perf_host_new(const struct perf_host_settings *settings, struct perf_host **out)
{
    *out = NULL;
    struct perf_host *host = calloc(1, sizeof *host);
    if (host == NULL)
        return SKEIN_NO_MEMORY;
    host->settings = *settings;
    if (host->settings.online == NULL)
        host->settings.online = "/sys/devices/system/cpu/online";
    pthread_mutex_init(&host->mutex, NULL);
    *out = host;
    if (settings->hz == 0)
        return SKEIN_OK;
    pthread_mutex_lock(&host->mutex);
    host_look_locked(host);
    if (host->online.count == 0)
        host->error = ENODEV; /* nobody says which CPUs there are */
    pthread_mutex_unlock(&host->mutex);
    return SKEIN_OK;
}

void perf_host_free(struct perf_host **host_p)
{
    struct perf_host *host = *host_p;
    if (host == NULL)
        return;
    *host_p = NULL;
    for (size_t i = 0; i < host->count; i++)
        perf_ring_close(&host->rings[i]);
    free(host->rings);
    pthread_mutex_destroy(&host->mutex);
    free(host);
}

void perf_host_look(struct perf_host *host)
{
    /* Busy: somebody reads; the next look sees the same. */
    if (host->settings.hz == 0 || pthread_mutex_trylock(&host->mutex) != 0)
        return;
    host_look_locked(host);
    pthread_mutex_unlock(&host->mutex);
}

void perf_host_state(struct perf_host *host, struct perf_host_state *out)
{
    *out = (struct perf_host_state){.hz = host->settings.hz};
    pthread_mutex_lock(&host->mutex);
    out->refused = host->refused;
    for (size_t i = 0; i < host->count; i++) {
        size_t bytes = host->rings[i].bytes;
        out->cpus += host->rings[i].fd >= 0;
        out->bytes += bytes;
        if (bytes > 0 && (out->ring_bytes == 0 || bytes < out->ring_bytes))
            out->ring_bytes = bytes;
    }
    if (out->ring_bytes > 0)
        out->reach_ms = ring_reach_ms(host, out->ring_bytes);
    if (host->error != 0)
        perf_host_why(host->error, out->why);
    pthread_mutex_unlock(&host->mutex);
}

struct window {
    uint64_t from_ns, to_ns;
    perf_sample_fn *fn;
    void *context;
    uint64_t busy_ns;
};

static bool sample_pass(void *context, const struct perf_sample *sample)
{
    struct window *window = context;
    if (sample->time_ns > window->to_ns)
        return true;
    if (sample->time_ns < window->from_ns)
        return false;
    window->busy_ns += sample->period_ns;
    return window->fn(window->context, sample);
}

/* What a ring held, in memory of the reader's. */
struct taken {
    uint8_t *room;
    size_t room_bytes;
    uint64_t opened_ns;
    struct perf_copy copy;
};

enum take { TAKE_END, TAKE_NONE, TAKE_DONE };

/* Copies the ring at a place, under the mutex; what is done with it needs none. `late`: nothing is
 * copied any more. */
static enum take ring_take(struct perf_host *host, size_t at, bool late, struct taken *taken)
{
    enum take result = TAKE_NONE;
    pthread_mutex_lock(&host->mutex);
    const struct perf_ring *ring = at < host->count ? &host->rings[at] : NULL;
    if (ring != NULL && !late && ring->bytes > taken->room_bytes) {
        free(taken->room);
        taken->room = malloc(ring->bytes);
        taken->room_bytes = taken->room != NULL ? ring->bytes : 0;
    }
    if (ring == NULL) {
        result = TAKE_END;
    } else if (!late && ring->fd >= 0 && ring->bytes <= taken->room_bytes) {
        perf_ring_copy(ring, taken->room, &taken->copy);
        taken->opened_ns = ring->opened_ns;
        result = TAKE_DONE;
    }
    pthread_mutex_unlock(&host->mutex);
    return result;
}

static void taken_walk(const struct taken *taken, struct window *window, struct perf_reach *out)
{
    struct perf_walk walk;
    perf_records_walk(taken->room, taken->copy.bytes, sample_pass, window, &walk);
    /* A ring that has not turned has all since it began; one that has, all since its oldest. */
    uint64_t since_ns = taken->copy.turned || walk.torn ? walk.oldest_ns : taken->opened_ns;
    if (since_ns == 0 || since_ns > window->to_ns)
        since_ns = window->to_ns;
    if (since_ns > out->from_ns)
        out->from_ns = since_ns;
    out->room_ns += window->to_ns - (since_ns > window->from_ns ? since_ns : window->from_ns);
    out->lost += walk.lost;
    out->unread += walk.unread;
    out->cpus++;
}

void perf_host_collect(struct perf_host *host, uint64_t from_ns, uint64_t to_ns,
                       uint64_t deadline_ns, perf_sample_fn *fn, void *context,
                       struct perf_reach *out)
{
    struct window window = {from_ns, to_ns, fn, context, 0};
    struct taken taken = {.room = NULL};
    enum take take = TAKE_NONE;
    *out = (struct perf_reach){.from_ns = from_ns};
    for (size_t at = 0; take != TAKE_END; at++) {
        bool late = clock_monotonic_ns() >= deadline_ns;
        take = ring_take(host, at, late, &taken);
        out->not_read += take == TAKE_NONE;
        if (take == TAKE_DONE)
            taken_walk(&taken, &window, out);
    }
    free(taken.room);
    out->busy_ns = window.busy_ns;
    if (out->cpus == 0)
        out->from_ns = to_ns;
}
