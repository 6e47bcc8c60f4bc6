/* SPDX-License-Identifier: Apache-2.0
 *
 * The two table halves of the durable area: gives event types and strings their ids, and starts a
 * new string epoch when a half is full. Entered by any traced thread and by
 * signal handlers, under one lock that is only ever tried. Never blocks, allocates or fails the
 * event: who gets no id writes the event self-described. Keeps no pointer into the program: a
 * library that takes its sites with it by dlclose() leaves nothing behind here.
 */
#include <string.h>

#include "table_int.h"

#define LOCK_SPINS 200
#define TEXT_MAX   255 /* bytes of a text or file name in the table */
#define HEAD_BYTES 11  /* of a table record: kind, length */

/* The session whose lock this thread holds, and the lane that it took it for: for a handler that
 * jumped out of the tracer. */
static __thread struct session *lock_held __attribute__((tls_model("initial-exec")));
static __thread const struct skein_lane *lock_lane __attribute__((tls_model("initial-exec")));

bool table_lock(struct session *session, const struct skein_lane *lane)
{
    for (int i = 0; i < LOCK_SPINS; i++) {
        if (skein_lock_try(&session->table_lock)) {
            lock_lane = lane;
            lock_held = session;
            return true;
        }
    }
    return false;
}

void table_unlock(struct session *session)
{
    lock_held = NULL;
    skein_signal_fence();
    skein_lock_release(&session->table_lock);
}

void table_recover(const struct skein_lane *lane)
{
    struct session *session = lock_held;
    if (session == NULL || (lane != &skein_lane_tls && lane != lock_lane))
        return; /* the main lane's record, below this handler, goes on with it */
    /* What was published counts; ids that may have been used are not used again. */
    session->table_used =
        (uint32_t)skein_table_load(&table_half(session, session->epoch)->committed);
    session->next_event++;
    session->next_string++;
    session->stacks.next_id++;
    skein_epoch_store(&session->header->string_epoch, session->epoch); /* it may have begun */
    table_unlock(session);
}

/* the half of the epoch before may be overwritten only when no chunk refers to it. */
bool table_epoch_switch(struct session *session)
{
    uint64_t claims = skein_load64(&session->header->small_cursor) +
                      skein_load64(&session->header->big_cursor) + 1;
    if (session->blocked_at == claims)
        return false; /* no chunk was claimed since, so the answer is the same */
    if (chunk_refers(session, session->epoch - 1)) {
        session->blocked_at = claims;
        return false;
    }
    table_open(session);
    return true;
}

_Static_assert(TABLE_RECORD_MAX >= 2 * (TEXT_MAX + 3) + SKEIN_NAME_MAX + 64 +
                                       SKEIN_ARGS_MAX * (2 * SKEIN_NAME_MAX + 8),
               "a site fits");

static void text_encode(struct table_record *e, const char *text, size_t max)
{
    size_t bytes = text != NULL ? strnlen(text, max) : 0;
    table_leb(e, bytes);
    if (bytes)
        memcpy(e->bytes + e->used, text, bytes);
    e->used += bytes;
}

static void site_encode(struct table_record *e, const struct skein_site *site, uint32_t id)
{
    uint8_t nargs = site->nargs < SKEIN_ARGS_MAX ? site->nargs : SKEIN_ARGS_MAX;
    table_leb(e, id);
    table_byte(e, site->klass);
    table_byte(e, site->group);
    table_byte(e, nargs);
    text_encode(e, site->name, SKEIN_NAME_MAX);
    text_encode(e, site->text, TEXT_MAX);
    text_encode(e, site->file, TEXT_MAX);
    table_leb(e, site->line);
    for (uint8_t i = 0; i < nargs; i++) {
        table_byte(e, site->args[i].type);
        text_encode(e, site->args[i].name, SKEIN_NAME_MAX);
        text_encode(e, site->args[i].unit, SKEIN_NAME_MAX);
    }
}

/* bytes of a half that have memory. */
static uint64_t table_backed(struct session *session)
{
    const struct skein_view *view = session_view();
    uint64_t bytes = session->geometry.table_bytes;
    if (view != NULL)
        session->table_backed = skein_backed_load(&view->backed_table);
    return session->table_backed != 0 && session->table_backed < bytes ? session->table_backed
                                                                       : bytes;
}

