/* SPDX-License-Identifier: Apache-2.0
 * Partitions from the real writer, and an agent's side of the data port. */
#include "partition_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "clock.h"
#include "partition_writer.h"
#include "support.h"

#define NOISE_TEXT_BYTES 512

/* Not libcheck's: benches use this file too. */
static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "partition_make: %s failed\n", what);
    abort();
}

struct process_uid process_of(uint32_t n)
{
    return process_uid_make(7 + n / 100, "boot-of-tests", 100 + n, 1000 + n);
}

struct partition_key key_of(uint32_t process, uint64_t epoch, uint64_t sequence)
{
    return (struct partition_key){process_of(process), epoch, sequence};
}

struct capture_id capture_of(uint32_t n)
{
    struct capture_id id = {{0xca}};
    for (unsigned i = 0; i < 4; i++)
        id.bytes[15 - i] = (uint8_t)(n >> (8 * i));
    return id;
}

static uint64_t noise_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void noise_event(struct partition_writer *w, uint32_t type, uint64_t ticks, uint64_t *noise)
{
    uint64_t words[NOISE_TEXT_BYTES / 8];
    for (size_t i = 0; i < NOISE_TEXT_BYTES / 8; i++)
        words[i] = noise_next(noise);
    struct partition_value value;
    memset(&value, 0, sizeof value);
    value.str.text = (const char *)words;
    value.str.len = NOISE_TEXT_BYTES;
    partition_writer_event(w, type, ticks, 0, &value);
}

/* A request that is served, of this trace. */
static void traced_event(struct partition_writer *w, const char *trace_id)
{
    static const struct partition_event_type type = {.name = "served",
                                                     .text = "",
                                                     .file = "",
                                                     .klass = SKEIN_CLASS_INSTANT,
                                                     .nargs = 1,
                                                     .args = {{SKEIN_T_STR, "trace_id", ""}}};
    const struct partition_value id = {.str = {trace_id, (uint32_t)strlen(trace_id), false}};
    int64_t index = partition_writer_type(w, &type);
    must(index >= 0, "a type");
    partition_writer_event(w, (uint32_t)index, 1000, 0, &id);
}

void partition_make(const struct partition_spec *spec, struct buf *out)
{
    uint64_t span = spec->to_ns - spec->from_ns;
    struct partition_info info = {
        .key = spec->key,
        .pid = spec->pid ? spec->pid : 100,
        .clock = PARTITION_CLOCK_MONOTONIC,
        .begin = {1000, 1000, 1000, spec->from_ns},
        .end = {1000 + span + 1, 1000 + span + 1, 1000 + span + 1, spec->to_ns + 1},
        .clock_offset_ns = spec->clock_offset_ns,
        .window_from_ticks = 1000,
        .window_to_ticks = 1000 + span + 1,
        .host = spec->host ? spec->host : "host-a",
        .service = spec->service ? spec->service : "svc",
        .labels = spec->labels ? spec->labels : "",
        .exe = spec->exe ? spec->exe : "/usr/bin/svc",
    };
    struct partition_writer *w;
    must(partition_writer_new(&info, &w) == SKEIN_OK, "partition_writer_new");
    struct partition_event_type type = {.name = "noise",
                                        .text = "",
                                        .file = "",
                                        .klass = SKEIN_CLASS_INSTANT,
                                        .nargs = 1,
                                        .args = {{SKEIN_T_STR, "bytes", ""}}};
    struct partition_thread thread = {.tid = 1, .name = "main", .incarnation = 1};
    int64_t type_index = partition_writer_type(w, &type);
    int64_t thread_index = partition_writer_thread(w, &thread);
    must(type_index >= 0 && thread_index >= 0, "a table");
    partition_writer_batch(w, (uint32_t)thread_index, 1, 1, false);
    uint64_t noise = checksum64(&spec->key, sizeof spec->key) | 1;
    size_t events = spec->noise_bytes / NOISE_TEXT_BYTES;
    noise_event(w, (uint32_t)type_index, 1000, &noise);
    if (spec->trace_id != NULL)
        traced_event(w, spec->trace_id);
    for (size_t i = 0; i < events; i++)
        noise_event(w, (uint32_t)type_index, 1000, &noise);
    if (span > 0)
        noise_event(w, (uint32_t)type_index, 1000 + span, &noise);
    buf_clear(out);
    must(partition_writer_finish(w, out, NULL) == SKEIN_OK, "partition_writer_finish");
    partition_writer_free(&w);
}

