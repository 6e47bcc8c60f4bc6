/* SPDX-License-Identifier: Apache-2.0
 *
 * The attached ring and its publication: owns the control page, the mappings of ring and agent
 * pages, and the session objects. session_attach and session_detach are the helper thread's (or a
 * test's); the readers are every traced thread. Never unmaps what a thread may still hold: a thread
 * can be descheduled between looking at the control page and writing its record, for as long as it
 * likes, so the pages of an agent that is gone (a few KiB a restart) and a ring that its successor
 * did not take over stay mapped for the life of the process.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer_int.h"

_Static_assert(offsetof(struct skein_view, enabled) == offsetof(struct process_page, enabled), "");
_Static_assert(offsetof(struct skein_view, threshold_ns) ==
                   offsetof(struct process_page, threshold_ns),
               "the view is the process page");
_Static_assert(offsetof(struct skein_view, host_magic) == SKEIN_VIEW_HOST_OFFSET, "then a gap");
_Static_assert(offsetof(struct skein_view, clock) ==
                   SKEIN_VIEW_HOST_OFFSET + offsetof(struct host_page, clock),
               "then the host page");
_Static_assert(offsetof(struct skein_view, generation) ==
                   SKEIN_VIEW_HOST_OFFSET + offsetof(struct host_page, generation),
               "");
_Static_assert(SKEIN_CLOCK_TSC == RING_CLOCK_TSC && SKEIN_ID_END == RING_RECORD_END, "");

static struct skein_control control_none; /* before the page exists: off */
struct skein_control *skein_control_page = &control_none;

/* What a fork child sees as its view until its first event: every group on, and no session. */
static struct skein_view child_lure;
static void (*child_wake)(void);
static sigset_t child_mask;

static void *pages_new(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

int session_control_init(void)
{
    if (skein_control_page != &control_none)
        return SKEIN_OK;
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = pages_new(bytes);
    if (!page)
        return SKEIN_NO_MEMORY;
    if (madvise(page, bytes, MADV_WIPEONFORK)) {
        munmap(page, bytes); /* without it a child would write into its parent's ring */
        return SKEIN_NO_MEMORY;
    }
    skein_control_page = page;
    return SKEIN_OK;
}

struct session *session_current(void)
{
    return skein_session_load(&skein_control_page->session);
}

static void gate_open(const struct skein_view *view)
{
    skein_gate_store(&skein_control_page->gate, (uint64_t)(uintptr_t)view + 1);
}

static void gate_shut(void)
{
    skein_gate_store(&skein_control_page->gate, 0);
}

const struct skein_view *session_view(void)
{
    uint64_t gate = skein_gate_load(&skein_control_page->gate);
    return gate ? skein_gate_view(gate) : NULL;
}

/* ---- checks: the agent may be of another version, or not an agent ---- */

static bool fd_sealed(int fd, uint64_t *bytes, struct stat *st)
{
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, st) || st->st_size < 0)
        return false;
    *bytes = (uint64_t)st->st_size;
    return true;
}

/* Maps the process page and the host page at their places in one reserved stretch. */
static const struct skein_view *view_map(int process_fd, int host_fd)
{
    struct stat st;
    uint64_t process_bytes, host_bytes;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!fd_sealed(process_fd, &process_bytes, &st) || !fd_sealed(host_fd, &host_bytes, &st) ||
        process_bytes < sizeof(struct process_page) || host_bytes < sizeof(struct host_page))
        return NULL;
    size_t span = SKEIN_VIEW_HOST_OFFSET + page;
    uint8_t *base = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    void *process = mmap(base, page, PROT_READ, MAP_SHARED | MAP_FIXED, process_fd, 0);
    void *host =
        mmap(base + SKEIN_VIEW_HOST_OFFSET, page, PROT_READ, MAP_SHARED | MAP_FIXED, host_fd, 0);
    const struct skein_view *view = (const struct skein_view *)(const void *)base;
    if (process != MAP_FAILED && host != MAP_FAILED && view->process_magic == PROCESS_PAGE_MAGIC &&
        view->process_version == RING_VERSION && view->host_magic == HOST_PAGE_MAGIC &&
        view->host_version == RING_VERSION &&
        (view->clock == RING_CLOCK_TSC || view->clock == RING_CLOCK_MONOTONIC))
        return view;
    munmap(base, span);
    return NULL;
}

static void view_unmap(const struct skein_view *view)
{
    munmap((void *)(uintptr_t)view, SKEIN_VIEW_HOST_OFFSET + (size_t)sysconf(_SC_PAGESIZE));
}

