/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions and an uploading agent for tests and benches of the collector. Failures abort the
 * program. The uploader belongs to one thread.
 */
#ifndef PARTITION_MAKE_H
#define PARTITION_MAKE_H

#include "buf.h"
#include "partition.h"
#include "transport.h"
#include "wire.h"

struct partition_spec {
    struct partition_key key;
    uint64_t from_ns, to_ns; /* realtime of its first and last event; equal: one event */
    const char *service, *host, *labels, *exe; /* NULL: "svc", "host-a", "", "/usr/bin/svc" */
    uint32_t pid;                              /* 0: 100 */
    int64_t clock_offset_ns;                   /* collector's time less the host's */
    size_t noise_bytes;                        /* about so many incompressible bytes in it */
    const char *trace_id;                      /* of an event in it; NULL: there is none */
};

/* The nth process of tests. */
struct process_uid process_of(uint32_t n);
struct partition_key key_of(uint32_t process, uint64_t epoch, uint64_t sequence);
struct capture_id capture_of(uint32_t n);

/* Builds it with the real writer into *out (cleared first). */
void partition_make(const struct partition_spec *spec, struct buf *out);

/* The same every time for a key: `noise_bytes` long noise that the key and nothing else decides. */
void partition_of(const struct partition_key *key, size_t noise_bytes, struct buf *out);

/* ---- an agent's side of the data port ---- */

uint32_t chunk_count(size_t partition_bytes);

/* Sends chunk `index`, claiming what the arguments say. */
void chunk_send(struct transport *t, const struct partition_key *key,
                const struct capture_id *capture, const void *partition, size_t n, uint32_t index,
                uint64_t frame_id);
/* All chunks in order. */
void partition_send(struct transport *t, const struct partition_key *key,
                    const struct capture_id *capture, const struct buf *partition);

/* The next acknowledgement; false where none came within timeout_ms or the transport is closed. */
bool ack_receive(struct transport *t, int timeout_ms, struct wire_ack *ack, uint64_t *frame_id);

/* Sends until the collector says something other than retry, again every second; the status. */
enum wire_ack_status partition_upload(struct transport *t, const struct partition_key *key,
                                      const struct capture_id *capture,
                                      const struct buf *partition);

#endif
