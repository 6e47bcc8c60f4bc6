/* SPDX-License-Identifier: Apache-2.0
 *
 * Digits of texts that end with a NUL. Pure; any thread; hostile input expected.
 */
#ifndef DIGITS_H
#define DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number that fits in 64 bits; the position moves behind it. False: there is none, and
 * nothing has changed. */
bool digits_take(const char **at, uint64_t *value);

int digit_hex(char c); /* 0 to 15, in either case of letters; -1 */

/* n bytes of twice as many hexadecimal digits, whatever is behind them. False: there are fewer, and
 * bytes may be half written. */
bool digits_bytes(const char *text, uint8_t *bytes, size_t n);

#endif
