/* SPDX-License-Identifier: Apache-2.0
 *
 * The slow half of a record: first event of a thread, no room in the chunk, a switched generation,
 * a site without an id, a signal handler that interrupted the tracer, loss. Entered by any traced
 * thread, with errno preserved; never blocks or allocates from the heap. Two lanes keep handlers
 * apart: code that finds the main lane busy writes to the signal lane, deeper nesting is counted.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "attach_client.h"
#include "sys_raw.h"
#include "writer_int.h"

#define PREFIX_NEED 64 /* LOST, GENERATION and EPOCH records before the event */
#define SAME_STACK  (UINT64_C(1) << 20)

static const struct skein_record no_record;

uint64_t skein_ticks_slow(const struct skein_view *view)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) >> (view->shift & 63);
}

uint64_t ticks_now(const struct skein_view *view)
{
#if defined(__x86_64__) || defined(__i386__)
    if (view->clock == RING_CLOCK_TSC)
        return skein_ticks_tsc(view);
#endif
    return skein_ticks_slow(view);
}

/* The hot path knows the processor's counter only: with another clock its gate stays closed. */
static uint64_t gate_of(const struct skein_view *view)
{
#if defined(__x86_64__) || defined(__i386__)
    if (view->clock == RING_CLOCK_TSC)
        return (uint64_t)(uintptr_t)view + 1;
#endif
    (void)view;
    return SKEIN_GATE_CLOSED;
}

