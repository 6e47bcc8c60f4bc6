/* SPDX-License-Identifier: Apache-2.0
 *
 * One file that a Go program serves of its runtime, over HTTP on this host. For go_source.c alone.
 */
#ifndef GO_FETCH_H
#define GO_FETCH_H

#include "buf.h"
#include "process.h"

struct go_request {
    const struct process *process;
    const char *address; /* HOST:PORT, and a path, as outside_loopback_read reads it */
    const char *path;    /* behind it; "": none */
    uint64_t timeout_ms, bytes_max;
    const int *cancel; /* atomic */
};

#define GO_WHY_BYTES 128

/* Asks the process, and it alone (outside_listens_alone), follows no redirect, and takes all of an
 * answer that begins as a trace of Go's runtime does, or nothing. Returns NULL, and `bytes` is the
 * caller's; or `why`, why there is none. Blocks as long as the timeout. Any thread. */
const char *go_fetch(const struct go_request *request, struct buf *bytes, char why[GO_WHY_BYTES]);

/* Whether the bytes begin as a trace of Go's runtime does: "go 1.N trace" in 16 bytes, padded with
 * zeros. Fewer than 16 are no trace. */
bool go_trace_begins(const void *bytes, size_t n);

#endif
