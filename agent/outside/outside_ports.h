/* SPDX-License-Identifier: Apache-2.0
 *
 * Who listens on which TCP port, in the agent's network namespace: the sockets that listen, by
 * sock_diag, and which of them a process holds. One thread.
 */
#ifndef OUTSIDE_PORTS_H
#define OUTSIDE_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "outside_rule.h"

#define OUTSIDE_SOCKETS_MAX 1024 /* that listen on ports which rules name */
#define OUTSIDE_FDS_MAX     4096 /* of a process that are looked at */

struct outside_socket {
    uint64_t inode;
    uint16_t port;
    uint8_t family, address[16]; /* AF_INET: four bytes of it */
};
struct outside_sockets {
    struct outside_socket items[OUTSIDE_SOCKETS_MAX]; /* by inode */
    size_t count;
    uint64_t left_out; /* beyond OUTSIDE_SOCKETS_MAX */
};

/* Those that listen on one of these ports. NULL; or why they cannot be had, and then none are. */
const char *outside_sockets_read(struct outside_sockets *sockets, const uint16_t *ports,
                                 size_t port_count);
/* One read of the kernel's answer. SKEIN_AGAIN: more is to come; SKEIN_OK: that was the end;
 * SKEIN_UNSUPPORTED: the kernel refused; SKEIN_CORRUPT. */
int outside_answer_take(const uint8_t *bytes, size_t n, const uint16_t *ports, size_t port_count,
                        struct outside_sockets *sockets);
bool outside_sockets_equal(const struct outside_sockets *a, const struct outside_sockets *b);

/* The ports of `sockets` that the process listens on. Returns their number; 0 where its descriptors
 * may not be read. */
size_t outside_ports_of(uint32_t pid, const struct outside_sockets *sockets, uint16_t *ports,
                        size_t ports_max);

/* Whether it is the process, and it alone, who would take a connection to the address: every socket
 * that listens there, or on all addresses, is among its descriptors. (Who inherited such a socket
 * may take one, too.) NULL; or why not. */
const char *outside_listens_alone(uint32_t pid, const struct outside_loopback *at);

#endif
