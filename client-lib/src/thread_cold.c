/* SPDX-License-Identifier: Apache-2.0
 *
 * What a traced thread has beside its lane: owns the pool of cold halves, a thread's slot in the
 * ring, and its end. Entered by the thread itself only, with the main lane held. Never uses malloc:
 * the first event of a thread may come from a signal handler. The pool has room for 64 threads at
 * once before it maps more, so that a thread that lives for a millisecond costs no mapping, and
 * none is needed where the program has given up mmap().
 */
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "attach_client.h"
#include "placement.h"
#include "sys_raw.h"
#include "writer_int.h"

#define SLOT_LIVE    1
#define SLOT_RETIRED 2

__thread struct skein_lane skein_lane_tls
    __attribute__((tls_model("initial-exec"))) = {.gate = SKEIN_GATE_CLOSED};

static pthread_key_t exit_key BESIDE_DATA;
static bool exit_key_made BESIDE_DATA;

/* Of a thread that ends. */
static __thread bool thread_is_over __attribute__((tls_model("initial-exec")));
static __thread uint8_t end_rounds __attribute__((tls_model("initial-exec")));

/* Cold halves and who has one. Slabs are added, never given back: a program that once had a
 * thousand threads at a time will have them again. Signal-safe, also while another thread is
 * between any two steps. */
#define SLAB_COLDS 64
struct slab {
    void *next;     /* POOL; a struct slab */
    uint64_t taken; /* POOL; bit n: colds[n] is some thread's */
    struct thread_cold colds[SLAB_COLDS];
};
static struct slab first_slab;

/* A free one of the slab; NULL: none. */
static struct thread_cold *slab_claim(struct slab *slab)
{
    uint64_t taken = skein_load64(&slab->taken);
    while (~taken) {
        unsigned i = (unsigned)__builtin_ctzll(~taken);
        if (skein_pool_take(&slab->taken, &taken, UINT64_C(1) << i))
            return &slab->colds[i];
    }
    return NULL;
}

/* Zeroed. NULL without memory. */
static struct thread_cold *cold_claim(void)
{
    struct slab *slab = &first_slab, *next;
    struct thread_cold *cold;
    while ((cold = slab_claim(slab)) == NULL && (next = skein_pool_next(&slab->next)) != NULL)
        slab = next;
    if (cold != NULL) {
        memset(cold, 0, sizeof *cold);
        return cold;
    }
    if (attach_client_is_barred())
        return NULL;
    void *pages =
        raw_mmap(NULL, sizeof *slab, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (pages == NULL)
        return NULL;
    SKEIN_TEST_POINT("slab_mapped");
    struct slab *made = pages;
    made->taken = 1;
    /* Behind the last: another thread, or a handler on this one, may be adding one too. */
    while (!skein_pool_append(&slab->next, made))
        slab = skein_pool_next(&slab->next);
    return &made->colds[0];
}

static struct slab *slab_of(const struct thread_cold *cold)
{
    struct slab *slab = &first_slab;
    while (slab != NULL && (cold < slab->colds || cold >= slab->colds + SLAB_COLDS))
        slab = skein_pool_next(&slab->next);
    return slab;
}

static void cold_release(struct thread_cold *cold)
{
    struct slab *slab = slab_of(cold);
    skein_pool_leave(&slab->taken, UINT64_C(1) << (cold - slab->colds));
}

/* In a fork child: the parent's other threads are not here. */
static void cold_release_others(const struct thread_cold *own)
{
    for (struct slab *slab = &first_slab; slab != NULL; slab = skein_pool_next(&slab->next)) {
        bool has = own >= slab->colds && own < slab->colds + SLAB_COLDS;
        uint64_t taken = has ? UINT64_C(1) << (own - slab->colds) : 0;
        if (skein_load64(&slab->taken) != taken) /* else its page would be copied */
            skein_store64(&slab->taken, taken);
    }
}

/* Name words one by one, so that a reader in another thread races with no plain store. */
static void slot_name(struct ring_slot *slot, const char name[32])
{
    uint64_t words[4];
    memcpy(words, name, sizeof words);
    for (size_t i = 0; i < 4; i++)
        skein_store64((uint64_t *)(void *)(slot->name + 8 * i), words[i]);
}

static void slot_leave(struct thread_cold *cold, struct session *session)
{
    struct ring_slot *slot = cold->slot;
    if (slot == NULL || cold->slot_session != session)
        return;
    skein_slot_store64(&slot->op_start, 0);
    skein_slot_store32(&slot->state, SLOT_RETIRED);
    SKEIN_TEST_POINT("slot_retired");
    cold->slot = NULL;
    skein_slot_store8(&session->slot_taken[cold->slot_index], 0);
}

/* torn: a handler jumped out of a record of it. */
static void lane_leave(struct session *session, struct skein_lane *lane,
                       struct lane_cold *lane_cold, bool torn)
{
    if (torn)
        lane_recover(lane, lane_cold);
    else if (session != NULL && lane_cold->session == session) /* else not ours to touch */
        chunk_leave(session, lane, lane_cold);
}

static void cold_leave(struct thread_cold *cold)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct skein_lane *main = &skein_lane_tls;
    bool torn = lane_busy(main), signal_torn = lane_busy(&cold->signal_lane);
    lane_take(main, frame);
    lane_take(&cold->signal_lane, frame);
    struct session *session = session_current();
    lane_leave(session, main, &cold->lanes[LANE_MAIN], torn);
    lane_leave(session, &cold->signal_lane, &cold->lanes[LANE_SIGNAL], signal_torn);
    if (session != NULL)
        slot_leave(cold, session);
    main->cold = NULL; /* from here on handlers count in the ring's header */
    skein_signal_fence();
    cold_release(cold);
    main->open = NULL;
    main->depth = 0;
    SKEIN_TEST_POINT("thread_left");
    lane_drop(main);
}

