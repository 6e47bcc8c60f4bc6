/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads apart, and what hangs; see look_apart.h. Owns the list of looks that were given up, of this
 * whole program: what hangs are its threads.
 */
#include "look_apart.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "cond_until.h"
#include "proc_info.h"

#define REST_TIMES  20
#define REST_NS_MAX (60 * NS_PER_S)

struct apart {
    pthread_mutex_t mutex;
    pthread_cond_t told_now;
    /* under the mutex */
    bool told, given_up;
    unsigned users; /* the asker, the thread */
    pid_t pid;      /* at which it looks; 0: none yet */
    uint64_t at_ns; /* CLOCK_MONOTONIC: since when */
    /* constant */
    apart_look_fn *look;
    apart_drop_fn *drop;
    void *context;
};

/* One that was given up. */
struct hang {
    const struct apart *apart; /* NULL: the thread is back */
    pid_t pid;
    uint32_t user; /* whose shares it uses */
    uint64_t since_ns, rest_ns;
};

static struct {
    pthread_mutex_t mutex;
    struct hang items[APART_MAX];
    size_t count;
    uint64_t given_up;
} hangs = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- what hangs ---- */

static void hangs_forget_locked(uint64_t now_ns)
{
    for (size_t i = 0; i < hangs.count;) {
        const struct hang *hang = &hangs.items[i];
        if (hang->apart == NULL && now_ns >= hang->rest_ns)
            hangs.items[i] = hangs.items[--hangs.count];
        else
            i++;
    }
}

static bool may_look_locked(pid_t pid)
{
    hangs_forget_locked(clock_monotonic_ns());
    if (hangs.count == 0)
        return true;
    uint32_t user = proc_user_charged(pid, proc_user(pid));
    size_t users = 0;
    for (size_t i = 0; i < hangs.count; i++) {
        if (hangs.items[i].pid == pid)
            return false;
        users += hangs.items[i].user == user;
    }
    return users < APART_USER_MAX && hangs.count < (user == 0 ? APART_MAX : APART_MAX - APART_ROOT);
}

/* Where looks were given up at the same time, the list may be full: then this one is in none. */
static void hang_add(const struct apart *apart, uint64_t now_ns)
{
    uint32_t user = proc_user_charged(apart->pid, proc_user(apart->pid));
    pthread_mutex_lock(&hangs.mutex);
    hangs.given_up++;
    if (hangs.count < APART_MAX)
        hangs.items[hangs.count++] =
            (struct hang){.apart = apart, .pid = apart->pid, .user = user, .since_ns = now_ns};
    pthread_mutex_unlock(&hangs.mutex);
}

static void hang_end(const struct apart *apart)
{
    uint64_t now_ns = clock_monotonic_ns();
    pthread_mutex_lock(&hangs.mutex);
    for (size_t i = 0; i < hangs.count; i++) {
        struct hang *hang = &hangs.items[i];
        if (hang->apart != apart)
            continue;
        uint64_t hung_ns = now_ns - hang->since_ns;
        hang->apart = NULL;
        hang->rest_ns =
            now_ns + (hung_ns < REST_NS_MAX / REST_TIMES ? hung_ns * REST_TIMES : REST_NS_MAX);
    }
    pthread_mutex_unlock(&hangs.mutex);
}

uint64_t apart_given_up(void)
{
    pthread_mutex_lock(&hangs.mutex);
    uint64_t given_up = hangs.given_up;
    pthread_mutex_unlock(&hangs.mutex);
    return given_up;
}

/* ---- the thread ---- */

/* The last of both frees it. */
static void apart_leave(struct apart *apart)
{
    pthread_mutex_lock(&apart->mutex);
    bool last = --apart->users == 0;
    pthread_mutex_unlock(&apart->mutex);
    if (!last)
        return;
    pthread_cond_destroy(&apart->told_now);
    pthread_mutex_destroy(&apart->mutex);
    free(apart);
}

bool apart_at(struct apart *apart, pid_t pid)
{
    pthread_mutex_lock(&hangs.mutex);
    bool may = may_look_locked(pid);
    pthread_mutex_unlock(&hangs.mutex);
    pthread_mutex_lock(&apart->mutex);
    apart->pid = may ? pid : 0;
    apart->at_ns = clock_monotonic_ns();
    may = may && !apart->given_up;
    pthread_mutex_unlock(&apart->mutex);
    return may;
}

void apart_tell(struct apart *apart)
{
    pthread_mutex_lock(&apart->mutex);
    apart->told = true;
    pthread_cond_signal(&apart->told_now);
    pthread_mutex_unlock(&apart->mutex);
}

static void *apart_main(void *argument)
{
    struct apart *apart = argument;
    /* A thread that hangs where no signal reaches it outlives the program's end: the program's locks
     * and sockets are to go with that. */
    (void)close_range(3, ~0u, CLOSE_RANGE_UNSHARE);
    apart->look(apart, apart->context);
    apart_tell(apart);
    pthread_mutex_lock(&apart->mutex);
    bool given_up = apart->given_up;
    pthread_mutex_unlock(&apart->mutex);
    if (given_up) {
        hang_end(apart);
        apart->drop(apart->context);
    }
    apart_leave(apart);
    return NULL;
}

static bool thread_begin(struct apart *apart)
{
    pthread_attr_t detached;
    pthread_t thread;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    bool begun = pthread_create(&thread, &detached, apart_main, apart) == 0;
    pthread_attr_destroy(&detached);
    return begun;
}

/* ---- who asks ---- */

/* Until it has told, or has been at one process for too long. */
static int told_wait(struct apart *apart, uint64_t patience_ns)
{
    pthread_mutex_lock(&apart->mutex);
    while (!apart->told && !apart->given_up) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns - apart->at_ns < patience_ns) {
            (void)cond_wait_until(&apart->told_now, &apart->mutex, apart->at_ns + patience_ns);
            continue;
        }
        apart->given_up = true;
        if (apart->pid != 0)
            hang_add(apart, now_ns);
    }
    bool told = !apart->given_up;
    pthread_mutex_unlock(&apart->mutex);
    return told ? SKEIN_OK : SKEIN_TIMEOUT;
}

int apart_run(apart_look_fn *look, apart_drop_fn *drop, void *context, uint64_t patience_ns)
{
    struct apart *apart = malloc(sizeof *apart);
    if (apart == NULL)
        return SKEIN_NO_MEMORY;
    *apart = (struct apart){
        .look = look, .drop = drop, .context = context, .at_ns = clock_monotonic_ns(), .users = 2};
    pthread_mutex_init(&apart->mutex, NULL);
    cond_init(&apart->told_now);
    if (!thread_begin(apart)) {
        apart->users = 1;
        apart_leave(apart);
        return SKEIN_NO_MEMORY;
    }
    int status = told_wait(apart, patience_ns);
    apart_leave(apart);
    return status;
}
