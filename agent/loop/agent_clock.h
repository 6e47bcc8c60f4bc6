/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's line of time: UTC as the host's clock had it when the agent began, and from then on
 * at the pace of CLOCK_MONOTONIC, so that nobody who sets the host's clock moves what lies on it.
 * All windows, cuts, gaps and partitions of an agent are on this line; what the collector's clock
 * is ahead of it, the uplink knows. Any thread; never fails.
 */
#ifndef AGENT_CLOCK_H
#define AGENT_CLOCK_H

#include <stdint.h>

uint64_t agent_clock_ns(void);                  /* now */
uint64_t agent_clock_at(uint64_t monotonic_ns); /* the same of an instant of CLOCK_MONOTONIC */
int64_t agent_clock_host_ahead_ns(void);        /* the host's clock less this line, now */

#endif
