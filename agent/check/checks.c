/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads of health checks; see checks.h. A check is referenced by its thread, which hands that
 * reference over with the result, and by the loop's side until check_stop.
 */
#include "checks.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent_clock.h"
#include "check_place.h"
#include "clock.h"
#include "cond_until.h"
#include "http_client.h"

#define AGAIN_MS    100          /* no memory to hand a result over */
#define STACK_BYTES (256u << 10) /* libcurl and the resolver want more than the minimum */

struct checks {
    struct loop *loop;
    uint32_t max_threads;
    pthread_mutex_t mutex; /* guards running; ended is signalled with it */
    pthread_cond_t ended;
    uint32_t running;
    struct check *first; /* loop thread: those not stopped */
};

struct check {
    struct checks *checks;
    struct check_spec *spec;
    int cancel_fd;
    int cancelled;              /* atomic */
    int over;                   /* atomic: the result is there */
    uint32_t references;        /* atomic */
    struct check_result result; /* the thread's until it has been posted */
    /* loop thread */
    bool stopped;
    check_fn *fn;
    void *context;
    struct check *next, **link;
};

void check_spec_free(struct check_spec **spec_p)
{
    struct check_spec *spec = *spec_p;
    *spec_p = NULL;
    if (spec == NULL)
        return;
    for (char **arg = spec->argv; arg != NULL && *arg != NULL; arg++)
        free(*arg);
    free(spec->argv);
    free(spec->program);
    free(spec->line);
    free(spec->user);
    free(spec->expect);
    free(spec->target);
    free(spec);
}

void check_name(const struct check_spec *spec, char *out, size_t out_bytes)
{
    static const char *const prefixes[] = {"", "", "GET ", "tcp ", "unix "};
    if (spec->kind != CHECK_EXEC) {
        snprintf(out, out_bytes, "%s%s", prefixes[spec->kind], spec->target);
        return;
    }
    size_t used = 0;
    out[0] = '\0';
    for (char **arg = spec->argv; *arg != NULL && used < out_bytes; arg++) {
        int n = snprintf(out + used, out_bytes - used, "%s%s", arg == spec->argv ? "`" : " ", *arg);
        used += n > 0 ? (size_t)n : 0;
    }
    if (used > out_bytes - 2)
        used = out_bytes - 2;
    out[used] = '`';
    out[used + 1] = '\0';
}

static void http_run(const struct check_spec *spec, const struct check_until *until,
                     struct check_result *result)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t left_ms =
        until->deadline_ns > now_ns ? (until->deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS : 1;
    struct http_request request = {.url = spec->target,
                                   .timeout_ms = left_ms,
                                   .max_body_bytes = 1u << 20,
                                   .cancel = until->cancelled};
    struct http_response response;
    char name[128];
    check_name(spec, name, sizeof name);
    int status = http_request(&request, &response);
    if ((status == SKEIN_OK || status == SKEIN_TOO_LARGE) &&
        response.status == (long)spec->http_status)
        result->passed = true;
    else if (status == SKEIN_OK || status == SKEIN_TOO_LARGE)
        snprintf(result->reason, sizeof result->reason, "check %s answered %ld instead of %" PRIu64,
                 name, response.status, spec->http_status);
    else if (status == SKEIN_TIMEOUT)
        snprintf(result->reason, sizeof result->reason,
                 "check %s did not answer within %" PRIu64 " ms", name, spec->timeout_ms);
    else
        snprintf(result->reason, sizeof result->reason, "check %s failed: %.100s", name,
                 response.error[0] != '\0' ? response.error : skein_status_text(status));
    http_response_fini(&response);
}

void check_run(struct check_spec *spec, const struct check_until *until,
               struct check_result *result)
{
    *result = (struct check_result){.passed = false};
    int back = -1;
    if (check_place_fill(spec, result)) {
        if (spec->kind == CHECK_EXEC)
            check_exec_run(spec, until, result);
        else if (spec->kind == CHECK_UNIX)
            check_net_run(spec, until, result);
        else if (check_place_enter(spec, &back, result))
            (spec->kind == CHECK_HTTP ? http_run : check_net_run)(spec, until, result);
    }
    check_place_leave(&back);
    result->at_ns = agent_clock_ns();
    result->ended_ns = clock_monotonic_ns();
}

