/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's Unix socket: takes HELLOs, identifies peers by SO_PEERCRED, hands out rings (or
 * adopts the one that a process brings from an agent before), keeps the process table, notices ends
 * and crashes. Loop thread only.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include "agent_counters.h"
#include "host_page.h"
#include "loop.h"
#include "privacy.h"
#include "process.h"

struct attach_watch; /* attach_proto.h's */
struct ucred;

struct attach_settings {
    const char *socket_path;
    uint64_t agent_id, epoch;
    /* default; largest granted; all rings together, by what they use (ring_budget.h) */
    uint64_t ring_bytes, ring_bytes_max, total_ring_bytes_max;
    uint8_t mode; /* default */
    uint64_t enabled_groups;
    uint32_t max_processes;
    bool same_uid_only; /* refuse peers of other users unless the agent is root */
    /* Read whenever a process comes; the caller's, as long as the attach; NULL: off. */
    const struct privacy_rule *privacy;
    /* "SERVICE=USER[,USER...]": who may call its processes so (attach_names.h); read at the start */
    char *const *service_users;
    size_t service_user_count;
    const char *proc, *cgroups; /* NULL: the host's */
};

struct attach_hooks {
    void *context;
    void (*attached)(void *context, struct process *p);
    /* It is in the table, and is told so next: nothing is in its ring yet. May be NULL. */
    void (*taken)(void *context, struct process *p);
    /* The process said who it is, and was refused with this status. May be NULL. */
    void (*refused)(void *context, const struct process *p, int status);
    void (*snapshot)(void *context, struct process *p, const char *reason);
    /* The service has said how it is: p->heartbeat is new. May be NULL. */
    void (*heartbeat)(void *context, struct process *p);
    /* The process is gone (state and death say how); its ring is readable while referenced. */
    void (*gone)(void *context, struct process *p);
    /* kept_bytes: the memory of rings that are kept of gone processes; it counts as that of others.
     * kept_release lets go of one of those rings; false: there is none. Both may be NULL. */
    uint64_t (*kept_bytes)(void *context);
    bool (*kept_release)(void *context);
    /* Whether the process may still come back by itself, as to an agent that was restarted. May be
     * NULL. */
    bool (*expected)(void *context, const struct process_uid *uid);
    /* Somebody on this host asks to have a process watched, or no longer (attach_proto.h). Returns
     * a status, and writes a sentence. NULL: none is. */
    int (*watch)(void *context, const struct attach_watch *ask, const struct ucred *asker,
                 char *text, size_t bytes);
};

struct attach;

/* Who is to be watched: a process that says no HELLO. */
struct attach_watch_order {
    uint32_t pid;
    uint64_t start_clock_ticks; /* 0: whoever has the pid now */
    const char *service;        /* "": the program's name */
    const char *labels;
    uint32_t watched_max; /* processes that are watched at once */
    bool by_hand; /* `asker` has named it, and has his share of the places; else the operator */
    uint32_t asker;
};

/* Binds and listens; settings and hooks are copied, loop and host must outlive it. SKEIN_OK;
 * SKEIN_BUSY (another agent listens there), SKEIN_INVALID, SKEIN_IO, SKEIN_NO_MEMORY with a
 * sentence in error. */
int attach_new(struct loop *loop, struct host_page_owner *host,
               const struct attach_settings *settings, const struct attach_hooks *hooks,
               struct attach **out, char *error, size_t error_bytes);
/* Lets all processes go, without a hook: they live on, and bring their rings to the next agent. */
void attach_free(struct attach **attach);
struct process *attach_processes(struct attach *attach); /* list through ->next */

/* Puts the process into the table as watched, and calls the hook `attached`. SKEIN_OK; SKEIN_EXISTS:
 * it is in the table, attached or watched; SKEIN_CLOSED: there is no such process; SKEIN_UNSUPPORTED:
 * it is the kernel's own; SKEIN_AGAIN: it was attached to the agent before, and may come back
 * (`expected`); SKEIN_BUSY: watched_max are; SKEIN_FULL: max_processes are in the table;
 * SKEIN_NO_MEMORY, SKEIN_IO. *out is it wherever it is known who it is, with a reference. */
int attach_watch(struct attach *attach, const struct attach_watch_order *order,
                 struct process **out);
/* Takes over a process of an agent before this one, with its ring_fd, its pidfd, and who it is, from a
 * holder (ring_hold.h). SKEIN_OK: it is in the table as one that has left and will be back, or will be
 * seen to have ended at died_ns; the hook `attached` is called. Else the caller lets it go. */
int attach_recover(struct attach *attach, struct process *p);
/* The same of one that has ended, or left its ring: makes its ring readable. */
int attach_recover_ring(struct attach *attach, struct process *p);

/* It is watched no more, and runs on; the hook `gone` is called. False: it was not. */
bool attach_unwatch(struct attach *attach, const struct process_uid *uid);

/* Sets the attach_… members. */
void attach_count(const struct attach *attach, struct agent_counters *out);

#endif
