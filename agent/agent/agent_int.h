/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the agent, shared by agent.c, agent_events.c and agent_left.c alone.
 */
#ifndef AGENT_INT_H
#define AGENT_INT_H

#include <sys/queue.h>

#include "agent.h"
#include "agent_capture.h"
#include "agent_log.h"
#include "agent_policy.h"
#include "agent_rules.h"
#include "agent_state.h"
#include "attach.h"
#include "cpu_samples.h"
#include "crash.h"
#include "files_source.h"
#include "go_source.h"
#include "outside.h"
#include "ring_hold.h"
#include "roster.h"
#include "roster_file.h"
#include "symbolizer.h"
#include "vitals.h"

#define ROSTER_SHARE 4 /* rings of processes that have ended get a quarter of the room for rings */

/* A capture of a process that has not attached (again) yet. After a restart of the agent the
 * collector repeats its commands at once, and the services take a moment to come back. */
#define AGENT_ATTACH_GRACE_MS 5000
#define AGENT_AWAITED_MAX     COMMAND_PROCESSES_MAX
struct awaited {
    TAILQ_ENTRY(awaited) link;
    struct process_uid process;
    struct capture_order order; /* rule and reason are NULL: a request */
};

struct agent {
    struct agent_config *config;
    struct agent_state state;
    struct privacy_rule privacy; /* mode: the configuration's; key: the state folder's */
    char host[256], boot[64];
    struct loop *loop;
    struct worker *worker;
    struct host_page_owner *host_page;
    struct spool *spool;
    struct uplink_seal *seal;
    struct uplink *uplink;
    struct attach *attach;
    struct outside *outside; /* who is watched without a ring */
    struct roster *roster;   /* those that are not attached */
    struct ring_hold *hold;  /* keeps rings over our death; NULL: nobody does */
    struct held_list *held;  /* that an agent before this one had, at the start; NULL: none */
    struct roster_file *roster_file; /* those that are, for the next run */
    struct agent_log lines;
    struct symbolizer *symbolizer; /* NULL: none is wanted, or its program is absent */
    struct evidence *evidence;     /* NULL: none is taken */
    struct sched_source *sched;    /* NULL: the same */
    struct captures *captures;
    struct checks *checks;
    struct agent_rules *rules;
    struct agent_policies *policies;
    struct vitals *vitals;
    struct files_source files;
    struct cpu_samples *samples;
    struct crash *crash;  /* NULL: no evidence is taken */
    struct go_source *go; /* the same */
    struct loop_timer *list_timer, *refresh_timer, *samples_timer, *crash_timer, *held_timer;
    uint64_t list_version;
    TAILQ_HEAD(, awaited) awaited;
    size_t awaited_count;
    struct loop_timer *grace_timer; /* while set, unknown processes are awaited */
    struct loop_timer *look_timer;  /* whether those that may come back still run; or NULL */
    unsigned left_looks;            /* under way */
    bool ended;                     /* what is still posted is only to be freed */
};

/* agent_events.c: what happens to a running agent. */
extern const struct attach_hooks agent_attach_hooks;
void agent_on_command(void *agent, struct agent_command *command); /* uplink thread */
void agent_on_welcome(void *agent, uint64_t rules_generation);     /* uplink thread */
void agent_send_list(void *agent);                                 /* loop_fn */
void agent_grace_over(void *agent);                                /* loop_fn */
void agent_look(void *agent);                                      /* loop_fn */
/* Thresholds and privacy, as they are configured. */
void agent_set_page(const struct agent *agent, struct process *process);

/* agent_held.c: what the holder keeps of processes. _put: of one that is attached, or whose ring is
 * kept in the roster (ended); _drop as the roster's hook. At the start _fetch asks for all that an
 * agent before this one had, and _take takes them into table and roster, or else _forget lets them
 * go. */
void agent_held_put(const struct agent *agent, const struct process *p, bool ended);
enum ring_hold_look agent_held_look(const uint8_t *note, size_t note_bytes); /* in the holder */
void agent_held_drop(void *agent, const struct process *p);
void agent_held_fetch(struct agent *agent);
void agent_held_take(struct agent *agent);
void agent_held_forget(struct agent *agent);
/* This process has come back; NULL: nobody else will, as the time for it is over. */
void agent_held_settle(struct agent *agent, const struct process *came);

/* agent_left.c: finds the end of what the process lacks: the last record of the ring before. */
void agent_left_look(struct agent *agent, struct process *former, struct process *process);

#endif
