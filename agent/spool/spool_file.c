/* SPDX-License-Identifier: Apache-2.0
 *
 * Codec of the spool's files; see spool_file.h. Pure functions.
 */
#include "spool_file.h"

#include <stdio.h>
#include <string.h>

#include "checksum.h"
#include "skein_check.h"
#include "wire.h"

#define SPOOL_MAGIC   UINT32_C(0x50534b53) /* "SKSP" */
#define SPOOL_VERSION 1
#define CHECKED_BYTES (SPOOL_FILE_HEAD_BYTES - 4)

static void le_put(uint8_t **pos, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        *(*pos)++ = (uint8_t)(v >> (8 * i));
}

static void bytes_put(uint8_t **pos, const uint8_t bytes[16])
{
    memcpy(*pos, bytes, 16);
    *pos += 16;
}

void spool_head_put(uint8_t out[SPOOL_FILE_HEAD_BYTES], const struct spool_head *head)
{
    uint8_t *pos = out;
    le_put(&pos, SPOOL_MAGIC, 4);
    le_put(&pos, SPOOL_VERSION, 2);
    le_put(&pos, head->kind, 2);
    bytes_put(&pos, head->capture.bytes);
    bytes_put(&pos, head->key.process.bytes);
    le_put(&pos, head->key.epoch, 8);
    le_put(&pos, head->key.sequence, 8);
    le_put(&pos, head->events, 8);
    le_put(&pos, head->from_ns, 8);
    le_put(&pos, head->to_ns, 8);
    le_put(&pos, head->created_ns, 8);
    le_put(&pos, head->payload_bytes, 8);
    le_put(&pos, head->payload_checksum, 8);
    le_put(&pos, head->user, 4);
    le_put(&pos, checksum32(out, CHECKED_BYTES), 4);
    skein_check(pos == out + SPOOL_FILE_HEAD_BYTES);
}

static int head_read(struct cursor *c, struct spool_head *head)
{
    const uint8_t *capture, *process;
    head->kind = cursor_u16(c);
    capture = cursor_bytes(c, 16);
    process = cursor_bytes(c, 16);
    if (capture == NULL || process == NULL)
        return SKEIN_TRUNCATED;
    memcpy(head->capture.bytes, capture, 16);
    memcpy(head->key.process.bytes, process, 16);
    head->key.epoch = cursor_u64(c);
    head->key.sequence = cursor_u64(c);
    head->events = cursor_u64(c);
    head->from_ns = cursor_u64(c);
    head->to_ns = cursor_u64(c);
    head->created_ns = cursor_u64(c);
    head->payload_bytes = cursor_u64(c);
    head->payload_checksum = cursor_u64(c);
    return c->status;
}

int spool_head_get(const uint8_t *bytes, size_t n, struct spool_head *head)
{
    if (n < SPOOL_FILE_HEAD_BYTES)
        return SKEIN_TRUNCATED;
    struct cursor c;
    cursor_init(&c, bytes, SPOOL_FILE_HEAD_BYTES);
    if (cursor_u32(&c) != SPOOL_MAGIC)
        return SKEIN_CORRUPT;
    if (cursor_u16(&c) != SPOOL_VERSION)
        return SKEIN_VERSION;
    struct spool_head read = {0};
    int status = head_read(&c, &read);
    if (status != SKEIN_OK)
        return status;
    read.user = cursor_u32(&c);
    if (cursor_u32(&c) != checksum32(bytes, CHECKED_BYTES) || c.status != SKEIN_OK)
        return SKEIN_CORRUPT;
    if (read.kind < SPOOL_PARTITION || read.kind > SPOOL_FIRING)
        return SKEIN_CORRUPT;
    if (read.payload_bytes > (read.kind == SPOOL_PARTITION ? WIRE_PARTITION_MAX : SPOOL_REPORT_MAX))
        return SKEIN_CORRUPT;
    *head = read;
    return SKEIN_OK;
}

void spool_file_name(const struct spool_head *head, char out[SPOOL_NAME_BYTES])
{
    if (head->kind == SPOOL_PARTITION) {
        char key[PARTITION_KEY_TEXT_BYTES];
        partition_key_text(&head->key, key);
        snprintf(out, SPOOL_NAME_BYTES, "p-%s", key);
        return;
    }
    char capture[ID_TEXT_BYTES], process[ID_TEXT_BYTES];
    id_text(head->capture.bytes, capture);
    id_text(head->key.process.bytes, process);
    snprintf(out, SPOOL_NAME_BYTES, "%c-%s-%s", spool_kind_fired(head->kind) ? 'f' : 't', capture,
             process);
}

int spool_report_get(const uint8_t *bytes, size_t n, struct spool_head *head, const char **text)
{
    struct spool_head read;
    int status = spool_head_get(bytes, n, &read);
    if (status != SKEIN_OK)
        return status;
    const uint8_t *payload = bytes + SPOOL_FILE_HEAD_BYTES;
    if (read.kind == SPOOL_PARTITION || read.payload_bytes != n - SPOOL_FILE_HEAD_BYTES)
        return SKEIN_CORRUPT;
    if (checksum64(payload, n - SPOOL_FILE_HEAD_BYTES) != read.payload_checksum)
        return SKEIN_CORRUPT;
    *head = read;
    *text = (const char *)payload;
    return SKEIN_OK;
}
