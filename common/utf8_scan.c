/* SPDX-License-Identifier: Apache-2.0
 * Well-formed UTF-8 as Unicode defines it: shortest forms, no surrogates, at most U+10FFFF. */
#include "utf8_scan.h"

size_t utf8_scan(const uint8_t *s, size_t n, uint32_t *point)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = s[0];
    size_t len = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    if (len == 0 || len > n || first >= 0xf8)
        return 0;
    uint32_t v = len == 1 ? first : first & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        v = v << 6 | (s[i] & 0x3f);
    }
    if (v < least[len] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
        return 0;
    *point = v;
    return len;
}
