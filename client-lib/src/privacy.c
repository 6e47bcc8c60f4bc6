/* SPDX-License-Identifier: Apache-2.0
 *
 * SipHash-2-4 of a text, as digits. Without a call to libc: a program may be interrupted anywhere.
 */
#include "privacy.h"

static uint64_t turned(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void rounds_run(uint64_t v[4], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        v[0] += v[1];
        v[1] = turned(v[1], 13) ^ v[0];
        v[0] = turned(v[0], 32);
        v[2] += v[3];
        v[3] = turned(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = turned(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = turned(v[1], 17) ^ v[2];
        v[2] = turned(v[2], 32);
    }
}

static void word_take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds_run(v, 2);
    v[0] ^= word;
}

/* The text's word at a place: at most 8 bytes, the first one lowest. */
static uint64_t word_at(const uint8_t *text, size_t bytes)
{
    uint64_t word = 0;
    for (size_t i = 0; i < bytes && i < 8; i++)
        word |= (uint64_t)text[i] << 8 * i;
    return word;
}

static uint64_t siphash(const uint64_t key[2], const uint8_t *text, size_t bytes)
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    size_t at = 0;
    for (; bytes - at >= 8; at += 8)
        word_take(v, word_at(text + at, 8));
    word_take(v, word_at(text + at, bytes - at) | (uint64_t)bytes << 56);
    v[2] ^= 0xff;
    rounds_run(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void privacy_hash(const uint64_t key[2], const void *text, size_t bytes,
                  char out[PRIVACY_HASH_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t hash = siphash(key, text, bytes);
    out[0] = '#';
    for (unsigned i = 0; i < 16; i++)
        out[1 + i] = digits[hash >> (60 - 4 * i) & 15];
    out[17] = '\0';
}
