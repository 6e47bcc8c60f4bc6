/* SPDX-License-Identifier: Apache-2.0
 *
 * Protobuf's wire format, read field by field where it lies: no field is copied, nothing is allocated,
 * and how deep messages go is the caller's affair. protobuf-c would unpack a whole message into
 * memory of its own before anybody has looked at it, as deep as a hostile file says. Pure.
 */
#ifndef PROTOBUF_GET_H
#define PROTOBUF_GET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_reader {
    const uint8_t *pos, *end;
    bool failed;
};

struct pb_field {
    uint32_t number;
    uint8_t wire;
    uint64_t value;       /* of a number; 0 of bytes */
    const uint8_t *bytes; /* of PB_BYTES */
    size_t n;
};

static inline struct pb_reader pb_reader_of(const uint8_t *bytes, size_t n)
{
    return (struct pb_reader){.pos = bytes, .end = bytes + n};
}

static inline struct pb_reader pb_message_of(const struct pb_field *field)
{
    return field->wire == PB_BYTES ? pb_reader_of(field->bytes, field->n)
                                   : (struct pb_reader){.failed = true};
}

/* One number of LEB128, as packed fields have them in a row. */
static inline uint64_t pb_varint_get(struct pb_reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (r->pos == r->end)
            break;
        uint8_t byte = *r->pos++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    r->failed = true;
    return 0;
}

static inline uint64_t pb_fixed_get(struct pb_reader *r, unsigned bytes)
{
    uint64_t value = 0;
    if (bytes > (size_t)(r->end - r->pos)) {
        r->failed = true;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)r->pos[i] << 8 * i;
    r->pos += bytes;
    return value;
}

/* The next field; false: the message's end, or it is broken (failed). */
static inline bool pb_next(struct pb_reader *r, struct pb_field *field)
{
    if (r->failed || r->pos == r->end)
        return false;
    uint64_t tag = pb_varint_get(r);
    *field = (struct pb_field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
    if (tag >> 3 == 0 || tag >> 32 != 0)
        r->failed = true;
    switch (field->wire) {
    case PB_VARINT:
        field->value = pb_varint_get(r);
        break;
    case PB_FIXED64:
        field->value = pb_fixed_get(r, 8);
        break;
    case PB_FIXED32:
        field->value = pb_fixed_get(r, 4);
        break;
    case PB_BYTES: {
        uint64_t n = pb_varint_get(r);
        if (r->failed || n > (size_t)(r->end - r->pos)) {
            r->failed = true;
            return false;
        }
        field->bytes = r->pos;
        field->n = (size_t)n;
        r->pos += n;
        break;
    }
    default: /* groups, which nobody writes any more */
        r->failed = true;
    }
    return !r->failed;
}

/* The first field of this number in a message, anywhere in it; false: none. */
static inline bool pb_find(struct pb_reader r, uint32_t number, struct pb_field *field)
{
    while (pb_next(&r, field))
        if (field->number == number)
            return true;
    return false;
}

#endif
