/* SPDX-License-Identifier: Apache-2.0
 *
 * Between filling batches and packing them. Owns filled and spare batches. Where the writer is
 * shared, two threads come here: the writer's, and one that helps. Whoever finds a filled batch and
 * nobody packing packs the oldest, so that batches are packed in their order, by one thread at a
 * time, and all goes on if the helper never gets a processor.
 *
 *       writer's thread            the queue             the helper
 *     ── fills ── pipe_put ──▶ [ filled, in order ] ──▶ pipe_pack ──┐
 *          ▲                                                        │
 *          └──────────────────── [ spare ] ◀────────────────────────┘
 *
 * The writer's thread waits only while the helper packs and no batch is spare, or at the end.
 */
#include "partition_writer_int.h"

/* With the mutex; lets go of it meanwhile. Somebody calls it while nobody packs. */
static void pipe_pack(struct partition_writer *w)
{
    struct writer_pipe *p = &w->pipe;
    struct batch_rows *rows = p->filled[p->first];
    p->first = (p->first + 1) % PIPE_BATCHES;
    p->filled_count--;
    p->packing = true;
    pthread_mutex_unlock(&p->mutex);
    batch_pack(&w->pack, rows);
    pthread_mutex_lock(&p->mutex);
    p->packing = false;
    p->status = w->pack.status;
    p->spare[p->spare_count++] = rows;
    pthread_cond_broadcast(&p->changed);
}

/* With the mutex: packs what waits, or waits for who packs, who may have the turn of this thread. */
static void pipe_step(struct partition_writer *w)
{
    struct writer_pipe *p = &w->pipe;
    if (!p->packing) {
        pipe_pack(w);
        return;
    }
    p->lend.fn(p->lend.context, true);
    while (p->packing)
        pthread_cond_wait(&p->changed, &p->mutex);
    p->lend.fn(p->lend.context, false);
}

/* With the mutex: a batch to fill. */
static struct batch_rows *pipe_take(struct partition_writer *w)
{
    struct writer_pipe *p = &w->pipe;
    struct batch_rows *made = NULL;
    if (p->spare_count == 0 && p->made < PIPE_BATCHES)
        made = batch_rows_new(); /* NULL: with fewer it goes on, too */
    p->made += made != NULL;
    while (made == NULL && p->spare_count == 0)
        pipe_step(w);
    return made != NULL ? made : p->spare[--p->spare_count];
}

void pipe_put(struct partition_writer *w)
{
    struct writer_pipe *p = &w->pipe;
    if (!p->shared) {
        batch_pack(&w->pack, w->rows);
        w->rows->type_count = 0;
        writer_fail(w, w->pack.status);
        return;
    }
    pthread_mutex_lock(&p->mutex);
    p->filled[(p->first + p->filled_count++) % PIPE_BATCHES] = w->rows;
    pthread_cond_signal(&p->changed);
    w->rows = pipe_take(w);
    w->rows->type_count = 0;
    writer_fail(w, p->status);
    pthread_mutex_unlock(&p->mutex);
}

void pipe_drain(struct partition_writer *w)
{
    struct writer_pipe *p = &w->pipe;
    if (!p->shared)
        return;
    pthread_mutex_lock(&p->mutex);
    while (p->packing || p->filled_count > 0)
        pipe_step(w);
    p->over = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
}

void pipe_free(struct partition_writer *w)
{
    struct writer_pipe *p = &w->pipe;
    for (unsigned i = 0; i < p->filled_count; i++)
        batch_rows_free(p->filled[(p->first + i) % PIPE_BATCHES]);
    for (unsigned i = 0; i < p->spare_count; i++)
        batch_rows_free(p->spare[i]);
    batch_rows_free(w->rows);
    if (!p->shared)
        return;
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
}

/* ---- calls ---- */

static void lend_nothing(void *context, bool lent)
{
    (void)context;
    (void)lent;
}

int partition_writer_share(struct partition_writer *w, const struct partition_lend *lend)
{
    struct writer_pipe *p = &w->pipe;
    if (p->shared || w->status != SKEIN_OK)
        return SKEIN_INVALID;
    if (pthread_mutex_init(&p->mutex, NULL) != 0)
        return SKEIN_NO_MEMORY;
    if (pthread_cond_init(&p->changed, NULL) != 0) {
        pthread_mutex_destroy(&p->mutex);
        return SKEIN_NO_MEMORY;
    }
    p->lend = lend != NULL ? *lend : (struct partition_lend){lend_nothing, NULL};
    p->made = 1;
    p->shared = true;
    return SKEIN_OK;
}

void partition_writer_help(struct partition_writer *w)
{
    struct writer_pipe *p = &w->pipe;
    pthread_mutex_lock(&p->mutex);
    while (!p->over) {
        if (p->filled_count > 0 && !p->packing)
            pipe_pack(w);
        else
            pthread_cond_wait(&p->changed, &p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
}

void partition_writer_unshare(struct partition_writer *w)
{
    struct writer_pipe *p = &w->pipe;
    if (!p->shared)
        return;
    pthread_mutex_lock(&p->mutex);
    p->over = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
}
