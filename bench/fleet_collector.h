/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector that bench_fleet measures: a skeind of its own in a process of its own, and what is
 * sent to it. Failures end the bench. One thread, but for collector_call.
 */
#ifndef FLEET_COLLECTOR_H
#define FLEET_COLLECTOR_H

#include <cjson/cJSON.h>
#include <sys/types.h>

#include "fleet_link.h"
#include "partition.h"
#include "seal.h"
#include "wire.h"

#define FLEET_DEADLINE_NS  (UINT64_C(120) * 1000000000u)
#define FLEET_HEARTBEAT_MS 10000

struct bench_collector {
    uint16_t data_port, control_port, http_port;
    pid_t pid;
    char folder[320];
};

/* Returns when it answers. `name` is of its folder. */
void collector_start(struct bench_collector *c, const char *name);
/* Also removes its folder: what is measured next finds memory and disk as it did. */
void collector_stop(struct bench_collector *c);
/* The answer's JSON, the caller's to free; NULL for a failure or a status above 399. Any thread. */
cJSON *collector_call(const struct bench_collector *c, const char *method, const char *path,
                      const char *body);
uint64_t collector_metric(const struct bench_collector *c, const char *name);
uint64_t collector_status_kib(const struct bench_collector *c, const char *key); /* "VmRSS:" */
uint64_t collector_cpu_ticks(const struct bench_collector *c);

/* A partition of one chunk as it is sent plain; its bytes are at FLEET_CHUNK_AT. */
#define FLEET_CHUNK_AT (WIRE_HEADER_BYTES + WIRE_CHUNK_HEADER_BYTES)
void chunk_frame_make(const struct partition_key *key, const struct capture_id *capture,
                      const struct buf *partition, struct buf *frame);

/* ---- fleet_seal.c ---- */

struct bench_token {
    struct seal_public collector;
    char text[SEAL_TOKEN_MAX + 1];
};
/* Makes the collector's key and a join token, before collector_start of that name. */
void seal_prepare(const char *name, struct bench_token *token);
/* A session of a new agent; the caller's. */
struct seal_session *seal_join(const struct bench_collector *c, const struct bench_token *token,
                               uint64_t agent);
/* Sends a partition of one chunk, sealed. */
void chunk_link_send_sealed(struct links *links, struct link *link, struct seal_session *session,
                            const struct partition_key *key, const uint8_t *partition,
                            size_t bytes);

/* ---- fleet_ingest.c ---- */

/* MB/s of the same partitions, medians: stored by a collector, plain and sealed; sent to a listener
 * that stores nothing; written and synced as often as the collector did. */
struct ingest_figures {
    double plain, sealed, nanomsg, disk;
    uint64_t commits; /* of the last round, plain */
};
struct ingest_figures ingest_all(size_t count, size_t noise_bytes);
#define INGEST_LINKS 8

#endif