/* Key destructor. A handler that comes here finds both lanes held and its event is counted as lost;
 * one that comes after, like a later destructor, makes the thread a new cold half, until the next
 * round of destructors finds that none has: then nobody would hear of the end of another. */
static void thread_leave(void *context)
{
    thread_is_over = true;
    skein_signal_fence();
    struct thread_cold *cold = skein_lane_tls.cold;
    if (cold != NULL)
        cold_leave(cold);
    else if (context != &exit_key)
        cold_release(context); /* a handler jumped away before it was the thread's */
    if (cold != NULL && ++end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
        !pthread_setspecific(exit_key, &exit_key))
        thread_is_over = false;
}

int thread_cold_init(void)
{
    if (exit_key_made)
        return SKEIN_OK;
    if (pthread_key_create(&exit_key, thread_leave))
        return SKEIN_AGAIN;
    exit_key_made = true;
    return SKEIN_OK;
}

struct thread_cold *thread_cold_get(void)
{
    struct skein_lane *main = &skein_lane_tls;
    if (main->cold != NULL)
        return main->cold;
    struct thread_cold *cold = thread_is_over ? NULL : cold_claim();
    if (cold == NULL)
        return NULL;
    if (!attach_client_is_barred()) {
        cold->tid = (uint32_t)RAW0(SYS_gettid);
        (void)RAW2(SYS_prctl, PR_GET_NAME, RAW_POINTER(cold->name));
    }
    cold->lanes[LANE_SIGNAL].flags = RING_SEGMENT_SIGNAL;
    cold->signal_lane.open = cold->lanes[LANE_SIGNAL].open;
    cold->signal_lane.cold = cold;
    cold->signal_lane.gate = SKEIN_GATE_CLOSED;
    main->open = cold->lanes[LANE_MAIN].open;
    /* Before anybody can use it: a handler may jump away. Signal-safe in practice for the low keys
     * that a library made at start gets; where it fails, only the thread's end goes unnoticed. */
    if (exit_key_made)
        pthread_setspecific(exit_key, cold);
    skein_signal_fence();
    main->cold = cold;
    return cold;
}

