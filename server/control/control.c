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
#include "no_sync.h"
#include "skein_check.h"

struct control_role control_role;

struct control {
    pthread_mutex_t mutex;
    /* The address that stands for the thread which holds the mutex; NULL: none does. relaxed: a
     * thread looks whether it is its own, and only it stores that. */
    const char *_Atomic owner;
    struct catalog *catalog;
    struct control_hooks hooks;
    pthread_cond_t saved;       /* a save has ended */
    pthread_mutex_t committing; /* held during a commit, not while the other is waited for */
    bool dirty CONTROL_GUARDED;
    bool saving CONTROL_GUARDED; /* a commit is under way */
    /* The last save that has begun, and the last that is committed: with all before it. */
    uint64_t begun CONTROL_GUARDED;
    uint64_t committed CONTROL_GUARDED;
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
    pthread_cond_init(&c->saved, NULL);
    pthread_mutex_init(&c->committing, NULL);
    return SKEIN_OK;
}

void control_free(struct control **control)
{
    struct control *c = *control;
    if (c == NULL)
        return;
    pthread_cond_destroy(&c->saved);
    pthread_mutex_destroy(&c->committing);
    pthread_mutex_destroy(&c->mutex);
    free(c);
    *control = NULL;
}

static bool is_mine(const struct control *c)
{
    return atomic_load_explicit(&c->owner, memory_order_relaxed) == &self;
}

static void held_note(struct control *c, bool held)
{
    atomic_store_explicit(&c->owner, held ? &self : NULL, memory_order_relaxed);
    no_sync(held);
}

/* The next three are what the compiler is to believe. */
void control_lock(struct control *c) CONTROL_ATTRIBUTE(no_thread_safety_analysis)
{
    skein_check(!is_mine(c));
    pthread_mutex_lock(&c->mutex);
    held_note(c, true);
}

void control_unlock(struct control *c) CONTROL_ATTRIBUTE(no_thread_safety_analysis)
{
    control_assert_locked(c);
    held_note(c, false);
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

uint64_t control_next_save(const struct control *c)
{
    control_assert_locked(c);
    return c->begun + 1;
}

bool control_has_saved(const struct control *c, uint64_t number)
{
    control_assert_locked(c);
    return number <= c->committed;
}

static void save_await(struct control *c) CONTROL_LOCKED
{
    while (c->saving) {
        held_note(c, false);
        pthread_cond_wait(&c->saved, &c->mutex);
        held_note(c, true);
    }
}

void control_catch_up(struct control *c)
{
    no_sync_check();
    pthread_mutex_lock(&c->committing);
    pthread_mutex_unlock(&c->committing);
}

/* What is dirty, by the hooks. NULL and a status where there is no memory for a batch. */
static struct db_batch *batch_collect(struct control *c, int *status) CONTROL_LOCKED
{
    *status = catalog_begin(c->catalog);
    if (*status != SKEIN_OK)
        return NULL;
    c->hooks.save(c->hooks.context);
    return catalog_collected(c->catalog);
}

/* Without the lock, which the caller has before and after. */
static int batch_commit(struct control *c, struct db_batch *batch) CONTROL_LOCKED
{
    c->saving = true;
    pthread_mutex_lock(&c->committing);
    control_unlock(c);
    int status = catalog_commit(c->catalog, batch);
    pthread_mutex_unlock(&c->committing);
    control_lock(c);
    c->saving = false;
    pthread_cond_broadcast(&c->saved);
    return status;
}

int control_save(struct control *c)
{
    control_assert_locked(c);
    const uint64_t mine = control_next_save(c);
    save_await(c);
    if (control_has_saved(c, mine))
        return SKEIN_OK;
    const uint64_t number = ++c->begun;
    if (!c->dirty && (c->hooks.is_dirty == NULL || !c->hooks.is_dirty(c->hooks.context))) {
        c->committed = number;
        return SKEIN_OK;
    }
    int status;
    c->dirty = false;
    struct db_batch *batch = batch_collect(c, &status);
    if (batch != NULL)
        status = batch_commit(c, batch);
    db_batch_free(&batch);
    atomic_store_explicit(&c->last_save, status, memory_order_relaxed);
    c->hooks.saved(c->hooks.context, status == SKEIN_OK);
    if (status != SKEIN_OK) {
        c->dirty = true;
        log_error("catalog", "cannot save; nothing is acknowledged until it works", "error",
                  skein_status_text(status), NULL);
        return status;
    }
    c->committed = number;
    return SKEIN_OK;
}

int control_last_save(const struct control *c)
{
    return atomic_load_explicit(&c->last_save, memory_order_relaxed);
}
