/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent counts of itself since its start and tells with each heartbeat: one row here makes
 * the field, its member in the heartbeat and in GET /agents, and its label in the collector's
 * metrics. No state.
 */
#ifndef AGENT_COUNTERS_H
#define AGENT_COUNTERS_H

#include <stdint.h>

/* name, what is counted */
#define AGENT_COUNTER_LIST(X)                                                                      \
    X(attach_accepted, "processes attached")                                                       \
    X(attach_adopted, "of these: with the ring that they brought from an agent before")            \
    X(attach_refused, "processes refused, or without memory or descriptors to answer them")        \
    X(attach_silent, "connections without a word, ended by either side")                           \
    X(attach_malformed, "connections with bytes that are none of ours")                            \
    X(captures_refused, "own captures not begun: a share of agents.captures_per_hour was used up") \
    X(stacks_missed, "stacks that processes left out: no room in a ring's tables")                 \
    X(welcomes, "sessions with the collector")                                                     \
    X(heartbeats, "heartbeats sent")                                                               \
    X(redials, "connections dialled anew because nobody answered")                                 \
    X(clock_steps, "times that the host's clock or the collector's was set")                       \
    X(malformed, "messages of the collector that could not be read")                               \
    X(commands, "commands received")                                                               \
    X(reports_acked, "reports acknowledged")                                                       \
    X(reports_refused, "reports refused by the collector")                                         \
    X(chunks_sent, "chunks of partitions sent, repeats included")                                  \
    X(partitions_stored, "partitions acknowledged as stored")                                      \
    X(partitions_rejected, "partitions that did not decode at the collector")                      \
    X(partitions_resent, "partitions sent again for want of an acknowledgement")                   \
    X(symbols_asked, "addresses whose names were asked for")                                       \
    X(symbols_named, "of these: names given in time")                                              \
    X(symbolizer_failures, "skein-symbolizers that died, or were ended as they hung")              \
    X(looks_given_up, "looks at processes that hung in the kernel: their memory did not answer")

struct agent_counters {
#define X(name, help) uint64_t name;
    AGENT_COUNTER_LIST(X)
#undef X
};

enum agent_counter {
#define X(name, help) AGENT_COUNTER_##name,
    AGENT_COUNTER_LIST(X)
#undef X
        AGENT_COUNTERS
};

#endif