static uint32_t slot_find(struct session *session)
{
    uint32_t count = session->geometry.slots;
    uint32_t start = skein_load32(&session->slot_hint);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t i = (start + n) % count;
        if (skein_slot_take8(&session->slot_taken[i])) {
            skein_store32(&session->slot_hint, (i + 1) % count);
            return i;
        }
    }
    return RING_SLOT_NONE;
}

void thread_slot_join(struct thread_cold *cold, struct session *session)
{
    bool first = cold->slot_session != session;
    if (!first && cold->slot != NULL)
        return;
    uint32_t i = slot_find(session);
    if (i == RING_SLOT_NONE && !first)
        return;
    cold->slot_session = NULL;
    skein_signal_fence();
    cold->slot = NULL;
    cold->slot_index = i;
    cold->lanes[LANE_MAIN].sequence = 0;
    cold->lanes[LANE_SIGNAL].sequence = 0;
    if (i == RING_SLOT_NONE) {
        cold->incarnation = skein_add32(&session->slotless, 1);
    } else {
        struct ring_slot *slot =
            (struct ring_slot *)(void *)(session->base + session->geometry.slots_off) + i;
        cold->incarnation = skein_load32(&slot->incarnation) + 1;
        skein_store32(&slot->incarnation, cold->incarnation);
        skein_store32(&slot->tid, cold->tid);
        skein_slot_store64(&slot->op_start, 0);
        slot_name(slot, cold->name);
        SKEIN_TEST_POINT("slot_filled");
        skein_slot_store32(&slot->state, SLOT_LIVE);
        SKEIN_TEST_POINT("slot_live");
        cold->slot = slot;
    }
    skein_signal_fence();
    cold->slot_session = session;
}

/* A lane that is busy is left as it is: its record goes on below the handler that forked, and needs
 * all of it. The session that comes is another one. */
static void lane_child_reset(struct skein_lane *lane, struct lane_cold *lane_cold)
{
    if (lane_busy(lane))
        return;
    lane->gate = SKEIN_GATE_CLOSED;
    lane_forget(lane, lane_cold);
}

bool thread_child_reset(void)
{
    struct skein_lane *main = &skein_lane_tls;
    struct thread_cold *cold = main->cold;
    bool torn = lane_busy(main);
    if (torn && cold == NULL)
        return true; /* it is just getting one, or giving it back */
    cold_release_others(cold);
    if (cold == NULL)
        return false;
    lane_child_reset(main, &cold->lanes[LANE_MAIN]);
    lane_child_reset(&cold->signal_lane, &cold->lanes[LANE_SIGNAL]);
    torn |= lane_busy(&cold->signal_lane) != 0;
    if (!attach_client_is_barred())
        cold->tid = (uint32_t)RAW0(SYS_gettid);
    cold->slot_session = NULL;
    cold->slot = NULL;
    cold->op_frame = 0;
    cold->op_session = NULL;
    cold->op_slot = NULL;
    return torn;
}

void skein_thread_name(const char *name)
{
    struct skein_lane *main = &skein_lane_tls;
    if (name == NULL || lane_busy(main))
        return;
    lane_take(main, (uint64_t)(uintptr_t)__builtin_frame_address(0));
    struct thread_cold *cold = thread_cold_get();
    if (cold != NULL) {
        char padded[32] = {0};
        memcpy(padded, name, strnlen(name, sizeof padded - 1));
        memcpy(cold->name, padded, sizeof padded);
        if (cold->slot != NULL && cold->slot_session == session_current())
            slot_name(cold->slot, padded);
    }
    lane_drop(main);
    if (skein_load32(&attach_client_wanted))
        attach_client_event();
}

void thread_cold_prepare(void)
{
    struct skein_lane *main = &skein_lane_tls;
    struct session *session = session_current();
    if (session == NULL || lane_busy(main))
        return;
    lane_take(main, (uint64_t)(uintptr_t)__builtin_frame_address(0));
    struct thread_cold *cold = main->cold;
    if (cold != NULL || (cold = thread_cold_get()) != NULL)
        thread_slot_join(cold, session);
    lane_drop(main);
}
