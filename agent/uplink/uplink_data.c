/* SPDX-License-Identifier: Apache-2.0
 *
 * The data connection: partitions from the spool to the collector in chunks, until each is
 * answered. Uplink thread only.
 *
 * P-11 allows 8 chunks in flight, P-12 answers whole partitions: so no other partition is begun
 * while 8 or more chunks are unanswered, but one that is larger than the window is sent through.
 */
#include <unistd.h>

#include "clock.h"
#include "descriptor.h"
#include "log.h"
#include "skein_check.h"
#include "text_whole.h"
#include "uplink_int.h"

#define MS               UINT64_C(1000000)
#define CHUNKS_IN_FLIGHT 8
#define CHUNKS_A_STEP    4 /* between two looks at control */
#define SEND_RETRY_MS    20
#define STUCK_NS         (15000 * MS) /* nothing moves: dial anew */
#define RETRY_MAX_MS     60000

static void uplink_data_wake_by(uint64_t *wake_ns, uint64_t at_ns)
{
    if (at_ns < *wake_ns)
        *wake_ns = at_ns;
}

static void upload_assert(const struct upload *upload)
{
    skein_check(upload->acknowledged <= upload->next && upload->next <= upload->count);
    if (upload->active)
        skein_check(upload->fd >= 0 && upload->count > 0 && upload->order > 0);
    else
        skein_check(upload->fd < 0 && upload->count == 0);
}

static void upload_end(struct upload *upload)
{
    upload_assert(upload);
    fd_close(&upload->fd);
    *upload = (struct upload){.fd = -1};
}

bool uplink_data_idle(const struct uplink *uplink)
{
    for (size_t i = 0; i < UPLINK_UPLOADS; i++) {
        if (uplink->uploads[i].active)
            return false;
    }
    return true;
}

void uplink_data_close(struct uplink *uplink)
{
    for (size_t i = 0; i < UPLINK_UPLOADS; i++)
        upload_end(&uplink->uploads[i]);
    transport_free(&uplink->data);
}

static uint32_t in_flight(const struct uplink *uplink)
{
    uint32_t n = 0;
    for (size_t i = 0; i < UPLINK_UPLOADS; i++) {
        const struct upload *upload = &uplink->uploads[i];
        if (upload->active)
            n += upload->next - upload->acknowledged;
    }
    return n;
}

static bool is_active(const struct uplink *uplink, uint64_t order)
{
    for (size_t i = 0; i < UPLINK_UPLOADS; i++) {
        if (uplink->uploads[i].active && uplink->uploads[i].order == order)
            return true;
    }
    return false;
}

/* Puts the oldest queued partition that is not under way into the slot. False: there is none. */
static bool upload_begin(struct uplink *uplink, struct upload *slot)
{
    uint64_t order = 0;
    struct spool_head head;
    for (;;) {
        if (spool_next(uplink->spool, order, &order, &head) != SKEIN_OK)
            return false;
        if (is_active(uplink, order))
            continue;
        int fd;
        int status = spool_open_partition(uplink->spool, &head.key, &fd);
        if (status == SKEIN_OK) {
            uint64_t count = (head.payload_bytes + WIRE_CHUNK_MAX - 1) / WIRE_CHUNK_MAX;
            *slot = (struct upload){.active = true,
                                    .order = order,
                                    .head = head,
                                    .fd = fd,
                                    .count = count == 0 ? 1 : (uint32_t)count};
            upload_assert(slot);
            return true;
        }
        /* A file that will not open now may do so later, unless it is gone. */
        if (status == SKEIN_NOT_FOUND)
            spool_done(uplink->spool, &head.key, SPOOL_UNREADABLE);
    }
}

static void uploads_begin(struct uplink *uplink, uint64_t now_ns)
{
    bool idle = uplink_data_idle(uplink);
    for (size_t i = 0; i < UPLINK_UPLOADS && in_flight(uplink) < CHUNKS_IN_FLIGHT; i++) {
        struct upload *upload = &uplink->uploads[i];
        if (upload->active)
            continue;
        if (!upload_begin(uplink, upload))
            return;
        if (idle)
            uplink->data_after_ns = now_ns + uplink->data_hold_ms * MS;
        idle = false;
        uplink->data_hold_ms = 0;
        upload->not_before_ns = uplink->data_after_ns;
    }
}

