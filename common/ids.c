/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the printing and parsing of identities; asks the system for nothing. Any thread; no state.
 */
#include "ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "digits.h"

void id_text(const uint8_t bytes[16], char out[ID_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < 16; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[32] = '\0';
}

int id_parse(const char *text, uint8_t bytes[16])
{
    uint8_t out[16];
    if (!digits_bytes(text, out, sizeof out) || text[32])
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
        int digit = digit_hex(text[n]);
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

/* A number without leading zeros, so that a key has one text form. */
static bool u64_take(const char **at, uint64_t *out)
{
    const char *start = *at;
    return digits_take(at, out) && (*start != '0' || *at == start + 1);
}

int partition_key_parse(const char *text, struct partition_key *key)
{
    struct partition_key out;
    if (!digits_bytes(text, out.process.bytes, sizeof out.process.bytes) || text[32] != '-')
        return SKEIN_INVALID;
    const char *p = text + 33;
    if (!u64_take(&p, &out.epoch) || *p++ != '-' || !u64_take(&p, &out.sequence) || *p)
        return SKEIN_INVALID;
    *key = out;
    return SKEIN_OK;
}

bool partition_key_equal(const struct partition_key *a, const struct partition_key *b)
{
    return a->epoch == b->epoch && a->sequence == b->sequence &&
           process_uid_equal(&a->process, &b->process);
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