static bool header_matches(const struct ring_header *h, const struct ring_geometry *g)
{
    return h->magic == RING_MAGIC && h->version == RING_VERSION && h->buffering_mode == g->mode &&
           h->total_size == g->total && h->durable_buffer_size == g->durable &&
           h->rolling_buffer_size == g->rolling;
}

/* Maps the ring. Returns SKEIN_OK, SKEIN_INVALID or SKEIN_NO_MEMORY; *session is filled on success.
 */
static int ring_map(int fd, struct session *session)
{
    struct stat st;
    uint64_t bytes;
    if (!fd_sealed(fd, &bytes, &st) || bytes < RING_BYTES_MIN || bytes > RING_BYTES_MAX)
        return SKEIN_INVALID;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return SKEIN_NO_MEMORY;
    session->base = base;
    session->header = base;
    session->device = (uint64_t)st.st_dev;
    session->inode = (uint64_t)st.st_ino;
    if (ring_geometry_init(&session->geometry, session->header->buffering_mode, bytes) ||
        !header_matches(session->header, &session->geometry)) {
        munmap(base, bytes);
        return SKEIN_INVALID;
    }
    return SKEIN_OK;
}

static void process_record_fill(const struct session *session, const struct skein_view *view,
                                const char *service)
{
    struct ring_process_record *record =
        (struct ring_process_record *)(void *)(session->base + session->geometry.process_off);
    record->clock = view->clock;
    record->shift = view->shift;
    record->slots = session->geometry.slots;
    record->start_ticks = ticks_now(view);
    memset(record->service, 0, sizeof record->service);
    memcpy(record->service, service, strnlen(service, sizeof record->service - 1));
    record->pid = (uint32_t)getpid();
    SKEIN_TEST_POINT("process_record_filled");
}

static bool same_ring(const struct session *session, int fd)
{
    struct stat st;
    return session && !fstat(fd, &st) && (uint64_t)st.st_dev == session->device &&
           (uint64_t)st.st_ino == session->inode;
}

/* Makes a session for a ring that nobody has written yet. Pages, not heap: it is never freed, and
 * the program's leak checker need not hear of it. */
static int session_new(int ring_fd, const struct skein_view *view, const char *service,
                       struct session **out)
{
    struct session *session = pages_new(sizeof *session);
    if (!session)
        return SKEIN_NO_MEMORY;
    int status = ring_map(ring_fd, session);
    if (status == SKEIN_OK && !(session->slot_taken = pages_new(session->geometry.slots))) {
        munmap(session->base, session->geometry.total);
        status = SKEIN_NO_MEMORY;
    }
    if (status < 0) {
        munmap(session, sizeof *session);
        return status;
    }
    process_record_fill(session, view, service);
    table_begin(session);
    *out = session;
    return SKEIN_OK;
}

int session_attach(int ring_fd, int host_fd, int process_fd, const char *service)
{
    int status = session_control_init();
    if (status < 0)
        return status;
    const struct skein_view *view = view_map(process_fd, host_fd);
    if (!view)
        return SKEIN_INVALID;
    struct session *session = session_current();
    if (!same_ring(session, ring_fd)) {
        status = session_new(ring_fd, view, service, &session);
        if (status < 0) {
            view_unmap(view);
            return status;
        }
        gate_shut(); /* no thread may pair the old view with the new ring */
        skein_session_store(&skein_control_page->session, session);
    }
    gate_open(view);
    SKEIN_TEST_POINT("session_published");
    return SKEIN_OK;
}

void session_detach(void)
{
    if (skein_control_page != &control_none)
        gate_shut();
}

bool skein_attached(void)
{
    return session_current() && session_view();
}

/* ---- fork children ---- */

void session_child_arm(void (*wake)(void))
{
    if (skein_control_page == &control_none)
        return;
    child_lure.enabled = UINT64_MAX;
    child_lure.shift = 6;
    pthread_sigmask(SIG_SETMASK, NULL, &child_mask);
    child_wake = wake;
    gate_open(&child_lure);
}

/* A handler runs with a signal blocked that ordinary code did not block, unless its program says
 * otherwise (SA_NODEFER with an empty mask). Making a thread is not for handlers: the next event of
 * ordinary code will do it. */
static bool may_be_handler(void)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int signal = 1; signal < NSIG; signal++)
        if (sigismember(&now, signal) == 1 && sigismember(&child_mask, signal) != 1)
            return true;
    return false;
}

void session_child_wake(void)
{
    if (session_view() != &child_lure || may_be_handler())
        return;
    gate_shut();
    child_wake();
}