/* SKEIN_OK; SKEIN_AGAIN: no room or no peer; SKEIN_IO: the file cannot be read. */
static int item_chunk_send(struct uplink *uplink, struct upload *upload)
{
    const struct spool_head *head = &upload->head;
    uint64_t offset = (uint64_t)upload->next * WIRE_CHUNK_MAX;
    uint64_t left = head->payload_bytes - offset;
    size_t len = left < WIRE_CHUNK_MAX ? (size_t)left : WIRE_CHUNK_MAX;
    bool sealed = uplink->seal != NULL;
    size_t frame_head = sealed ? SEAL_HEAD_BYTES : WIRE_HEADER_BYTES,
           n = WIRE_CHUNK_HEADER_BYTES + len;
    if (sealed && !uplink_seal_ready(uplink->seal))
        return SKEIN_AGAIN;
    uplink->data_full = !transport_can_send(uplink->data);
    if (uplink->data_full) /* before the chunk is read and sealed for nothing */
        return SKEIN_AGAIN;
    uint8_t *message = transport_alloc(frame_head + n + (sealed ? SEAL_TAG_BYTES : 0));
    if (message == NULL)
        return SKEIN_AGAIN;
    struct wire_chunk chunk = {.key = head->key,
                               .capture = head->capture,
                               .index = upload->next,
                               .count = upload->count,
                               .partition_bytes = head->payload_bytes,
                               .partition_checksum = head->payload_checksum,
                               .bytes_len = (uint32_t)len};
    uint8_t *body = message + frame_head;
    wire_chunk_put(body, &chunk);
    ssize_t got = bytes_read_at(upload->fd, body + WIRE_CHUNK_HEADER_BYTES, len,
                                SPOOL_FILE_HEAD_BYTES + offset);
    int status = got == (ssize_t)len ? SKEIN_OK : SKEIN_IO;
    if (status == SKEIN_OK) {
        if (sealed)
            status = uplink_seal_close(uplink->seal, SEAL_DATA, message, WIRE_CHUNK,
                                       ++uplink->next_id, n);
        else
            wire_frame_seal(message, WIRE_CHUNK, ++uplink->next_id, n);
        if (status == SKEIN_OK)
            status = transport_send(uplink->data, message, NULL, 0);
        if (status != SKEIN_OK)
            status = SKEIN_AGAIN;
    }
    if (status != SKEIN_OK)
        transport_alloc_free(message);
    return status;
}

/* Sends chunks of one upload; false when the connection takes no more now. */
static bool upload_step(struct uplink *uplink, struct upload *upload, unsigned *budget,
                        uint64_t now_ns)
{
    while (*budget > 0 && upload->next < upload->count) {
        uint32_t all = in_flight(uplink), others = all - (upload->next - upload->acknowledged);
        if (others > 0 && all >= CHUNKS_IN_FLIGHT)
            return true;
        int status = item_chunk_send(uplink, upload);
        if (status == SKEIN_AGAIN)
            return false;
        if (status != SKEIN_OK) {
            log_error("uplink", "a spooled partition cannot be read", NULL);
            spool_done(uplink->spool, &upload->head.key, SPOOL_UNREADABLE);
            upload_end(upload);
            return true;
        }
        (*budget)--;
        upload->next++;
        upload_assert(upload);
        upload->sent_all_ns = now_ns;
        uplink->data_progress_ns = now_ns;
        UPLINK_COUNT(uplink, chunks_sent);
    }
    return true;
}

/* P-13: no answer in time, so everything is sent again. */
static void overdue_resend(struct uplink *uplink, uint64_t now_ns, uint64_t *wake_ns)
{
    for (size_t i = 0; i < UPLINK_UPLOADS; i++) {
        struct upload *upload = &uplink->uploads[i];
        if (!upload->active || upload->next < upload->count)
            continue;
        uint64_t due_ns = upload->sent_all_ns + uplink->resend_ns;
        if (now_ns >= due_ns) {
            upload->next = upload->acknowledged = 0;
            upload_assert(upload);
            UPLINK_COUNT(uplink, partitions_resent);
            uplink_data_wake_by(wake_ns, now_ns);
        } else {
            uplink_data_wake_by(wake_ns, due_ns);
        }
    }
}

/* Whether the collector has asked for a pause of each upload: then nothing moves, and nothing is
 * stuck. */
static bool all_are_held(const struct uplink *uplink, uint64_t now_ns)
{
    for (size_t i = 0; i < UPLINK_UPLOADS; i++)
        if (uplink->uploads[i].active && now_ns >= uplink->uploads[i].not_before_ns)
            return false;
    return true;
}

