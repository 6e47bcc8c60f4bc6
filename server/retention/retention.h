/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept, and for how long: deletes captures whose time is over and, where a quota is
 * exceeded, the oldest; says why of each. Owns one thread. Never deletes by a quota what is pinned
 * or running, and never what would free nothing. Partitions that no capture lists go first.
 *
 * A quota counts bytes once, however many captures share them. retention.max_bytes is of segments
 * on disk and of what is known of captures (the pages of state.db that are used), which may take an
 * eighth of it, and 4 MiB at least, which are not counted; beyond that the oldest captures go,
 * whatever else their deletion frees. Of segments: once they take more, captures go until what is
 * needed of them is an eighth below, and compaction (ingest) gives the rest back. With an eighth
 * dead, some segment is so for an eighth at least, so that no byte is given back at the price of
 * copying more than seven. A service's quota is of the bytes of its partitions.
 */
#ifndef RETENTION_H
#define RETENTION_H

#include "audit.h"
#include "capture.h"
#include "config.h"

struct retention_settings {
    uint64_t max_bytes;                /* 0: no bound */
    const struct config_map *services; /* bytes that each may have; must outlive retention */
    uint64_t stray_ms; /* how long what no capture lists is kept, before it goes by a quota */
    int64_t (*delete_strays)(void *context, uint64_t *after, uint64_t before_ns, uint64_t *bytes);
    void *context;
};

struct retention;

/* All but the settings must outlive it. SKEIN_OK, SKEIN_NO_MEMORY. */
int retention_start(const struct retention_settings *settings, struct store *store,
                    struct index *index, struct catalog *catalog, struct capture_engine *captures,
                    struct audit *audit, struct retention **out);
/* Waits for the deletion that is under way. */
void retention_stop(struct retention **retention);

#define RETENTION_WORDS 320
/* Whether quotas are met; where not, why nothing more is deleted. Any thread. */
bool retention_is_met(struct retention *retention, char words[RETENTION_WORDS]);

#endif
