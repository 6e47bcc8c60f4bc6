/* SPDX-License-Identifier: Apache-2.0
 *
 * Group commit. Runs on the ingest thread; only steps 1 and 2 run on the writer
 * (ingest_writer.c), which writes one group while the next is received. The order of the steps is
 * the guarantee of the data port:
 *
 *   1 append every partition of the group   the bytes are in a segment
 *   2 one sync                              the bytes are durable
 *   3 rows into the index, one transaction  queries find them
 *   4 the hook `stored`
 *   5 acknowledgements                      the agent may delete its copy
 *
 * What a crash leaves: before 2 ends, nobody was told anything. Between 2 and 3, the next open
 * brings the index up to the store's end. Between 3 and 5, the agent sends again and hears "stored
 * before". Never acknowledges what is not durable; never appends a key that the index or a group
 * has; never lets segments be removed while the index misses something of the store.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ingest_commit.h"
#include "ingest_int.h"
#include "metrics.h"
#include "skein_check.h"

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

/* ---- the groups ---- */

/*    group_add                  group_take_back: the writer is done with it
 *     ┌───┐    group_give                           ┌───┐ group_finish: the index failed,
 *     ▼   │                                         ▼   │ again after RETRY_INDEX_MS
 *   COLLECTING ──────────▶ WRITING ──────────────▶ DURABLE
 *     ▲                                                │
 *     └──────── group_finish: the index took it ───────┘
 *
 *   COLLECTING  belongs to the ingest thread; members are whole partitions with their bytes
 *   WRITING     belongs to the writer, except state, count and bytes; has at least one member
 *   DURABLE     members have no bytes any more; those that found no room are gone (group_cut),
 *               all of them where the store failed twice
 *
 * `given` groups, the first of them groups[oldest], are WRITING or DURABLE. Only the last of these
 * may be WRITING. Groups are finished in the order in which they were given.
 *
 * Reads nothing that belongs to the writer.
 */
static void groups_assert(const struct ingest *in)
{
    skein_check(in->oldest < 2 && in->given <= 2);
    for (unsigned i = 0; i < 2; i++) {
        const struct group *g = &in->groups[(in->oldest + i) % 2];
        skein_check(g->count <= GROUP_COUNT_MAX && (g->count > 0 || g->bytes == 0));
        skein_check((g->state == GROUP_COLLECTING) == (i >= in->given));
        if (g->state == GROUP_WRITING)
            skein_check(i + 1 == in->given && g->count > 0);
    }
}

/* The group that new members go to; NULL where both are on their way. */
static struct group *collecting(struct ingest *in)
{
    return in->given < 2 ? &in->groups[(in->oldest + in->given) % 2] : NULL;
}

/* The group that was given last; NULL: none was given. */
static struct group *group_newest(struct ingest *in)
{
    return in->given > 0 ? &in->groups[(in->oldest + in->given - 1) % 2] : NULL;
}

static bool group_has(const struct group *g, const struct partition_key *key)
{
    for (size_t i = 0; i < g->count; i++)
        if (partition_key_equal(&g->members[i].to.key, key))
            return true;
    return false;
}

bool groups_have(const struct ingest *in, const struct partition_key *key)
{
    return group_has(&in->groups[0], key) || group_has(&in->groups[1], key);
}

static bool is_full(const struct group *g)
{
    return g->count == GROUP_COUNT_MAX || g->bytes >= GROUP_BYTES_MAX;
}

struct member *group_slot(struct ingest *in)
{
    struct group *g = collecting(in);
    if (g != NULL && is_full(g)) {
        uint64_t now_ns = clock_monotonic_ns();
        (void)groups_settle(in, now_ns);
        groups_commit(in, now_ns);
        g = collecting(in);
    }
    if (g == NULL || is_full(g))
        return NULL;
    struct member *member = &g->members[g->count];
    memset(member, 0, sizeof *member);
    return member;
}

