/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's answers over netlink: one message after the other, with bounds, as those of a newer
 * kernel may hold more than is known here. Any thread; no state.
 */
#ifndef NETLINK_H
#define NETLINK_H

#include <stddef.h>
#include <stdint.h>

/* A message of an answer: what is behind its head. */
struct netlink_message {
    uint16_t type;
    const uint8_t *body;
    size_t len;
};

/* The message at *at of n bytes, and *at behind it. 1; SKEIN_AGAIN: these bytes are used up, and the
 * answer goes on in others; SKEIN_OK: the answer ends here; SKEIN_UNSUPPORTED: it is an error;
 * SKEIN_CORRUPT. */
int netlink_next(const uint8_t *bytes, size_t n, size_t *at, struct netlink_message *message);

#endif
