/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as text; see base64.h.
 */
#include "base64.h"

#include <limits.h>
#include <stdbool.h>

#include "skein/status.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_put(const void *bytes, size_t n, char *text)
{
    const uint8_t *from = bytes;
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < n; i++) {
        bits = (bits << 8 | from[i]) & 0xffff;
        for (held += 8; held >= 6; held -= 6)
            *text++ = letters[bits >> (held - 6) & 63];
    }
    if (held > 0)
        *text++ = letters[bits << (6 - held) & 63];
    *text = '\0';
}

static int letter_value(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

int base64_get(const char *text, size_t n, void *bytes, size_t room)
{
    uint8_t *to = bytes;
    uint32_t bits = 0;
    unsigned held = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        int value = letter_value(text[i]);
        if (value < 0)
            return SKEIN_CORRUPT;
        bits = (bits << 6 | (uint32_t)value) & 0xffff;
        held += 6;
        if (held < 8)
            continue;
        if (count == room || count == INT_MAX)
            return SKEIN_TOO_LARGE;
        held -= 8;
        to[count++] = (uint8_t)(bits >> held);
    }
    bool spare = held < 6 && (bits & ((1u << held) - 1)) == 0;
    return spare ? (int)count : SKEIN_CORRUPT;
}
