/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures that were merged into others, by the id that was given up. For capture*.c alone; under
 * the control lock.
 */
#ifndef CAPTURE_MERGE_H
#define CAPTURE_MERGE_H

#include "capture_int.h"

struct capture_alias {
    struct capture_id from, into;
};

/* The capture that `id` stands for; `id` where it was not merged. */
struct capture_id capture_resolve(struct capture_engine *e,
                                  const struct capture_id *id) CONTROL_LOCKED;
int capture_save_aliases(struct capture_engine *e) CONTROL_LOCKED;
void capture_saved_aliases(struct capture_engine *e) CONTROL_LOCKED;

#endif
