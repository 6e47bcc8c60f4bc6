/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer: appends a group's partitions and syncs them, while the ingest thread receives the
 * next group. Owns one thread, which has the store's writing half while it has a group. Besides
 * its group it touches only the problem that readyz reports; never answers anybody.
 */
#include <errno.h>
#include <unistd.h>

#include "ingest_int.h"

/* Appends members from the first one on, until one finds no room. *done: how many. SKEIN_OK;
 * SKEIN_IO: the segment failed, and all of them must be appended again. */
static int group_append(struct ingest *in, struct group *g, size_t *done)
{
    for (*done = 0; *done < g->count; ++*done) {
        struct member *m = &g->members[*done];
        if (m->repeat)
            continue;
        int status = store_append(in->store, &m->record, m->bytes, m->len, m->checksum, &m->place);
        if (status == SKEIN_IO)
            return status;
        if (status < 0) {
            atomic_store(&in->problem, status == SKEIN_FULL ? INGEST_FULL : INGEST_STORE);
            return SKEIN_OK;
        }
    }
    int problem = atomic_load(&in->problem);
    if (problem != INGEST_INDEX) /* only the ingest thread clears that one */
        (void)atomic_compare_exchange_strong(&in->problem, &problem, INGEST_NONE);
    return SKEIN_OK;
}

/* Makes the group durable. If the first segment fails, tries once more in a new one. */
static void group_write(struct ingest *in, struct group *g)
{
    int status = SKEIN_IO;
    size_t done = 0;
    for (int attempt = 0; status == SKEIN_IO && attempt < 2; attempt++) {
        status = group_append(in, g, &done);
        if (status == SKEIN_OK)
            status = store_sync(in->store);
    }
    if (status < 0)
        atomic_store(&in->problem, INGEST_STORE);
    g->written = status < 0 ? 0 : done;
}

static void ingest_wake(struct ingest *in)
{
    uint64_t one = 1;
    ssize_t n;
    do
        n = write(in->wake_fd, &one, sizeof one);
    while (n < 0 && errno == EINTR);
}

static void *writer_run(void *argument)
{
    struct ingest *in = argument;
    pthread_mutex_lock(&in->writer_lock);
    for (;;) {
        while (in->job == NULL && !in->writer_ends)
            pthread_cond_wait(&in->writer_turn, &in->writer_lock);
        struct group *job = in->job;
        if (job == NULL)
            break;
        pthread_mutex_unlock(&in->writer_lock);
        group_write(in, job);
        pthread_mutex_lock(&in->writer_lock);
        in->job = NULL;
        pthread_cond_broadcast(&in->writer_turn);
        ingest_wake(in);
    }
    pthread_mutex_unlock(&in->writer_lock);
    return NULL;
}

int writer_start(struct ingest *in)
{
    return pthread_create(&in->writer, NULL, writer_run, in) == 0 ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void writer_stop(struct ingest *in)
{
    pthread_mutex_lock(&in->writer_lock);
    in->writer_ends = true;
    pthread_cond_broadcast(&in->writer_turn);
    pthread_mutex_unlock(&in->writer_lock);
    pthread_join(in->writer, NULL);
}

void writer_give(struct ingest *in, struct group *group)
{
    pthread_mutex_lock(&in->writer_lock);
    in->job = group;
    pthread_cond_broadcast(&in->writer_turn);
    pthread_mutex_unlock(&in->writer_lock);
}

bool writer_is_done(struct ingest *in)
{
    pthread_mutex_lock(&in->writer_lock);
    bool done = in->job == NULL;
    pthread_mutex_unlock(&in->writer_lock);
    return done;
}

void writer_wait(struct ingest *in)
{
    pthread_mutex_lock(&in->writer_lock);
    while (in->job != NULL)
        pthread_cond_wait(&in->writer_turn, &in->writer_lock);
    pthread_mutex_unlock(&in->writer_lock);
}
