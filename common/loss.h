/* SPDX-License-Identifier: Apache-2.0
 *
 * Why events are missing, and where they were lost: the one table of reasons, for the agent that
 * counts them and the collector that adds them up. Those of the ring are format's
 * (partition_loss_text) and this table's alike. No state; any thread.
 */
#ifndef LOSS_H
#define LOSS_H

#include <stdint.h>

/* Where. `kept` is no loss: the event is there, but not all of its text. */
#define LOSS_PLACE_LIST(X)                                                                         \
    X(RING, "ring")   /* before the agent had them */                                              \
    X(SPOOL, "spool") /* the agent had them and could not keep them */                             \
    X(WIRE, "wire")   /* the agent had them, the collector never got them whole */                 \
    X(QUOTA, "quota") /* the collector had no room for them */                                     \
    X(STORE, "store") /* the collector had them, and its disk did not keep them */                 \
    X(KEPT, "kept")
enum loss_place {
#define X(name, text) LOSS_PLACE_##name,
    LOSS_PLACE_LIST(X)
#undef X
};
#define LOSS_PLACES LOSS_PLACE_KEPT /* that lose events */

/* reason, place, text in JSON and docs */
#define LOSS_REASON_LIST(X)                                                                        \
    X(RING_FULL, RING, "ring_full")             /* no chunk was free */                            \
    X(OVERWRITTEN, RING, "overwritten")         /* gone before the cut: nobody knows how many */   \
    X(CORRUPT, RING, "corrupt")                 /* committed bytes that do not decode */           \
    X(SIGNAL, RING, "signal")                   /* a handler interrupted one inside the tracer */  \
    X(SIZE, RING, "size")                       /* more than a cut may hold */                     \
    X(AGENT_FAILED, RING, "agent_failed")       /* the agent could not cut */                      \
    X(AGENT_RESTARTED, RING, "agent_restarted") /* the agent died between two cuts */              \
    X(REPORT_FULL, RING, "report_full")         /* a report takes no more partitions */            \
    X(UNKNOWN, RING, "unknown")                 /* a newer agent says another reason */            \
    X(LATE, RING, "attached_late")              /* it ran before its ring began */                 \
    X(REFUSED, RING, "attach_refused")          /* its agent did not take it */                    \
    X(REPLACED, RING, "ring_replaced")          /* its ring before was not taken over */           \
    X(RELEASED, RING, "ring_released")          /* it has ended, and its ring is gone */           \
    X(WATCHED, RING, "watched")                 /* from outside: it never had a ring */            \
    X(SPOOL_FULL, SPOOL, "spool_full")                                                             \
    X(SPOOL_FAILED, SPOOL, "spool_failed")         /* its disk refused */                          \
    X(SPOOL_UNREADABLE, SPOOL, "spool_unreadable") /* damaged there */                             \
    X(REJECTED, WIRE, "rejected")                  /* did not decode at the collector */           \
    X(NOT_ARRIVED, WIRE, "not_arrived") /* listed by the agent, not stored by the end */           \
    X(NO_ANSWER, WIRE, "no_answer")     /* the agent said nothing by the end */                    \
    X(DISK_FULL, QUOTA, "disk_full")    /* as not_arrived: the collector refused them */           \
    X(EVICTED, QUOTA, "evicted")        /* stored, and deleted to make room */                     \
    X(DAMAGED, STORE, "damaged")        /* its bytes are not those that were stored */             \
    X(NAME, KEPT, "name")
enum loss_reason {
#define X(name, place, text) LOSS_##name,
    LOSS_REASON_LIST(X)
#undef X
        LOSS_REASONS
};

/* A time of which something is missing. */
struct loss_gap {
    uint64_t from_ns, to_ns;
    enum loss_reason reason;
};

const char *loss_place_text(enum loss_place place);
const char *loss_text(enum loss_reason reason); /* static */
enum loss_place loss_place(enum loss_reason reason);
/* LOSS_UNKNOWN for any other text. */
enum loss_reason loss_parse(const char *text);

#endif
