/* SPDX-License-Identifier: Apache-2.0
 *
 * How a session begins: HELLO, from the agent each second until WELCOME answers it (P-6,
 * P-28).
 */
#ifndef HELLO_H
#define HELLO_H

#include "control_body.h"

struct hello {
    uint64_t agent;
    uint64_t epoch;        /* how often the agent has started */
    uint64_t instance;     /* of this start (P-29); 0: it does not say */
    uint64_t heartbeat_ms; /* wished */
    const char *host, *version, *boot, *labels;
};
void hello_put(const struct hello *hello, struct buf *out);
int hello_get(const cJSON *json, struct hello *out, char *error, size_t error_bytes);

struct welcome {
    const char *collector; /* its id as text */
    uint64_t lease_ms;     /* one that is silent for so long is shown offline */
    uint64_t heartbeat_ms, rules_generation;
    uint64_t received_ns; /* when HELLO came, on the collector's clock; 0: it does not say */
    uint64_t clock;       /* the number of that clock's setting (P-28) */
    /* that it takes of this agent's own; 0: without a bound. WELCOME_SAYS_NOT: it does not say */
    uint64_t captures_per_hour;
};
#define WELCOME_SAYS_NOT         UINT64_MAX
#define WELCOME_CAPTURES_DEFAULT 3600 /* until an agent has heard */
void welcome_put(const struct welcome *welcome, struct buf *out);
int welcome_get(const cJSON *json, struct welcome *out, char *error, size_t error_bytes);

#endif
