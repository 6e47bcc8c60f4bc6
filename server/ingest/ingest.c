/* SPDX-License-Identifier: Apache-2.0
 *
 * The data port: receives chunks, assembles and checks partitions, and hands them to the group
 * commit (ingest_commit.c). Owns the listening transport and one thread; a second one writes
 * (ingest_writer.c). Other threads enter through ingest_stop, ingest_state and
 * ingest_delete_*. Takes every byte as hostile: a message that is no frame is counted and dropped,
 * bytes that are no partition are rejected.
 */
#include "ingest.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "checksum.h"
#include "clock.h"
#include "ingest_commit.h"
#include "ingest_int.h"
#include "metrics.h"
#include "no_sync.h"
#include "partition_slice.h"

/* An assembly without a new chunk for so long is given up; agents send again after 5 s. */
#define STALE_NS       (30000 * NS_PER_MS)
#define TICK_NS        NS_PER_S
#define BURST_MESSAGES 256 /* taken in a row before commits and requests get their turn */

/* ---- chunks ---- */

/* 1: do not store it: it is stored already, or was sent for a deleted capture. 0: store it. Else a
 * status. A partition of a deleted capture that another capture lists becomes that one's: 0. Where
 * nobody can say whether one does, it is sent again: 1 lets its agent delete it. */
static int partition_known(struct ingest *in, struct wire_chunk *chunk)
{
    int known = index_find(in->index, &chunk->key, NULL), deleted = 0;
    if (known == 0 && !capture_id_is_zero(&chunk->capture))
        known = deleted = index_capture_deleted(in->index, &chunk->capture);
    if (known < 0)
        atomic_store(&in->problem, INGEST_INDEX);
    if (deleted != 1 || in->hooks.wanted == NULL)
        return known;
    int wanted = in->hooks.wanted(in->hooks.context, &chunk->key, &chunk->capture);
    return wanted < 0 ? wanted : wanted == 0;
}

/* Answers a chunk whose bytes are not needed: its partition is stored, or in a group, or the index
 * cannot say. Returns true then. A partition gets one answer, with its last chunk (P-12). */
static bool chunk_answered(struct ingest *in, struct wire_chunk *chunk, const struct answer_to *to,
                           uint64_t now_ns)
{
    bool last = chunk->index + 1 == chunk->count;
    if (groups_have(in, &chunk->key)) {
        struct member *slot = last ? group_slot(in) : NULL;
        if (slot != NULL) {
            slot->to = *to;
            slot->repeat = true;
            slot->checksum = chunk->partition_checksum;
            group_add(in, slot, now_ns);
        } else if (last) {
            ingest_answer(in, to, WIRE_RETRY, RETRY_INDEX_MS, 0);
        }
        return true;
    }
    int known = partition_known(in, chunk);
    if (known == 1 && last) {
        enum wire_ack_status result =
            ingest_repeat_result(in, &chunk->key, chunk->partition_checksum);
        ingest_answer(in, to, result, result == WIRE_RETRY ? RETRY_INDEX_MS : 0, 0);
    }
    if (known < 0)
        ingest_answer(in, to, WIRE_RETRY, RETRY_INDEX_MS, 0);
    return known != 0;
}

/* SKEIN_OK: the footer decodes and is this chunk's; SKEIN_NO_MEMORY; SKEIN_CORRUPT. */
static int footer_check(const uint8_t *bytes, size_t n, const struct wire_chunk *chunk,
                        struct partition_footer *footer)
{
    size_t need = 0;
    int status = partition_footer_get(bytes, n, footer, &need);
    if (status == SKEIN_NO_MEMORY)
        return status;
    if (status < 0)
        return SKEIN_CORRUPT;
    if (footer->partition_bytes == n && partition_key_equal(&footer->key, &chunk->key))
        return SKEIN_OK;
    partition_footer_free(footer);
    return SKEIN_CORRUPT;
}

/* Sends a partition back before its bytes are kept, while the disk is short. */
static bool chunk_refused(struct ingest *in, const struct answer_to *to)
{
    if (atomic_load(&in->problem) != INGEST_FULL)
        return false;
    ingest_answer(in, to, WIRE_RETRY, RETRY_DISK_MS, 0);
    return true;
}

struct memory {
    const uint8_t *bytes;
};

static int memory_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct memory *memory = context;
    memcpy(out, memory->bytes + offset, n);
    return SKEIN_OK;
}

/* 0 where the partition's front does not decode: its reader will say what is wrong with it. */
static int64_t clock_offset_of(const uint8_t *bytes, size_t n)
{
    struct memory memory = {bytes};
    struct partition_source source = {memory_read, &memory, n};
    int64_t offset_ns;
    return partition_clock_offset(&source, &offset_ns) == SKEIN_OK ? offset_ns : 0;
}

