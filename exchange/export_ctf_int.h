/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the CTF export share: the event classes that occur, by type and variant.
 * Included by export_ctf*.c alone.
 */
#ifndef EXPORT_CTF_INT_H
#define EXPORT_CTF_INT_H

#include "export_int.h"

/* An event class is a type in one of these; its id is type * 8 + variant. */
enum ctf_variant {
    CTF_POINT,
    CTF_REGION,
    CTF_BARE,      /* a region whose begin, which had the arguments, is lost */
    CTF_OPERATION, /* in progress in the end: it has a detail, and no arguments yet */
    CTF_END,       /* that of a region whose begin is lost */
    CTF_VARIANTS = 8
};
#define CTF_ID_LOSS UINT32_C(0xfffffffe)
#define CTF_ID_END  UINT32_C(0xfffffffd) /* of an unknown type */

struct ctf_stream {
    struct buf packet; /* its head with zeros first; empty: none is begun */
    uint64_t begin_ns, last_ns, discarded, packets;
};

struct ctf {
    struct ctf_stream *streams; /* by process */
    size_t stream_cap;
    uint8_t *used; /* by type, bit n: enum ctf_variant n occurs */
    size_t used_cap;
    uint8_t uuid[16];
    bool based;       /* base_ns is set */
    uint64_t base_ns; /* the second of the first record; times are since then */
    uint64_t changed; /* times that readers cannot have as they were */
    struct skein_frame frames[256];
};

/* Writes the file "metadata". SKEIN_OK or a status below 0. */
int ctf_metadata_put(struct export_run *x);

/* Whether the type of argument has a field. */
bool ctf_has_field(uint8_t type);

#endif
