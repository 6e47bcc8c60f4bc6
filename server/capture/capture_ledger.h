/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss ledgers of captures and their targets. For capture*.c alone; under the control lock.
 */
#ifndef CAPTURE_LEDGER_H
#define CAPTURE_LEDGER_H

#include "capture_int.h"
#include "catalog_loss.h"

/* A gap that an agent has told, with the bounds that it left open, within what was asked for.
 * False: nothing of it is. */
bool target_gap(const struct capture *c, const struct capture_target *t,
                const struct report_gap *told, struct loss_gap *gap);
/* Adds to *out; the JSON is the caller's. */
void target_ledger(const struct capture *c, const struct capture_target *t, struct ledger *out);
cJSON *target_ledger_json(const struct capture *c, const struct capture_target *t);
/* Of the targets within, NULL: of all. */
cJSON *capture_ledger_json(const struct capture *c, const struct selector *within);
/* As target_ledger, and counts what is lost beyond the last time. */
void target_count_losses(const struct capture *c, struct capture_target *t, struct ledger *out);
/* After a restart, for each reason: what was counted is not counted again, and what was refused
 * stays so. */
void target_counted(struct capture_target *t, const struct catalog_lost *lost);

#endif