/* Takes a whole partition. Its bytes are in `assembled`, or, where that is NULL, inside *message;
 * the other is NULL. Owns them from here on, also where it fails. */
static void partition_take(struct ingest *in, const struct wire_chunk *chunk,
                           const struct answer_to *to, uint8_t *assembled,
                           struct transport_message *message, uint64_t now_ns)
{
    const uint8_t *bytes = assembled != NULL ? assembled : chunk->bytes;
    size_t n = (size_t)chunk->partition_bytes;
    struct partition_footer footer;
    int status = footer_check(bytes, n, chunk, &footer);
    struct member *slot = status == SKEIN_OK ? group_slot(in) : NULL;
    if (slot == NULL) {
        if (status == SKEIN_OK)
            partition_footer_free(&footer);
        if (status == SKEIN_CORRUPT) {
            metrics_add(ingest_rejected_total, 1);
            ingest_answer(in, to, WIRE_REJECTED, 0, 0);
        } else {
            ingest_answer(in, to, WIRE_RETRY, RETRY_INDEX_MS, 0);
        }
        free(assembled);
        return;
    }
    slot->to = *to;
    slot->record.key = chunk->key;
    slot->record.capture = chunk->capture; /* the one it was sent for (P-27) */
    slot->record.received_ns = clock_realtime_ns();
    slot->record.agent = to->peer.agent; /* the seal proves it; 0: not sealed */
    if (slot->record.agent == 0 && in->hooks.agent_of != NULL)
        slot->record.agent = in->hooks.agent_of(in->hooks.context, &chunk->key.process);
    slot->footer = footer;
    slot->clock_offset_ns = clock_offset_of(bytes, n);
    slot->bytes = bytes;
    slot->len = n;
    slot->checksum = chunk->partition_checksum; /* checked by message_take or the assembler */
    slot->assembled = assembled;
    if (message != NULL) {
        slot->message = *message;
        memset(message, 0, sizeof *message);
    }
    group_add(in, slot, now_ns);
}

/* Whose share of the memory a chunk takes: the sealed agent's, else the process's known agent's. */
static uint64_t sender_of(struct ingest *in, const struct wire_chunk *chunk,
                          const struct answer_to *to)
{
    if (to->peer.agent != 0 || in->hooks.agent_of == NULL)
        return to->peer.agent;
    return in->hooks.agent_of(in->hooks.context, &chunk->key.process);
}

/* Takes one of several chunks. */
static void chunk_assemble(struct ingest *in, const struct wire_chunk *chunk,
                           const struct answer_to *to, uint64_t now_ns)
{
    struct wire_chunk whole = *chunk; /* chunk stays as it is: its claims find the assembly */
    if (!assembler_has(in->assembler, chunk) &&
        (chunk_answered(in, &whole, to, now_ns) || chunk_refused(in, to)))
        return;
    uint8_t *bytes;
    uint32_t have;
    int status =
        assembler_add(in->assembler, sender_of(in, chunk, to), chunk, now_ns, &bytes, &have);
    metrics_set(ingest_assembling_bytes, assembler_bytes(in->assembler));
    if (status == SKEIN_CORRUPT) {
        metrics_add(ingest_rejected_total, 1);
        ingest_answer(in, to, WIRE_REJECTED, 0, 0);
    } else if (status < 0) {
        ingest_answer(in, to, WIRE_RETRY, RETRY_MEMORY_MS, have);
    } else if (status == 1) {
        /* Another sender may have stored this key meanwhile, so ask again. The partition is whole
         * and gets its answer now, so `whole` says that it is the last chunk. */
        whole = *chunk;
        whole.index = whole.count - 1;
        if (chunk_answered(in, &whole, to, now_ns))
            free(bytes);
        else
            partition_take(in, &whole, to, bytes, NULL, now_ns);
    }
}

/* A sealed agent may upload only for its own processes, also older ones out of its spool. */
static bool is_owner(struct ingest *in, const struct wire_chunk *chunk, const struct answer_to *to)
{
    if (to->peer.session == 0 || in->hooks.claim == NULL)
        return true;
    int status = in->hooks.claim(in->hooks.context, &chunk->key.process, to->peer.agent);
    if (status == SKEIN_DENIED)
        metrics_add(seal_denied_total, 1);
    else if (status < 0 && chunk->index + 1 == chunk->count)
        ingest_answer(in, to, WIRE_RETRY, RETRY_MEMORY_MS, 0);
    return status == SKEIN_OK;
}

