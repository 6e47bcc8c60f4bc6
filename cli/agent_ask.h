/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the agent of this host, over its Unix socket, to watch a process from outside. One thread;
 * waits for the answer as long as the caller says.
 */
#ifndef AGENT_ASK_H
#define AGENT_ASK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_SOCKET_DEFAULT "/run/skein/agent.sock"

/* Where an ordinary user's own agent listens, who is told of no other place; false: nowhere. */
bool agent_socket_own(char out[PATH_MAX]);

/* what: enum attach_watch_what; labels "": none. SKEIN_OK or the agent's status, with a sentence in
 * text; SKEIN_NOT_FOUND: no agent is there; SKEIN_UNSUPPORTED: it knows no such question;
 * SKEIN_AGAIN: more ask it than it can take; SKEIN_IO; SKEIN_TIMEOUT: it has not answered yet, and finds
 * the question when it looks. */
int agent_watch_ask(const char *socket, uint8_t what, uint32_t pid, const char *service,
                    const char *labels, unsigned wait_ms, char *text, size_t bytes);

#endif
