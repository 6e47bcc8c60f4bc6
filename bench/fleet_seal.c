/* SPDX-License-Identifier: Apache-2.0
 * Agents that speak sealed. See fleet_collector.h. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bench_host.h"
#include "checksum.h"
#include "clock.h"
#include "enroll.h"
#include "fleet_collector.h"
#include "wire.h"

void seal_prepare(const char *name, struct bench_token *token)
{
    char folder[320], error[256], id[ENROLL_ID_BYTES];
    struct enroll *enroll;
    struct seal_pair keys[ENROLL_KEYS];
    uint64_t now = clock_realtime_ns();
    snprintf(folder, sizeof folder, "%s/%s", bench_folder(), name);
    bench_must(seal_init() == SKEIN_OK && mkdir(folder, 0700) == 0, "a folder for keys");
    bench_must(enroll_change_keys(folder, ENROLL_MAKE, error, sizeof error) == SKEIN_OK,
               "making a key");
    bench_must(enroll_open(folder, &enroll, error, sizeof error) == SKEIN_OK, "opening the keys");
    bench_must(enroll_keys(enroll, keys) == 1, "reading the key");
    token->collector = keys[0].open;
    bench_must(enroll_token_create(enroll, now, now + UINT64_C(3600) * 1000000000u, INGEST_LINKS,
                                   id, token->text) == SKEIN_OK,
               "making a join token");
    seal_wipe(keys, sizeof keys);
    enroll_close(&enroll);
}

struct joining {
    struct seal_pair agent;
    struct seal_opening opening;
    struct seal_session *session;
};

static void on_accept(void *owner, struct link *link, const uint8_t *message, size_t n)
{
    struct joining *j = owner;
    struct wire_frame frame;
    struct seal_grant grant;
    (void)link;
    bench_must(wire_frame_get(message, n, &frame) == SKEIN_OK && frame.type == WIRE_ACCEPT &&
                   seal_accept_read(&j->opening, &j->agent, frame.body, frame.body_bytes, &grant,
                                    &j->session) == SKEIN_OK,
               "the collector lets no sealed agent in");
}

static void joining_broken(struct link *link)
{
    (void)link;
    bench_fail("a joining connection broke");
}

struct seal_session *seal_join(const struct bench_collector *c, const struct bench_token *token,
                               uint64_t agent)
{
    struct links set;
    struct link link;
    struct joining j = {.session = NULL};
    struct seal_hello hello = {.agent = agent, .time_ns = clock_realtime_ns()};
    struct buf body = {0}, frame = {0};
    memcpy(hello.token, token->text, sizeof hello.token);
    seal_pair_make(&j.agent);
    bench_must(seal_open_make(&j.agent, &token->collector, &hello, &j.opening, &body) == SKEIN_OK,
               "opening a session");
    wire_frame_put(&frame, WIRE_OPEN, 1, body.data, body.len);
    links_new(&set);
    link_open(&set, &link, c->control_port, &j, on_accept);
    link_send(&set, &link, frame.data, frame.len);
    uint64_t begin = clock_monotonic_ns();
    while (j.session == NULL) {
        links_poll(&set, 100, joining_broken);
        bench_must(clock_monotonic_ns() - begin < FLEET_DEADLINE_NS, "joining takes too long");
    }
    link_close(&set, &link);
    links_free(&set);
    buf_fini(&body);
    buf_fini(&frame);
    return j.session;
}

void chunk_link_send_sealed(struct links *links, struct link *link, struct seal_session *session,
                            const struct partition_key *key, const uint8_t *partition, size_t bytes)
{
    struct buf message = {0};
    struct wire_chunk chunk = {.key = *key,
                               .count = 1,
                               .partition_bytes = bytes,
                               .partition_checksum = checksum64(partition, bytes),
                               .bytes_len = (uint32_t)bytes};
    size_t n = WIRE_CHUNK_HEADER_BYTES + bytes;
    uint8_t *to = buf_reserve(&message, SEAL_HEAD_BYTES + n + SEAL_TAG_BYTES);
    bench_must(to != NULL, "memory");
    wire_chunk_put(to + SEAL_HEAD_BYTES, &chunk);
    memcpy(to + SEAL_HEAD_BYTES + WIRE_CHUNK_HEADER_BYTES, partition, bytes);
    bench_must(seal_frame_close(session, SEAL_DATA, to, WIRE_CHUNK, key->sequence + 1, n) ==
                   SKEIN_OK,
               "sealing");
    link_send(links, link, to, SEAL_HEAD_BYTES + n + SEAL_TAG_BYTES);
    buf_fini(&message);
}