uint8_t *skein_put_leb_long(uint8_t *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

size_t leb_put(uint8_t *to, uint64_t value)
{
    return (size_t)(skein_put_leb(to, value) - to);
}

uint64_t lane_busy(const struct skein_lane *lane)
{
    return lane->gate & 1 ? 0 : lane->gate;
}

void lane_take(struct skein_lane *lane, uint64_t frame)
{
    lane->gate = frame & ~UINT64_C(1);
    skein_signal_fence();
}

void lane_drop(struct skein_lane *lane)
{
    skein_signal_fence();
    lane->gate = SKEIN_GATE_CLOSED;
}

bool busy_is_stale(uint64_t busy, uint64_t frame)
{
    stack_t alt = {.ss_flags = SS_DISABLE};
    if (attach_client_is_barred() || RAW2(SYS_sigaltstack, 0, RAW_POINTER(&alt)))
        return false;
    uint64_t low = (uint64_t)(uintptr_t)alt.ss_sp, high = low + alt.ss_size;
    bool on_alt = alt.ss_flags & SS_ONSTACK;
    if (!(alt.ss_flags & SS_DISABLE) && on_alt != (busy >= low && busy < high))
        return !on_alt; /* a handler's record, and we are below it again; or we are the handler */
    /* One stack, growing down: who is at or above the record's frame has left it. A distance that
     * no jump within one stack covers means a stack that sigaltstack() does not tell of: assume
     * alive. */
    return frame >= busy && frame - busy < SAME_STACK;
}

/* {time, first, last} with one more tick in it. */
static uint64_t span_with(uint64_t seen, uint64_t time, uint64_t tick)
{
    uint64_t first = seen >> RING_LOSS_TICK_BITS & RING_LOSS_TICK_MAX;
    uint64_t last = seen & RING_LOSS_TICK_MAX;
    bool same = seen >> 2 * RING_LOSS_TICK_BITS == (time & 0xffff);
    first = same && first < tick ? first : tick;
    last = same && last > tick ? last : tick;
    return (time & 0xffff) << 2 * RING_LOSS_TICK_BITS | first << RING_LOSS_TICK_BITS | last;
}

/* counted at once where everybody can see it, in the bucket of its time. */
static void loss_count(struct session *session, enum ring_loss kind)
{
    const struct ring_geometry *g = &session->geometry;
    const struct skein_view *view = session_view();
    uint64_t now = view != NULL ? ticks_now(view) : 0, time = now >> g->loss_shift;
    struct ring_bucket *bucket = (struct ring_bucket *)(void *)(session->base + g->loss_off[kind]) +
                                 (time & (g->loss_buckets - 1));
    skein_bucket_add(&bucket->count, time, RING_LOSS_COUNT_BITS);
    uint64_t seen = skein_load64(&bucket->span);
    while (!skein_word_cas(&bucket->span, &seen,
                           span_with(seen, time, now - (time << g->loss_shift)))) {
    }
    skein_total_add(&session->header->num_records_dropped);
    SKEIN_TEST_POINT("record_lost");
}

/* The lane's own count is for the chunk that tells of it in its place. */
static void lane_lose(struct session *session, struct lane_cold *lane_cold)
{
    skein_add64(&lane_cold->lost, 1);
    if (session != NULL)
        loss_count(session,
                   lane_cold->flags & RING_SEGMENT_SIGNAL ? RING_LOSS_SIGNAL : RING_LOSS_FULL);
}

/* ---- what precedes an event in its chunk ---- */

static uint8_t *prefix_put(struct skein_lane *lane, uint8_t *p, enum ring_record type, uint64_t now,
                           uint64_t value)
{
    p = skein_put_leb(p, type);
    p = skein_put_leb(p, now - lane->last);
    lane->last = now;
    return skein_put_leb(p, value);
}

static uint64_t now_after(const struct skein_lane *lane, const struct skein_view *view)
{
    uint64_t now = ticks_now(view);
    return (int64_t)(now - lane->last) < 0 ? lane->last : now;
}

/* Commits LOST, GENERATION and EPOCH records as needed, so that the lane's state is what its chunk
 * says.. */
static void lane_sync(struct skein_lane *lane, struct lane_cold *lane_cold,
                      const struct skein_view *view, uint64_t epoch)
{
    uint64_t lost = skein_load64(&lane_cold->lost);
    uint64_t generation = skein_generation_load(&view->generation);
    if (!lost && generation == lane->generation && epoch == lane->string_epoch)
        return;
    uint64_t now = now_after(lane, view);
    uint8_t *p = lane->write;
    if (lost)
        p = prefix_put(lane, p, RING_RECORD_LOST, now, lost);
    if (generation != lane->generation)
        p = prefix_put(lane, p, RING_RECORD_GENERATION, now, generation);
    if (epoch != lane->string_epoch)
        p = prefix_put(lane, p, RING_RECORD_EPOCH, now, epoch >> 32);
    lane->generation = generation;
    lane->string_epoch = epoch;
    lane->write = p;
    skein_commit_store(lane->committed, lane->commit_base + (uint64_t)(uintptr_t)p);
    skein_add64(&lane_cold->lost, (uint64_t)0 - lost);
    SKEIN_TEST_POINT("prefix_committed");
}

/* ---- events without an id: R-17 ---- */

static size_t text_bytes(const char *text)
{
    return text != NULL ? strnlen(text, SKEIN_NAME_MAX) : 0;
}

static uint8_t site_nargs(const struct skein_site *site)
{
    return site->nargs < SKEIN_ARGS_MAX ? site->nargs : SKEIN_ARGS_MAX;
}

static size_t inline_need(const struct skein_site *site)
{
    size_t need = 3 + 1 + text_bytes(site->name);
    for (uint8_t i = 0; i < site_nargs(site); i++)
        need += 2 + text_bytes(site->args[i].name);
    return need;
}

static uint8_t *text_put(uint8_t *p, const char *text)
{
    size_t bytes = text_bytes(text);
    p = skein_put_leb(p, bytes);
    if (bytes)
        memcpy(p, text, bytes);
    return p + bytes;
}

static uint8_t *inline_put(uint8_t *p, const struct skein_site *site)
{
    *p++ = site->klass;
    *p++ = site->group;
    *p++ = site_nargs(site);
    p = text_put(p, site->name);
    for (uint8_t i = 0; i < site_nargs(site); i++) {
        *p++ = site->args[i].type;
        p = text_put(p, site->args[i].name);
    }
    return p;
}

/* ---- opening a record ---- */

static bool lane_room(const struct skein_lane *lane, size_t need)
{
    return lane->committed != NULL && need <= (size_t)(lane->limit - lane->write);
}

/* The lane is held. On failure the record is counted and the lane still held. */
static struct skein_record lane_open(struct session *session, const struct skein_view *view,
                                     struct thread_cold *cold, struct skein_lane *lane,
                                     struct lane_cold *lane_cold, struct skein_site *site,
                                     size_t need)
{
    if (lane_cold->session != session) {
        lane_forget(lane, lane_cold);
        lane_cold->session = session;
    }
    lane->view = view;
    lane->stack_ticks = stack_ticks_of(view);
    need += PREFIX_NEED;
    uint64_t id = SKEIN_ID_END;
    /* Whether the event will have an id is known only once there is a chunk (EPOCH): one that has
     * none yet asks for the room to describe itself, too, or the segment is begun for nothing. */
    size_t more = site != NULL && !table_knows_site(session, site) ? inline_need(site) : 0;
    bool ready = lane_room(lane, need) ||
                 chunk_next(session, cold, lane, lane_cold, view, need + more) ||
                 (more && chunk_next(session, cold, lane, lane_cold, view, need));
    if (ready && site != NULL) {
        id = table_site_id(session, lane, site);
        if (!id) {
            need += inline_need(site);
            ready = lane_room(lane, need) || chunk_next(session, cold, lane, lane_cold, view, need);
        }
    }
    if (!ready) {
        lane_lose(session, lane_cold);
        return no_record;
    }
    lane_sync(lane, lane_cold, view,
              site != NULL && id ? id & ~(uint64_t)UINT32_MAX : lane->string_epoch);
    struct skein_record record = {
        .lane = lane, .id = (uint32_t)id, .now = now_after(lane, view), .gate = gate_of(view)};
    record.p = skein_put_leb(lane->write, id ? (uint32_t)id : RING_RECORD_INLINE);
    record.p = skein_put_leb(record.p, record.now - lane->last);
    if (!id)
        record.p = inline_put(record.p, site);
    return record;
}

/* One ring with its own view: the helper takes the view of a ring before away before it changes the
 * session; the lure is of no ring. */
static struct session *session_and_view(const struct skein_view **view)
{
    for (;;) {
        *view = session_view();
        struct session *session = session_current();
        if (*view == NULL || session == NULL || session_is_lure(*view))
            return NULL;
        if (*view == session_view())
            return session;
    }
}

void lane_forget(struct skein_lane *lane, struct lane_cold *lane_cold)
{
    lane->write = lane->limit = lane->soft_limit = NULL;
    lane->committed = NULL;
    lane_cold->session = NULL;
    lane_cold->chunk = lane_cold->claimed = NULL;
    lane_cold->place = NULL;
    lane_cold->settled = false;
    skein_store64(&lane_cold->lost, 0);
}

void lane_recover(struct skein_lane *lane, struct lane_cold *lane_cold)
{
    const struct session *session = session_current();
    table_recover(lane);
    if (lane_cold == NULL)
        return;
    if (session != NULL && lane_cold->session == session)
        chunk_recover(session, lane, lane_cold);
    else
        lane_forget(lane, lane_cold);
}

/* Takes the lane that code at `frame` may write to; NULL: none, a handler within a handler. */
static struct skein_lane *lane_choose(uint64_t frame)
{
    struct skein_lane *main = &skein_lane_tls;
    struct thread_cold *cold = main->cold;
    uint64_t busy = lane_busy(main);
    if (!busy || busy_is_stale(busy, frame)) {
        lane_take(main, frame);
        if (busy)
            lane_recover(main, cold != NULL ? &cold->lanes[LANE_MAIN] : NULL);
        return main;
    }
    if (cold == NULL)
        return NULL;
    struct skein_lane *lane = &cold->signal_lane;
    busy = lane_busy(lane);
    if (busy && !busy_is_stale(busy, frame))
        return NULL;
    lane_take(lane, frame);
    if (busy)
        lane_recover(lane, &cold->lanes[LANE_SIGNAL]);
    return lane;
}

/* The lane is held. Without a record it is let go. */
static struct skein_record lane_record(struct skein_lane *lane, struct skein_site *site,
                                       size_t need)
{
    struct skein_lane *main = &skein_lane_tls;
    struct skein_record record = no_record;
    const struct skein_view *view;
    struct session *session = session_and_view(&view);
    if (session != NULL) {
        struct thread_cold *cold = lane == main ? thread_cold_get() : main->cold;
        if (cold != NULL && lane == main)
            thread_slot_join(cold, session);
        if (cold != NULL)
            record = lane_open(session, view, cold, lane,
                               &cold->lanes[lane == main ? LANE_MAIN : LANE_SIGNAL], site, need);
        else
            loss_count(session, RING_LOSS_FULL);
    }
    if (record.p == NULL)
        lane_drop(lane);
    return record;
}

struct skein_record slow_record(struct skein_site *site, size_t need)
{
    int saved = errno;
    struct skein_record record = no_record;
    const struct skein_view *view = session_view();
    struct session *session = session_current();
    struct skein_lane *lane = lane_choose((uint64_t)(uintptr_t)__builtin_frame_address(0));
    struct thread_cold *cold = skein_lane_tls.cold;
    if (lane != NULL)
        record = lane_record(lane, site, need);
    else if (cold != NULL)
        lane_lose(session, &cold->lanes[LANE_SIGNAL]);
    else if (session != NULL)
        loss_count(session, RING_LOSS_SIGNAL);
    if (SKEIN_UNLIKELY(skein_load32(&attach_client_wanted)))
        attach_client_event();
    if (SKEIN_UNLIKELY(record.p == NULL && (session == NULL || session_is_lure(view))))
        session_miss(0);
    errno = saved;
    return record;
}

/* ---- ends ---- */

/* The lane that an event here would go to, without keeping it. */
static struct skein_lane *lane_peek(void)
{
    struct skein_lane *lane = &skein_lane_tls;
    if (!lane_busy(lane))
        return lane;
    lane = lane_choose((uint64_t)(uintptr_t)__builtin_frame_address(0));
    if (lane != NULL)
        lane_drop(lane);
    return lane;
}

void skein_slow_end(uint32_t depth)
{
    int saved = errno;
    struct skein_lane *lane = lane_peek();
    while (lane != NULL && depth && lane->depth >= depth) {
        const struct skein_view *view = session_view();
        struct skein_record record = no_record;
        if (view != NULL && session_current() != NULL && !session_is_lure(view))
            record = slow_record(NULL, SKEIN_RECORD_NEED + STACK_NEED);
        if (record.p != NULL && lane->depth <= SKEIN_OPEN_MAX &&
            record.now - lane->open[lane->depth - 1].start >= lane->stack_ticks)
            record.p = stack_record_put(lane, record.p, __builtin_frame_address(0));
        lane->depth--;
        if (record.p != NULL)
            skein_record_close(&record);
    }
    errno = saved;
}

void skein_end(void)
{
    struct skein_lane *main = &skein_lane_tls;
    struct skein_scope scope = {main->depth};
    if (!lane_busy(main)) {
        skein_scope_leave(&scope);
        return;
    }
    int saved = errno;
    struct skein_lane *lane = lane_peek();
    if (lane != NULL)
        skein_slow_end(lane->depth);
    errno = saved;
}

uint8_t *skein_put_sym_slow(const struct skein_lane *lane, uint8_t *p, struct skein_string *string)
{
    struct session *session = session_current();
    uint64_t id = session != NULL ? table_string_id(session, lane, string) : 0;
    if (id && (id ^ lane->string_epoch) <= UINT32_MAX)
        return skein_put_leb(p, (uint64_t)(uint32_t)id << 1);
    size_t bytes = string->text != NULL ? strnlen(string->text, SKEIN_NAME_MAX + 1) : 0;
    bool cut = bytes > SKEIN_NAME_MAX;
    if (cut)
        bytes = SKEIN_NAME_MAX;
    return skein_put_str(
        p, skein_field_of((uint64_t)(uintptr_t)string->text, cut ? bytes + SKEIN_STR_CUT : bytes));
}
