/* SPDX-License-Identifier: Apache-2.0
 * One character of UTF-8 that may be hostile. Pure functions. */
#ifndef UTF8_SCAN_H
#define UTF8_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character at s (n > 0 bytes left) and its code point; 0 where there is
 * none. */
size_t utf8_scan(const uint8_t *s, size_t n, uint32_t *point);

#endif
