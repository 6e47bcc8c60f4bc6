/* SPDX-License-Identifier: Apache-2.0
 *
 * Digits; see digits.h.
 */
#include "digits.h"

bool digits_take(const char **at, uint64_t *value)
{
    const char *p = *at;
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (p == *at)
        return false;
    *at = p;
    *value = v;
    return true;
}

int digit_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool digits_bytes(const char *text, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < 2 * n; i++) {
        int digit = digit_hex(text[i]);
        if (digit < 0)
            return false;
        bytes[i / 2] = (uint8_t)(i % 2 == 0 ? digit << 4 : bytes[i / 2] | digit);
    }
    return true;
}
