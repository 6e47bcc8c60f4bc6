/* SPDX-License-Identifier: Apache-2.0
 *
 * The account of events: produced = stored + lost, by reason and place (common/loss.h), and the
 * times in which something is missing. Adds up, and goes to JSON (docs/api.md); in the catalog it
 * is rows (catalog_loss.h). Owns no state; any thread, one at a time for one ledger.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "loss.h"

struct ledger { /* all-zero is an empty one */
    uint64_t stored, events[LOSS_REASONS];
    bool at_most[LOSS_REASONS]; /* so many at most */
    uint64_t implausible;       /* claimed losses that cannot be; they are in no sum */
    bool open;                  /* part of it is not finished yet */
    struct loss_gap *gaps;
    size_t gap_count, gap_cap;
    int status; /* SKEIN_OK, or SKEIN_NO_MEMORY: gaps are missing */
};
void ledger_fini(struct ledger *ledger);

/* Counts at most 2^48 for one call, so that no sum of what agents say overflows. */
void ledger_lose(struct ledger *ledger, enum loss_reason reason, uint64_t events);
/* The same where a bound is all that is known. */
void ledger_lose_most(struct ledger *ledger, enum loss_reason reason, uint64_t events);
/* The same for a count in memory that the program itself can write. A number that no program can
 * have written within span_ns is kept apart (implausible). */
void ledger_claim(struct ledger *ledger, enum loss_reason reason, uint64_t events,
                  uint64_t span_ns);
/* Whether a program can have written so many. */
bool ledger_plausible(uint64_t events, uint64_t span_ns);
void ledger_gap(struct ledger *ledger, const struct loss_gap *gap);
void ledger_merge_gaps(struct ledger *ledger); /* overlapping ones of one reason become one */

uint64_t ledger_lost(const struct ledger *ledger);
/* Whether nothing is missing and all is finished. */
bool ledger_complete(const struct ledger *ledger);

/* {"produced","stored","lost":{place:n},"reasons":{reason:n},"unnamed"?,"implausible"?,"complete","gaps":[…]};
 * overlapping gaps of one reason become one, in `ledger` too. */
cJSON *ledger_json(struct ledger *ledger);

#endif
