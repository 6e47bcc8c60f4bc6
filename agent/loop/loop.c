/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's event loop over epoll. Owns the table of watched descriptors, the heap of timers and
 * the queue of posted work. The thread in loop_run owns the first two; the queue has a lock of its
 * own. Never blocks outside of epoll_wait, and never owns a descriptor that it watches.
 */
#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "descriptor.h"
#include "errno_status.h"

#define EVENTS_MAX     64
#define TIMER_UNPLACED SIZE_MAX

struct loop_timer {
    uint64_t due_ns, order, repeat_ns; /* order: equal due times fire as they were added */
    size_t place;                      /* in the heap; TIMER_UNPLACED while it fires */
    bool cancelled;                    /* by its own callback */
    loop_fn *fn;
    void *context;
};

struct watch {
    loop_fd_fn *fn; /* NULL: not watched */
    void *context;
    uint32_t serial; /* tells an event of this watch from one of the descriptor's earlier life */
};

struct post {
    loop_fn *fn;
    void *context;
    struct post *next;
};

struct loop {
    int epoll, wake;
    struct watch *watches; /* by descriptor */
    size_t watch_count;
    uint32_t serial;
    struct loop_timer **heap, *firing;
    size_t timer_count, timer_cap;
    uint64_t timer_order;
    pthread_mutex_t lock; /* posts */
    struct post *first, **last;
    int stopped; /* atomic */
};

/* ---- life ---- */

int loop_new(struct loop **out)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL)
        return SKEIN_NO_MEMORY;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop->last = &loop->first;
    pthread_mutex_init(&loop->lock, NULL);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = UINT64_MAX};
    if (loop->epoll < 0 || loop->wake < 0 ||
        epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &event) != 0) {
        loop_free(&loop);
        return SKEIN_IO;
    }
    *out = loop;
    return SKEIN_OK;
}

void loop_free(struct loop **pointer)
{
    struct loop *loop = *pointer;
    if (loop == NULL)
        return;
    *pointer = NULL;
    fd_close(&loop->epoll);
    fd_close(&loop->wake);
    for (size_t i = 0; i < loop->timer_count; i++)
        free(loop->heap[i]);
    while (loop->first != NULL) {
        struct post *post = loop->first;
        loop->first = post->next;
        free(post);
    }
    pthread_mutex_destroy(&loop->lock);
    free(loop->heap);
    free(loop->watches);
    free(loop);
}

/* ---- descriptors ---- */

static int watches_grow(struct loop *loop, size_t need)
{
    size_t had = loop->watch_count;
    if (!array_grow(loop->watches, need, &loop->watch_count))
        return SKEIN_NO_MEMORY;
    if (loop->watch_count > had)
        memset(loop->watches + had, 0, (loop->watch_count - had) * sizeof *loop->watches);
    return SKEIN_OK;
}

