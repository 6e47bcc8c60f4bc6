/* SPDX-License-Identifier: Apache-2.0
 *
 * The control lock; see control.h. Any thread enters. Never lets a thread wait for itself, nor say
 * that something is saved which is not.
 */
#include "control.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "log.h"
#include "skein_check.h"

struct control_role control_role;

struct control {
    pthread_mutex_t mutex;
    /* The address that stands for the thread which holds the mutex; NULL: none does. relaxed: a
     * thread looks whether it is its own, and only it stores that. */
    const char *_Atomic owner;
    struct catalog *catalog;
    struct control_hooks hooks;
    bool dirty CONTROL_ATTRIBUTE(guarded_by(control_role));
    _Atomic int last_save; /* relaxed: it stands alone */
};

static _Thread_local char self; /* its address is this thread's */

int control_new(struct catalog *catalog, const struct control_hooks *hooks, struct control **out)
{
    struct control *c = calloc(1, sizeof *c);
    *out = c;
    if (c == NULL)
        return SKEIN_NO_MEMORY;
    c->catalog = catalog;
    c->hooks = *hooks;
    pthread_mutex_init(&c->mutex, NULL);
    return SKEIN_OK;
}

void control_free(struct control **control)
{
    struct control *c = *control;
    if (c == NULL)
        return;
    pthread_mutex_destroy(&c->mutex);
    free(c);
    *control = NULL;
}

static bool is_mine(const struct control *c)
{
    return atomic_load_explicit(&c->owner, memory_order_relaxed) == &self;
}

/* The next three are what the compiler is to believe. */
void control_lock(struct control *c) CONTROL_ATTRIBUTE(no_thread_safety_analysis)
{
    skein_check(!is_mine(c));
    pthread_mutex_lock(&c->mutex);
    atomic_store_explicit(&c->owner, &self, memory_order_relaxed);
}

void control_unlock(struct control *c) CONTROL_ATTRIBUTE(no_thread_safety_analysis)
{
    control_assert_locked(c);
    atomic_store_explicit(&c->owner, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&c->mutex);
}

void control_assert_locked_at(const struct control *c, const char *file, int line)
    CONTROL_ATTRIBUTE(no_thread_safety_analysis)
{
    if (!is_mine(c))
        skein_check_failed(file, line, "the control lock is held");
}

void control_mark_dirty(struct control *c)
{
    control_assert_locked(c);
    c->dirty = true;
}

int control_save(struct control *c)
{
    control_assert_locked(c);
    if (!c->dirty && (c->hooks.is_dirty == NULL || !c->hooks.is_dirty(c->hooks.context)))
        return SKEIN_OK;
    int status = catalog_begin(c->catalog);
    if (status == SKEIN_OK) {
        status = c->hooks.save(c->hooks.context);
        int ended = catalog_end(c->catalog, status == SKEIN_OK);
        status = status == SKEIN_OK ? ended : status;
    }
    atomic_store_explicit(&c->last_save, status, memory_order_relaxed);
    if (status != SKEIN_OK) {
        log_error("catalog", "cannot save; nothing is acknowledged until it works", "error",
                  skein_status_text(status), NULL);
        return status;
    }
    c->dirty = false;
    c->hooks.saved(c->hooks.context);
    return SKEIN_OK;
}

int control_last_save(const struct control *c)
{
    return atomic_load_explicit(&c->last_save, memory_order_relaxed);
}