bool table_waits(struct session *session)
{
    uint64_t backed = table_backed(session);
    return backed < session->geometry.table_bytes &&
           backed - sizeof(struct ring_table) < session->table_used + TABLE_RECORD_MAX + HEAD_BYTES;
}

bool table_append(struct session *session, uint8_t kind, const struct table_record *e)
{
    uint8_t head[HEAD_BYTES] = {kind};
    size_t head_bytes = 1 + leb_put(head + 1, e->used);
    uint64_t end = table_backed(session) - sizeof(struct ring_table);
    if (session->table_used > end || head_bytes + e->used > end - session->table_used)
        return false;
    struct ring_table *half = table_half(session, session->epoch);
    uint8_t *to = (uint8_t *)half + sizeof *half + session->table_used;
    memcpy(to, head, head_bytes);
    memcpy(to + head_bytes, e->bytes, e->used);
    SKEIN_TEST_POINT("table_written");
    session->table_used += (uint32_t)(head_bytes + e->used);
    skein_table_store(&half->committed, (uint64_t)session->epoch << 32 | session->table_used);
    skein_store64(&session->header->durable_data_end, session->table_used);
    SKEIN_TEST_POINT("table_committed");
    return true;
}

/* What is registered: the word that holds its id, and the object itself. */
struct entry {
    uint64_t *id;
    uint8_t kind; /* RING_TABLE_EVENT_TYPE: site; RING_TABLE_STRING: string */
    union {
        const struct skein_site *site;
        const struct skein_string *string;
    };
};

static void entry_encode(struct table_record *e, const struct session *session,
                         const struct entry *entry)
{
    e->used = 0;
    if (entry->kind == RING_TABLE_EVENT_TYPE) {
        site_encode(e, entry->site, session->next_event);
        return;
    }
    size_t bytes = strnlen(entry->string->text, SKEIN_STR_MAX);
    table_leb(e, session->next_string);
    memcpy(e->bytes + e->used, entry->string->text, bytes);
    e->used += bytes;
}

_Static_assert(TABLE_RECORD_MAX >= SKEIN_STR_MAX + 16, "a string fits");

/* Appends to the current half or, where that is full, to the next epoch's. False: neither now. */
static bool entry_append(struct session *session, const struct entry *entry)
{
    struct table_record e = {.bytes = session->record};
    entry_encode(&e, session, entry);
    if (table_append(session, entry->kind, &e))
        return true;
    if (table_waits(session))
        return false; /* the half is not full: the agent has not come to it yet */
    if (e.used + 16 > session->geometry.table_bytes - sizeof(struct ring_table))
        return false; /* larger than an empty half: a switch would only cost the others theirs */
    if (!table_epoch_switch(session))
        return false;
    entry_encode(&e, session, entry);
    return table_append(session, entry->kind, &e);
}

static bool id_holds(const struct session *session, uint64_t id)
{
    return id && id >> 32 == skein_load32(&session->epoch);
}

static uint64_t entry_id(struct session *session, const struct skein_lane *lane,
                         const struct entry *entry)
{
    uint64_t id = skein_site_load(entry->id);
    if (id_holds(session, id))
        return id;
    if (!table_lock(session, lane))
        return 0;
    id = skein_site_load(entry->id);
    if (!id_holds(session, id)) {
        id = 0;
        if (entry_append(session, entry)) {
            uint32_t *next =
                entry->kind == RING_TABLE_EVENT_TYPE ? &session->next_event : &session->next_string;
            id = (uint64_t)session->epoch << 32 | (*next)++;
            skein_site_store(entry->id, id);
            SKEIN_TEST_POINT("id_published");
        }
    }
    table_unlock(session);
    return id;
}

uint64_t table_site_id(struct session *session, const struct skein_lane *lane,
                       struct skein_site *site)
{
    struct entry entry = {.id = &site->id, .kind = RING_TABLE_EVENT_TYPE, .site = site};
    return entry_id(session, lane, &entry);
}

uint64_t table_string_id(struct session *session, const struct skein_lane *lane,
                         struct skein_string *string)
{
    struct entry entry = {.id = &string->id, .kind = RING_TABLE_STRING, .string = string};
    return string->text != NULL ? entry_id(session, lane, &entry) : 0;
}

bool table_knows_site(const struct session *session, const struct skein_site *site)
{
    return id_holds(session, skein_site_load(&site->id));
}

void table_child_reset(void)
{
    lock_held = NULL;
}
