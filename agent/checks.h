/* SPDX-License-Identifier: Apache-2.0
 *
 * Health checks: each runs in a thread of its own, at its own pace, so that a slow one delays
 * nobody. Owns the threads; results are handed to the loop thread. What a failing check means is
 * decided by agent_rules.c.
 */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "loop.h"
#include "rule_spec.h"

/* One check of one process, "{pid}" already replaced. A heartbeat needs no thread and is none of
 * these: see rule_health.c. */
struct check_spec {
    enum check_kind kind;
    uint64_t every_ms, timeout_ms;
    char **argv;   /* exec: NULL-terminated; argv[0] as the rule names it */
    char *program; /* exec: the path that is run; NULL: not allowed by checks.exec_allow */
    char *expect;  /* exec: text in the output, or NULL */
    char *target;  /* http: URL; tcp: host:port; unix: path */
    uint64_t http_status;
};
void check_spec_free(struct check_spec **spec);

struct check_result {
    bool passed;
    bool not_run;     /* not allowed, or no memory: says nothing of the service */
    uint64_t at_ns;   /* realtime, when the outcome was known */
    char reason[256]; /* a sentence where it failed or was not run */
};

/* One run, blocking, at most until `deadline_ns` (monotonic); returns early, failed, once cancel_fd
 * is readable (but http, which ends with its own time limit). Any thread. */
void check_run(const struct check_spec *spec, uint64_t deadline_ns, int cancel_fd,
               struct check_result *result);

/* The kinds, for check_run alone. */
void check_exec_run(const struct check_spec *spec, uint64_t deadline_ns, int cancel_fd,
                    struct check_result *result);
void check_net_run(const struct check_spec *spec, uint64_t deadline_ns, int cancel_fd,
                   struct check_result *result);

/* What the check is called in sentences: `redis-cli ping`, GET http://..., tcp 127.0.0.1:80. */
void check_name(const struct check_spec *spec, char *out, size_t out_bytes);

/* Resolves a program by $PATH as exec would: an absolute path to free, or NULL. */
char *check_program_path(const char *name);

struct checks;
struct check; /* an instance: a thread */

int checks_new(struct loop *loop, uint32_t max_threads, struct checks **out);
/* Stops all; waits for their threads at most wait_ms. Those that hang longer are left behind for
 * the end of the process; returns how many. */
size_t checks_free(struct checks **checks, uint64_t wait_ms);

/* Called on the loop thread after each run, until check_stop. */
typedef void check_fn(void *context, const struct check_result *result);

/* Takes spec over, also on failure. The first run is at once. SKEIN_OK; SKEIN_FULL (max_threads
 * run); SKEIN_NO_MEMORY. Loop thread. */
int check_start(struct checks *checks, struct check_spec *spec, check_fn *fn, void *context,
                struct check **out);

/* No result arrives after this; the thread ends by itself. Loop thread. */
void check_stop(struct check **check);

#endif
