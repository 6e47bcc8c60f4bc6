/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a stored partition once, piece by piece, and compares it with its record's checksum. Any
 * thread; keeps nothing.
 */
#include <stdlib.h>

#include "checksum.h"
#include "store_int.h"

#define STEP_BYTES (256u << 10)

static int payload_sum(struct store *store, const struct store_place *place, uint64_t *sum)
{
    struct checksum *checksum = checksum_new();
    uint8_t *step = malloc(STEP_BYTES);
    int status = checksum != NULL && step != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    for (uint64_t at = 0; status == SKEIN_OK && at < place->bytes;) {
        uint64_t left = place->bytes - at;
        size_t n = left < STEP_BYTES ? (size_t)left : STEP_BYTES;
        status = store_read(store, place, at, step, n);
        if (status == SKEIN_OK)
            checksum_add(checksum, step, n);
        at += n;
    }
    if (status == SKEIN_OK)
        *sum = checksum_end(checksum);
    checksum_free(&checksum);
    free(step);
    return status;
}

int store_verify(struct store *store, const struct partition_key *key,
                 const struct store_place *place)
{
    uint8_t header[SEGMENT_RECORD_BYTES];
    struct segment_record record;
    uint64_t sum = 0;
    if (place->offset < SEGMENT_RECORD_BYTES || place->bytes > PARTITION_BYTES_MAX)
        return SKEIN_CORRUPT;
    const struct store_place before = {place->segment, place->offset - SEGMENT_RECORD_BYTES,
                                       sizeof header};
    int status = store_read(store, &before, 0, header, sizeof header);
    if (status == SKEIN_OK)
        status = payload_sum(store, place, &sum);
    /* Bytes beyond the file's end, or that the disk does not give, are lost as well. */
    if (status == SKEIN_TRUNCATED || status == SKEIN_INVALID || status == SKEIN_IO)
        return SKEIN_CORRUPT;
    if (status != SKEIN_OK)
        return status;
    bool good = segment_record_get(header, place->segment, before.offset, &record) == SKEIN_OK &&
                record.kind == SEGMENT_PARTITION && record.length == place->bytes &&
                partition_key_equal(&record.about.key, key) && record.checksum == sum;
    return good ? SKEIN_OK : SKEIN_CORRUPT;
}
