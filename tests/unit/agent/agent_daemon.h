/* SPDX-License-Identifier: Apache-2.0
 *
 * skein-agent as a process of a test, with a service and a collector that misbehaves: what the
 * tests of it share. One thread; a test owns all of it from agent_setup to agent_teardown.
 */
#ifndef AGENT_DAEMON_H
#define AGENT_DAEMON_H

#include <inttypes.h>

#include "fake_collector.h"
#include "support.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

extern char *folder, *config_file, *socket_path, *traced_path, *health_path;
extern struct fake_collector *fake;
extern pid_t agent, subject; /* 0: not running */

void agent_setup(void); /* the agent runs */
void agent_teardown(void);
void write_config(const char *more); /* members, each behind a comma */
extern const char *ring_more;        /* the same, of "ring"; for write_config */
void start_agent(void);
void start_subject(void);
char *state_path(const char *name); /* of a file in the agent's state folder; freed by the caller */

/* The subject's id, from a process list that shows it live, once there is something to capture. */
void wait_attached(char id[ID_TEXT_BYTES]);
/* Makes `id` that of the subject, another than it was. */
void wait_attached_anew(char id[ID_TEXT_BYTES]);

/* Commands a capture of the last 5 s before `at_ns`, or now. */
void command_capture_at(const char *capture, const char *process, unsigned post_ms, uint64_t at_ns);
void command_capture(const char *capture, const char *process, unsigned post_ms);

bool log_says(void *context); /* the words are in the agent's log; for wait_until */
/* The nth partition that the collector has: of the subject, with so many events. */
void check_partition(size_t n, uint64_t min_events);

#endif
