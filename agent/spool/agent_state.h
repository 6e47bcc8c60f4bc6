/* SPDX-License-Identifier: Apache-2.0
 *
 * Who this agent is, for the life of the host: its id, how often it has started, and the key of what
 * it hashes. Owns the state
 * folder and the lock that keeps a second agent out of it. Main thread, at start and end.
 */
#ifndef AGENT_STATE_H
#define AGENT_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

struct agent_state {
    uint64_t agent;          /* random, never 0 */
    uint64_t epoch;          /* this start is the nth */
    uint64_t privacy_key[2]; /* random; an operator may give several hosts the same */
    int folder;              /* descriptor of the state folder */
    int lock;
};

/* Locks the folder, reads or makes the id, counts this start and makes that durable before it
 * returns: no two runs ever share an epoch. SKEIN_OK; SKEIN_BUSY (another agent runs there),
 * SKEIN_CORRUPT (the file is not ours), SKEIN_IO, SKEIN_FULL, SKEIN_DENIED, with a sentence in
 * error. On failure there is nothing to close. */
int agent_state_open(const char *folder, struct agent_state *state, char *error,
                     size_t error_bytes);
void agent_state_close(struct agent_state *state);

#endif
