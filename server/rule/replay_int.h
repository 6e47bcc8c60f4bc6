/* SPDX-License-Identifier: Apache-2.0
 *
 * What rule_replay.c and replay_scan.c share. Included by these two alone.
 */
#ifndef REPLAY_INT_H
#define REPLAY_INT_H

#include "idmap.h"
#include "rule_match.h"
#include "rule_replay.h"
#include "ruleset_int.h"
#include "stored_walk.h"

#define REPLAY_INSTANTS_MAX   20000u
#define REPLAY_PARTITIONS_MAX 100000u
#define REPLAY_BYTES_MAX      (UINT64_C(512) << 20)
#define REPLAY_TIME_NS        (UINT64_C(15) * 1000000000u)

/* A time at which the condition was met. */
struct replay_instant {
    uint64_t at_ns;
    struct process_uid process; /* zero: no one process */
    char reason[256];
    uint64_t incident; /* the one that it begins or joins, from 1 on; 0: a limit holds it back */
    char why[RULE_WHY_BYTES];
};

struct replay {
    const struct replay_request *request;
    struct index *index;
    struct rules *alone; /* a set of the rule alone, and the rule in it */
    struct rule *rule;
    struct rule_spec *spec;          /* NULL: the collector itself checks the condition */
    uint64_t cooldown_ns, until_ns;  /* until_ns: monotonic, when to stop */
    uint64_t bytes_per_hour;         /* the one limit that is not applied; 0: the rule has none */
    struct idmap processes;          /* struct stored_process */
    struct replay_instant *instants; /* by time, once all are there */
    size_t count, cap;
    uint64_t met, held; /* how often the condition was met; how often a cooldown held it back */
    uint64_t partitions, partitions_read, bytes_read;
    const char *cut_short; /* why not all was looked at; NULL: all was */
};

/* Adds an instant, unless there are too many. SKEIN_OK, SKEIN_NO_MEMORY. */
int replay_add(struct replay *p, uint64_t at_ns, const struct process_uid *process,
               const char *reason);
/* Whether it has taken too long; if so, notes it in cut_short. */
bool replay_is_late(struct replay *p);

/* replay_scan.c: finds instants of conditions that show in stored records. */
bool replay_scans(const struct rule_spec *spec);
int replay_scan(struct replay *p);

#endif
