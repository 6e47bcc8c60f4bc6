/* SPDX-License-Identifier: Apache-2.0
 *
 * Group commit. Runs on the ingest thread alone. The order of its steps is the
 * guarantee of the data port:
 *
 *   1 append every partition of the group   2 one sync   3 rows into the index, one transaction
 *   4 hooks   5 acknowledgements
 *
 * A crash before 2 ends: nobody was told anything. Between 2 and 3: the index is brought up to the
 * store's end at the next open. Between 3 and 5: the agent sends again and hears "stored before".
 * Never acknowledges what is not durable; never appends a key that the index or the group has.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ingest_int.h"
#include "metrics.h"

void ingest_answer(struct ingest *in, const struct answer_to *to, enum wire_ack_status status,
                   uint32_t retry_ms, uint32_t have)
{
    if (status == WIRE_RETRY)
        metrics_add(ingest_retries_total, 1);
    struct buf body;
    void *message;
    buf_init(&body);
    wire_ack_put(&body, &(struct wire_ack){to->key, (uint8_t)status, retry_ms, have});
    if (body.status == SKEIN_OK &&
        gate_make(in->gate, SEAL_DATA, &to->peer, WIRE_CHUNK_ACK, to->frame_id, body.data, body.len,
                  &message) == SKEIN_OK) {
        if (transport_send(in->transport, message, &to->peer, 0) != SKEIN_OK)
            transport_alloc_free(message);
    }
    buf_fini(&body);
}

/* ---- the group ---- */

bool group_has(const struct ingest *in, const struct partition_key *key)
{
    for (size_t i = 0; i < in->group.count; i++)
        if (memcmp(&in->group.members[i].to.key, key, sizeof *key) == 0)
            return true;
    return false;
}

struct member *group_slot(struct ingest *in)
{
    struct group *g = &in->group;
    if (g->durable || g->count == GROUP_COUNT_MAX)
        return NULL;
    struct member *member = &g->members[g->count];
    memset(member, 0, sizeof *member);
    return member;
}

void group_add(struct ingest *in, struct member *member, uint64_t now_ns)
{
    struct group *g = &in->group;
    if (g->count++ == 0)
        g->since_ns = now_ns;
    g->bytes += member->len;
    if (g->count == GROUP_COUNT_MAX || g->bytes >= GROUP_BYTES_MAX)
        group_commit(in);
}

static void member_bytes_free(struct member *member)
{
    free(member->assembled);
    member->assembled = NULL;
    transport_message_free(&member->message);
    memset(&member->message, 0, sizeof member->message);
    member->bytes = NULL;
}

void member_fini(struct member *member)
{
    member_bytes_free(member);
    partition_footer_free(&member->footer);
}

static void group_clear(struct ingest *in)
{
    struct group *g = &in->group;
    for (size_t i = 0; i < g->count; i++)
        member_fini(&g->members[i]);
    g->count = 0;
    g->bytes = 0;
    g->durable = false;
}

/* Sends members back from the first one on, and repeats of them; what is left keeps its order. */
static void group_cut(struct ingest *in, size_t first, uint32_t retry_ms)
{
    struct group *g = &in->group;
    size_t count = g->count;
    g->count = first;
    for (size_t i = first; i < count; i++) {
        struct member *m = &g->members[i];
        if (m->repeat && group_has(in, &m->to.key)) {
            struct member kept = *m;
            *m = g->members[g->count];
            g->members[g->count++] = kept;
            continue;
        }
        ingest_answer(in, &m->to, WIRE_RETRY, retry_ms, 0);
        g->bytes -= m->len;
        member_fini(m);
        memset(m, 0, sizeof *m);
    }
}

/* Appends from the beginning. SKEIN_OK; SKEIN_IO: all of it must be appended again. Members that
 * found no room are sent back. */
static int group_append(struct ingest *in)
{
    struct group *g = &in->group;
    for (size_t i = 0; i < g->count; i++) {
        struct member *m = &g->members[i];
        if (m->repeat)
            continue;
        int status = store_append(in->store, &m->record, m->bytes, m->len, &m->place);
        if (status == SKEIN_IO)
            return status;
        if (status < 0) {
            atomic_store(&in->problem, status == SKEIN_FULL ? INGEST_FULL : INGEST_STORE);
            group_cut(in, i, RETRY_DISK_MS);
            return SKEIN_OK;
        }
    }
    if (g->count > 0)
        atomic_store(&in->problem, INGEST_NONE);
    return SKEIN_OK;
}

/* Makes the group durable, in a new segment where the first one fails; 0, or a status after
 * everybody was sent back. */
static int group_store(struct ingest *in)
{
    int status = SKEIN_IO;
    for (int attempt = 0; status == SKEIN_IO && attempt < 2; attempt++) {
        status = group_append(in);
        if (!status)
            status = store_sync(in->store);
    }
    if (status < 0) {
        atomic_store(&in->problem, INGEST_STORE);
        group_cut(in, 0, RETRY_DISK_MS);
        return status;
    }
    struct group *g = &in->group;
    for (size_t i = 0; i < g->count; i++)
        member_bytes_free(&g->members[i]);
    g->durable = g->count > 0;
    return SKEIN_OK;
}

static size_t group_rows(struct ingest *in)
{
    size_t n = 0;
    for (size_t i = 0; i < in->group.count; i++) {
        const struct member *m = &in->group.members[i];
        if (!m->repeat)
            partition_row_make(&in->rows[n++], &m->record, &m->place, &m->footer);
    }
    return n;
}

static void group_acknowledge(struct ingest *in)
{
    const struct group *g = &in->group;
    for (size_t i = 0; i < g->count; i++) {
        const struct member *m = &g->members[i];
        metrics_add(ingest_duplicates_total, m->repeat);
        metrics_add(ingest_partitions_total, !m->repeat);
        metrics_add(ingest_bytes_total, m->len);
        ingest_answer(in, &m->to, m->repeat ? WIRE_STORED_BEFORE : WIRE_STORED, 0, 0);
        metrics_observe(ingest_ack_seconds, clock_monotonic_ns() - m->to.received_ns);
    }
}

int ingest_index_follow(struct ingest *in)
{
    int status = in->behind ? index_follow(in->index) : SKEIN_OK;
    in->behind &= status < 0;
    return status;
}

void group_commit(struct ingest *in)
{
    struct group *g = &in->group;
    if (g->count == 0 || (!g->durable && group_store(in) < 0) || !g->durable)
        return;
    size_t n = group_rows(in);
    if (ingest_index_follow(in) < 0 || index_add(in->index, in->rows, n) < 0) {
        /* Durable, but nobody would find it, and its repeat would be stored twice: kept until the
         * index has it. */
        atomic_store(&in->problem, INGEST_INDEX);
        g->retry_ns = clock_monotonic_ns() + RETRY_INDEX_MS * UINT64_C(1000000);
        return;
    }
    if (atomic_load(&in->problem) == INGEST_INDEX)
        atomic_store(&in->problem, INGEST_NONE);
    if (in->hooks.stored)
        in->hooks.stored(in->hooks.context, in->rows, n);
    group_acknowledge(in);
    uint64_t segment = in->rows[n - 1].place.segment;
    group_clear(in);
    if (segment != in->last_segment) {
        in->last_segment = segment;
        (void)ingest_reclaim(
            in); /* a segment has been closed; what fails is tried again with the next */
    }
}