static void message_take(struct ingest *in, struct transport_message *message, uint64_t now_ns)
{
    struct wire_frame frame;
    struct wire_chunk chunk;
    struct buf unsaid = {0}; /* the gate says nothing on the data port */
    int status = gate_take(in->gate, SEAL_DATA, message, &frame, &unsaid);
    buf_fini(&unsaid);
    if (status == SKEIN_AGAIN)
        return;
    if (status < 0 || frame.type != WIRE_CHUNK ||
        wire_chunk_get(frame.body, frame.body_bytes, &chunk) < 0) {
        metrics_add(ingest_malformed_total, 1);
        return;
    }
    struct answer_to to = {chunk.key, message->peer, frame.id, now_ns};
    if (!is_owner(in, &chunk, &to))
        return;
    if (chunk.count > 1) {
        chunk_assemble(in, &chunk, &to, now_ns);
    } else if (checksum64(chunk.bytes, chunk.bytes_len) != chunk.partition_checksum) {
        metrics_add(ingest_rejected_total, 1);
        ingest_answer(in, &to, WIRE_REJECTED, 0, 0);
    } else if (!chunk_answered(in, &chunk, &to, now_ns) && !chunk_refused(in, &to)) {
        partition_take(in, &chunk, &to, NULL, message, now_ns);
    }
}

/* ---- the thread ---- */

static void requests_run(struct ingest *in)
{
    pthread_mutex_lock(&in->lock);
    struct delete_request *list = in->requests;
    in->requests = NULL;
    pthread_mutex_unlock(&in->lock);
    while (list != NULL) {
        struct delete_request *request = list;
        list = request->next;
        int64_t status = request->after != NULL ? ingest_strays_now(in, request)
                                                : ingest_delete_now(in, &request->capture);
        pthread_mutex_lock(&in->lock);
        request->status = status;
        request->done = true; /* once the lock is free, its owner may free it */
        pthread_cond_broadcast(&in->done);
        pthread_mutex_unlock(&in->lock);
    }
}

/* When the thread must act even if nothing arrives. */
static uint64_t next_due(const struct ingest *in)
{
    uint64_t due = in->expire_ns < in->compact_ns ? in->expire_ns : in->compact_ns;
    uint64_t group_due = groups_due(in);
    return group_due < due ? group_due : due;
}

/* Waits for a message, a request or the next due time. */
static void thread_wait(struct ingest *in)
{
    uint64_t now = clock_monotonic_ns(), due = next_due(in);
    int timeout_ms = due > now ? (int)((due - now + NS_PER_MS - 1) / NS_PER_MS) : 0;
    struct pollfd fds[2] = {{.fd = transport_poll_fd(in->transport), .events = POLLIN},
                            {.fd = in->wake_fd, .events = POLLIN}};
    (void)poll(fds, 2, timeout_ms);
    uint64_t ignored;
    if ((fds[1].revents & POLLIN) && read(in->wake_fd, &ignored, sizeof ignored) < 0)
        return; /* nothing is lost: the flags are read after every wait */
}

/* Notes that the disk is short before a partition finds no room, and when there is room again. */
static void space_check(struct ingest *in)
{
    uint64_t free_bytes, min_free_bytes;
    int problem = atomic_load(&in->problem);
    bool full = store_space(in->store, &free_bytes, &min_free_bytes) < 0 ||
                free_bytes < min_free_bytes || free_bytes - min_free_bytes < in->refused_bytes;
    if (full && problem == INGEST_NONE)
        atomic_store(&in->problem, INGEST_FULL);
    else if (!full && problem == INGEST_FULL)
        atomic_store(&in->problem, INGEST_NONE);
    if (!full)
        in->refused_bytes = 0;
    store_set_aside(in->store);
    metrics_set(store_free_bytes, free_bytes);
    metrics_set(store_full, full);
}

static void due_run(struct ingest *in)
{
    uint64_t now = clock_monotonic_ns();
    groups_commit(in, now);
    ingest_compact(in, now);
    if (now >= in->expire_ns) {
        in->expire_ns = now + TICK_NS;
        space_check(in);
        (void)index_heal(in->index); /* tried again with the next tick */
        size_t dropped = now > STALE_NS ? assembler_expire(in->assembler, now - STALE_NS) : 0;
        metrics_add(ingest_abandoned_total, dropped);
        metrics_set(ingest_assembling_bytes, assembler_bytes(in->assembler));
    }
}

static void *thread_run(void *argument)
{
    struct ingest *in = argument;
    while (!atomic_load(&in->stopping)) {
        thread_wait(in);
        uint64_t now = clock_monotonic_ns();
        struct transport_message message;
        for (int i = 0; i < BURST_MESSAGES && !groups_can_move(in, now) &&
                        transport_receive(in->transport, 0, &message) == SKEIN_OK;
             i++) {
            message_take(in, &message, now);
            transport_message_free(&message);
        }
        due_run(in);
        requests_run(in);
    }
    (void)groups_flush(in);
    requests_run(in);
    return NULL;
}

/* ---- the interface ---- */

