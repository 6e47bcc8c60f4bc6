/* SPDX-License-Identifier: Apache-2.0
 *
 * One request over a socket, and its answer as it came: every header, the body not unpacked. Failures end
 * the test through libcheck.
 */
#ifndef HTTP_RAW_H
#define HTTP_RAW_H

#include "buf.h"
#include "http_server.h"

struct answer {
    unsigned status;
    char *head; /* with "\r\n" before and behind each of its lines */
    struct buf all;
    const uint8_t *body;
    size_t n;
};

/* headers: lines with "\r\n" behind each; "": none. The caller calls forget. */
void ask(const struct http_server *server, const char *method, const char *path,
         const char *headers, struct answer *out);
void forget(struct answer *a);

/* The value of a header; "" where there is none. More than one is a failure. */
const char *value(const struct answer *a, const char *name, char out[512]);
void expect_value(const struct answer *a, const char *name, const char *wanted);

/* Appends the body, unpacked by the system's gzip where it says that it is packed. */
void body_of(const struct answer *a, struct buf *out);

#endif
