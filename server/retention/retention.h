/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept, and for how long. Deletes captures whose time is over; where a quota is exceeded,
 * deletes the oldest of who has most (retention_turns.h); says why of each. Owns one thread. For a
 * quota it never deletes a capture that is pinned or runs, or whose deletion would free nothing.
 * Partitions that no capture lists go first.
 *
 * A quota counts bytes once, however many captures share them. retention.max_bytes counts segments
 * on disk and rows about captures (the used pages of state.db, less 4 MiB that do not count). A
 * service's quota counts the bytes of its partitions.
 *
 *   0                                                      7/8       max_bytes
 *   ├── needed: alive partitions, rows ─────────────────────┤── dead ───┤── above: captures go
 *
 *   above max_bytes    captures go until what is needed is 7/8; compaction (ingest) gives the dead
 *                      part back. With 1/8 dead in all, some segment is at least 1/8 dead: to give
 *                      back one byte never costs copying more than seven.
 *   rows above 1/8     captures go, even if no partition is freed
 */
#ifndef RETENTION_H
#define RETENTION_H

#include "audit.h"
#include "capture.h"
#include "config.h"

struct retention_settings {
    uint64_t max_bytes;                /* 0: no bound */
    const struct config_map *services; /* bytes that each may have; must outlive retention */
    uint64_t stray_ms; /* how long a quota spares a partition that no capture lists */
    int64_t (*delete_strays)(void *context, uint64_t *after, uint64_t before_ns, uint64_t *bytes);
    void *context;
};

struct retention;

/* All but the settings must outlive it. SKEIN_OK, SKEIN_NO_MEMORY. */
int retention_start(const struct retention_settings *settings, struct store *store,
                    struct index *index, struct catalog *catalog, struct capture_engine *captures,
                    struct audit *audit, struct retention **out);
/* Waits for the deletion that is running. */
void retention_stop(struct retention **retention);

#define RETENTION_WORDS 512
/* Whether all quotas are met; if not, `words` says why nothing more is deleted. Any thread. */
bool retention_is_met(struct retention *retention, char words[RETENTION_WORDS]);

#endif
