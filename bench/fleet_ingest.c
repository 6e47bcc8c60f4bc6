/* SPDX-License-Identifier: Apache-2.0
 * How fast partitions are stored, beside what that stands on. See fleet_collector.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_host.h"
#include "clock.h"
#include "fleet_collector.h"
#include "partition_make.h"
#include "transport.h"

#define INGEST_WINDOW 8
#define INGEST_ROUNDS 5

struct ingest {
    struct links set;
    struct link links[INGEST_LINKS];
    struct seal_session *sessions[INGEST_LINKS]; /* NULL: plain */
    /* Each a partition as it is sent plain: count that are measured, then one a link that goes
     * before, so that it is saved whose processes they are. */
    struct buf *frames;
    size_t count, bytes;                  /* multiple of INGEST_LINKS; of the count */
    size_t next[INGEST_LINKS], end, done; /* what is being sent */
};
static struct ingest *ingest;

/* A sealed agent uploads for its own processes alone, so each link has one. */
static struct partition_key ingest_key(size_t at)
{
    return key_of(1000000 + 100 * (uint32_t)(at % INGEST_LINKS), 1, at);
}

static void ingest_upload(size_t i, size_t at)
{
    const struct buf *frame = &ingest->frames[at];
    struct partition_key key = ingest_key(at);
    if (ingest->sessions[i] != NULL)
        chunk_link_send_sealed(&ingest->set, &ingest->links[i], ingest->sessions[i], &key,
                               frame->data + FLEET_CHUNK_AT, frame->len - FLEET_CHUNK_AT);
    else
        link_send(&ingest->set, &ingest->links[i], frame->data, frame->len);
}

/* Link i sends every INGEST_LINKSth partition. */
static void ingest_send(size_t i)
{
    size_t at = ingest->next[i];
    ingest->next[i] += INGEST_LINKS;
    if (at < ingest->end)
        ingest_upload(i, at);
}

static void on_ingest(void *owner, struct link *link, const uint8_t *message, size_t n)
{
    struct wire_frame frame;
    struct wire_ack ack;
    uint8_t copy[512]; /* is opened in place */
    size_t i = (size_t)(link - ingest->links);
    (void)owner;
    bench_must(n <= sizeof copy, "an acknowledgement's size");
    memcpy(copy, message, n);
    int status = ingest->sessions[i] != NULL
                     ? seal_frame_open(ingest->sessions[i], SEAL_DATA, copy, n, &frame)
                     : wire_frame_get(copy, n, &frame);
    bench_must(status == SKEIN_OK && frame.type == WIRE_CHUNK_ACK, "an acknowledgement");
    bench_must(wire_ack_get(frame.body, frame.body_bytes, &ack) == SKEIN_OK, "reading an answer");
    if (ack.status == WIRE_RETRY) { /* until it is saved whose process it is */
        ingest_upload(i, (size_t)ack.key.sequence);
        return;
    }
    bench_must(ack.status == WIRE_STORED, "a partition was not stored");
    ingest->done++;
    ingest_send(i);
}

static void ingest_broken(struct link *link)
{
    (void)link;
    bench_fail("an uploading connection broke");
}

/* Sends partitions until all of them are stored; first is a multiple of INGEST_LINKS. */
static void ingest_run(size_t first, size_t end)
{
    uint64_t deadline = clock_monotonic_ns() + FLEET_DEADLINE_NS;
    ingest->end = end;
    ingest->done = 0;
    for (size_t i = 0; i < INGEST_LINKS; i++)
        ingest->next[i] = first + i;
    for (size_t i = 0; i < INGEST_LINKS * INGEST_WINDOW; i++)
        ingest_send(i % INGEST_LINKS);
    while (ingest->done < end - first) {
        links_poll(&ingest->set, 100, ingest_broken);
        bench_must(clock_monotonic_ns() < deadline, "storing takes too long");
    }
}

static double ingest_measure(uint16_t port)
{
    links_new(&ingest->set);
    for (size_t i = 0; i < INGEST_LINKS; i++)
        link_open(&ingest->set, &ingest->links[i], port, NULL, on_ingest);
    ingest_run(ingest->count, ingest->count + INGEST_LINKS);
    uint64_t begin = clock_monotonic_ns();
    ingest_run(0, ingest->count);
    uint64_t took = clock_monotonic_ns() - begin;
    for (size_t i = 0; i < INGEST_LINKS; i++)
        link_close(&ingest->set, &ingest->links[i]);
    links_free(&ingest->set);
    return (double)ingest->bytes * 1e3 / (double)took;
}

/* Receives frames and acknowledges them, and does nothing with them; closes `ready` once it
 * listens. */
