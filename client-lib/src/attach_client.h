/* SPDX-License-Identifier: Apache-2.0
 *
 * The service's end of the agent's socket: one helper thread that attaches, notices an agent that
 * went away, and attaches again. Included by start.c and tests only.
 */
#ifndef ATTACH_CLIENT_H
#define ATTACH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

struct attach_client_options {
    char service[128], labels[512], socket_path[108];
    uint64_t ring_bytes;
    uint8_t mode;
};

/* Starts the helper thread; the options are copied. Returns SKEIN_OK (also when it runs already),
 * SKEIN_AGAIN (no thread or descriptor to be had). Not signal-safe. */
int attach_client_start(const struct attach_client_options *options);

/* Says BYE, ends and joins the helper. Returns when no record can be started any more. */
void attach_client_stop(void);

/* In a fork child: forgets the parent's helper and connection. */
void attach_client_child(void);

/* Waits until a ring is attached: SKEIN_OK or SKEIN_TIMEOUT. */
int attach_client_wait(unsigned timeout_ms);

/* Sends SNAPSHOT; signal-safe. Returns SKEIN_OK, SKEIN_CLOSED or SKEIN_AGAIN. */
int attach_client_snapshot(const char *reason);

/* Sends HEALTH, unless the same was sent a moment ago; signal-safe. Returns SKEIN_OK, SKEIN_CLOSED,
 * SKEIN_AGAIN or SKEIN_UNSUPPORTED. */
int attach_client_health(bool ok, const char *why);

#endif
