/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of health checks, each in a thread of its own, so that a slow one delays nobody. Owns the
 * threads; the result is handed to the loop thread. When a check runs, and what its failure means,
 * is decided by the rules (rule_health.c, rule_watch.c).
 */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "loop.h"
#include "rule_spec.h"

/* A run that has not answered in time has failed. It is ended so much later only: what it began in
 * the service may go on whatever becomes of the run, and a second run would add to it. */
#define CHECK_HOLD_MS 60000

/* Set for programs of checks and all that they start; the client library then records nothing, so
 * that no check is ever a service. */
#define CHECK_ENVIRONMENT "SKEIN_CHECK"

/* Who runs programs of checks by default: a user that is there for nothing else. Where the host has
 * none of that name, the other one stands in for him. */
#define CHECK_USER     "skein-check"
#define CHECK_STAND_IN "nobody"

/* One run, "{pid}" already replaced ("{ip}" is by check_run). A heartbeat needs no thread and is
 * none of these: see rule_health.c. */
struct check_spec {
    enum check_kind kind;
    uint32_t pid;   /* of the service; 0: of none */
    bool from_here; /* not from the service's network: its address is in the text */
    uint64_t timeout_ms;
    char **argv;   /* exec: NULL-terminated; argv[0] as the rule names it */
    char *program; /* exec: the path that is run; NULL: not allowed by checks.exec_allow */
    char *line;    /* exec: the entry that would allow it; NULL: there is none */
    char *user;    /* exec: who runs it, where the agent is root; "": the agent's own user */
    char *expect;  /* exec: text in the output, or NULL */
    char *target;  /* http: URL; tcp: host:port; unix: path */
    uint64_t http_status;
};
void check_spec_free(struct check_spec **spec);

struct check_result {
    bool passed;
    bool not_run;      /* not allowed, or not begun: says nothing of the service */
    uint64_t at_ns;    /* realtime, when the outcome was known */
    uint64_t ended_ns; /* the same, monotonic */
    char reason[256];  /* a sentence where it failed or was not run */
};

/* Until when a run may last, and what cancels it: a descriptor that becomes readable, and an atomic
 * that becomes 1. */
struct check_until {
    uint64_t deadline_ns; /* monotonic */
    int cancel_fd;        /* -1: none */
    const int *cancelled; /* NULL: none */
};

/* One run, blocking; failed where it is cancelled. Connects from where the service is
 * (check_place.h). Any thread. */
void check_run(struct check_spec *spec, const struct check_until *until,
               struct check_result *result);

/* The kinds, for check_run alone. */
void check_exec_run(const struct check_spec *spec, const struct check_until *until,
                    struct check_result *result);
void check_net_run(const struct check_spec *spec, const struct check_until *until,
                   struct check_result *result);

/* What the check is called in sentences: `redis-cli ping`, GET http://..., tcp 127.0.0.1:80. */
void check_name(const struct check_spec *spec, char *out, size_t out_bytes);

/* Whether a check of this agent began the process: nothing else descends from the agent. */
bool check_began(pid_t pid);

/* Resolves a program by $PATH as exec would: an absolute path to free, or NULL. */
char *check_program_path(const char *name);

struct checks;
struct check; /* one run: a thread */

int checks_new(struct loop *loop, uint32_t max_threads, struct checks **out);
/* Stops all; waits for their threads at most wait_ms. Those that hang longer are left behind for
 * the end of the process; returns how many. */
size_t checks_free(struct checks **checks, uint64_t wait_ms);

/* Called on the loop thread when the run is over, once, unless check_stop came before. */
typedef void check_fn(void *context, const struct check_result *result);

/* Begins a run, which lasts CHECK_HOLD_MS longer than its timeout at most. Takes spec over, also
 * on failure. SKEIN_OK with *out, which check_stop frees; SKEIN_FULL (max_threads run);
 * SKEIN_NO_MEMORY. Loop thread. */
int check_start(struct checks *checks, struct check_spec *spec, check_fn *fn, void *context,
                struct check **out);

/* Whether the run is over: its result is here, or on its way to the loop. Loop thread. */
bool check_is_over(const struct check *check);

/* No result arrives after this; a run that is not over is cancelled, and its thread ends by itself.
 * Loop thread. */
void check_stop(struct check **check);

#endif
