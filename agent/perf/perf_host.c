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
#include "proc_info.h"

/* A sample with its numbers, registers, stack, and a call chain of some 30 frames. */
#define SAMPLE_BYTES (PERF_STACK_BYTES + 8 * (PERF_REGS + 40))

struct perf_host {
    struct perf_host_settings settings; /* constant */
    unsigned wanted_hz;                 /* of who looks */
    pthread_mutex_t mutex;              /* of all below */
    unsigned hz;                        /* that rings are to have */
    struct perf_ring *rings;
    size_t count, cap;
    size_t ring_max;        /* that locked memory has room for, on each CPU */
    struct cpu_list online; /* at the last look */
    unsigned refused;
    int error;                   /* of the last that was refused; 0: none */
    pthread_mutex_t told_mutex;  /* of `told`; nothing is done with it but a copy */
    struct perf_host_state told; /* at the last look */
};

size_t perf_host_ring_bytes(unsigned hz, uint64_t reach_ms)
{
    uint64_t need = hz * reach_ms / 1000 * SAMPLE_BYTES + 2 * PERF_RECORD_BYTES_MAX;
    size_t bytes = PERF_RING_BYTES_MIN;
    while (bytes < need && bytes < PERF_RING_BYTES_MAX)
        bytes *= 2;
    return bytes;
}

static bool is_wanted(const struct perf_host *host)
{
    return host->settings.hz > 0 || host->settings.watch_count > 0;
}

/* What settings and memory allow, for so many CPUs. */
static size_t host_ring_bytes(const struct perf_host *host)
{
    const struct perf_host_settings *s = &host->settings;
    size_t bytes =
        s->watch_count > 0 ? s->watch_bytes : perf_host_ring_bytes(host->hz, s->reach_ms);
    while (bytes > PERF_RING_BYTES_MIN &&
           (bytes * host->online.count > s->memory_max || bytes > host->ring_max))
        bytes /= 2;
    return bytes;
}

/* 0: of watches, which come as they come. */
static uint64_t ring_reach_ms(const struct perf_ring *ring)
{
    return ring->hz == 0 ? 0
                         : (ring->bytes - PERF_RECORD_BYTES_MAX) / SAMPLE_BYTES * 1000 / ring->hz;
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
    } else if (error == ENOBUFS) {
        snprintf(out, PERF_HOST_WHY_BYTES,
                 "no room for a ring in locked memory; needs RLIMIT_MEMLOCK (LimitMEMLOCK) of "
                 "samples.memory_bytes and 64M, or CAP_IPC_LOCK");
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

static int ring_open(const struct perf_host *host, unsigned cpu, struct perf_ring *ring)
{
    const struct perf_host_settings *s = &host->settings;
    size_t bytes = host_ring_bytes(host);
    return s->watch_count > 0 ? perf_ring_watch(cpu, s->watches, s->watch_count, bytes, ring)
                              : perf_ring_open(cpu, host->hz, bytes, ring);
}

/* A ring for a CPU, in the place of the one that it had. Locked. */
static void ring_renew_locked(struct perf_host *host, unsigned cpu)
{
    struct perf_ring ring, *before = ring_find(host, cpu);
    int error = ENOMEM;
    if (before != NULL)
        perf_ring_close(before); /* its place stays: who reads counts them */
    if (before != NULL || array_grow(host->rings, host->count + 1, &host->cap))
        error = ring_open(host, cpu, &ring);
    if (error != 0) {
        host->refused++;
        host->error = error;
    } else if (before != NULL) {
        *before = ring;
    } else {
        host->rings[host->count++] = ring;
    }
}

/* The same CPU, at another rate: what the ring held is gone. Locked. */
static void ring_change_locked(struct perf_host *host, struct perf_ring *ring)
{
    struct perf_ring fresh;
    int error = ring_open(host, ring->cpu, &fresh);
    if (error != 0) {
        host->error = error;
        return;
    }
    perf_ring_close(ring);
    *ring = fresh;
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
        else if (ring->hz != host->hz)
            ring_change_locked(host, ring);
    }
}

/* Locked memory did not do for all: the first CPUs have had that of the others. */
static bool rings_are_uneven_locked(const struct perf_host *host)
{
    bool uneven = host->refused > 0 && (host->error == ENOBUFS || host->error == ENOMEM);
    for (size_t i = 1; i < host->count; i++)
        uneven = uneven || host->rings[i].bytes != host->rings[0].bytes;
    return uneven;
}

static void rings_make_locked(struct perf_host *host)
{
    host->ring_max = SIZE_MAX;
    host_look_locked(host);
    while (rings_are_uneven_locked(host) && host_ring_bytes(host) > PERF_RING_BYTES_MIN) {
        host->ring_max = host_ring_bytes(host) / 2;
        for (size_t i = 0; i < host->count; i++)
            perf_ring_close(&host->rings[i]);
        host->count = 0;
        host_look_locked(host);
    }
}

