/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole product in one folder: the built skeind and skein-agent as processes of their own,
 * talked to over HTTP as anybody would, and the traced program tests/support/whole_load.c. Every
 * failure ends the test through libcheck, but for whole_http. One thread owns a struct whole;
 * whole_http may be called from others.
 */
#ifndef WHOLE_H
#define WHOLE_H

#include <cjson/cJSON.h>

#include "buf.h"
#include "ids.h"
#include "support.h"

struct whole {
    char *folder, *socket;
    uint16_t data, control, http;
    pid_t collector, agent;                  /* 0: not running */
    const char *collector_more, *agent_more; /* members added to the daemons' config, or NULL */
    /* and to its objects "agents" and "collector"; whole_configure puts them in */
    const char *agents_more, *pins_more;
    long skew_s;                    /* what the agent's wall clock is ahead; 0: none */
    bool own_clocks;                /* the daemons' wall clocks can be set: whole_clock_set */
    const char *const *agent_under; /* words before the agent's program, as WHOLE_CONFINED; NULL */
    bool vitals; /* the agent records them; off where events are counted. whole_configure */
};

/* A folder, ports that nobody else is given, and both config files; nothing runs yet. The members
 * ("\"store\":{…}", without a comma at either end) must stay valid. */
void whole_init(struct whole *w, const char *collector_more, const char *agent_more);

/* A folder with another agent of the same collector, whose wall clock goes skew_s seconds ahead;
 * w->collector stays the other's to start and end. whole_fini before the other's. */
void whole_join(struct whole *w, const struct whole *other, long skew_s);

/* Sets the wall clock of "collector" or "agent" this far ahead of the test's, while they run.
 * own_clocks must have been set before they started. */
void whole_clock_set(const struct whole *w, const char *daemon, long ahead_s);

/* Writes the config files anew: after a change of …_more. */
void whole_configure(struct whole *w);

/* Ends both daemons with SIGTERM, expects exit status 0 of each, and removes the folder. */
void whole_fini(struct whole *w);

/* Start and wait until the daemon answers: /readyz with any status, the agent's socket. */
void whole_collector_start(struct whole *w);
void whole_agent_start(struct whole *w);

/* Starts the agent without waiting for anything. */
void whole_agent_spawn(struct whole *w);

/* kill -9, and waits until it is gone. */
void whole_kill(pid_t *daemon);

/* SIGTERM; the exit status. */
int whole_stop(pid_t *daemon);

/* "FOLDER/name", freed by the caller. */
char *whole_path(const struct whole *w, const char *name);

/* One request to the collector; path from the root, as printf. The HTTP status, or a status below 0
 * where there was no answer. The body is appended to *out where it is not NULL. Any thread. */
int whole_http(const struct whole *w, const char *method, const char *path, const char *body,
               struct buf *out);

/* GET that must succeed, as JSON; freed by the caller. */
cJSON *whole_get(const struct whole *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* POST /captures that must be answered 202. */
struct capture_id whole_capture(const struct whole *w, const char *body);

/* Waits until GET /captures/{id} has a status other than "running", and returns it whole. */
cJSON *whole_capture_final(const struct whole *w, const char *capture);

/* A string or number member that must be there. */
const char *whole_str(const cJSON *object, const char *name);
double whole_number(const cJSON *object, const char *name);

/* Calls back for every item of a listing ("/api/v1/partitions?capture=…"), over all pages. */
typedef void whole_item(void *context, const cJSON *item);
size_t whole_list(const struct whole *w, const char *path, whole_item *take, void *context);

/* Waits until the collector lists n live processes of the selector. */
void whole_wait_live(const struct whole *w, const char *selector, size_t n);

/* Waits until the one agent is online and its spool holds nothing. */
void whole_wait_drained(const struct whole *w);

/* Both daemons are there and a new capture of the selector becomes complete. */
void whole_serves(const struct whole *w, const char *selector);

/* ---- the traced program ---- */

enum { LOAD_THREADS_MAX = 8 };

/* What the program says in a file that both map. */
struct load_page {
    _Atomic uint32_t attached, stop;
    _Atomic uint64_t committed[LOAD_THREADS_MAX]; /* events 0 … n-1 of the thread are committed */
};

struct load {
    pid_t pid;
    unsigned threads;
    struct load_page *page;
    char *file;
};

struct load_options {
    const char *service;
    const char *program;  /* a copy of WHOLE_LOAD; NULL: that */
    unsigned threads;     /* 1 to LOAD_THREADS_MAX */
    unsigned burst;       /* events between two pauses of a thread */
    unsigned pause_us;    /* 0: none, as fast as it goes */
    unsigned snapshot_ms; /* asks for a snapshot this often; 0: never */
};
void load_start(const struct whole *w, const struct load_options *options, struct load *load);
void load_wait_attached(const struct load *load);
/* Members of an agent's config, for tests that count the partitions of rings. */
#define WHOLE_NO_EVIDENCE "\"evidence\":{\"enabled\":false}"
/* Both daemons, and a load of two threads, the service "shop", that is recorded. agent_more: as
 * whole_init's. */
void whole_shop(struct whole *w, struct load *load, const char *agent_more);
/* Waits until every thread has written n events more than now. */
void load_wait_events(const struct load *load, uint64_t n);
/* … n events in all. */
void load_wait_written(const struct load *load, uint64_t n);
void load_kill(struct load *load, int signal);
void load_free(struct load *load); /* killed where it still runs */

/* ---- what came out ---- */

/* The event numbers of a thread that a trace holds. */
struct seen {
    uint64_t first, last, count;
    uint64_t inside_first, inside_last; /* of those in the window */
    bool inside;                        /* there are any */
    unsigned holes;                     /* runs of missing numbers between these two */
};

struct tally {
    struct seen threads[LOAD_THREADS_MAX];
    uint64_t events, partitions;
    int death_signal; /* 0 where no partition knows of a death */
};

/* Checks every partition of `bytes` (partitions in a row) wholly and counts the load's events of
 * one process; fails where a number comes twice. */
void tally_trace(const struct buf *bytes, struct tally *tally);
/* The same, with the holes of a window alone: a partition has what was still in the ring from before,
 * and nobody has said that it is all. */
void tally_window(const struct buf *bytes, uint64_t from_ns, uint64_t to_ns, struct tally *tally);

/* Calls fn with the key of each partition that a target of a capture lists. */
void whole_target_keys(const cJSON *target, void (*fn)(void *context, const char *key),
                       void *context);

#endif
