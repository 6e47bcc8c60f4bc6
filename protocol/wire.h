/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of docs/protocol.md: the frame around all of them (P-1 to P-5), CHUNK (P-11) and
 * CHUNK_ACK (P-12). Bodies on control are JSON and have headers of their own (control_body.h). Pure
 * functions over bytes; hostile input expected.
 */
#ifndef WIRE_H
#define WIRE_H

#include "buf.h"
#include "ids.h"

#define WIRE_MAGIC        UINT32_C(0x314e4b53) /* "SKN1" */
#define WIRE_VERSION      1
#define WIRE_HEADER_BYTES 24
#define WIRE_CONTROL_MAX  (64u << 10)
/* A body that also fits when it is sealed, which takes 32 bytes. */
#define WIRE_CONTROL_BODY_MAX (WIRE_CONTROL_MAX - WIRE_HEADER_BYTES - 32u)
#define WIRE_CHUNK_MAX        (1u << 20) /* partition bytes in one chunk */
#define WIRE_DATA_MAX         (WIRE_CHUNK_MAX + 256u)
#define WIRE_PARTITION_MAX    (UINT64_C(64) << 20)

enum wire_type {
    WIRE_HELLO = 1,
    WIRE_WELCOME = 2,
    WIRE_HEARTBEAT = 3,
    WIRE_HEARTBEAT_ACK = 4,
    WIRE_COMMAND = 5,
    WIRE_COMMAND_ACK = 6,
    WIRE_REPORT = 7,
    WIRE_REPORT_ACK = 8,
    WIRE_ERROR = 9,
    WIRE_OPEN = 10, /* 10 to 12: the handshake of seal.h */
    WIRE_ACCEPT = 11,
    WIRE_REFUSE = 12,
    WIRE_CHUNK = 16,
    WIRE_CHUNK_ACK = 17
};

struct wire_frame {
    uint8_t type;
    uint64_t id;         /* chosen by the sender, echoed in the answer */
    const uint8_t *body; /* inside the message */
    uint32_t body_bytes;
};

/* Appends header and body. */
void wire_frame_put(struct buf *b, uint8_t type, uint64_t id, const void *body, size_t body_bytes);

/* The same into memory of exactly WIRE_HEADER_BYTES + body_bytes whose body is in place already. */
void wire_frame_seal(uint8_t *message, uint8_t type, uint64_t id, size_t body_bytes);

/* SKEIN_OK; SKEIN_TRUNCATED; SKEIN_VERSION; SKEIN_CORRUPT (magic, length, checksum, unknown flag).
 * *frame is unchanged on failure. */
int wire_frame_get(const uint8_t *message, size_t n, struct wire_frame *frame);

/* The same two for a frame whose body seal.h seals (P-2): the header alone, and a frame whose body
 * still is sealed; wire_frame_get takes such frames for SKEIN_CORRUPT. */
void wire_header_sealed(uint8_t *message, uint8_t type, uint64_t id, size_t body_bytes);
int wire_sealed_get(const uint8_t *message, size_t n, struct wire_frame *frame);

struct wire_chunk {
    struct partition_key key;
    struct capture_id capture; /* the capture that it was cut for */
    uint32_t index, count;     /* chunk index of count; all but the last are WIRE_CHUNK_MAX long */
    uint64_t partition_bytes, partition_checksum; /* of the whole partition */
    const uint8_t *bytes;
    uint32_t bytes_len;
};
#define WIRE_CHUNK_HEADER_BYTES 76

void wire_chunk_put(uint8_t out[WIRE_CHUNK_HEADER_BYTES],
                    const struct wire_chunk *chunk); /* the bytes follow it */
int wire_chunk_get(
    const uint8_t *body, size_t n,
    struct wire_chunk *chunk); /* also checks index, count and lengths against partition_bytes */

/* What the collector did with a partition: one answer for each, sent after the durable commit. */
enum wire_ack_status { WIRE_STORED = 0, WIRE_STORED_BEFORE = 1, WIRE_RETRY = 2, WIRE_REJECTED = 3 };
struct wire_ack {
    struct partition_key key;
    uint8_t status;
    uint32_t retry_ms; /* WIRE_RETRY: not before */
    uint32_t have; /* WIRE_RETRY: chunks received so far from index 0 without a gap; resume there */
};
void wire_ack_put(struct buf *b, const struct wire_ack *ack);
int wire_ack_get(const uint8_t *body, size_t n, struct wire_ack *ack);

#endif
