/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the import of CTF: import_ctf.c (streams by time), import_ctf_packet.c (packets and
 * heads of events), import_ctf_value.c (bits and fields), import_ctf_emit.c (records). For these alone.
 */
#ifndef IMPORT_CTF_INT_H
#define IMPORT_CTF_INT_H

#include "import_ctf.h"
#include "import_map.h"
#include "import_out.h"
#include "import_tsdl.h"

#define CTF_FIELDS_MAX 4096u      /* of an event, all arrays' elements counted */
#define CTF_PLAIN_ARGS 5u         /* further fields are one text, the sixth argument */
#define CTF_TEXT_MAX   65536u     /* of a field */
#define CTF_NO_PID     UINT64_MAX /* of events whose process nothing names: 0 is one, the idle one */
#define CTF_OPENS_MAX  4096       /* begins that wait for their ends; the oldest give way */

__extension__ typedef __int128 ctf_wide;

struct ctf_bits {
    const uint8_t *bytes;
    uint64_t at, end; /* in bits */
    bool big, failed;
    const char *why; /* what failed first: "is cut" */
};
void ctf_align(struct ctf_bits *b, uint32_t align);
uint64_t ctf_integer(struct ctf_bits *b, uint32_t bits, bool big);

/* A field as it was read: a number, or a text (of `texts`, kind STRING). */
struct ctf_value {
    const char *name; /* of the last part of its path, without the underscore in front */
    uint8_t kind;     /* TSDL_INTEGER, TSDL_FLOAT, TSDL_STRING */
    bool is_signed;
    uint16_t clock; /* that it is of: its place + 1; 0: none */
    uint32_t bits;
    uint64_t number; /* bits of a float64 */
    size_t text, n;
    uint32_t label; /* of an enumeration, as it is called; TSDL_NONE */
};

struct ctf_values {
    struct ctf_value *items; /* CTF_FIELDS_MAX */
    size_t count;
    struct buf texts;
};

/* Reads a structure; its fields are added. false: it does not lie in what is left, or is too large. */
bool ctf_struct_read(const struct tsdl *t, struct ctf_bits *b, uint32_t type,
                     struct ctf_values *values);
/* The last value that is called so, from `from` on; NULL. */
const struct ctf_value *ctf_value_find(const struct ctf_values *values, size_t from,
                                       const char *name);
/* A value as text: its label, or as it is. */
void ctf_value_put(struct buf *out, const struct tsdl *t, const struct ctf_values *values,
                   const struct ctf_value *value);

/* What a packet's header and context say. */
struct ctf_head {
    const struct tsdl_stream *description;
    uint64_t bytes, content; /* of the whole packet; content in bits */
    uint64_t begin, end;     /* of `clock`; as far as they are told: */
    uint16_t clock;          /* its place + 1; 0: not said */
    uint64_t cpu, discarded, number, instance;
    bool has_begin, has_end, has_cpu, has_discarded, has_number, has_instance;
};

struct ctf_stream {
    const struct skein_trace_source *source;
    size_t next;        /* the source in which it goes on, + 1; 0: none */
    uint64_t offset;    /* of the next packet */
    uint64_t packet_at; /* of the one that is read */
    struct buf packet;
    struct ctf_bits bits;
    const struct tsdl_stream *description;
    uint16_t clock_of;                  /* which clock that is: its place + 1; 0: not said */
    uint64_t clock, end_clock, last_ns; /* last_ns: up to which nothing more can be lost */
    uint64_t discarded, number, cpu;    /* number: of its last packet */
    bool begun, has_cpu, has_discarded, has_number;
    /* the event that comes next, whose head has been read */
    const struct tsdl_event *event;
    uint64_t event_at, time_ns; /* where it begins, in bits */
    uint64_t clock_before;      /* of the event before, or the packet's begin */
};

struct ctf_process {
    uint64_t pid;
    struct import_out *out;
};

struct ctf_open { /* a pair's begin */
    uint64_t pid, tid, since_ns;
    uint64_t name; /* checksum of what is in front of "_entry" */
};

struct ctf_import {
    struct tsdl t;
    const struct import_to *to;
    struct import_told *told;
    struct ctf_told *ctf;
    bool pairs, probes; /* probes: nothing that is read counts yet */
    bool has_no_clock;  /* there are times of none: that has been told */
    struct ctf_stream *streams;
    size_t stream_count;
    const struct skein_trace_source *sources;
    size_t *heap; /* of streams that have an event, by time */
    size_t heap_count;
    struct import_map events; /* by number and stream, to places */
    struct import_map process_places;
    struct ctf_process *processes;
    size_t process_count, process_cap;
    struct ctf_values values;
    struct buf more;
    uint64_t last_ns, seed, pending; /* pending: records since all were written */
    ctf_wide
        moved_ns; /* all times are later by so much than the file says; and so much the time of */
    int64_t ahead_ns; /* day is ahead of them */
    struct ctf_open *opens;
    size_t open_count, open_cap;
    int status;
};

/* Its first packet, without reading on: 1; 0: there is none that can be read; a status below 0. At `at`
 * of the source, and *head says where the next one is. */
int ctf_head_peek(struct ctf_import *i, const struct skein_trace_source *source, uint64_t at,
                  struct ctf_head *head);

/* The head of the stream's next event: 1; 0: it has no more; a status below 0. A packet whose
 * place and size are not known ends its stream; one whose event is broken ends there. Both are told. */
int ctf_stream_next(struct ctf_import *i, struct ctf_stream *s);

/* The packet is broken from the event on that is read: it is told, and the next packet comes.
 * SKEIN_OK, or what has failed before. */
int ctf_packet_leave(struct ctf_import *i, struct ctf_stream *s, const char *what);

/* The rest of the event whose head was read, as a record. */
int ctf_event_emit(struct ctf_import *i, struct ctf_stream *s);
/* Events of the process are missing; 0: nobody knows how many. */
void ctf_loss_emit(struct ctf_import *i, uint8_t reason, uint64_t events, uint64_t from_ns,
                   uint64_t to_ns);
/* Nanoseconds since 1970 by the stream's clock, as the file says; and as records take them, held inside
 * what they can be. */
ctf_wide ctf_wide_ns(const struct ctf_import *i, const struct ctf_stream *s, uint64_t clock);
uint64_t ctf_ns(const struct ctf_import *i, const struct ctf_stream *s, uint64_t clock);

#endif
