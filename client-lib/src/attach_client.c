/* SPDX-License-Identifier: Apache-2.0
 *
 * When the visitor comes, when it leaves, and what it takes along; see attach_client.h. Entered by
 * any thread of the program, also in signal handlers: one word is taken by CAS, never waited for
 * there. Nothing is ever started in a vfork child or in a child that the C library does not know of
 * (the pid differs). Keeps errno.
 */
#include "attach_client.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "placement.h"
#include "start.h"
#include "sys_raw.h"
#include "writer_int.h"

#define MS              INT64_C(1000000)
#define STACK_BYTES     16384
#define GONE_WAIT_NS    (2000 * MS) /* a visitor that is not gone then: the program goes on */
#define LOOK_NS         (5 * MS)
#define LOOKS_FIRST     8
#define SKIPS           4           /* events after a fork that are too near to it */
#define LATE_NS         (1000 * MS) /* so long due, it comes all the same: some fork all the time */
#define LEAVE_MS        50          /* who counts its threads has read the number by then */
#define POSTPONED_MOST  40          /* two seconds of that at most */
#define HAND_WAIT_NS    (20 * MS)
#define HEALTH_EVERY_MS 50 /* the same heartbeat within this time is not sent again */

/* The visitor shares everything and the C library does not know it; its end clears the tid. */
#define CLONE_FLAGS                                                                                \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |            \
     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

static uint8_t stack[STACK_BYTES] __attribute__((aligned(64)));
static struct visit_request requests[VISIT_REQUESTS];
uint32_t attach_client_wanted BESIDE_DATA, attach_client_barred BESIDE_DATA,
    attach_client_child_barred BESIDE_DATA;

/* What changes. All atomic. */
static struct {
    uint32_t asked;    /* recording is on */
    uint32_t starting; /* a thread makes the visitor */
    uint32_t holds;    /* how many threads want none */
    uint32_t own_pid, young;
    uint32_t looks;        /* at the clock, up to LOOKS_FIRST */
    uint64_t due_ns;       /* when it may come; coarse monotonic clock */
    uint32_t postponed;    /* so often since it was here */
    uint64_t waited_ns;    /* by threads of the program, until it had attached; atomic */
    void (*prepare)(void); /* still to be called; or NULL */
    /* {milliseconds:32, what was said:32} of the last heartbeat sent; 0: none to this agent.
     * Threads that disagree may leave the word of the one that was overtaken here; then the other's
     * next heartbeat is held back for HEALTH_EVERY_MS, no longer. */
    uint64_t health_told;
    struct visit visit;
} desk BESIDE_DATA;

/* Of the thread that forks: it has held for the time of the fork; events to let pass. */
static __thread bool fork_held __attribute__((tls_model("initial-exec")));
static __thread uint32_t skips __attribute__((tls_model("initial-exec")));