void group_add(struct ingest *in, struct member *member, uint64_t now_ns)
{
    struct group *g = collecting(in);
    if (g->count++ == 0)
        g->since_ns = now_ns;
    g->bytes += member->len;
    groups_assert(in);
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

static void group_clear(struct group *g)
{
    for (size_t i = 0; i < g->count; i++)
        member_fini(&g->members[i]);
    g->count = 0;
    g->bytes = 0;
    g->state = GROUP_COLLECTING;
}

/* Sends members from `first` on back: they are not durable. A repeat of a member before `first`
 * stays, because its partition is durable. What stays keeps its order. */
static void group_cut(struct ingest *in, struct group *g, size_t first)
{
    size_t count = g->count;
    g->count = first;
    for (size_t i = first; i < count; i++) {
        struct member *m = &g->members[i];
        if (m->repeat && group_has(g, &m->to.key)) {
            struct member kept = *m;
            *m = g->members[g->count];
            g->members[g->count++] = kept;
            continue;
        }
        ingest_answer(in, &m->to, WIRE_RETRY, RETRY_DISK_MS, 0);
        g->bytes -= m->len;
        member_fini(m);
        memset(m, 0, sizeof *m);
    }
}

/* Takes the group back from the writer, once it is done. */
static void group_take_back(struct ingest *in)
{
    struct group *g = group_newest(in);
    if (g == NULL || g->state != GROUP_WRITING || !writer_is_done(in))
        return;
    if (g->written < g->count) {
        size_t refused = g->members[g->written].len;
        if (atomic_load(&in->problem) == INGEST_FULL && refused > in->refused_bytes)
            in->refused_bytes = refused;
        group_cut(in, g, g->written);
    }
    for (size_t i = 0; i < g->count; i++)
        member_bytes_free(&g->members[i]);
    g->state = GROUP_DURABLE;
    g->retry_ns = 0;
    groups_assert(in);
}

static size_t group_rows(struct ingest *in, const struct group *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct member *m = &g->members[i];
        if (!m->repeat)
            partition_row_make(&in->rows[n++], &m->record, &m->place, &m->footer,
                               m->clock_offset_ns);
    }
    return n;
}

enum wire_ack_status ingest_repeat_result(struct ingest *in, const struct partition_key *key,
                                          uint64_t checksum)
{
    struct partition_row row;
    uint64_t stored;
    int found = index_find(in->index, key, &row);
    int status = found == 1 ? store_checksum(in->store, &row.place, &stored) : SKEIN_OK;
    if (found < 0 || status == SKEIN_NOT_FOUND)
        return WIRE_RETRY;
    if (status != SKEIN_OK || (found == 1 && stored != checksum)) {
        metrics_add(ingest_rejected_total, 1);
        return WIRE_REJECTED;
    }
    metrics_add(ingest_duplicates_total, 1);
    return WIRE_STORED_BEFORE;
}

/* A repeat gets the answer of its partition, which may have been in the group before this one. */
static enum wire_ack_status result_of(struct ingest *in, const struct member *m)
{
    if (!m->repeat)
        return WIRE_STORED;
    return index_find(in->index, &m->to.key, NULL) == 1
               ? ingest_repeat_result(in, &m->to.key, m->checksum)
               : WIRE_RETRY;
}

static void group_acknowledge(struct ingest *in, const struct group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct member *m = &g->members[i];
        enum wire_ack_status result = result_of(in, m);
        metrics_add(ingest_partitions_total, !m->repeat);
        metrics_add(ingest_bytes_total, m->len);
        ingest_answer(in, &m->to, result, result == WIRE_RETRY ? RETRY_DISK_MS : 0, 0);
        metrics_observe(ingest_ack_seconds, clock_monotonic_ns() - m->to.received_ns);
    }
}

int ingest_index_follow(struct ingest *in)
{
    if (!in->behind)
        return SKEIN_OK;
    int status = index_follow(in->index);
    in->behind = status < 0;
    if (!in->behind && in->hooks.deleted != NULL) /* a deletion that failed may have left some */
        in->hooks.deleted(in->hooks.context);
    return status;
}

