/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the making of identities. Any thread; no state but a count of calls. Never falls back to a
 * guessable id without need: capture ids take their random part from the kernel.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "checksum.h"
#include "clock.h"
#include "ids.h"

static void be_store(uint8_t *to, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
}

struct process_uid process_uid_make(uint64_t agent, const char *boot_id, uint32_t pid,
                                    uint64_t start_clock_ticks)
{
    /* The agent's bytes in a fixed order, then the boot's text: the same on every host. */
    uint8_t seed[8 + 64] = {0};
    size_t n = strnlen(boot_id, 64);
    be_store(seed, agent, 8);
    memcpy(seed + 8, boot_id, n);
    struct process_uid uid;
    be_store(uid.bytes, checksum64(seed, 8 + n), 8);
    be_store(uid.bytes + 8, pid, 4);
    be_store(uid.bytes + 12, start_clock_ticks & UINT32_MAX, 4);
    return uid;
}

/* The kernel's random bytes; where a sandbox denies getrandom(), what still tells two calls of one
 * host apart, hashed. */
static void random_bytes(uint8_t *to, size_t n)
{
    ssize_t got;
    do {
        got = getrandom(to, n, 0);
    } while (got < 0 && errno == EINTR);
    if (got == (ssize_t)n)
        return;
    static _Atomic uint64_t calls;
    uint64_t seed[4] = {clock_realtime_ns(), clock_monotonic_ns(), (uint64_t)getpid(), calls++};
    for (size_t at = 0; at < n; at += 8) {
        seed[3] ^= at << 32;
        uint64_t word = checksum64(seed, sizeof seed);
        memcpy(to + at, &word, n - at < 8 ? n - at : 8);
    }
}

struct capture_id capture_id_new(void)
{
    struct capture_id id;
    be_store(id.bytes, clock_realtime_ns() / 1000000, 6);
    random_bytes(id.bytes + 6, 10);
    return id;
}
