/* SPDX-License-Identifier: Apache-2.0
 *
 * See row_args.h; docs/format.md tells of operations in progress, and `skein cat` shows the same.
 */
#include "row_args.h"

static bool is_whole(uint8_t type)
{
    return type == SKEIN_T_U64 || type == SKEIN_T_I64 || type == SKEIN_T_PTR ||
           type == SKEIN_T_BOOL;
}

void row_args_get(const struct skein_batch *batch, uint32_t row,
                  const struct skein_event_type *type, struct row_args *args)
{
    const uint32_t number = batch->more[row];
    *args = (struct row_args){.count = 0};
    if (number != SKEIN_NONE && batch->mores[number].has_detail) {
        args->count = 1;
        args->detail.i64 = batch->mores[number].detail;
        args->detail_type = (struct skein_arg_type){.name = "detail", .unit = ""};
        if (type != NULL && type->arg_count > 0)
            args->detail_type = type->args[0];
        if (!is_whole(args->detail_type.type))
            args->detail_type.type = SKEIN_T_I64;
        args->types = &args->detail_type;
        args->values = &args->detail;
    } else if (type != NULL && (batch->flags[row] & SKEIN_ROW_BEGIN_CLIPPED) == 0) {
        args->count = type->arg_count < SKEIN_ARGS_MAX ? type->arg_count : SKEIN_ARGS_MAX;
        args->types = type->args;
        args->values = skein_batch_args(batch, row);
    }
}