static void transport_dial_or_hang_up(struct uplink *uplink, uint64_t now_ns)
{
    if (!uplink_data_idle(uplink)) {
        uplink->data_used_ns = now_ns;
        if (all_are_held(uplink, now_ns))
            uplink->data_progress_ns = now_ns;
        if (uplink->data == NULL) {
            if (transport_dial(uplink->data_address, WIRE_CONTROL_MAX, &uplink->data) != SKEIN_OK)
                log_error("uplink", "cannot dial the data port", "data", uplink->data_address,
                          NULL);
            uplink->data_progress_ns = now_ns;
        } else if (now_ns - uplink->data_progress_ns > STUCK_NS) {
            transport_redial(uplink->data);
            uplink->data_progress_ns = now_ns;
            UPLINK_COUNT(uplink, redials);
        }
    } else if (uplink->data != NULL && now_ns - uplink->data_used_ns > uplink->idle_ns) {
        transport_free(&uplink->data); /* P-15 */
    }
}

void uplink_data_step(struct uplink *uplink, uint64_t now_ns, uint64_t *wake_ns)
{
    uploads_begin(uplink, now_ns);
    transport_dial_or_hang_up(uplink, now_ns);
    if (uplink->data == NULL)
        return;
    overdue_resend(uplink, now_ns, wake_ns);
    uplink->data_full = false;
    unsigned budget = CHUNKS_A_STEP;
    for (size_t i = 0; i < UPLINK_UPLOADS && budget > 0; i++) {
        struct upload *upload = &uplink->uploads[i];
        if (!upload->active || upload->next >= upload->count)
            continue;
        if (now_ns < upload->not_before_ns) {
            uplink_data_wake_by(wake_ns, upload->not_before_ns);
            continue;
        }
        if (!upload_step(uplink, upload, &budget, now_ns)) {
            if (!uplink->data_full)
                uplink_data_wake_by(wake_ns, now_ns + SEND_RETRY_MS * MS);
            return;
        }
    }
    if (budget == 0)
        uplink_data_wake_by(wake_ns, now_ns);
}

static void ack_take(struct uplink *uplink, const struct wire_ack *ack)
{
    struct upload *upload = NULL;
    for (size_t i = 0; i < UPLINK_UPLOADS; i++) {
        if (uplink->uploads[i].active &&
            partition_key_equal(&uplink->uploads[i].head.key, &ack->key))
            upload = &uplink->uploads[i];
    }
    uint64_t now_ns = clock_monotonic_ns();
    uplink->data_progress_ns = now_ns;
    if (upload == NULL)
        return; /* of a partition that was sent twice */
    char key[PARTITION_KEY_TEXT_BYTES];
    partition_key_text(&ack->key, key);
    switch (ack->status) {
    case WIRE_STORED:
    case WIRE_STORED_BEFORE:
        spool_done(uplink->spool, &ack->key, SPOOL_STORED);
        upload_end(upload);
        UPLINK_COUNT(uplink, partitions_stored);
        log_debug("uplink", "stored", "partition", key, NULL);
        break;
    case WIRE_REJECTED:
        spool_done(uplink->spool, &ack->key, SPOOL_REJECTED);
        upload_end(upload);
        UPLINK_COUNT(uplink, partitions_rejected);
        log_error("uplink", "the collector cannot decode a partition; kept aside", "partition", key,
                  NULL);
        break;
    default: { /* WIRE_RETRY: the last chunk at least goes again, to have something to answer */
        uint32_t have = ack->have < upload->count ? ack->have : upload->count - 1;
        uint32_t retry_ms = ack->retry_ms < RETRY_MAX_MS ? ack->retry_ms : RETRY_MAX_MS;
        upload->next = upload->acknowledged = have;
        upload->not_before_ns = now_ns + retry_ms * MS;
        upload_assert(upload);
        UPLINK_COUNT(uplink, partitions_resent);
    }
    }
}

void uplink_data_receive(struct uplink *uplink)
{
    struct transport_message message;
    for (int i = 0; i < 64 && transport_receive(uplink->data, 0, &message) == SKEIN_OK; i++) {
        struct wire_frame frame;
        struct wire_ack ack;
        int status = uplink->seal != NULL ? uplink_seal_open(uplink->seal, SEAL_DATA, message.data,
                                                             message.len, &frame)
                                          : wire_frame_get(message.data, message.len, &frame);
        if (status == SKEIN_OK && frame.type == WIRE_CHUNK_ACK &&
            wire_ack_get(frame.body, frame.body_bytes, &ack) == SKEIN_OK)
            ack_take(uplink, &ack);
        else
            UPLINK_COUNT(uplink, malformed);
        transport_message_free(&message);
    }
}
