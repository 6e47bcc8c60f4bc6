/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps what the agent sends and publishes it: ring, host page and process page of one attach. Runs
 * on the visitor (visitor.c), in the program's address space but without thread-local storage: raw
 * system calls only, no libc, compiled without stack protector and sanitizers. Never unmaps what a
 * thread may still hold: a thread can be descheduled between looking at the control page and
 * writing its record, for as long as it likes, so the pages of an agent that is gone (a few KiB a
 * restart) and a ring that its successor did not take over stay mapped for the life of the process.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "placement.h"
#include "sys_raw.h"
#include "writer_int.h"

static void *pages_new(size_t bytes)
{
    return raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* ---- checks: the agent may be of another version, or not an agent ---- */

static bool fd_sealed(int fd, uint64_t *bytes, struct stat *st)
{
    raw_zero(st, sizeof *st);
    long seals = RAW3(SYS_fcntl, fd, F_GET_SEALS, 0);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || RAW2(SYS_fstat, fd, RAW_POINTER(st)) ||
        st->st_size < 0)
        return false;
    *bytes = (uint64_t)st->st_size;
    return true;
}

/* Maps the process page and the host page at their places in one reserved stretch. */
static const struct skein_view *view_map(int process_fd, int host_fd)
{
    struct stat st;
    uint64_t process_bytes, host_bytes;
    size_t page = session_page_bytes;
    if (!fd_sealed(process_fd, &process_bytes, &st) || !fd_sealed(host_fd, &host_bytes, &st) ||
        process_bytes < sizeof(struct process_page) || host_bytes < sizeof(struct host_page))
        return NULL;
    size_t span = SKEIN_VIEW_HOST_OFFSET + page;
    uint8_t *base =
        raw_mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (base == NULL)
        return NULL;
    void *process = raw_mmap(base, page, PROT_READ, MAP_SHARED | MAP_FIXED, process_fd);
    void *host =
        raw_mmap(base + SKEIN_VIEW_HOST_OFFSET, page, PROT_READ, MAP_SHARED | MAP_FIXED, host_fd);
    const struct skein_view *view = (const struct skein_view *)(const void *)base;
    if (process != NULL && host != NULL && view->process_magic == PROCESS_PAGE_MAGIC &&
        view->process_version == RING_VERSION && view->host_magic == HOST_PAGE_MAGIC &&
        view->host_version == RING_VERSION &&
        (view->clock == RING_CLOCK_TSC || view->clock == RING_CLOCK_MONOTONIC))
        return view;
    raw_munmap(base, span);
    return NULL;
}

static void view_unmap(const struct skein_view *view)
{
    raw_munmap((void *)(uintptr_t)view, SKEIN_VIEW_HOST_OFFSET + session_page_bytes);
}

static bool header_matches(const struct ring_header *h, const struct ring_geometry *g)
{
    return h->magic == RING_MAGIC && h->version == RING_VERSION && h->buffering_mode == g->mode &&
           h->total_size == g->total && h->durable_buffer_size == g->durable &&
           h->rolling_buffer_size == g->rolling;
}

uint32_t session_locks;

/* Where what is mapped is locked, its pages are made at once, unless they may not be touched yet. */
static void *pages_map(int fd, size_t bytes)
{
    const bool locked = session_is_locked();
    const int both = PROT_READ | PROT_WRITE;
    void *base = raw_mmap(NULL, bytes, locked ? PROT_NONE : both, MAP_SHARED, fd);
    if (base == NULL || !locked)
        return base;
    (void)RAW2(SYS_munlock, RAW_POINTER(base), bytes);
    if (RAW3(SYS_mprotect, RAW_POINTER(base), bytes, both) == 0)
        return base;
    raw_munmap(base, bytes);
    return NULL;
}

/* Maps the ring; *session is filled on success. SKEIN_OK, SKEIN_INVALID, SKEIN_NO_MEMORY. */
static int ring_map(int fd, struct session *session)
{
    struct stat st;
    uint64_t bytes;
    if (!fd_sealed(fd, &bytes, &st) || bytes < RING_BYTES_MIN || bytes > RING_BYTES_MAX)
        return SKEIN_INVALID;
    void *base = pages_map(fd, bytes);
    if (base == NULL)
        return SKEIN_NO_MEMORY;
    session->base = base;
    session->header = base;
    session->device = (uint64_t)st.st_dev;
    session->inode = (uint64_t)st.st_ino;
    if (ring_geometry_init(&session->geometry, session->header->buffering_mode, bytes) ||
        !header_matches(session->header, &session->geometry)) {
        raw_munmap(base, bytes);
        return SKEIN_INVALID;
    }
    return SKEIN_OK;
}

static uint64_t ticks_raw(const struct skein_view *view)
{
#if defined(__x86_64__) || defined(__i386__)
    if (view->clock == RING_CLOCK_TSC)
        return skein_ticks_tsc(view);
#endif
    return raw_clock_ns(CLOCK_MONOTONIC) >> (view->shift & 63);
}

