/* SPDX-License-Identifier: Apache-2.0
 * Functions whose names a test asks for: inlined into each other, static, exported. Built with -O2
 * and debug information. */
#include <stdint.h>

unsigned plugin_mix(const uint8_t *bytes, unsigned n);
unsigned plugin_outer(const uint8_t *bytes, unsigned n);
unsigned plugin_call(unsigned (*fn)(unsigned), unsigned value);

static inline __attribute__((always_inline)) unsigned innermost_step(unsigned h, uint8_t byte)
{
    h ^= byte;
    return h * 16777619u;
}

static inline __attribute__((always_inline)) unsigned middle_step(unsigned h, const uint8_t *bytes,
                                                                  unsigned i)
{
    if (bytes[i] == '\n')
        return h + 1;
    return innermost_step(h, bytes[i]);
}

static __attribute__((noinline)) unsigned plugin_static(unsigned h, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        h = (h << 5) + h + i;
    return h;
}

unsigned plugin_mix(const uint8_t *bytes, unsigned n)
{
    unsigned h = 2166136261u;
    for (unsigned i = 0; i < n; i++)
        h = middle_step(h, bytes, i);
    return plugin_static(h, n);
}

unsigned plugin_outer(const uint8_t *bytes, unsigned n)
{
    unsigned h = plugin_mix(bytes, n);
    if (n > 3)
        h = middle_step(h, bytes, n - 1);
    return h + plugin_static(h, 3);
}

unsigned plugin_call(unsigned (*fn)(unsigned), unsigned value)
{
    return fn(value) + 1;
}
