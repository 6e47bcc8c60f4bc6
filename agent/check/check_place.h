/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a check is made: in the network namespace of the service, and in its view of the file
 * system, so that "127.0.0.1" and a socket's path mean there what they mean to the service. Any
 * thread; what is entered is entered by the calling thread alone.
 */
#ifndef CHECK_PLACE_H
#define CHECK_PLACE_H

#include <netinet/in.h>
#include <stdio.h>

#include "checks.h"

/* A copy with every `mark` replaced; NULL when out of memory. */
char *check_text_fill(const char *text, const char *mark, const char *value);

/* The first address that is not loopback, of /proc/PID/net/fib_trie (a leaf's address is on the
 * line before what it is) and if_inet6 (address, interface, prefix, scope (0: global), flags,
 * name). */
bool check_ipv4_read(FILE *file, char out[INET6_ADDRSTRLEN]);
bool check_ipv6_read(FILE *file, char out[INET6_ADDRSTRLEN]);

/* Replaces every "{ip}" by the first address of the service's network namespace that is not
 * loopback; such a check is made from the agent's. False with why in result: it cannot be run. */
bool check_place_fill(struct check_spec *spec, struct check_result *result);

/* The calling thread goes to the service's network namespace, where that is another one; one that
 * the agent may not look at is taken for its own. *back is for check_place_leave: a descriptor, or
 * -1. False with why in result. */
bool check_place_enter(const struct check_spec *spec, int *back, struct check_result *result);
void check_place_leave(int *back);

/* Opens the socket at an absolute path as the service sees it. A descriptor (O_PATH) to close; -1
 * with errno; -1 with result->not_run and why: it cannot be looked for. */
int check_place_socket(const struct check_spec *spec, struct check_result *result);

#endif
