/* SPDX-License-Identifier: Apache-2.0
 *
 * Ports that two tests never get at once: who takes one binds the abstract Unix address
 * "skein-port-N" and keeps it until its process ends (ports.py does the same). The address belongs
 * to the network namespace, as the port does. Any thread; for tests and benches.
 */
#ifndef PORT_H
#define PORT_H

#include <stdint.h>

/* A tcp port of 127.0.0.1 on which nobody listens, this process's until it ends; 0: none. */
uint16_t port_take(void);

#endif