static void state_tell_locked(struct perf_host *host)
{
    struct perf_host_state state = {.hz = host->hz, .refused = host->refused};
    for (size_t i = 0; i < host->count; i++) {
        const struct perf_ring *ring = &host->rings[i];
        if (ring->fd < 0)
            continue;
        uint64_t reach_ms = ring_reach_ms(ring);
        bool first = state.cpus++ == 0;
        state.bytes += ring->bytes;
        state.hz = first || ring->hz < state.hz ? ring->hz : state.hz;
        state.ring_bytes = first || ring->bytes < state.ring_bytes ? ring->bytes : state.ring_bytes;
        state.reach_ms = first || reach_ms < state.reach_ms ? reach_ms : state.reach_ms;
    }
    if (host->error != 0)
        perf_host_why(host->error, state.why);
    pthread_mutex_lock(&host->told_mutex);
    host->told = state;
    pthread_mutex_unlock(&host->told_mutex);
}

int perf_host_new(const struct perf_host_settings *settings, struct perf_host **out)
{
    *out = NULL;
    struct perf_host *host = calloc(1, sizeof *host);
    if (host == NULL)
        return SKEIN_NO_MEMORY;
    host->settings = *settings;
    host->hz = host->wanted_hz = settings->hz;
    if (host->settings.online == NULL)
        host->settings.online = "/sys/devices/system/cpu/online";
    pthread_mutex_init(&host->mutex, NULL);
    pthread_mutex_init(&host->told_mutex, NULL);
    *out = host;
    pthread_mutex_lock(&host->mutex);
    if (is_wanted(host))
        rings_make_locked(host);
    if (is_wanted(host) && host->online.count == 0)
        host->error = ENODEV; /* nobody says which CPUs there are */
    state_tell_locked(host);
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
    pthread_mutex_destroy(&host->told_mutex);
    free(host);
}

void perf_host_set_hz(struct perf_host *host, unsigned hz)
{
    host->wanted_hz = hz;
}

void perf_host_look(struct perf_host *host)
{
    /* Busy: somebody reads; the next look sees the same. */
    if (!is_wanted(host) || pthread_mutex_trylock(&host->mutex) != 0)
        return;
    host->hz = host->wanted_hz;
    host_look_locked(host);
    state_tell_locked(host);
    pthread_mutex_unlock(&host->mutex);
}

void perf_host_state(struct perf_host *host, struct perf_host_state *out)
{
    pthread_mutex_lock(&host->told_mutex);
    *out = host->told;
    pthread_mutex_unlock(&host->told_mutex);
}

/* ---- collecting ---- */

/* A pass over one ring, and what came of it. */
struct pass {
    const struct perf_wish *wish;
    struct buf own;     /* records of the wished process */
    uint64_t opened_ns; /* the ring's */
    uint64_t oldest_ns; /* of the last sample that was read; 0: none */
    bool begins;        /* the window's begin was reached */
    bool ends;          /* all that was ever written was read */
    struct perf_reach *out;
};

/* A record's first bytes, or all that there are. */
static bool head_get(struct perf_reading *reading, size_t at, struct perf_head *head)
{
    uint8_t bytes[PERF_HEAD_BYTES] = {0};
    if (at >= reading->hold.bytes) /* which has become less meanwhile */
        return false;
    size_t left = reading->hold.bytes - at, n = left < sizeof bytes ? left : sizeof bytes;
    return perf_reading_get(reading, at, bytes, n) && perf_head_get(bytes, head);
}

/* False: nothing behind it is wished, or holds. */
static bool sample_pass(struct pass *pass, struct perf_reading *reading, size_t at,
                        const struct perf_head *head)
{
    const struct perf_wish *wish = pass->wish;
    if (head->time_ns > wish->to_ns) {
        pass->oldest_ns = head->time_ns;
        return true;
    }
    pass->begins = head->time_ns < wish->from_ns;
    if (pass->begins)
        return false;
    if (wish->everyone || head->pid == wish->pid) {
        uint8_t *to = buf_reserve(&pass->own, head->bytes);
        if (to != NULL && !perf_reading_get(reading, at, to, head->bytes))
            return false;
        pass->own.len += to != NULL ? head->bytes : 0;
        pass->out->unread += to == NULL;
    } else if (wish->other != NULL) {
        wish->other(wish->context, head->pid, head->period_ns);
    }
    pass->oldest_ns = head->time_ns;
    pass->out->busy_ns += head->period_ns;
    return true;
}

/* Looks at each record's head where it lies, and copies those that are wished: nothing else of a
 * ring, most of which are stacks of others. */
