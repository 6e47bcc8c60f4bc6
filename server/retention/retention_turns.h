/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose captures go next where a quota is exceeded. No thread; for retention.c alone.
 *
 *     all that may go   |1/8|--------------- 1/2 ----------------|
 *     asked for         |---|==========> goes first                     what programs of ordinary
 *                                                                       users asked for themselves
 *     rules, crashes    |----------------------------------------|===>  goes next: of their processes
 *     the rest          goes where neither has more than that           of people, policies, root
 *
 * Within each of the three, the oldest capture of the holder with most goes. So what a flood pushes
 * out is its own, and whoever has little is not reached by it. Captures that have just begun
 * and run are what their holder has, but do not go. Those of an ordinary user end soon: where he has
 * most and nothing else, nobody goes in his place until then.
 */
#ifndef RETENTION_TURNS_H
#define RETENTION_TURNS_H

#include <stdbool.h>

#include "catalog_capture.h"

struct turn {
    enum share_rank rank;
    char *name;
    uint64_t weight, oldest_ns;
    uint64_t passed_by;          /* of the weight that there was: what cannot go */
    bool has_young;              /* a capture that runs, and ends soon */
    struct catalog_cursor after; /* its captures up to here had their turn */
    bool over;                   /* nothing more of it may go */
};

/* Bytes are as if nothing was shared; by_count: each capture weighs the same. */
struct turns {
    bool by_count;
    bool stale; /* something went since they were taken, and more may have come */
    struct turn *items;
    size_t count, cap;
};

/* Who there is; with a service, who has a capture with a target of it. All-zero but by_count before;
 * to be ended by turns_fini in any case. SKEIN_OK or a status. */
int turns_take(struct turns *turns, struct catalog *catalog, const char *service);
/* The same anew; what cannot go is still known. They are as before on failure. */
int turns_renew(struct turns *turns, struct catalog *catalog, const char *service);
void turns_fini(struct turns *turns);

/* Whose turn it is; NULL: nothing more may go. Who `is over` and comes all the same is waited for. */
struct turn *turns_next(const struct turns *turns);
/* A capture of the holder with so many bytes is gone, or cannot go. */
void turn_deduct(struct turns *turns, struct turn *turn, uint64_t bytes, bool gone);

/* Of what it has most, for sentences: "captures that programs asked for". */
const char *turn_of(const struct turn *turn);

#endif
