/* SPDX-License-Identifier: Apache-2.0
 *
 * The C library's functions on bytes, for this library alone. Its functions are bound when they are
 * first called, and the binding takes 4 KiB of the stack: more than a signal handler may have that
 * waits, or a thread of the smallest size. So what an event needs is here, without a name to bind
 * (strlen() is not: texts of streams are long, and no handler may use them). Any thread;
 * signal-safe.
 */
#include <stdint.h>

#pragma GCC visibility push(hidden)
#include <string.h>
#pragma GCC visibility pop

/* The compiler must not make calls of these functions of their own loops. */
#define STAY_A_LOOP __asm__ volatile("" ::: "memory")

typedef uint64_t __attribute__((may_alias)) word_of_bytes;

static void words_copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t at = 0;
    for (; bytes - at >= 8; at += 8) {
        uint64_t word;
        __builtin_memcpy(&word, from + at, 8);
        __builtin_memcpy(to + at, &word, 8);
        STAY_A_LOOP;
    }
    for (; at < bytes; at++) {
        to[at] = from[at];
        STAY_A_LOOP;
    }
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    words_copy(to, from, bytes);
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    if ((uintptr_t)t - (uintptr_t)f >= bytes) {
        words_copy(t, f, bytes); /* what is written has been read */
        return to;
    }
    while (bytes-- > 0) {
        t[bytes] = f[bytes];
        STAY_A_LOOP;
    }
    return to;
}

void *memset(void *at, int value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        ((uint8_t *)at)[i] = (uint8_t)value;
        STAY_A_LOOP;
    }
    return at;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *left = a, *right = b;
    for (size_t i = 0; i < bytes; i++) {
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
        STAY_A_LOOP;
    }
    return 0;
}

/* Whether one of the word's bytes is 0. */
static int has_zero(uint64_t word)
{
    return ((word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080)) != 0;
}

/* Looks at whole words where they are aligned: these lie in one page with their first byte. What of
 * them is behind the end, or behind the byte that is looked for, changes nothing. */
void *memchr(const void *bytes, int wanted, size_t count)
{
    const uint64_t pattern = (uint8_t)wanted * UINT64_C(0x0101010101010101);
    const uint8_t *at = bytes;
    while (count > 0) {
        if ((uintptr_t)at % 8 == 0) {
            while (count > 8 && !has_zero(*(const word_of_bytes *)(const void *)at ^ pattern)) {
                at += 8;
                count -= 8;
            }
        }
        if (*at == (uint8_t)wanted)
            return (void *)(uintptr_t)at;
        at++;
        count--;
        STAY_A_LOOP;
    }
    return NULL;
}

size_t strnlen(const char *text, size_t most)
{
    size_t bytes = 0;
    while (bytes < most && text[bytes] != '\0') {
        bytes++;
        STAY_A_LOOP;
    }
    return bytes;
}

int strcmp(const char *a, const char *b)
{
    size_t at = 0;
    while (a[at] == b[at] && a[at] != '\0') {
        at++;
        STAY_A_LOOP;
    }
    return (uint8_t)a[at] < (uint8_t)b[at] ? -1 : (uint8_t)a[at] > (uint8_t)b[at];
}