_Noreturn static void sink_run(uint16_t port, int ready)
{
    char address[64];
    struct transport *t;
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    bench_must(transport_listen(address, WIRE_DATA_MAX, &t) == SKEIN_OK, "listening");
    close(ready);
    for (;;) {
        struct transport_message message;
        struct wire_frame frame;
        struct wire_chunk chunk;
        struct buf body = {0}, answer = {0};
        if (transport_receive(t, 1000, &message) != SKEIN_OK)
            continue;
        if (wire_frame_get(message.data, message.len, &frame) == SKEIN_OK &&
            wire_chunk_get(frame.body, frame.body_bytes, &chunk) == SKEIN_OK) {
            struct wire_ack ack = {.key = chunk.key, .status = WIRE_STORED};
            wire_ack_put(&body, &ack);
            wire_frame_put(&answer, WIRE_CHUNK_ACK, frame.id, body.data, body.len);
            void *out = transport_alloc(answer.len);
            bench_must(out != NULL, "memory");
            memcpy(out, answer.data, answer.len);
            bench_must(transport_send(t, out, &message.peer, 1000) == SKEIN_OK, "answering");
        }
        transport_message_free(&message);
        buf_fini(&body);
        buf_fini(&answer);
    }
}

static double sink_measure(void)
{
    uint16_t port = bench_free_port();
    int listens[2];
    char none;
    bench_must(pipe2(listens, O_CLOEXEC) == 0, "no pipe");
    pid_t parent = getpid(), pid = fork();
    bench_must(pid >= 0, "no process could be started");
    if (pid == 0) {
        close(listens[0]);
        bench_die_with(parent);
        sink_run(port, listens[1]);
    }
    close(listens[1]);
    bench_must(read(listens[0], &none, 1) == 0, "waiting for a listener");
    close(listens[0]);
    double figure = ingest_measure(port);
    bench_stop(pid);
    return figure;
}

/* As many syncs as the collector made. */
static double floor_measure(uint64_t commits)
{
    size_t group = commits > 0 && commits < ingest->count ? ingest->count / commits : 1;
    char path[320];
    snprintf(path, sizeof path, "%s/floor", bench_folder());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bench_must(fd >= 0, "opening the floor's file");
    uint64_t begin = clock_monotonic_ns();
    for (size_t i = 0; i < ingest->count; i++) {
        const struct buf *frame = &ingest->frames[i];
        size_t bytes = frame->len - FLEET_CHUNK_AT;
        bench_must(write(fd, frame->data + FLEET_CHUNK_AT, bytes) == (ssize_t)bytes, "write");
        if (i % group == group - 1 || i + 1 == ingest->count)
            bench_must(fdatasync(fd) == 0, "fdatasync");
    }
    double figure = (double)ingest->bytes * 1e3 / (double)(clock_monotonic_ns() - begin);
    close(fd);
    unlink(path);
    return figure;
}

/* By a collector of its own. */
static double ours_measure(bool sealed, unsigned round, uint64_t *commits)
{
    struct bench_collector c;
    struct bench_token token;
    char name[32];
    snprintf(name, sizeof name, "ingest-%s-%u", sealed ? "sealed" : "plain", round);
    if (sealed)
        seal_prepare(name, &token);
    collector_start(&c, name);
    for (size_t i = 0; i < INGEST_LINKS && sealed; i++)
        ingest->sessions[i] = seal_join(&c, &token, i + 1);
    double figure = ingest_measure(c.data_port);
    for (size_t i = 0; i < INGEST_LINKS; i++)
        seal_session_free(&ingest->sessions[i]);
    *commits = collector_metric(&c, "skein_store_commits_total");
    collector_stop(&c);
    return figure;
}

struct ingest_figures ingest_all(size_t count, size_t noise_bytes)
{
    double plain[INGEST_ROUNDS], sealed[INGEST_ROUNDS], sink[INGEST_ROUNDS], disk[INGEST_ROUNDS];
    struct ingest_figures out = {.commits = 0};
    struct capture_id none = {{0}};
    struct buf partition = {0};
    uint64_t ignored;
    ingest = calloc(1, sizeof *ingest);
    bench_must(ingest != NULL, "memory");
    ingest->count = count - count % INGEST_LINKS;
    ingest->frames = calloc(ingest->count + INGEST_LINKS, sizeof *ingest->frames);
    bench_must(ingest->frames != NULL, "memory");
    for (size_t i = 0; i < ingest->count + INGEST_LINKS; i++) {
        struct partition_key key = ingest_key(i);
        partition_of(&key, noise_bytes, &partition);
        chunk_frame_make(&key, &none, &partition, &ingest->frames[i]);
        ingest->bytes += i < ingest->count ? partition.len : 0;
    }
    for (unsigned round = 0; round < INGEST_ROUNDS; round++) {
        sink[round] = sink_measure();
        plain[round] = ours_measure(false, round, &out.commits);
        disk[round] = floor_measure(out.commits);
        sealed[round] = ours_measure(true, round, &ignored);
    }
    out.plain = bench_median(plain, INGEST_ROUNDS);
    out.sealed = bench_median(sealed, INGEST_ROUNDS);
    out.nanomsg = bench_median(sink, INGEST_ROUNDS);
    out.disk = bench_median(disk, INGEST_ROUNDS);
    for (size_t i = 0; i < ingest->count + INGEST_LINKS; i++)
        buf_fini(&ingest->frames[i]);
    buf_fini(&partition);
    free(ingest->frames);
    free(ingest);
    return out;
}
