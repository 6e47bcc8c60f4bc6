/* SPDX-License-Identifier: Apache-2.0
 *
 * Tries a rule on the past: when stored records would have met its condition, and how often it
 * would have captured under its limits. Changes nothing. Any thread, not locked; takes seconds,
 * bounded in time and memory, and says what it did not look at.
 */
#ifndef RULE_REPLAY_H
#define RULE_REPLAY_H

#include "index.h"
#include "rules.h"

#define REPLAY_SHOWN_MAX 1000

struct replay_request {
    const cJSON *rule;               /* as rule_check gives it */
    const struct selector *selector; /* the rule's, and what else bounds the processes */
    const struct selector *confined; /* whose history may be shown; NULL: everybody's */
    uint64_t from_ns, to_ns;         /* both included */
    size_t shown;                    /* instants that the answer lists */
};

/* The caller frees the answer (docs/api.md). SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_IO. */
int rule_replay(struct rules *r, struct index *index, const struct replay_request *request,
                cJSON **out);

#endif
