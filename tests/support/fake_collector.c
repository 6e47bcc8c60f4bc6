/* SPDX-License-Identifier: Apache-2.0
 *
 * See fake_collector.h. One mutex guards everything; the thread polls both ports.
 */
#include "fake_collector.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "clock.h"
#include "json.h"
#include "support.h"
#include "transport.h"
#include "wire.h"

#define PARTITIONS_MAX 4096
#define REPORTS_MAX    8192

struct stored {
    struct partition_key key;
    uint8_t *bytes;
    size_t len;
    uint64_t checksum;
    uint32_t count, have; /* chunks; all have come: whole */
    bool *got;
    bool whole, answered;
    struct transport_peer peer;
    uint64_t frame_id;
};

struct fake_collector {
    char control_address[64], data_address[64];
    uint64_t heartbeat_ms;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct transport *control, *data; /* NULL while dead */
    bool stop, hold, mute, refuse, ask_hello;
    unsigned drop_reports, odd_answers;
    uint8_t odd_status;
    uint32_t odd_have;
    int64_t offset_ns;
    uint64_t next_id;
    bool has_peer;
    struct transport_peer peer;
    struct fake_counters counters;
    struct stored partitions[PARTITIONS_MAX];
    size_t partition_count;
    char *reports[REPORTS_MAX];
    size_t report_count;
};

static void send_frame(struct transport *transport, const struct transport_peer *peer, uint8_t type,
                       uint64_t id, const void *body, size_t n)
{
    uint8_t *message = transport_alloc(WIRE_HEADER_BYTES + n);
    if (message == NULL)
        return;
    if (n > 0)
        memcpy(message + WIRE_HEADER_BYTES, body, n);
    wire_frame_seal(message, type, id, n);
    if (transport_send(transport, message, peer, 100) != SKEIN_OK)
        transport_alloc_free(message);
}

static void send_text(struct fake_collector *fake, const struct transport_peer *peer, uint8_t type,
                      uint64_t id, const char *text)
{
    if (!fake->mute)
        send_frame(fake->control, peer, type, id, text, strlen(text));
}

/* Not strndup: it is for texts, which end with NUL somewhere, and a message's body need not. */
static char *body_copy(const struct wire_frame *frame)
{
    char *text = calloc(1, frame->body_bytes + 1);
    if (text != NULL && frame->body_bytes > 0)
        memcpy(text, frame->body, frame->body_bytes);
    return text;
}

static void take_report(struct fake_collector *fake, const struct wire_frame *frame,
                        const struct transport_peer *peer)
{
    fake->counters.reports++;
    if (fake->report_count < REPORTS_MAX)
        fake->reports[fake->report_count++] = body_copy(frame);
    if (fake->drop_reports > 0) {
        fake->drop_reports--;
        return;
    }
    send_text(fake, peer, WIRE_REPORT_ACK, frame->id,
              fake->refuse ? "{\"ok\":false,\"error\":\"not today\"}" : "{\"ok\":true}");
}

static void take_control(struct fake_collector *fake, const struct wire_frame *frame,
                         const struct transport_peer *peer)
{
    char text[256];
    fake->peer = *peer;
    fake->has_peer = true;
    switch (frame->type) {
    case WIRE_HELLO:
        fake->counters.hellos++;
        snprintf(text, sizeof text,
                 "{\"collector\":\"fake\",\"lease_ms\":30000,\"heartbeat_ms\":%" PRIu64
                 ",\"rules_generation\":0,\"received_ns\":\"%" PRIu64 "\",\"seal\":null}",
                 fake->heartbeat_ms, clock_realtime_ns() + (uint64_t)fake->offset_ns);
        send_text(fake, peer, WIRE_WELCOME, frame->id, text);
        break;
    case WIRE_HEARTBEAT:
        fake->counters.heartbeats++;
        snprintf(text, sizeof text,
                 "{\"received_ns\":\"%" PRIu64 "\",\"rules_generation\":0,\"hello\":%s}",
                 clock_realtime_ns() + (uint64_t)fake->offset_ns,
                 fake->ask_hello ? "true" : "false");
        if (!fake->mute)
            fake->ask_hello = false;
        send_text(fake, peer, WIRE_HEARTBEAT_ACK, frame->id, text);
        break;
    case WIRE_REPORT:
        take_report(fake, frame, peer);
        break;
    case WIRE_COMMAND_ACK:
        fake->counters.command_acks++;
        if (memmem(frame->body, frame->body_bytes, "\"failed\"", 8) != NULL)
            fake->counters.commands_failed++;
        break;
    default:
        break;
    }
}

