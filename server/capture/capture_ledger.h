/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss ledgers of captures and their targets. For capture*.c alone; under the control lock.
 */
#ifndef CAPTURE_LEDGER_H
#define CAPTURE_LEDGER_H

#include "capture_int.h"
#include "catalog_loss.h"

/* A gap as its agent told it: bounds that it left open are filled in, and the gap is cut to the
 * window. False: nothing of it lies in the window. */
bool target_gap(const struct capture *c, const struct capture_target *t,
                const struct report_gap *told, struct loss_gap *gap);
/* Adds to *out; the JSON is the caller's. */
void target_ledger(const struct capture *c, const struct capture_target *t, struct ledger *out);
cJSON *target_ledger_json(const struct capture *c, const struct capture_target *t);
/* The sum over the targets that `within` shows; NULL: all. */
cJSON *capture_ledger_json(const struct capture *c, const struct selector *within);
/* As target_ledger; and counts in the metrics what is lost since the last call. */
void target_count_losses(const struct capture *c, struct capture_target *t, struct ledger *out);
/* After a restart, once for each reason: what was counted before is not counted again, and a target
 * that once found the disk full keeps that reason. */
void target_counted(struct capture_target *t, const struct catalog_lost *lost);

#endif
