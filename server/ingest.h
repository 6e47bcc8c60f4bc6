/* SPDX-License-Identifier: Apache-2.0
 *
 * The data port: assembles chunks into partitions, checks them, stores them in group commits, adds
 * them to the index and only then acknowledges. Owns one thread, the store's only writer.
 */
#ifndef INGEST_H
#define INGEST_H

#include "index.h"
#include "store.h"

struct ingest_settings {
    const char *address;          /* "tcp://127.0.0.1:7460" */
    uint64_t max_assembling_bytes; /* memory for partitions of which chunks are missing */
    uint64_t commit_wait_ms;      /* how long a partition may wait for company in a group commit */
};

struct ingest_hooks {
    void *context;
    /* After the durable commit of these rows, before their acknowledgement; ingest thread; must not block. */
    void (*stored)(void *context, const struct partition_row *rows, size_t count);
};

struct ingest;
int ingest_start(const struct ingest_settings *settings, struct store *store, struct index *index,
                 const struct ingest_hooks *hooks, struct ingest **out, char *error, size_t error_bytes);
/* Stops taking chunks, commits and acknowledges what is whole, ends the thread. */
void ingest_stop(struct ingest **ingest);

/* Deletes a capture's partitions: tombstone, sync, index, segments that are empty. Any thread; waits for the ingest thread. */
int ingest_delete_capture(struct ingest *ingest, const struct capture_id *capture);

#endif
