/* SPDX-License-Identifier: Apache-2.0
 *
 * Between filling blocks and packing them by LZ4. Owns the raw blocks. Where the writer is shared,
 * two threads come here: the writer's, and one that helps. Each takes the oldest block that nobody
 * has taken; what is packed is appended in the blocks' order, whoever ends first. So all goes on if
 * the helper never gets a processor.
 *
 *     writer's thread                                           helper
 *     ── fills ─── pipe_put ──▶ FILLED ──▶ TAKEN ──▶ DONE ──▶ `packed`, in order
 *          ▲                    (one of the two packs it)         │
 *          └────────────────── EMPTY ◀────────────────────────────┘
 *
 * The writer's thread waits for the helper's block at the end, and where all others are done and it
 * needs one. That happens once: a helper so slow is sent away. Whenever it waits, also for the mutex
 * alone, the helper is lent its turn: else one that nobody runs could keep it.
 */
#include "partition_writer_int.h"

#include <stdlib.h>

static void block_pack(struct raw_block *block)
{
    buf_clear(&block->stored);
    section_put_packed(&block->stored, SECTION_BLOCK, block->raw, block->raw_len);
}

void pipe_lock(struct block_pipe *pipe)
{
    if (pthread_mutex_trylock(&pipe->mutex) == 0)
        return;
    pipe->lend.fn(pipe->lend.context, true);
    pthread_mutex_lock(&pipe->mutex);
    pipe->lend.fn(pipe->lend.context, false);
}

/* The helper waits without a loan. */
static void helper_lock(struct block_pipe *pipe)
{
    pthread_mutex_lock(&pipe->mutex);
}

/* With the mutex, where shared. The block is the next in the file. */
static void block_append(struct batch_packer *p, const struct raw_block *block)
{
    struct partition_block *figures = &p->blocks[p->pipe.appended++];
    figures->offset = p->packed.len; /* of the first block, until the tables in front are known */
    figures->stored_bytes = (uint32_t)block->stored.len;
    buf_put(&p->packed, block->stored.data, block->stored.len);
    if (block->stored.status != SKEIN_OK || p->packed.status != SKEIN_OK)
        p->pipe.status = SKEIN_NO_MEMORY;
    else if (p->packed.len > PARTITION_BYTES_MAX)
        p->pipe.status = SKEIN_TOO_LARGE;
}

/* ---- shared ---- */

/* With the mutex: the oldest block that is filled; NULL: there is none. */
static struct raw_block *filled_find(const struct block_pipe *pipe)
{
    for (unsigned i = 0; i < pipe->queued; i++) {
        struct raw_block *block = pipe->queue[(pipe->first + i) % PIPE_BLOCKS];
        if (block->state == RAW_FILLED)
            return block;
    }
    return NULL;
}

/* With the mutex, of which it lets go meanwhile; `lock` takes it again. */
static void filled_pack(struct batch_packer *p, struct raw_block *block,
                        void (*lock)(struct block_pipe *pipe))
{
    struct block_pipe *pipe = &p->pipe;
    block->state = RAW_TAKEN;
    pthread_mutex_unlock(&pipe->mutex);
    block_pack(block);
    lock(pipe);
    block->state = RAW_DONE;
    while (pipe->queued > 0 && pipe->queue[pipe->first]->state == RAW_DONE) {
        block_append(p, pipe->queue[pipe->first]);
        pipe->spare[pipe->spares++] = pipe->queue[pipe->first];
        pipe->first = (pipe->first + 1) % PIPE_BLOCKS;
        pipe->queued--;
    }
    pthread_cond_broadcast(&pipe->changed);
}

/* With the mutex: packs what is filled, or waits for who packs, who may have this thread's turn. */
static void pipe_step(struct batch_packer *p)
{
    struct block_pipe *pipe = &p->pipe;
    struct raw_block *block = filled_find(pipe);
    unsigned queued = pipe->queued;
    if (block != NULL) {
        filled_pack(p, block, pipe_lock);
        return;
    }
    pipe->lend.fn(pipe->lend.context, true);
    while (pipe->queued == queued)
        pthread_cond_wait(&pipe->changed, &pipe->mutex);
    pipe->lend.fn(pipe->lend.context, false);
}