static uint32_t slot_load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void slot_store(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* The kernel's pages for clock_gettime() are not mapped yet in a process that has not asked for the
 * time: a few system calls cost less than its first look at them. */
static uint64_t coarse_ns(void)
{
    struct timespec now = {0, 0};
    if (skein_load32(&desk.looks) < LOOKS_FIRST) {
        skein_store32(&desk.looks, skein_load32(&desk.looks) + 1);
        return raw_clock_ns(CLOCK_MONOTONIC_COARSE);
    }
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- coming ---- */

static void slot_want_in(uint64_t ns)
{
    skein_store64(&desk.due_ns, coarse_ns() + ns);
    session_lure();
    if (!slot_load(&attach_client_wanted))
        slot_store(&attach_client_wanted, 1);
}

static bool may_come(void)
{
    return slot_load(&desk.asked) && !slot_load(&desk.holds) && !attach_client_is_barred() &&
           !slot_load(&desk.visit.tid) && !slot_load(&desk.visit.impossible) &&
           session_control_init() == SKEIN_OK;
}

/* The visitor inherits the signal mask: it is full before there is one. It sleeps until come_ns, on
 * the coarse monotonic clock. */
static bool visitor_start(uint64_t come_ns)
{
    uint64_t all = UINT64_MAX, before;
    uint32_t none = 0;
    long made = -1;
    if (raw_getpid() !=
        desk.own_pid) /* a vfork child that is killed here leaves its parent a word */
        return false;
    (void)RAW4(SYS_rt_sigprocmask, SIG_BLOCK, RAW_POINTER(&all), RAW_POINTER(&before), 8);
    if (__atomic_compare_exchange_n(&desk.starting, &none, 1, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
        if (may_come()) {
            slot_store(&attach_client_wanted, 0);
            if (session_missed_ns()) /* else it is to be seen what comes before the ring */
                session_unlure();
            slot_store(&desk.visit.order, VISIT_STAY);
            desk.visit.requests = requests;
            skein_store64(&desk.visit.come_ns, come_ns);
            if (desk.prepare != NULL)
                desk.prepare();
            desk.prepare = NULL;
            made = raw_thread(CLONE_FLAGS, stack + sizeof stack, &desk.visit.tid, visitor_run,
                              &desk.visit);
            if (made < 0) {
                slot_store(&desk.visit.tid, 0);
                slot_want_in(ATTACH_AWAY_MS * (uint64_t)MS);
            }
        }
        slot_store(&desk.starting, 0);
    }
    (void)RAW4(SYS_rt_sigprocmask, SIG_SETMASK, RAW_POINTER(&before), 0, 8);
    return made > 0;
}

/* Until it may come; below 0: since then. */
static int64_t due_left(void)
{
    return (int64_t)(skein_load64(&desk.due_ns) - coarse_ns());
}

int64_t attach_client_due_ns(void)
{
    if (!skein_load32(&attach_client_wanted))
        return -1;
    int64_t left = due_left();
    return left > 0 ? left : 0;
}

void attach_client_event(void)
{
    if (!skein_load32(&attach_client_wanted))
        return;
    int64_t left = due_left();
    if (left > 0)
        return;
    if (skips && left > -LATE_NS)
        skips--;
    else
        (void)visitor_start(0);
}

void attach_client_block(int64_t ns)
{
    int64_t due = attach_client_due_ns();
    if (due >= 0 && ns > due && session_current() == NULL)
        (void)visitor_start(0);
}

void attach_client_ahead(int64_t ns)
{
    int64_t due = attach_client_due_ns();
    if (due >= 0 && ns > due && session_current() == NULL)
        (void)visitor_start(raw_clock_ns(CLOCK_MONOTONIC_COARSE) + (uint64_t)due);
}

/* One that sleeps still. */
static void visitor_hurry(void)
{
    if (!slot_load(&desk.visit.tid) || !skein_load64(&desk.visit.come_ns))
        return;
    skein_store64(&desk.visit.come_ns, 0);
    visitor_ring(&desk.visit);
}

/* Of a text that fits. What is left of a longer one before it goes to the agent as well: it is
 * cleared. */
static void text_set(char *to, size_t bytes, const char *from)
{
    size_t n = 0;
    for (; from[n]; n++)
        to[n] = from[n];
    for (; n < bytes && to[n]; n++)
        to[n] = 0;
}

static void settings_set(struct visit_settings *to, const struct start_settings *from)
{
    text_set(to->service, sizeof to->service, from->service);
    text_set(to->labels, sizeof to->labels, from->labels);
    text_set(to->socket_path, sizeof to->socket_path, from->socket_path);
    to->ring_bytes = from->ring_bytes;
    to->mode = (uint8_t)from->mode;
    to->is_service = from->is_service;
}

int attach_client_start(const struct start_settings *settings)
{
    const unsigned young_ms = settings->young_ms;
    if (slot_load(&desk.asked))
        return SKEIN_OK;
    desk.own_pid = raw_getpid();
    settings_set(&desk.visit.settings, settings);
    desk.young = young_ms;
    desk.prepare = settings->prepare;
    if (!young_ms && session_control_init() < 0)
        return SKEIN_NO_MEMORY;
    slot_store(&desk.asked, 1);
    slot_want_in((uint64_t)young_ms * (uint64_t)MS);
    if (young_ms || attach_client_is_barred() || visitor_start(0) || slot_load(&desk.visit.tid))
        return SKEIN_OK;
    return SKEIN_AGAIN;
}

bool attach_client_asked(void)
{
    return skein_load32(&desk.asked) && !attach_client_is_barred();
}

static int attached_await(uint64_t timeout_ns, bool one_try)
{
    uint64_t until = raw_clock_ns(CLOCK_MONOTONIC) + timeout_ns, now;
    uint32_t before = slot_load(&desk.visit.tried);
    if (!skein_attached()) {
        (void)visitor_start(0);
        visitor_hurry();
    }
    for (;;) {
        uint32_t tried = slot_load(&desk.visit.tried);
        if (skein_attached())
            return SKEIN_OK;
        if ((now = raw_clock_ns(CLOCK_MONOTONIC)) >= until || slot_load(&desk.visit.impossible) ||
            (one_try && (tried != before || !slot_load(&desk.visit.tid))))
            return SKEIN_TIMEOUT;
        (void)raw_futex_wait(&desk.visit.tried, tried, until - now, 0);
    }
}

int attach_client_wait(unsigned timeout_ms)
{
    return attached_await((uint64_t)timeout_ms * (uint64_t)MS, false);
}

int attach_client_now(void)
{
    const uint64_t most = ATTACH_NOW_MS * (uint64_t)MS, waited = skein_load64(&desk.waited_ns);
    uint64_t before = raw_clock_ns(CLOCK_MONOTONIC);
    int status = attached_await(waited < most ? most - waited : 0, true);
    skein_store64(&desk.waited_ns, waited + raw_clock_ns(CLOCK_MONOTONIC) - before);
    return status;
}

/* ---- leaving ---- */

/* Waits until the visitor of this tid is no thread of the process any more. */
static void gone_wait(uint32_t tid)
{
    uint64_t until = raw_clock_ns(CLOCK_MONOTONIC) + (uint64_t)GONE_WAIT_NS;
    while (slot_load(&desk.visit.tid) == tid && raw_clock_ns(CLOCK_MONOTONIC) < until)
        (void)raw_futex_wait(&desk.visit.tid, tid, (uint64_t)LOOK_NS, 1);
    /* The word is cleared before the kernel takes the thread out of its lists. */
    unsigned steps = 0;
    while (RAW3(SYS_tgkill, desk.own_pid, tid, 0) == 0 && raw_clock_ns(CLOCK_MONOTONIC) < until)
        raw_step_aside(&steps);
}

/* Its tid; 0: none. A child that clone() made may have been copied while another thread of its
 * parent made the visitor: in the child nobody will have made it. */
static uint32_t visitor_here(void)
{
    unsigned steps = 0;
    if ((!slot_load(&desk.starting) && !slot_load(&desk.visit.tid)) || raw_getpid() != desk.own_pid)
        return 0;
    while (slot_load(&desk.starting))
        raw_step_aside(&steps);
    return slot_load(&desk.visit.tid);
}

/* Whoever looks for threads all the time is visited in the end. */
static void coming_postpone(unsigned ms)
{
    if (!ms || attach_client_is_barred()) /* the clock may be deadly to look at */
        return;
    uint64_t due_ns = coarse_ns() + ms * (uint64_t)MS;
    uint32_t times = skein_load32(&desk.postponed);
    if (slot_load(&attach_client_wanted) && skein_load64(&desk.due_ns) < due_ns &&
        times < POSTPONED_MOST) {
        skein_store32(&desk.postponed, times + 1);
        skein_store64(&desk.due_ns, due_ns);
    }
}

/* Sends the visitor away; it may come when nobody holds it, and not before least_ms. */
static void hold(unsigned least_ms)
{
    __atomic_fetch_add(&desk.holds, 1, __ATOMIC_SEQ_CST);
    uint32_t tid = visitor_here();
    if (tid == 0) {
        coming_postpone(least_ms);
        return;
    }
    skein_store32(&desk.postponed, 0);
    visitor_order(&desk.visit, VISIT_LEAVE);
    gone_wait(tid);
    skein_store64(&desk.health_told, 0);
    unsigned away_ms = session_current() != NULL ? ATTACH_AWAY_MS : desk.young;
    if (slot_load(&desk.asked) && !attach_client_is_barred())
        slot_want_in((away_ms > least_ms ? away_ms : least_ms) * (uint64_t)MS);
}

void attach_client_hold(void)
{
    hold(0);
}

void attach_client_release(void)
{
    __atomic_fetch_sub(&desk.holds, 1, __ATOMIC_SEQ_CST);
}

void attach_client_leave(void)
{
    hold(LEAVE_MS);
    attach_client_release();
}

void attach_client_stop(void)
{
    if (attach_client_is_barred() || (raw_getpid() == desk.own_pid && slot_load(&desk.asked)))
        session_detach();
    attach_client_end();
}

void attach_client_end(void)
{
    if (attach_client_is_barred()) /* the visitor is gone, and system calls may be deadly */
        return;
    if (raw_getpid() != desk.own_pid || !slot_load(&desk.asked))
        return;
    slot_store(&desk.asked, 0);
    slot_store(&attach_client_wanted, 0);
    session_unlure();
    uint32_t tid = visitor_here();
    if (tid == 0)
        return;
    visitor_order(&desk.visit, VISIT_BYE);
    gone_wait(tid);
}

/* Whether this is a child that shares its parent's memory, as after vfork(), and whose end the
 * kernel tells nobody by a word of memory. */
static bool is_borrower(void)
{
    const void *word = NULL;
    return raw_getpid() != desk.own_pid &&
           RAW2(SYS_prctl, PR_GET_TID_ADDRESS, RAW_POINTER(&word)) == 0 && word == NULL;
}

bool attach_client_is_borrower(void)
{
    return desk.own_pid != 0 && raw_getpid() != desk.own_pid;
}

/* The kernel clears the word when the child leaves the memory to its parent, by exec or its end. */
static void child_bar(uint32_t barred)
{
    (void)RAW1(SYS_set_tid_address, barred ? RAW_POINTER(&attach_client_child_barred) : 0);
    slot_store(&attach_client_child_barred, barred);
}

bool attach_client_bar(void)
{
    if (attach_client_is_barred())
        return false; /* who asks the kernel for its pid may be killed for it */
    bool child = is_borrower();
    if (!child && slot_load(&desk.asked) && session_current() == NULL &&
        !slot_load(&desk.visit.impossible)) {
        attach_client_release();
        (void)attach_client_now();
        attach_client_hold();
    }
    thread_cold_prepare();
    if (child) {
        child_bar(1);
    } else {
        slot_store(&attach_client_barred, 1);
        slot_store(&attach_client_wanted, 0);
        session_unlure();
    }
    if (!session_clock_is_tsc())
        session_detach(); /* on some machines each look at the clock is a system call */
    return true;
}

void attach_client_unbar(void)
{
    if (slot_load(&attach_client_child_barred)) {
        child_bar(0);
        return;
    }
    slot_store(&attach_client_barred, 0);
    if (slot_load(&desk.asked))
        slot_want_in(ATTACH_AWAY_MS * (uint64_t)MS);
}

/* ---- fork ---- */

/* Without a visitor there is nothing to hold: one that another thread lets in now is no harm. In a
 * process that only forks nothing is written here: a page that is not written is not copied. */
void attach_client_fork_before(void)
{
    if (!slot_load(&desk.visit.tid))
        return;
    fork_held = true;
    attach_client_hold();
}

void attach_client_fork_parent(void)
{
    if (skips != SKIPS)
        skips = SKIPS;
    if (!fork_held)
        return;
    fork_held = false;
    attach_client_release();
}

static void slot_reset(uint32_t *word)
{
    if (slot_load(word))
        slot_store(word, 0);
}

void attach_client_fork_child(void)
{
    slot_reset(&desk.visit.tid);
    slot_reset(&desk.visit.connected);
    slot_reset(&desk.starting);
    slot_reset(&desk.holds);
    for (int i = 0; desk.visit.tickets && i < VISIT_REQUESTS; i++)
        slot_reset(&requests[i].state);
    if (desk.health_told)
        desk.health_told = 0;
    if (desk.waited_ns)
        desk.waited_ns = 0;
    if (desk.visit.settings.is_service)
        desk.visit.settings.is_service = 0;
    if (skips)
        skips = 0;
    if (fork_held)
        fork_held = false;
    slot_reset(&desk.looks);
    if (session_missed_ns())
        session_missed_clear();
    if (!slot_load(&desk.asked) || attach_client_is_barred()) {
        slot_reset(&attach_client_wanted);
        return;
    }
    desk.own_pid = raw_getpid();
    slot_want_in(ATTACH_YOUNG_MS * (uint64_t)MS);
}

/* ---- requests ---- */

/* Whether somebody takes requests, or would come for one. */
static bool agent_is_near(void)
{
    return slot_load(&desk.visit.connected) ||
           (session_current() != NULL && skein_load32(&attach_client_wanted) &&
            !slot_load(&desk.visit.tid));
}

static struct visit_request *request_take(void)
{
    for (int i = 0; i < VISIT_REQUESTS; i++) {
        uint32_t none = REQUEST_FREE;
        if (__atomic_compare_exchange_n(&requests[i].state, &none, REQUEST_FILLING, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return &requests[i];
    }
    return NULL;
}

static int request_await(struct visit_request *r)
{
    uint64_t until = raw_clock_ns(CLOCK_MONOTONIC) + (uint64_t)HAND_WAIT_NS, now;
    uint32_t state;
    unsigned steps = 0;
    while ((state = slot_load(&r->state)) != REQUEST_DONE) {
        uint32_t ready = REQUEST_READY;
        if ((now = raw_clock_ns(CLOCK_MONOTONIC)) < until)
            (void)raw_futex_wait(&r->state, state, until - now, 0);
        else if (__atomic_compare_exchange_n(&r->state, &ready, REQUEST_FREE, false,
                                             __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return SKEIN_AGAIN;
        else
            raw_step_aside(&steps); /* being sent this moment */
    }
    int result = r->result;
    __atomic_store_n(&r->state, REQUEST_FREE, __ATOMIC_RELEASE);
    return result;
}

static int request_hand(const void *packet, size_t bytes, bool awaited)
{
    if (raw_getpid() != desk.own_pid || !agent_is_near())
        return SKEIN_CLOSED;
    struct visit_request *r = request_take();
    if (r == NULL)
        return SKEIN_AGAIN;
    memcpy(&r->packet, packet, bytes);
    r->bytes = (uint32_t)bytes;
    r->awaited = awaited;
    r->ticket = skein_add32(&desk.visit.tickets, 1);
    slot_store(&r->state, REQUEST_READY);
    if (!slot_load(&desk.visit.tid))
        (void)visitor_start(0);
    visitor_ring(&desk.visit);
    return awaited ? request_await(r) : SKEIN_OK;
}

int attach_client_snapshot(const char *reason)
{
    int saved = errno;
    struct attach_snapshot request = {.head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_SNAPSHOT}};
    if (reason != NULL)
        memcpy(request.reason, reason, strnlen(reason, sizeof request.reason - 1));
    int status = request_hand(&request, sizeof request, true);
    errno = saved;
    return status;
}

/* FNV-1a of what a heartbeat says. */
static uint32_t health_hash(const struct attach_health *health)
{
    uint32_t hash = (UINT32_C(2166136261) ^ health->ok) * UINT32_C(16777619);
    for (const char *c = health->why; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT32_C(16777619);
    return hash;
}

int attach_client_health(bool ok, const char *why)
{
    struct attach_health health = {.head = {ATTACH_MAGIC, ATTACH_VERSION, ATTACH_HEALTH}, .ok = ok};
    if (why != NULL)
        memcpy(health.why, why, strnlen(why, sizeof health.why - 1));
    uint32_t now_ms = (uint32_t)(raw_clock_ns(CLOCK_MONOTONIC) / 1000000u);
    uint64_t told = skein_load64(&desk.health_told),
             telling = (uint64_t)now_ms << 32 | health_hash(&health);
    if (!agent_is_near())
        return SKEIN_CLOSED;
    if (told && (uint32_t)told == (uint32_t)telling &&
        now_ms - (uint32_t)(told >> 32) < HEALTH_EVERY_MS)
        return SKEIN_OK;
    if (!(skein_load32(&desk.visit.takes) & ATTACH_TAKES_HEALTH))
        return SKEIN_UNSUPPORTED;
    int status = request_hand(&health, sizeof health, false);
    skein_store64(&desk.health_told, status == SKEIN_OK ? telling : 0);
    return status;
}
