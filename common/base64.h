/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as text (RFC 4648, with its standard letters, without padding). Pure; any thread.
 */
#ifndef BASE64_H
#define BASE64_H

#include <stddef.h>
#include <stdint.h>

/* Letters that n bytes take, without the NUL. */
#define BASE64_LETTERS(n) (((n) / 3 * 4) + ((n) % 3 * 4 + 2) / 3)

/* Writes BASE64_LETTERS(n) letters and a NUL. */
void base64_put(const void *bytes, size_t n, char *text);

/* Reads n letters into at most `room` bytes. Their number; SKEIN_CORRUPT: a letter is none, or bits
 * are left over; SKEIN_TOO_LARGE. */
int base64_get(const char *text, size_t n, void *bytes, size_t room);

#endif
