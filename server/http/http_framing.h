/* SPDX-License-Identifier: Apache-2.0
 *
 * Where requests begin and end, read by RFC 9112 to the letter: a filter between the socket and the
 * library that parses requests, which is more lenient than that. What another server on the way
 * might read differently does not get through. Pure over hostile bytes; one connection, one thread.
 *
 *   bytes of the client ──▶ http_framing_feed ──▶ requests without doubt ──▶ the library
 *                                   │
 *                                   └─ the first doubt: that request is brought to an end, so that
 *                                      it reaches its handler, which answers by `wrong`; nothing
 *                                      that follows it is passed on
 *
 * Chunked bodies are passed on in chunks without extensions and trailers.
 */
#ifndef HTTP_FRAMING_H
#define HTTP_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_FRAMING_NAME  17  /* "transfer-encoding" */
#define HTTP_FRAMING_VALUE 24  /* of a length or coding, without what surrounds it */
#define HTTP_FRAMING_MORE  128 /* more bytes may come out than went in, in all */

/* All zero: a new connection. */
struct http_framing {
    uint64_t request;  /* the one that is being read, or was read last; counted from 1 */
    const char *wrong; /* why it is answered 400; NULL: nothing is wrong */
    bool cut;          /* nothing behind it is passed on; without `wrong`: it is too large */

    /* http_framing.c's */
    unsigned state;
    size_t head_bytes, lines, line_bytes, extra_bytes;
    char name[HTTP_FRAMING_NAME + 1], value[HTTP_FRAMING_VALUE + 1];
    size_t name_len, value_len;
    char minor; /* of HTTP/1.x */
    unsigned hosts, authorizations, lengths, codings;
    uint64_t left, size; /* bytes of the body or chunk still to come; the chunk's size so far */
    unsigned digits;
    uint8_t pending[HTTP_FRAMING_MORE]; /* what did not fit */
    size_t pending_len;
};

/* Takes n bytes; at most `room` come out, the rest with the next call. n <= room - pending_len. How
 * many came out. */
size_t http_framing_feed(struct http_framing *f, const uint8_t *in, size_t n, uint8_t *out,
                         size_t room);

#endif