static void ingest_free(struct ingest *in)
{
    transport_free(&in->transport);
    assembler_free(&in->assembler);
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < in->groups[i].count; k++)
            member_fini(&in->groups[i].members[k]);
        free(in->groups[i].members);
    }
    if (in->wake_fd >= 0)
        close(in->wake_fd);
    pthread_cond_destroy(&in->done);
    pthread_mutex_destroy(&in->lock);
    pthread_cond_destroy(&in->writer_turn);
    pthread_mutex_destroy(&in->writer_lock);
    free(in->rows);
    free(in);
}

static int ingest_prepare(struct ingest *in, const struct ingest_settings *settings)
{
    for (size_t i = 0; i < 2; i++)
        in->groups[i].members = calloc(GROUP_COUNT_MAX, sizeof *in->groups[i].members);
    in->rows = calloc(GROUP_COUNT_MAX, sizeof *in->rows);
    in->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (in->groups[0].members == NULL || in->groups[1].members == NULL || in->rows == NULL)
        return SKEIN_NO_MEMORY;
    if (in->wake_fd < 0)
        return SKEIN_IO;
    int status = assembler_new(settings->max_assembling_bytes, &in->assembler);
    return status < 0 ? status : transport_listen(settings->address, WIRE_DATA_MAX, &in->transport);
}

int ingest_start(const struct ingest_settings *settings, struct store *store, struct index *index,
                 const struct ingest_hooks *hooks, struct ingest **out, char *error,
                 size_t error_bytes)
{
    *out = NULL;
    struct ingest *in = calloc(1, sizeof *in);
    if (in == NULL)
        return SKEIN_NO_MEMORY;
    in->store = store;
    in->index = index;
    if (hooks != NULL)
        in->hooks = *hooks;
    in->gate = settings->gate;
    in->commit_wait_ns = settings->commit_wait_ms * NS_PER_MS;
    in->compact_percent =
        settings->compact_below_percent < 100 ? (unsigned)settings->compact_below_percent : 100;
    in->max_bytes = settings->max_bytes;
    in->wake_fd = -1;
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->done, NULL);
    pthread_mutex_init(&in->writer_lock, NULL);
    pthread_cond_init(&in->writer_turn, NULL);
    int status = ingest_prepare(in, settings);
    if (status == SKEIN_OK)
        status = writer_start(in);
    if (status == SKEIN_OK && pthread_create(&in->thread, NULL, thread_run, in) != 0) {
        writer_stop(in);
        status = SKEIN_NO_MEMORY;
    }
    if (status < 0) {
        (void)snprintf(error, error_bytes, "data port %s: %s", settings->address,
                       skein_status_text(status));
        ingest_free(in);
        return status;
    }
    *out = in;
    return SKEIN_OK;
}

static void thread_wake(struct ingest *in)
{
    uint64_t one = 1;
    ssize_t n;
    do
        n = write(in->wake_fd, &one, sizeof one);
    while (n < 0 && errno == EINTR);
}

void ingest_stop(struct ingest **ingest)
{
    struct ingest *in = *ingest;
    if (in == NULL)
        return;
    *ingest = NULL;
    pthread_mutex_lock(&in->lock);
    in->closed = true; /* no request may come after the thread's last requests_run */
    pthread_mutex_unlock(&in->lock);
    atomic_store(&in->stopping, true);
    thread_wake(in);
    pthread_join(in->thread, NULL);
    writer_stop(in);
    ingest_free(in);
}

const char *ingest_state(struct ingest *ingest)
{
    static const char *const words[] = {
#define X(name, text) text,
        INGEST_PROBLEM_LIST(X)
#undef X
    };
    return words[atomic_load(&ingest->problem)];
}

bool ingest_is_full(struct ingest *ingest)
{
    return atomic_load(&ingest->problem) == INGEST_FULL;
}

static int64_t request_wait(struct ingest *ingest, struct delete_request *request)
{
    no_sync_check(); /* whom it waits for syncs, and may want the control lock */
    pthread_mutex_lock(&ingest->lock);
    if (ingest->closed) {
        pthread_mutex_unlock(&ingest->lock);
        return SKEIN_CLOSED;
    }
    struct delete_request **last = &ingest->requests;
    while (*last != NULL)
        last = &(*last)->next;
    *last = request;
    thread_wake(ingest);
    while (!request->done)
        pthread_cond_wait(&ingest->done, &ingest->lock);
    pthread_mutex_unlock(&ingest->lock);
    return request->status;
}

int ingest_delete_capture(struct ingest *ingest, const struct capture_id *capture)
{
    struct delete_request request = {.capture = *capture};
    return (int)request_wait(ingest, &request);
}

int64_t ingest_delete_strays(struct ingest *ingest, uint64_t *after, uint64_t before_ns,
                             uint64_t *bytes)
{
    struct delete_request request = {.after = after, .bytes = bytes, .before_ns = before_ns};
    return request_wait(ingest, &request);
}