static void ring_pass(struct pass *pass, const struct perf_ring *ring)
{
    struct perf_reading reading;
    struct perf_head head;
    size_t at = 0;
    bool more = true;
    perf_reading_begin(ring, &reading);
    while (more && head_get(&reading, at, &head) && head.bytes <= reading.hold.bytes - at) {
        if (head.kind == PERF_KIND_SAMPLE)
            more = sample_pass(pass, &reading, at, &head);
        pass->out->lost += head.lost;
        pass->out->unread += head.kind == PERF_KIND_OTHER;
        at += head.bytes;
    }
    pass->opened_ns = ring->opened_ns;
    pass->ends = at == reading.hold.bytes && !reading.hold.turned;
}

enum take { TAKE_END, TAKE_NONE, TAKE_DONE };

/* Passes the ring at a place, under the mutex; what is done with it needs none. `late`: no more. */
static enum take ring_take(struct perf_host *host, size_t at, bool late, struct pass *pass)
{
    enum take result = TAKE_NONE;
    buf_clear(&pass->own);
    pass->oldest_ns = 0;
    pass->begins = pass->ends = false;
    pthread_mutex_lock(&host->mutex);
    if (at == host->count) {
        result = TAKE_END;
    } else if (!late && host->rings[at].fd >= 0) {
        ring_pass(pass, &host->rings[at]);
        result = TAKE_DONE;
    }
    pthread_mutex_unlock(&host->mutex);
    return result;
}

static void pass_tell(const struct pass *pass)
{
    const struct perf_wish *wish = pass->wish;
    struct perf_reach *out = pass->out;
    /* A ring that has not turned has all since it began; one that has, all since its oldest. */
    uint64_t since_ns = pass->begins ? wish->from_ns
                        : pass->ends ? pass->opened_ns
                                     : pass->oldest_ns;
    if (since_ns == 0 || since_ns > wish->to_ns)
        since_ns = wish->to_ns;
    if (since_ns > out->from_ns)
        out->from_ns = since_ns;
    out->room_ns += wish->to_ns - (since_ns > wish->from_ns ? since_ns : wish->from_ns);
    out->cpus++;
    wish->own(wish->context, pass->own.data, pass->own.len);
}

void perf_host_collect(struct perf_host *host, const struct perf_wish *wish, struct perf_reach *out)
{
    struct pass pass = {.wish = wish, .out = out};
    enum take take = TAKE_NONE;
    *out = (struct perf_reach){.from_ns = wish->from_ns};
    for (size_t at = 0; take != TAKE_END; at++) {
        bool late = clock_monotonic_ns() >= wish->deadline_ns;
        take = ring_take(host, at, late, &pass);
        out->not_read += take == TAKE_NONE;
        if (take == TAKE_DONE)
            pass_tell(&pass);
    }
    buf_fini(&pass.own);
    if (out->cpus == 0)
        out->from_ns = wish->to_ns;
}

/* ---- programs ---- */

struct program {
    uint32_t pid;
    uint64_t at_ns, from_ns, to_ns;
};

static void exec_take(struct program *program, uint64_t time_ns)
{
    if (time_ns <= program->at_ns && time_ns > program->from_ns)
        program->from_ns = time_ns;
    if (time_ns > program->at_ns && time_ns < program->to_ns)
        program->to_ns = time_ns;
}

static void execs_find(const struct perf_ring *ring, struct program *program)
{
    struct perf_reading reading;
    struct perf_head head;
    size_t at = 0;
    perf_reading_begin(ring, &reading);
    while (head_get(&reading, at, &head) && head.bytes <= reading.hold.bytes - at) {
        if (head.kind == PERF_KIND_SAMPLE && head.time_ns < program->from_ns)
            break;
        if (head.kind == PERF_KIND_EXEC && head.pid == program->pid)
            exec_take(program, head.time_ns);
        at += head.bytes;
    }
}

/* Of the ring at a place; false: there is none, nor behind it. */
static bool execs_find_at(struct perf_host *host, size_t at, struct program *program)
{
    pthread_mutex_lock(&host->mutex);
    bool is_there = at < host->count;
    if (is_there && host->rings[at].fd >= 0)
        execs_find(&host->rings[at], program);
    pthread_mutex_unlock(&host->mutex);
    return is_there;
}

void perf_host_program(struct perf_host *host, uint32_t pid, uint64_t at_ns, uint64_t *from_ns,
                       uint64_t *to_ns)
{
    struct program program = {pid, at_ns, *from_ns, *to_ns};
    size_t at = 0;
    while (execs_find_at(host, at, &program))
        at++;
    *from_ns = program.from_ns < program.to_ns ? program.from_ns : program.to_ns;
    *to_ns = program.to_ns;
}