static void unref_check(struct check *check)
{
    /* Acquire-release: the last one sees what all others did with the check. */
    if (__atomic_sub_fetch(&check->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    close(check->cancel_fd);
    check_spec_free(&check->spec);
    free(check);
}

static void check_deliver(void *context)
{
    struct check *check = context;
    if (!check->stopped)
        check->fn(check->context, &check->result);
    unref_check(check);
}

/* Whether the check has been cancelled, waiting for that at most so long. */
static bool is_cancelled(const struct check *check, int wait_ms)
{
    struct pollfd fd = {.fd = check->cancel_fd, .events = POLLIN};
    return poll(&fd, 1, wait_ms) > 0;
}

static void *thread_check(void *context)
{
    struct check *check = context;
    struct checks *checks = check->checks;
    const struct check_until until = {
        .deadline_ns = clock_monotonic_ns() + (check->spec->timeout_ms + CHECK_HOLD_MS) * NS_PER_MS,
        .cancel_fd = check->cancel_fd,
        .cancelled = &check->cancelled};
    check_run(check->spec, &until, &check->result);
    __atomic_store_n(&check->over, 1, __ATOMIC_RELAXED); /* says no more than that */
    bool posted = false;
    for (int wait_ms = 0; !posted && !is_cancelled(check, wait_ms); wait_ms = AGAIN_MS)
        posted = loop_post(checks->loop, check_deliver, check) == SKEIN_OK;
    if (!posted)
        unref_check(check);
    pthread_mutex_lock(&checks->mutex);
    checks->running--;
    pthread_cond_broadcast(&checks->ended);
    pthread_mutex_unlock(&checks->mutex);
    return NULL;
}

int checks_new(struct loop *loop, uint32_t max_threads, struct checks **out)
{
    *out = NULL;
    struct checks *checks = calloc(1, sizeof *checks);
    if (checks == NULL)
        return SKEIN_NO_MEMORY;
    checks->loop = loop;
    checks->max_threads = max_threads;
    pthread_mutex_init(&checks->mutex, NULL);
    cond_init(&checks->ended);
    *out = checks;
    return SKEIN_OK;
}

static int check_spawn(struct check *check)
{
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0)
        return SKEIN_NO_MEMORY;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(
        &attr, STACK_BYTES > (size_t)PTHREAD_STACK_MIN ? STACK_BYTES : (size_t)PTHREAD_STACK_MIN);
    int failed = pthread_create(&thread, &attr, thread_check, check);
    pthread_attr_destroy(&attr);
    return failed == 0 ? SKEIN_OK : SKEIN_NO_MEMORY;
}

static int place_take(struct checks *checks)
{
    pthread_mutex_lock(&checks->mutex);
    bool room = checks->running < checks->max_threads;
    if (room)
        checks->running++;
    pthread_mutex_unlock(&checks->mutex);
    return room ? SKEIN_OK : SKEIN_FULL;
}

static void place_give_back(struct checks *checks)
{
    pthread_mutex_lock(&checks->mutex);
    checks->running--;
    pthread_mutex_unlock(&checks->mutex);
}

int check_start(struct checks *checks, struct check_spec *spec, check_fn *fn, void *context,
                struct check **out)
{
    *out = NULL;
    int status = place_take(checks);
    if (status != SKEIN_OK) {
        check_spec_free(&spec);
        return status;
    }
    struct check *check = calloc(1, sizeof *check);
    int cancel_fd = check == NULL ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cancel_fd < 0) {
        free(check);
        check_spec_free(&spec);
        place_give_back(checks);
        return SKEIN_NO_MEMORY;
    }
    *check = (struct check){.checks = checks,
                            .spec = spec,
                            .cancel_fd = cancel_fd,
                            .references = 2,
                            .fn = fn,
                            .context = context};
    status = check_spawn(check);
    if (status != SKEIN_OK) {
        check->references = 1;
        unref_check(check);
        place_give_back(checks);
        return status;
    }
    check->next = checks->first;
    check->link = &checks->first;
    if (checks->first != NULL)
        checks->first->link = &check->next;
    checks->first = check;
    *out = check;
    return SKEIN_OK;
}

bool check_is_over(const struct check *check)
{
    return __atomic_load_n(&check->over, __ATOMIC_RELAXED) != 0;
}

void check_stop(struct check **check_p)
{
    struct check *check = *check_p;
    *check_p = NULL;
    if (check == NULL)
        return;
    check->stopped = true;
    __atomic_store_n(&check->cancelled, 1, __ATOMIC_RELAXED);
    *check->link = check->next;
    if (check->next != NULL)
        check->next->link = check->link;
    uint64_t one = 1;
    ssize_t n;
    do {
        n = write(check->cancel_fd, &one, sizeof one);
    } while (n < 0 && errno == EINTR);
    unref_check(check);
}

size_t checks_free(struct checks **checks_p, uint64_t wait_ms)
{
    struct checks *checks = *checks_p;
    if (checks == NULL)
        return 0;
    *checks_p = NULL;
    struct check *check, *next;
    for (check = checks->first; check != NULL; check = next) {
        next = check->next;
        check_stop(&check);
    }
    uint64_t until_ns = clock_monotonic_ns() + wait_ms * NS_PER_MS;
    pthread_mutex_lock(&checks->mutex);
    while (checks->running > 0 && cond_wait_until(&checks->ended, &checks->mutex, until_ns))
        continue;
    size_t left = checks->running;
    pthread_mutex_unlock(&checks->mutex);
    if (left > 0)
        return left; /* their threads still use the struct */
    pthread_cond_destroy(&checks->ended);
    pthread_mutex_destroy(&checks->mutex);
    free(checks);
    return 0;
}