void partition_of(const struct partition_key *key, size_t noise_bytes, struct buf *out)
{
    uint64_t at = UINT64_C(1700000000000000000) + key->sequence * UINT64_C(1000000000);
    partition_make(&(struct partition_spec){.key = *key,
                                            .from_ns = at,
                                            .to_ns = at + UINT64_C(900000000),
                                            .noise_bytes = noise_bytes},
                   out);
}

uint32_t chunk_count(size_t partition_bytes)
{
    return (uint32_t)((partition_bytes + WIRE_CHUNK_MAX - 1) / WIRE_CHUNK_MAX);
}

void chunk_send(struct transport *t, const struct partition_key *key,
                const struct capture_id *capture, const void *partition, size_t n, uint32_t index,
                uint64_t frame_id)
{
    size_t at = (size_t)index * WIRE_CHUNK_MAX;
    size_t len = n - at < WIRE_CHUNK_MAX ? n - at : WIRE_CHUNK_MAX;
    const uint8_t *bytes = (const uint8_t *)partition + at;
    struct wire_chunk chunk = {
        *key, *capture, index, chunk_count(n), n, checksum64(partition, n), bytes, (uint32_t)len};
    size_t body = WIRE_CHUNK_HEADER_BYTES + len;
    uint8_t *message = transport_alloc(WIRE_HEADER_BYTES + body);
    must(message != NULL, "transport_alloc");
    wire_chunk_put(message + WIRE_HEADER_BYTES, &chunk);
    memcpy(message + WIRE_HEADER_BYTES + WIRE_CHUNK_HEADER_BYTES, bytes, len);
    wire_frame_seal(message, WIRE_CHUNK, frame_id, body);
    int status = transport_send(t, message, NULL, (int)support_deadline_ms());
    if (status != SKEIN_OK)
        transport_alloc_free(message);
    must(status == SKEIN_OK, "transport_send");
}

void partition_send(struct transport *t, const struct partition_key *key,
                    const struct capture_id *capture, const struct buf *partition)
{
    uint32_t count = chunk_count(partition->len);
    for (uint32_t i = 0; i < count; i++)
        chunk_send(t, key, capture, partition->data, partition->len, i, key->sequence);
}

bool ack_receive(struct transport *t, int timeout_ms, struct wire_ack *ack, uint64_t *frame_id)
{
    uint64_t deadline = clock_monotonic_ns() + (uint64_t)timeout_ms * UINT64_C(1000000);
    do {
        struct transport_message message;
        int status = transport_receive(t, timeout_ms, &message);
        if (status == SKEIN_CLOSED)
            return false;
        if (status < 0)
            continue;
        struct wire_frame frame;
        bool good = wire_frame_get(message.data, message.len, &frame) == SKEIN_OK &&
                    frame.type == WIRE_CHUNK_ACK &&
                    wire_ack_get(frame.body, frame.body_bytes, ack) == SKEIN_OK;
        if (good && frame_id)
            *frame_id = frame.id;
        transport_message_free(&message);
        if (good)
            return true;
    } while (clock_monotonic_ns() < deadline);
    return false;
}

enum wire_ack_status partition_upload(struct transport *t, const struct partition_key *key,
                                      const struct capture_id *capture, const struct buf *partition)
{
    uint64_t deadline = clock_monotonic_ns() + support_deadline_ms() * UINT64_C(1000000);
    do {
        partition_send(t, key, capture, partition);
        struct wire_ack ack;
        while (ack_receive(t, 1000, &ack, NULL))
            if (memcmp(&ack.key, key, sizeof *key) == 0 && ack.status != WIRE_RETRY)
                return ack.status;
    } while (clock_monotonic_ns() < deadline);
    must(false, "an answer other than retry");
    return WIRE_RETRY;
}
