/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a result as JSON and text, for whoever prints or sends them. No state; any thread.
 */
#ifndef SQL_JSON_H
#define SQL_JSON_H

#include "buf.h"
#include "sql.h"

/* A whole number above 2^53 is a string of digits, a BLOB hexadecimal digits, what is no number null. */
void sql_value_json(struct buf *out, const struct sql_value *value);
/* As SQL writes it, so that it is a number again and no whole one. */
void sql_real_put(struct buf *out, double real);
void sql_hex_put(struct buf *out, const struct sql_value *value);

#endif
