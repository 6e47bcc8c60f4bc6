/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the making, printing and parsing of identities. Any thread; no state. Never falls back to a
 * guessable id without need: capture ids take their random part from the kernel.
 */
#include "ids.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "checksum.h"
#include "clock.h"

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

void id_text(const uint8_t bytes[16], char out[ID_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < 16; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[32] = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The 32 digits alone; what follows is the caller's. */
static bool hex_parse(const char *text, uint8_t bytes[16])
{
    uint8_t out[16];
    for (unsigned i = 0; i < 16; i++) {
        int high = hex_value(text[2 * i]);
        int low = high < 0 ? -1 : hex_value(text[2 * i + 1]);
        if (low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(bytes, out, 16);
    return true;
}

int id_parse(const char *text, uint8_t bytes[16])
{
    uint8_t out[16];
    if (!hex_parse(text, out) || text[32])
        return SKEIN_INVALID;
    memcpy(bytes, out, 16);
    return SKEIN_OK;
}

void agent_text(uint64_t agent, char out[AGENT_TEXT_BYTES])
{
    snprintf(out, AGENT_TEXT_BYTES, "%016" PRIx64, agent);
}

int agent_parse(const char *text, uint64_t *agent)
{
    uint64_t v = 0;
    size_t n = 0;
    for (; text[n]; n++) {
        int digit = hex_value(text[n]);
        if (digit < 0 || (text[n] >= 'A' && text[n] <= 'F') || n >= 16)
            return SKEIN_INVALID;
        v = v << 4 | (uint64_t)digit;
    }
    if (n != 16)
        return SKEIN_INVALID;
    *agent = v;
    return SKEIN_OK;
}

void partition_key_text(const struct partition_key *key, char out[PARTITION_KEY_TEXT_BYTES])
{
    char process[ID_TEXT_BYTES];
    id_text(key->process.bytes, process);
    snprintf(out, PARTITION_KEY_TEXT_BYTES, "%s-%" PRIu64 "-%" PRIu64, process, key->epoch,
             key->sequence);
}

/* Decimal digits up to `end`, without leading zeros, so that a key has one text form. */
static const char *u64_take(const char *p, uint64_t *out)
{
    uint64_t v = 0;
    const char *start = p;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return NULL;
        v = v * 10 + digit;
    }
    if (p == start || (*start == '0' && p - start > 1))
        return NULL;
    *out = v;
    return p;
}

int partition_key_parse(const char *text, struct partition_key *key)
{
    struct partition_key out;
    if (!hex_parse(text, out.process.bytes) || text[32] != '-')
        return SKEIN_INVALID;
    const char *p = u64_take(text + 33, &out.epoch);
    if (p == NULL || *p++ != '-')
        return SKEIN_INVALID;
    p = u64_take(p, &out.sequence);
    if (p == NULL || *p)
        return SKEIN_INVALID;
    *key = out;
    return SKEIN_OK;
}

bool process_uid_equal(const struct process_uid *a, const struct process_uid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool capture_id_equal(const struct capture_id *a, const struct capture_id *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool capture_id_is_zero(const struct capture_id *id)
{
    static const struct capture_id zero;
    return capture_id_equal(id, &zero);
}
