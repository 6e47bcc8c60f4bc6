/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments that a row has: a type's are in the record that ends a region, or begins a range. An
 * operation in progress has told one number, and of a range whose begin is lost nothing is known. No
 * state; any thread.
 */
#ifndef ROW_ARGS_H
#define ROW_ARGS_H

#include "skein/trace.h"

struct row_args {
    unsigned count;
    const struct skein_arg_type *types; /* of the row's type, or `detail_type`; lasts as both */
    const struct skein_arg *values;
    struct skein_arg_type detail_type;
    struct skein_arg detail;
};

/* Of a row of a batch with types and arguments; type may be NULL. */
void row_args_get(const struct skein_batch *batch, uint32_t row,
                  const struct skein_event_type *type, struct row_args *args);

#endif
