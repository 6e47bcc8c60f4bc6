/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_id.h.
 */
#include "import_id.h"

#include <stdlib.h>
#include <string.h>

#include "checksum.h"

#define PIECE_BYTES ((size_t)1 << 20)

/* With its length in front, so that what follows cannot stand for its end. */
static void piece_add(struct checksum *sum, const void *bytes, size_t n)
{
    const uint64_t length = n;
    checksum_add(sum, &length, sizeof length);
    checksum_add(sum, bytes, n);
}

static int source_add(struct checksum *sum, const struct skein_trace_source *source, uint8_t *room)
{
    int status = SKEIN_OK;
    checksum_add(sum, &source->bytes, sizeof source->bytes);
    for (uint64_t at = 0; at < source->bytes && status == SKEIN_OK; at += PIECE_BYTES) {
        uint64_t left = source->bytes - at;
        size_t n = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        status = source->read(source->context, at, room, n);
        if (status == SKEIN_OK)
            checksum_add(sum, room, n);
    }
    return status;
}

int import_seed(const struct import_to *to, const struct skein_trace_source *sources, size_t count,
                uint64_t *seed)
{
    const uint64_t numbers[3] = {to->place, to->pid, count};
    struct checksum *sum = checksum_new();
    uint8_t *room = malloc(PIECE_BYTES);
    int status = sum != NULL && room != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK) {
        checksum_add(sum, numbers, sizeof numbers);
        piece_add(sum, to->host, strlen(to->host));
        piece_add(sum, to->service, strlen(to->service));
    }
    for (size_t k = 0; k < count && status == SKEIN_OK; k++)
        status = source_add(sum, &sources[k], room);
    if (status == SKEIN_OK)
        *seed = checksum_end(sum);
    checksum_free(&sum);
    free(room);
    return status;
}

struct process_uid import_process_uid(uint64_t seed, uint64_t number, uint32_t pid)
{
    struct process_uid uid;
    uint64_t key[4] = {seed, number, pid, 0};
    for (; key[3] < 2; key[3]++) {
        uint64_t half = checksum64(key, sizeof key);
        for (unsigned k = 0; k < 8; k++)
            uid.bytes[key[3] * 8 + k] = (uint8_t)(half >> 8 * k);
    }
    return uid;
}
