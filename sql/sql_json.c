/* SPDX-License-Identifier: Apache-2.0
 *
 * See sql_json.h.
 */
#include "sql_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define EXACT_MAX (INT64_C(1) << 53)

void sql_hex_put(struct buf *out, const struct sql_value *value)
{
    for (size_t i = 0; i < value->len; i++)
        buf_printf(out, "%02x", (uint8_t)value->text[i]);
}

void sql_real_put(struct buf *out, double real)
{
    char text[40];
    snprintf(text, sizeof text, "%.15g", real);
    if (strtod(text, NULL) != real) // NOLINT(clang-diagnostic-float-equal): the very same
        snprintf(text, sizeof text, "%.17g", real);
    buf_printf(out, "%s%s", text, strpbrk(text, ".eni") == NULL ? ".0" : "");
}

void sql_value_json(struct buf *out, const struct sql_value *value)
{
    bool exact = value->integer <= EXACT_MAX && value->integer >= -EXACT_MAX;
    switch (value->type) {
    case SQL_INTEGER:
        buf_printf(out, exact ? "%" PRId64 : "\"%" PRId64 "\"", value->integer);
        break;
    case SQL_REAL:
        if (isfinite(value->real))
            sql_real_put(out, value->real);
        else
            buf_printf(out, "null");
        break;
    case SQL_TEXT:
        json_put_text(out, value->text, value->len);
        break;
    case SQL_BLOB:
        buf_put_u8(out, '"');
        sql_hex_put(out, value);
        buf_put_u8(out, '"');
        break;
    default:
        buf_printf(out, "null");
        break;
    }
}