static void answer(struct fake_collector *fake, struct stored *partition, uint8_t status,
                   uint32_t have)
{
    struct buf body = {0};
    struct wire_ack ack = {.key = partition->key, .status = status, .retry_ms = 1, .have = have};
    wire_ack_put(&body, &ack);
    if (fake->data != NULL)
        send_frame(fake->data, &partition->peer, WIRE_CHUNK_ACK, partition->frame_id, body.data,
                   body.len);
    buf_fini(&body);
}

static struct stored *partition_of(struct fake_collector *fake, const struct wire_chunk *chunk)
{
    for (size_t i = 0; i < fake->partition_count; i++) {
        struct stored *p = &fake->partitions[i];
        if (p->key.epoch == chunk->key.epoch && p->key.sequence == chunk->key.sequence &&
            process_uid_equal(&p->key.process, &chunk->key.process))
            return p;
    }
    if (fake->partition_count == PARTITIONS_MAX)
        return NULL;
    struct stored *p = &fake->partitions[fake->partition_count++];
    p->key = chunk->key;
    p->len = (size_t)chunk->partition_bytes;
    p->bytes = calloc(1, p->len + 1);
    p->count = chunk->count;
    p->got = calloc(chunk->count, sizeof *p->got);
    p->checksum = chunk->partition_checksum;
    return p;
}

static void complete(struct fake_collector *fake, struct stored *p)
{
    if (fake->odd_answers > 0) {
        fake->odd_answers--;
        answer(fake, p, fake->odd_status, fake->odd_have);
        return;
    }
    bool again = p->whole;
    p->whole = true;
    if (again)
        fake->counters.stored_again++;
    else if (checksum64(p->bytes, p->len) == p->checksum)
        fake->counters.stored++;
    else
        fake->counters.checksum_failures++;
    if (!fake->hold) {
        answer(fake, p, p->answered ? WIRE_STORED_BEFORE : WIRE_STORED, 0);
        p->answered = true;
    }
}

static void take_data(struct fake_collector *fake, const struct wire_frame *frame,
                      const struct transport_peer *peer)
{
    struct wire_chunk chunk;
    if (frame->type != WIRE_CHUNK ||
        wire_chunk_get(frame->body, frame->body_bytes, &chunk) != SKEIN_OK)
        return;
    fake->counters.chunks++;
    struct stored *p = partition_of(fake, &chunk);
    if (p == NULL || chunk.count != p->count || chunk.partition_bytes != p->len)
        return;
    if (chunk.bytes_len > 0)
        memcpy(p->bytes + (size_t)chunk.index * WIRE_CHUNK_MAX, chunk.bytes, chunk.bytes_len);
    p->peer = *peer;
    p->frame_id = frame->id;
    if (!p->got[chunk.index])
        p->have++;
    p->got[chunk.index] = true;
    if (p->have == p->count && chunk.index + 1 == p->count)
        complete(fake, p);
}

static void receive(struct fake_collector *fake, struct transport *transport,
                    void (*take)(struct fake_collector *, const struct wire_frame *,
                                 const struct transport_peer *))
{
    struct transport_message message;
    while (transport_receive(transport, 0, &message) == SKEIN_OK) {
        struct wire_frame frame;
        if (wire_frame_get(message.data, message.len, &frame) == SKEIN_OK)
            take(fake, &frame, &message.peer);
        transport_message_free(&message);
    }
}

static void *fake_run(void *context)
{
    struct fake_collector *fake = context;
    pthread_mutex_lock(&fake->mutex);
    while (!fake->stop) {
        struct pollfd fds[2] = {
            {.fd = fake->control != NULL ? transport_poll_fd(fake->control) : -1, .events = POLLIN},
            {.fd = fake->data != NULL ? transport_poll_fd(fake->data) : -1, .events = POLLIN}};
        pthread_mutex_unlock(&fake->mutex);
        poll(fds, 2, 5); /* short, so that the descriptors of a collector that came back are seen */
        pthread_mutex_lock(&fake->mutex);
        if (fake->control != NULL)
            receive(fake, fake->control, take_control);
        if (fake->data != NULL)
            receive(fake, fake->data, take_data);
        pthread_cond_broadcast(&fake->changed);
    }
    pthread_mutex_unlock(&fake->mutex);
    return NULL;
}