static void process_record_fill(const struct session *session, const struct skein_view *view,
                                const char *service)
{
    struct ring_process_record *record = session_record(session);
    record->clock = view->clock;
    record->shift = view->shift;
    record->slots = session->geometry.slots;
    record->start_ticks = ticks_raw(view);
    raw_zero(record->service, sizeof record->service);
    size_t bytes = 0;
    while (bytes < sizeof record->service - 1 && service[bytes])
        bytes++;
    raw_copy(record->service, service, bytes);
    record->pid = raw_getpid();
    SKEIN_TEST_POINT("process_record_filled");
}

static bool same_ring(const struct session *session, int fd)
{
    struct stat st;
    raw_zero(&st, sizeof st);
    return session != NULL && !RAW2(SYS_fstat, fd, RAW_POINTER(&st)) &&
           (uint64_t)st.st_dev == session->device && (uint64_t)st.st_ino == session->inode;
}

/* Epochs are unique in the process, so that an id that a site or a forked child still carries can
 * never be taken for one of another ring. */
static uint32_t last_epoch;

void table_open(struct session *session)
{
    uint32_t epoch = skein_add32(&last_epoch, 1) + 1;
    if (session->epoch && epoch % 2 == session->epoch % 2) /* always the other half */
        epoch = skein_add32(&last_epoch, 1) + 1;
    skein_table_store(&table_half(session, epoch)->committed, (uint64_t)epoch << 32);
    SKEIN_TEST_POINT("table_half_emptied");
    /* Ids are of the session's epoch, a segment's is the header's, which may be the lower of the
     * two: R-16 rests on what a segment says. The numbers begin anew behind the epoch: a handler
     * that jumps away in between must not let the epoch before begin again. */
    skein_store32(&session->epoch, epoch);
    skein_signal_fence();
    session->table_used = 0;
    session->next_event = RING_EVENT_FIRST;
    session->next_string = 1;
    SKEIN_TEST_POINT("epoch_begun");
    skein_epoch_store(&session->header->string_epoch, epoch);
    skein_store64(&session->header->durable_data_end, 0);
    SKEIN_TEST_POINT("epoch_switched");
}

struct session *session_newest BESIDE_DATA;

/* Makes a session for a ring that nobody has written yet. Pages, not heap: it is never freed, and
 * the program's leak checker need not hear of it. */
static int session_new(int ring_fd, const struct skein_view *view, const char *service,
                       struct session **out)
{
    struct session *session = pages_new(sizeof *session);
    if (session == NULL)
        return SKEIN_NO_MEMORY;
    int status = ring_map(ring_fd, session);
    if (status == SKEIN_OK && (session->slot_taken = pages_new(session->geometry.slots)) == NULL) {
        raw_munmap(session->base, session->geometry.total);
        status = SKEIN_NO_MEMORY;
    }
    if (status < 0) {
        raw_munmap(session, sizeof *session);
        return status;
    }
    process_record_fill(session, view, service);
    table_open(session);
    session->before = session_newest;
    session_newest = session;
    *out = session;
    return SKEIN_OK;
}

/* CLOCK_MONOTONIC of the first event that came before there was a ring; 0: none did. */
uint64_t session_missed BESIDE_DATA;

/* Events go to the ring now. What it has not: those before it, or of a ring before that nobody has
 * taken over. */
static void record_begin(const struct session *session, const struct session *before)
{
    uint64_t missed_ns = session_missed_ns();
    if (before != NULL && !missed_ns)
        missed_ns = session_record(before)->began_ns;
    struct ring_process_record *record = session_record(session);
    if (missed_ns)
        session_missed_note(&record->missed_ns, missed_ns);
    skein_store64(&record->began_ns, raw_clock_ns(CLOCK_MONOTONIC));
}

int session_map(int ring_fd, int host_fd, int process_fd, const char *service)
{
    const struct skein_view *view = view_map(process_fd, host_fd);
    if (view == NULL)
        return SKEIN_INVALID;
    struct session *session = skein_session_load(&skein_control_page->session), *before = session;
    bool fresh = !same_ring(session, ring_fd);
    if (fresh) {
        int status = session_new(ring_fd, view, service, &session);
        if (status < 0) {
            view_unmap(view);
            return status;
        }
        /* No thread may pair the view of a ring before with the new ring. The lure is of none: it
         * stays, so that events which come at this moment are seen. */
        if (before != NULL)
            skein_gate_store(&skein_control_page->gate, 0);
        skein_session_store(&skein_control_page->session, session);
        SKEIN_TEST_POINT("ring_swapped");
    }
    skein_gate_store(&skein_control_page->gate, (uint64_t)(uintptr_t)view + 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* session_miss */
    if (fresh)
        record_begin(session, before);
    SKEIN_TEST_POINT("session_published");
    return SKEIN_OK;
}