/* Adds the oldest group to the index if it is durable, and answers. True: it is empty now. */
static bool group_finish(struct ingest *in, uint64_t now_ns)
{
    struct group *g = &in->groups[in->oldest];
    if (in->given == 0 || g->state != GROUP_DURABLE || now_ns < g->retry_ns)
        return false;
    size_t n = group_rows(in, g);
    if (ingest_index_follow(in) < 0 || index_add(in->index, in->rows, n) < 0) {
        /* The partitions are durable, but no query finds them, and a repeat would be stored twice.
         * So the group stays until the index takes it. */
        atomic_store(&in->problem, INGEST_INDEX);
        g->retry_ns = clock_monotonic_ns() + RETRY_INDEX_MS * UINT64_C(1000000);
        return false;
    }
    int index_problem = INGEST_INDEX;
    (void)atomic_compare_exchange_strong(&in->problem, &index_problem, INGEST_NONE);
    if (n > 0 && in->hooks.stored != NULL)
        in->hooks.stored(in->hooks.context, in->rows, n);
    group_acknowledge(in, g);
    if (n > 0 && in->rows[n - 1].place.segment != in->last_segment) {
        in->last_segment = in->rows[n - 1].place.segment;
        in->reclaim = true;
    }
    group_clear(g);
    in->oldest = (in->oldest + 1) % 2;
    in->given--;
    groups_assert(in);
    return true;
}

/* ---- the turns ---- */

/* When the group is to be given to the writer, if that is free. */
static uint64_t group_due(const struct ingest *in, const struct group *g)
{
    bool enough = g->bytes >= GROUP_BYTES_ENOUGH || g->count == GROUP_COUNT_MAX;
    return g->count == 0 ? UINT64_MAX : enough ? 0 : g->since_ns + in->commit_wait_ns;
}

static bool is_writing(struct ingest *in)
{
    struct group *g = group_newest(in);
    return g != NULL && g->state == GROUP_WRITING;
}

bool groups_can_move(struct ingest *in, uint64_t now_ns)
{
    const struct group *g = collecting(in);
    return (is_writing(in) || (g != NULL && now_ns >= group_due(in, g))) && writer_is_done(in);
}

static void group_give(struct ingest *in)
{
    struct group *g = collecting(in);
    g->state = GROUP_WRITING;
    in->given++;
    groups_assert(in);
    writer_give(in, g);
}

void groups_commit(struct ingest *in, uint64_t now_ns)
{
    group_take_back(in);
    if (in->reclaim && groups_settle(in, now_ns)) {
        in->reclaim = false;
        (void)ingest_reclaim(in); /* what fails is tried again with the next segment */
    }
    struct group *g = collecting(in);
    if (g != NULL && !is_writing(in) && now_ns >= group_due(in, g))
        group_give(in); /* before group_finish: the disk works while the index does */
    while (group_finish(in, now_ns))
        ;
}

uint64_t groups_due(const struct ingest *in)
{
    uint64_t due = UINT64_MAX;
    bool writing = false;
    for (size_t i = 0; i < 2; i++) {
        const struct group *g = &in->groups[i];
        writing |= g->state == GROUP_WRITING;
        if (g->state == GROUP_DURABLE && g->retry_ns < due)
            due = g->retry_ns;
    }
    for (size_t i = 0; i < 2 && !writing; i++) {
        const struct group *g = &in->groups[i];
        if (g->state == GROUP_COLLECTING && group_due(in, g) < due)
            due = group_due(in, g);
    }
    return due;
}

bool groups_settle(struct ingest *in, uint64_t now_ns)
{
    writer_wait(in);
    group_take_back(in);
    while (group_finish(in, now_ns))
        ;
    return in->given == 0;
}

bool groups_flush(struct ingest *in)
{
    if (!groups_settle(in, UINT64_MAX))
        return false;
    if (collecting(in)->count > 0)
        group_give(in);
    return groups_settle(in, UINT64_MAX);
}
