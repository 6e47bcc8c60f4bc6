/* SPDX-License-Identifier: Apache-2.0
 *
 * The language in which CTF 1.8 describes a trace (TSDL), as far as LTTng and babeltrace2 write it:
 * integers of any width and order, floats, strings, enumerations, structures, variants, arrays and
 * sequences; trace, env, clock, stream and event. Types are numbers; texts last as long as the struct.
 * No I/O; one owner. Every byte is hostile.
 */
#ifndef IMPORT_TSDL_H
#define IMPORT_TSDL_H

#include "buf.h"

#define TSDL_NONE      UINT32_MAX
#define TSDL_DEPTH_MAX 32
#define TSDL_TYPES_MAX 1000000u
#define TSDL_NAMES_MAX 4096u /* in scope at a time: each use of a name looks through them */
#define TSDL_TEXT_MAX  1024

enum tsdl_kind {
    TSDL_INTEGER,
    TSDL_FLOAT,
    TSDL_ENUM,
    TSDL_STRING,
    TSDL_STRUCT,
    TSDL_VARIANT,
    TSDL_ARRAY,
    TSDL_SEQUENCE
};
enum tsdl_order { TSDL_NATIVE, TSDL_LITTLE, TSDL_BIG };

struct tsdl_type {
    uint8_t kind, order;
    uint16_t clock;       /* that its values are of: its place + 1; 0: none */
    bool is_signed, text; /* text: of characters */
    uint32_t size, align; /* bits */
    uint32_t first;       /* fields, options or labels: place of the first; TSDL_NONE: none */
    uint32_t element;     /* of an array or sequence; an enumeration's integer */
    uint64_t length;      /* of an array */
    uint32_t name;        /* tag of a variant, length of a sequence */
};

struct tsdl_field {
    uint32_t name, type, next;
};
struct tsdl_label {
    uint32_t name, next;
    int64_t from, to;
};

struct tsdl_clock {
    uint32_t name;  /* TSDL_NONE: it has none */
    bool described; /* else only named where something is of it */
    uint64_t frequency, offset;
    int64_t offset_s;
};

struct tsdl_stream {
    uint64_t id;
    uint64_t only; /* the number of its event, where it has but one; else 0 */
    uint32_t header, packet_context, event_context;
};
struct tsdl_event {
    uint64_t id, stream;
    bool has_stream; /* it names one; else it is of the only one */
    uint32_t name, context, fields;
};

struct tsdl {
    struct tsdl_type *types;
    size_t type_count, type_cap;
    struct tsdl_field *fields;
    size_t field_count, field_cap;
    struct tsdl_label *labels;
    size_t label_count, label_cap;
    struct tsdl_stream *streams;
    size_t stream_count, stream_cap;
    struct tsdl_event *events;
    size_t event_count, event_cap;
    struct buf texts; /* each with a NUL behind it; number: its place */
    uint32_t packet_header;
    bool big;
    struct tsdl_clock *clocks; /* one at least: of nanoseconds, where the metadata describes none */
    size_t clock_count, clock_cap;
    bool has_clock;              /* it describes one */
    uint32_t hostname, procname; /* of env; TSDL_NONE: not told */
    uint64_t vpid;
    bool has_vpid;
};

/* SKEIN_OK; SKEIN_UNSUPPORTED, SKEIN_CORRUPT with a sentence (what, in which line); SKEIN_NO_MEMORY. */
int tsdl_read(const char *text, size_t n, struct tsdl *out, char *error, size_t error_bytes);
void tsdl_fini(struct tsdl *t);

static inline const char *tsdl_text(const struct tsdl *t, uint32_t text)
{
    return text == TSDL_NONE ? "" : (const char *)t->texts.data + text;
}

#endif