/* With the mutex: a block to fill. */
static struct raw_block *spare_take(struct batch_packer *p)
{
    struct block_pipe *pipe = &p->pipe;
    struct raw_block *made = NULL;
    if (pipe->spares == 0 && pipe->made < PIPE_BLOCKS)
        made = raw_block_new(); /* NULL: with fewer it goes on, too */
    pipe->made += made != NULL;
    while (made == NULL && pipe->spares == 0) {
        /* This thread has packed all others while the helper had one: somebody else has its processor. */
        if (filled_find(pipe) == NULL)
            pipe->over = true;
        pipe_step(p);
    }
    return made != NULL ? made : pipe->spare[--pipe->spares];
}

static void shared_put(struct batch_packer *p)
{
    struct block_pipe *pipe = &p->pipe;
    pipe_lock(pipe);
    p->filling->state = RAW_FILLED;
    pipe->queue[(pipe->first + pipe->queued++) % PIPE_BLOCKS] = p->filling;
    pthread_cond_signal(&pipe->changed);
    p->filling = spare_take(p);
    p->status = pipe->status;
    pthread_mutex_unlock(&pipe->mutex);
}

/* ---- for the packer ---- */

struct raw_block *raw_block_new(void)
{
    struct raw_block *block = malloc(sizeof *block);
    if (block != NULL) {
        block->raw_len = 0;
        block->stored = (struct buf){0};
    }
    return block;
}

static void raw_block_free(struct raw_block *block)
{
    if (block != NULL)
        buf_fini(&block->stored);
    free(block);
}

void pipe_put(struct batch_packer *p)
{
    if (p->pipe.shared) {
        shared_put(p);
    } else {
        block_pack(p->filling);
        block_append(p, p->filling);
        p->status = p->pipe.status;
    }
    p->filling->raw_len = 0;
}

void pipe_drain(struct batch_packer *p)
{
    struct block_pipe *pipe = &p->pipe;
    if (!pipe->shared)
        return;
    pipe_lock(pipe);
    while (pipe->queued > 0)
        pipe_step(p);
    if (p->status == SKEIN_OK)
        p->status = pipe->status;
    pipe->over = true;
    pthread_cond_broadcast(&pipe->changed);
    pthread_mutex_unlock(&pipe->mutex);
}

void pipe_free(struct batch_packer *p)
{
    struct block_pipe *pipe = &p->pipe;
    for (unsigned i = 0; i < pipe->queued; i++)
        raw_block_free(pipe->queue[(pipe->first + i) % PIPE_BLOCKS]);
    for (unsigned i = 0; i < pipe->spares; i++)
        raw_block_free(pipe->spare[i]);
    raw_block_free(p->filling);
    if (!pipe->shared)
        return;
    pthread_cond_destroy(&pipe->changed);
    pthread_mutex_destroy(&pipe->mutex);
}

/* ---- calls ---- */

static void lend_nothing(void *context, bool lent)
{
    (void)context;
    (void)lent;
}

int partition_writer_share(struct partition_writer *w, const struct partition_lend *lend)
{
    struct block_pipe *pipe = &w->pack.pipe;
    if (pipe->shared || w->pack.block_count > 0 || w->status != SKEIN_OK)
        return SKEIN_INVALID;
    if (pthread_mutex_init(&pipe->mutex, NULL) != 0)
        return SKEIN_NO_MEMORY;
    if (pthread_cond_init(&pipe->changed, NULL) != 0) {
        pthread_mutex_destroy(&pipe->mutex);
        return SKEIN_NO_MEMORY;
    }
    pipe->lend = lend != NULL ? *lend : (struct partition_lend){lend_nothing, NULL};
    pipe->made = 1;
    pipe->shared = true;
    return SKEIN_OK;
}

void partition_writer_help(struct partition_writer *w)
{
    struct block_pipe *pipe = &w->pack.pipe;
    helper_lock(pipe);
    while (!pipe->over) {
        struct raw_block *block = filled_find(pipe);
        if (block != NULL)
            filled_pack(&w->pack, block, helper_lock);
        else
            pthread_cond_wait(&pipe->changed, &pipe->mutex);
    }
    pthread_mutex_unlock(&pipe->mutex);
}

void partition_writer_unshare(struct partition_writer *w)
{
    struct block_pipe *pipe = &w->pack.pipe;
    if (!pipe->shared)
        return;
    pipe_lock(pipe);
    pipe->over = true;
    pthread_cond_broadcast(&pipe->changed);
    pthread_mutex_unlock(&pipe->mutex);
}