int loop_fd_add(struct loop *loop, int fd, uint32_t epoll_events, loop_fd_fn *fn, void *context)
{
    if (fd < 0 || fn == NULL)
        return SKEIN_INVALID;
    if (watches_grow(loop, (size_t)fd + 1) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    struct watch *watch = &loop->watches[fd];
    if (watch->fn != NULL)
        return SKEIN_EXISTS;
    uint32_t serial = ++loop->serial;
    struct epoll_event event = {.events = epoll_events,
                                .data.u64 = ((uint64_t)serial << 32) | (uint32_t)fd};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        return status_of_errno(errno);
    *watch = (struct watch){fn, context, serial};
    return SKEIN_OK;
}

void loop_fd_remove(struct loop *loop, int fd)
{
    if (fd < 0 || (size_t)fd >= loop->watch_count || loop->watches[fd].fn == NULL)
        return;
    loop->watches[fd].fn = NULL;
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
}

static void watch_call(struct loop *loop, const struct epoll_event *event)
{
    uint32_t fd = (uint32_t)event->data.u64;
    if (fd >= loop->watch_count)
        return;
    struct watch watch = loop->watches[fd]; /* a copy: the callback may grow the table */
    if (watch.fn != NULL && watch.serial == (uint32_t)(event->data.u64 >> 32))
        watch.fn(watch.context, event->events);
}

/* ---- timers: a binary heap, earliest first ---- */

static bool timer_before(const struct loop_timer *a, const struct loop_timer *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void heap_put(struct loop *loop, size_t place, struct loop_timer *timer)
{
    loop->heap[place] = timer;
    timer->place = place;
}

static void heap_rise(struct loop *loop, size_t place)
{
    struct loop_timer *timer = loop->heap[place];
    while (place > 0 && timer_before(timer, loop->heap[(place - 1) / 2])) {
        heap_put(loop, place, loop->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    heap_put(loop, place, timer);
}

static void heap_sink(struct loop *loop, size_t place)
{
    struct loop_timer *timer = loop->heap[place];
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= loop->timer_count)
            break;
        if (child + 1 < loop->timer_count && timer_before(loop->heap[child + 1], loop->heap[child]))
            child++;
        if (!timer_before(loop->heap[child], timer))
            break;
        heap_put(loop, place, loop->heap[child]);
        place = child;
    }
    heap_put(loop, place, timer);
}

static void heap_remove(struct loop *loop, size_t place)
{
    loop->heap[place]->place = TIMER_UNPLACED;
    struct loop_timer *last = loop->heap[--loop->timer_count];
    if (place == loop->timer_count)
        return;
    heap_put(loop, place, last);
    heap_rise(loop, place);
    heap_sink(loop, last->place);
}

/* Room for one more timer, the one that is firing included, so that a repeat cannot fail. */
static int heap_reserve(struct loop *loop)
{
    size_t need = loop->timer_count + (loop->firing != NULL) + 1;
    return array_grow(loop->heap, need, &loop->timer_cap) ? SKEIN_OK : SKEIN_NO_MEMORY;
}

static void timer_place(struct loop *loop, struct loop_timer *timer, uint64_t due_ns)
{
    timer->due_ns = due_ns;
    timer->order = loop->timer_order++;
    heap_put(loop, loop->timer_count++, timer);
    heap_rise(loop, timer->place);
}

struct loop_timer *loop_timer_add(struct loop *loop, uint64_t delay_ms, int repeat, loop_fn *fn,
                                  void *context)
{
    struct loop_timer *timer = calloc(1, sizeof *timer);
    if (timer == NULL || heap_reserve(loop) != SKEIN_OK) {
        free(timer);
        return NULL;
    }
    uint64_t delay_ns = delay_ms < UINT64_MAX / 4000000 ? delay_ms * 1000000 : UINT64_MAX / 4;
    timer->fn = fn;
    timer->context = context;
    /* A repeat of 0 ms would starve the descriptors. */
    timer->repeat_ns = repeat == 0 ? 0 : delay_ns > 0 ? delay_ns : 1000000;
    timer_place(loop, timer, clock_monotonic_ns() + delay_ns);
    return timer;
}

void loop_timer_cancel(struct loop *loop, struct loop_timer **pointer)
{
    struct loop_timer *timer = *pointer;
    if (timer == NULL)
        return;
    *pointer = NULL;
    if (timer == loop->firing) {
        timer->cancelled = true; /* timers_run frees it when its callback has returned */
        return;
    }
    heap_remove(loop, timer->place);
    free(timer);
}

/* Fires what is due at `now`; timers that callbacks add wait for the next round. */
static void timers_run(struct loop *loop)
{
    uint64_t now = clock_monotonic_ns();
    uint64_t order = loop->timer_order;
    while (loop->timer_count > 0 && loop->heap[0]->due_ns <= now && loop->heap[0]->order < order) {
        struct loop_timer *timer = loop->heap[0];
        heap_remove(loop, 0);
        loop->firing = timer;
        timer->fn(timer->context);
        loop->firing = NULL;
        if (timer->repeat_ns == 0 || timer->cancelled) {
            free(timer);
            continue;
        }
        uint64_t due = timer->due_ns + timer->repeat_ns;
        timer_place(loop, timer, due > now ? due : now + timer->repeat_ns);
    }
}

/* Milliseconds until the next timer, rounded up, for epoll_wait; -1: none. */
static int timers_wait_ms(const struct loop *loop)
{
    if (loop->timer_count == 0)
        return -1;
    uint64_t now = clock_monotonic_ns(), due = loop->heap[0]->due_ns;
    if (due <= now)
        return 0;
    uint64_t ms = (due - now + 999999) / 1000000;
    return ms > 60000 ? 60000 : (int)ms;
}

/* ---- posted work ---- */

static void loop_wake(const struct loop *loop)
{
    uint64_t one = 1;
    /* It fails only where the counter is full: the loop is awake then. */
    while (write(loop->wake, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

int loop_post(struct loop *loop, loop_fn *fn, void *context)
{
    struct post *post = malloc(sizeof *post);
    if (post == NULL)
        return SKEIN_NO_MEMORY;
    *post = (struct post){fn, context, NULL};
    pthread_mutex_lock(&loop->lock);
    *loop->last = post;
    loop->last = &post->next;
    pthread_mutex_unlock(&loop->lock);
    loop_wake(loop);
    return SKEIN_OK;
}

static void posts_run(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    struct post *post = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    pthread_mutex_unlock(&loop->lock);
    while (post != NULL) {
        struct post *next = post->next;
        post->fn(post->context);
        free(post);
        post = next;
    }
}

/* ---- running ---- */

static void wake_drain(const struct loop *loop)
{
    uint64_t count;
    while (read(loop->wake, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

int loop_run(struct loop *loop)
{
    struct epoll_event events[EVENTS_MAX];
    while (!__atomic_load_n(&loop->stopped, __ATOMIC_ACQUIRE)) {
        int count = epoll_wait(loop->epoll, events, EVENTS_MAX, timers_wait_ms(loop));
        if (count < 0 && errno != EINTR)
            return SKEIN_IO;
        for (int i = 0; i < count; i++) {
            if (events[i].data.u64 == UINT64_MAX)
                wake_drain(loop);
            else
                watch_call(loop, &events[i]);
        }
        posts_run(loop);
        timers_run(loop);
    }
    posts_run(loop); /* what was posted before the stop still runs, so its context is not lost */
    __atomic_store_n(&loop->stopped, 0, __ATOMIC_RELEASE);
    return SKEIN_OK;
}

void loop_stop(struct loop *loop)
{
    int saved = errno;
    __atomic_store_n(&loop->stopped, 1, __ATOMIC_RELEASE);
    loop_wake(loop);
    errno = saved;
}
