/* SPDX-License-Identifier: Apache-2.0
 *
 * A process as the agent sees it, from its HELLO until the last user lets go. The table and all
 * fields but those marked are the loop thread's; a worker that cuts holds a reference and reads only
 * what is constant after attach.
 *
 * One that is watched has said no HELLO and has no ring: nothing that it does is recorded, and
 * whoever asks it for its ring's facts hears of zero. What is seen from outside is evidence's.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "ids.h"
#include "log_limit.h"
#include "loss.h"
#include "partition.h"
#include "process_ring.h"
#include "ring_backing.h"
#include "ring_layout.h"
#include "shares.h"

/* CRASHED: a signal ended it, or it left with another exit status than 0 (rule_death_of), or nobody
 * knows how and it said no BYE. ENDED: gone otherwise, also a process that runs on but has attached
 * anew (exec, a second skein_start). */
enum process_state { PROCESS_LIVE = 1, PROCESS_ENDED = 2, PROCESS_CRASHED = 3 };

struct cut_chain; /* cut_chain.c's */

/* Where its Go runtime answers on this host, as a selector says (outside_rule.h); "": nowhere. */
struct process_go {
    char pprof[64], flight[192];
};

struct process {
    /* constant after attach */
    struct process_uid uid;
    uint32_t pid;
    uint32_t user;              /* whose shares it uses (proc_user_charged) */
    uint64_t start_clock_ticks; /* /proc/PID/stat field 22 */
    uint64_t start_ns;          /* realtime */
    uint64_t attached_ns;       /* realtime, of this attach */
    struct clock_snapshot attached_clock;
    /* when its ring began, realtime; an earlier agent may have made it. Why it has nothing older */
    uint64_t recorded_ns;
    enum loss_reason unrecorded;
    /* The time, realtime, that belongs to earlier rings which were not taken over; from 0: none.
     * lacks_to_ns is its latest end and the loop thread's, which moves it back when that is
     * found. */
    uint64_t lacks_from_ns, lacks_to_ns;
    char service[128], labels[512], exe[256];
    bool watched;         /* from outside: it has no ring */
    bool by_hand;         /* and `user` has asked for that */
    bool is_service;      /* what was started by this name, or is watched: no program of a script */
    struct process_go go; /* process_go_set's; it may change */
    struct ring_geometry geometry;
    uint8_t *ring;             /* read and (for PIN only) written */
    struct process_page *page; /* ours to write; of one that is watched, it cannot see it */
    /* What each look at its memory touches, the loop thread's: what its page says, and when that was
     * last thought of (monotonic), how far its writers were. */
    struct ring_backing backed;
    uint64_t looked_ns;
    struct process_cursors looked;
    uint64_t memory_bytes; /* of its ring; what the agent may not have made is looked for seldom */
    /* -1 in a process made by hand: the cutter then looks at all of the ring */
    int ring_fd;
    /* the cutter's, whose calls for one process do not overlap */
    struct cut_chain *chain;               /* what was cut lately; NULL: nothing */
    void (*chain_free)(struct process *p); /* the chain's, at the process's end; NULL: none */
    /* shared */
    uint32_t references;    /* atomic */
    uint64_t next_sequence; /* atomic; of partitions in this agent's epoch */
    /* atomic; enum process_state. Leaves LIVE once, by a release store after death is set */
    uint32_t state;
    /* these two are read after an acquire load of state that is not LIVE */
    uint64_t gone_ns; /* realtime; when it was seen to be gone */
    struct {
        int32_t signal, status;
        bool known;
    } death;
    /* loop thread */
    int socket, pidfd, page_fd;
    bool said_bye;
    bool away;        /* without a connection, by its own wish: it said LEAVE and runs on */
    bool left;        /* for good: it runs on without this ring, as after exec */
    uint64_t died_ns; /* realtime: when a holder saw it end, while no agent ran; 0: it did not */
    uint64_t runs_ns; /* of one that died so: up to when it is known not to have called exec */
    /* proc_random_stack when it had its ring, which exec changes, and proc_code_kib; 0: not known */
    uint64_t start_stack, code_kib;
    struct {
        bool came, ok;
        uint64_t at_ns; /* monotonic */
        char why[128];
    } heartbeat;                     /* what the service said last (skein_health) */
    struct log_limit snapshot_lines; /* on those of its requests that are not taken */
    struct ring_choice choice;       /* why the ring is as large as it is */
    uint64_t memory_group;           /* the cgroup whose limit counts for it; 0: none */
    /* when its rate for the process list was last taken, and what it was */
    uint64_t listed_ns, listed_written_bytes, listed_bytes_per_s;
    struct process *next;
};

/* A process with one reference, zero but for descriptors of -1 and state LIVE. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int process_new(struct process **out);

/* Moves it out of LIVE. Loop thread, once. */
void process_set_gone(struct process *p, enum process_state state);
enum process_state process_state(const struct process *p); /* any thread */

/* Whether it runs the program that had this ring: it has not called exec since. False: it has, it has
 * ended, or we may not know. */
bool process_runs_on(const struct process *p);

/* Whether it runs on, and not the program that had this ring. Where its stack may not be known any more, as
 * of one that may not be dumped, by how much code there is. False: it is not known. */
bool process_runs_else(const struct process *p);
/* Whether no thread of it has memory any more: it writes nothing, and its pidfd will tell. On a busy machine its
 * files may be closed long before. */
bool process_is_being_ended(const struct process *p);

/* What of [from, to] its ring cannot have, as it began later than the process, or as there is none.
 * False: nothing. */
bool process_unrecorded(const struct process *p, uint64_t from_ns, uint64_t to_ns,
                        struct loss_gap *out);

/* Since when a next ring of the process lacks what is, or should be, in this one. Realtime; 0: it
 * lacks nothing. */
uint64_t process_lacks_from(const struct process *p);

/* Sets the time that is lacking (from_ns 0: none), also in the ring, for an agent that adopts it.
 * _recall reads what an earlier agent has set there. */
void process_lacks_set(struct process *p, uint64_t from_ns, uint64_t to_ns);
void process_lacks_recall(struct process *p);
/* Until when, if nobody writes to this ring any more and its last record or loss was at last_ns. */
uint64_t process_lacks_to(const struct process *p, uint64_t last_ns);

/* Any thread; a reload of the configuration may change it. */
void process_go_set(struct process *p, const struct process_go *go);
struct process_go process_go(const struct process *p);

/* Its program, as shares and turns have it: the file that it runs, or its service. */
const char *process_program(const struct process *p);
/* Whose shares it uses, and in whose turn, for this cause. */
struct share_key process_share_key(const struct process *p, const char *cause);

struct process *process_ref(struct process *p);
void process_unref(struct process **p); /* frees and unmaps with the last reference; any thread */

#endif
