/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of trace_api.h, for the files of web/wasm alone.
 */
#ifndef TRACE_API_INT_H
#define TRACE_API_INT_H

#include <stdbool.h>

#include "buf.h"
#include "skein/trace.h"
#include "trace_api.h"

struct api_trace {
    struct skein_trace *trace;
    uint64_t from_ns, to_ns; /* the window */
};

extern struct buf api_out; /* the answer */

/* Empties the answer, and what it becomes at the end of a function: its status. */
struct buf *api_begin(void);
int api_end(int status);
/* The answer is a sentence; returns `status`. */
int api_say(int status, const char *sentence);

/* A time of the window as ns since 1970, held inside 0 to 2^64 - 1; and back. */
uint64_t api_time(const struct api_trace *t, double ns);
double api_since(const struct api_trace *t, uint64_t ns);

/* Members of JSON objects, with a comma where one is in front. */
void api_key(struct buf *b, const char *key);
void api_put_text(struct buf *b, const char *key, const char *text);
void api_put_u64(struct buf *b, const char *key, uint64_t n); /* beyond 2^53 as text */
void api_put_real(struct buf *b, const char *key, double n);
void api_put_bool(struct buf *b, const char *key, bool is);
void api_open(struct buf *b, const char *key, char bracket); /* key NULL: an item of a list */
void api_close(struct buf *b, char bracket);

void api_put_gaps(struct buf *b, const struct api_trace *t, const struct skein_gap *gaps,
                  size_t count);

#endif