static int listen_both_locked(struct fake_collector *fake)
{
    int status = transport_listen(fake->control_address, WIRE_CONTROL_MAX, &fake->control);
    if (status == SKEIN_OK)
        status = transport_listen(fake->data_address, WIRE_DATA_MAX, &fake->data);
    if (status != SKEIN_OK)
        transport_free(&fake->control);
    return status;
}

struct fake_collector *fake_collector_new(uint64_t heartbeat_ms)
{
    struct fake_collector *fake = calloc(1, sizeof *fake);
    ck_assert_ptr_nonnull(fake);
    fake->heartbeat_ms = heartbeat_ms;
    fake->next_id = 1;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&fake->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&fake->mutex, NULL);
    int status = SKEIN_BUSY;
    for (int i = 0; i < 20 && status != SKEIN_OK; i++) {
        snprintf(fake->control_address, sizeof fake->control_address, "tcp://127.0.0.1:%u",
                 free_port());
        snprintf(fake->data_address, sizeof fake->data_address, "tcp://127.0.0.1:%u", free_port());
        status = listen_both_locked(fake);
    }
    ck_assert_int_eq(status, SKEIN_OK);
    ck_assert_int_eq(pthread_create(&fake->thread, NULL, fake_run, fake), 0);
    return fake;
}

void fake_collector_free(struct fake_collector **fake_p)
{
    struct fake_collector *fake = *fake_p;
    *fake_p = NULL;
    pthread_mutex_lock(&fake->mutex);
    fake->stop = true;
    pthread_mutex_unlock(&fake->mutex);
    pthread_join(fake->thread, NULL);
    transport_free(&fake->control);
    transport_free(&fake->data);
    for (size_t i = 0; i < fake->partition_count; i++) {
        free(fake->partitions[i].bytes);
        free(fake->partitions[i].got);
    }
    for (size_t i = 0; i < fake->report_count; i++)
        free(fake->reports[i]);
    pthread_cond_destroy(&fake->changed);
    pthread_mutex_destroy(&fake->mutex);
    free(fake);
}

const char *fake_control_address(const struct fake_collector *fake)
{
    return fake->control_address;
}

const char *fake_data_address(const struct fake_collector *fake)
{
    return fake->data_address;
}

void fake_collector_die(struct fake_collector *fake)
{
    pthread_mutex_lock(&fake->mutex);
    transport_free(&fake->control);
    transport_free(&fake->data);
    fake->has_peer = false;
    for (size_t i = 0; i < fake->partition_count; i++) {
        struct stored *p = &fake->partitions[i];
        if (p->whole)
            continue;
        p->have = 0; /* chunks in memory die with their collector */
        memset(p->got, 0, p->count * sizeof *p->got);
    }
    pthread_mutex_unlock(&fake->mutex);
}

static bool try_live(void *context)
{
    struct fake_collector *fake = context;
    pthread_mutex_lock(&fake->mutex);
    int status = fake->control != NULL ? SKEIN_OK : listen_both_locked(fake);
    pthread_mutex_unlock(&fake->mutex);
    return status == SKEIN_OK;
}

void fake_collector_live(struct fake_collector *fake)
{
    ck_assert(wait_until(try_live, fake, 0));
}

#define SETTER(body)                                                                               \
    do {                                                                                           \
        pthread_mutex_lock(&fake->mutex);                                                          \
        body;                                                                                      \
        pthread_mutex_unlock(&fake->mutex);                                                        \
    } while (0)

void fake_hold_acks(struct fake_collector *fake, bool hold)
{
    pthread_mutex_lock(&fake->mutex);
    fake->hold = hold;
    for (size_t i = 0; i < fake->partition_count && !hold; i++) {
        struct stored *p = &fake->partitions[i];
        if (!p->whole || p->answered)
            continue;
        answer(fake, p, WIRE_STORED, 0);
        p->answered = true;
    }
    pthread_mutex_unlock(&fake->mutex);
}

void fake_mute(struct fake_collector *fake, bool mute)
{
    SETTER(fake->mute = mute);
}

void fake_drop_reports(struct fake_collector *fake, unsigned n)
{
    SETTER(fake->drop_reports = n);
}

void fake_refuse_reports(struct fake_collector *fake, bool refuse)
{
    SETTER(fake->refuse = refuse);
}

void fake_ask_hello(struct fake_collector *fake)
{
    SETTER(fake->ask_hello = true);
}

void fake_answer_partitions(struct fake_collector *fake, uint8_t status, uint32_t have, unsigned n)
{
    SETTER(fake->odd_status = status; fake->odd_have = have; fake->odd_answers = n);
}

void fake_clock_offset(struct fake_collector *fake, int64_t offset_ns)
{
    SETTER(fake->offset_ns = offset_ns);
}

