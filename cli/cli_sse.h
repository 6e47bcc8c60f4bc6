/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-sent events out of bytes as they come, in pieces of any size. Bytes are hostile. One
 * owner, one thread.
 */
#ifndef CLI_SSE_H
#define CLI_SSE_H

#include "buf.h"

#define SSE_LINE_MAX (1u << 20)

struct sse {
    struct buf line, data;
    char type[64], id[64]; /* id: of the last event; kept over connections, "" for none */
    char next_id[64];
    uint64_t retry_ms; /* as the server wishes; 0: it has said nothing */
    bool after_cr;
};

struct sse_event {
    const char *type; /* "message" where the server names none */
    const char *id;
    const char *data; /* with a NUL behind it */
    size_t bytes;
};

/* All-zero is a valid start. sse_reset forgets what is half read, for a new connection. */
void sse_reset(struct sse *sse);
void sse_fini(struct sse *sse);

/* Calls fn for each event that ends in these bytes. SKEIN_OK; SKEIN_TOO_LARGE (a line, or the lines
 * of one event); SKEIN_NO_MEMORY; or what fn returned, if not SKEIN_OK. */
typedef int sse_fn(void *context, const struct sse_event *event);
int sse_feed(struct sse *sse, const void *bytes, size_t n, sse_fn *fn, void *context);

#endif