bool fake_send_raw(struct fake_collector *fake, const void *bytes, size_t n)
{
    bool sent = false;
    pthread_mutex_lock(&fake->mutex);
    uint8_t *message = fake->has_peer && fake->control != NULL ? transport_alloc(n) : NULL;
    if (message != NULL) {
        memcpy(message, bytes, n);
        sent = transport_send(fake->control, message, &fake->peer, 100) == SKEIN_OK;
        if (!sent)
            transport_alloc_free(message);
    }
    pthread_mutex_unlock(&fake->mutex);
    return sent;
}

uint64_t fake_command(struct fake_collector *fake, const char *json)
{
    uint64_t id = 0;
    pthread_mutex_lock(&fake->mutex);
    if (fake->has_peer && fake->control != NULL) {
        id = fake->next_id++;
        send_frame(fake->control, &fake->peer, WIRE_COMMAND, id, json, strlen(json));
    }
    pthread_mutex_unlock(&fake->mutex);
    return id;
}

void fake_count(struct fake_collector *fake, struct fake_counters *out)
{
    SETTER(*out = fake->counters);
}

static bool holds_all(const char *text, const char *const words[])
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strstr(text, words[i]) == NULL)
            return false;
    }
    return true;
}

static char *report_locked(struct fake_collector *fake, const char *const words[])
{
    for (size_t i = fake->report_count; i > 0; i--) {
        if (holds_all(fake->reports[i - 1], words))
            return strdup(fake->reports[i - 1]);
    }
    return NULL;
}

char *fake_report(struct fake_collector *fake, const char *const words[])
{
    char *found;
    SETTER(found = report_locked(fake, words));
    return found;
}

static struct timespec deadline(void)
{
    uint64_t at_ns = clock_monotonic_ns() + (uint64_t)support_deadline_ms() * 1000000;
    return (struct timespec){.tv_sec = (time_t)(at_ns / 1000000000),
                             .tv_nsec = (long)(at_ns % 1000000000)};
}

char *fake_wait_report(struct fake_collector *fake, const char *const words[])
{
    struct timespec until = deadline();
    pthread_mutex_lock(&fake->mutex);
    char *found;
    while ((found = report_locked(fake, words)) == NULL &&
           pthread_cond_timedwait(&fake->changed, &fake->mutex, &until) == 0)
        continue;
    char *nearest =
        found == NULL ? report_locked(fake, (const char *const[]){words[0], NULL}) : NULL;
    pthread_mutex_unlock(&fake->mutex);
    ck_assert_msg(found != NULL, "no such report with %s arrived; the newest one: %s", words[0],
                  nearest != NULL ? nearest : "none");
    free(nearest);
    return found;
}

void fake_wait_count(struct fake_collector *fake, size_t counter_offset, uint64_t n)
{
    struct timespec until = deadline();
    uint64_t value;
    pthread_mutex_lock(&fake->mutex);
    for (;;) {
        memcpy(&value, (const char *)&fake->counters + counter_offset, sizeof value);
        if (value >= n || pthread_cond_timedwait(&fake->changed, &fake->mutex, &until) != 0)
            break;
    }
    pthread_mutex_unlock(&fake->mutex);
    ck_assert_msg(value >= n, "counter at %zu is %" PRIu64 ", not %" PRIu64, counter_offset, value,
                  n);
}

void fake_wait_stored(struct fake_collector *fake, uint64_t n)
{
    FAKE_WAIT(fake, stored, n);
}

bool fake_has_partition(struct fake_collector *fake, const struct partition_key *key)
{
    bool found = false;
    pthread_mutex_lock(&fake->mutex);
    for (size_t i = 0; i < fake->partition_count; i++) {
        struct stored *p = &fake->partitions[i];
        found |= p->whole && p->key.epoch == key->epoch && p->key.sequence == key->sequence &&
                 process_uid_equal(&p->key.process, &key->process);
    }
    pthread_mutex_unlock(&fake->mutex);
    return found;
}

const uint8_t *fake_partition(struct fake_collector *fake, size_t n, size_t *bytes,
                              struct partition_key *key)
{
    const uint8_t *found = NULL;
    pthread_mutex_lock(&fake->mutex);
    if (n < fake->partition_count && fake->partitions[n].whole) {
        found = fake->partitions[n].bytes;
        *bytes = fake->partitions[n].len;
        *key = fake->partitions[n].key;
    }
    pthread_mutex_unlock(&fake->mutex);
    return found;
}
