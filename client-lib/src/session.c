/* SPDX-License-Identifier: Apache-2.0
 *
 * The control page: owns it, and the lure that stands in it while there is no ring. Read by every
 * traced thread; session_map.c writes ring and view to it.
 */
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attach_client.h"
#include "placement.h"
#include "sys_raw.h"
#include "writer_int.h"

_Static_assert(offsetof(struct skein_view, enabled) == offsetof(struct process_page, enabled), "");
_Static_assert(offsetof(struct skein_view, threshold_ns) ==
                   offsetof(struct process_page, threshold_ns),
               "the view is the process page");
_Static_assert(offsetof(struct skein_view, privacy) == offsetof(struct process_page, privacy), "");
_Static_assert(offsetof(struct skein_view, privacy_key) ==
                   offsetof(struct process_page, privacy_key),
               "");
_Static_assert(offsetof(struct skein_view, stack_ns) == offsetof(struct process_page, stack_ns),
               "");
_Static_assert(offsetof(struct skein_view, backed_chunks) ==
                   offsetof(struct process_page, backed_chunks),
               "");
_Static_assert(offsetof(struct skein_view, backed_table) ==
                   offsetof(struct process_page, backed_table),
               "");
_Static_assert(offsetof(struct skein_view, host_magic) == SKEIN_VIEW_HOST_OFFSET, "then a gap");
_Static_assert(offsetof(struct skein_view, clock) ==
                   SKEIN_VIEW_HOST_OFFSET + offsetof(struct host_page, clock),
               "then the host page");
_Static_assert(offsetof(struct skein_view, generation) ==
                   SKEIN_VIEW_HOST_OFFSET + offsetof(struct host_page, generation),
               "");
_Static_assert(SKEIN_CLOCK_TSC == RING_CLOCK_TSC && SKEIN_ID_END == RING_RECORD_END, "");

static struct skein_control control_none BESIDE_DATA; /* before the page exists: off, or a lure */
struct skein_control *skein_control_page = &control_none;

/* In a child: the page that fork wiped, for when it attaches; or NULL. Until then the child is as
 * one that has never attached, and writes to no page but the one that it writes anyway. */
static struct skein_control *control_wiped BESIDE_DATA;

size_t session_page_bytes BESIDE_DATA;

/* What threads see as their view while there is no ring but recording was asked for: every group
 * on, and no session. Their events take the slow half, which looks whether it is time to attach. */
static const struct skein_view lure = {.enabled = UINT64_MAX, .shift = 6};

static void control_move(struct skein_control *page)
{
    page->gate = skein_gate_load(&control_none.gate);
    skein_control_store(&skein_control_page, page);
}

int session_control_init(void)
{
    if (skein_control_page != &control_none)
        return SKEIN_OK;
    if (control_wiped != NULL) {
        control_move(control_wiped);
        return SKEIN_OK;
    }
    size_t bytes = getauxval(AT_PAGESZ);
    struct skein_control *page =
        raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (page == NULL)
        return SKEIN_NO_MEMORY;
    if (RAW3(SYS_madvise, RAW_POINTER(page), bytes, MADV_WIPEONFORK)) {
        raw_munmap(page, bytes); /* without it a child would write into its parent's ring */
        return SKEIN_NO_MEMORY;
    }
    session_page_bytes = bytes;
    control_move(page);
    return SKEIN_OK;
}

static struct skein_control *control(void)
{
    return skein_control_load(&skein_control_page);
}

struct session *session_current(void)
{
    return skein_session_load(&control()->session);
}

static void gate_shut(void)
{
    skein_gate_store(&control()->gate, 0);
}

const struct skein_view *session_view(void)
{
    uint64_t gate = skein_gate_load(&control()->gate);
    return gate ? skein_gate_view(gate) : NULL;
}

int session_attach(int ring_fd, int host_fd, int process_fd, const char *service)
{
    int status = session_control_init();
    return status < 0 ? status : session_map(ring_fd, host_fd, process_fd, service);
}

void session_detach(void)
{
    gate_shut();
}

bool skein_attached(void)
{
    const struct skein_view *view = session_view();
    return session_current() != NULL && view != NULL && !session_is_lure(view);
}

/* ---- in a fork child ---- */

/* Private pages take the ring's place, whatever they hold: who goes on there reads sizes and places
 * from the session alone. Made elsewhere first, so that without memory the ring stays. */
static void ring_part(const struct session *session)
{
    size_t bytes = session->geometry.total;
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages != MAP_FAILED &&
        mremap(pages, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, session->base) == MAP_FAILED)
        munmap(pages, bytes);
}

void session_child_reset(bool torn)
{
    if (torn && !attach_client_is_barred())
        for (const struct session *session = session_newest; session != NULL;
             session = session->before)
            ring_part(session);
    if (session_newest != NULL) /* else its page would be copied */
        session_newest = NULL;
    session_lock_say(false); /* no lock is inherited */
    if (skein_control_page == &control_none)
        return;
    control_wiped = skein_control_page;
    skein_gate_store(&control_none.gate, 0);
    skein_control_store(&skein_control_page, &control_none);
}

/* ---- before the ring ---- */

static uint64_t gate_of_lure(void)
{
    return (uint64_t)(uintptr_t)&lure + 1;
}

bool session_is_lure(const struct skein_view *view)
{
    return view == &lure;
}

void session_lure(void)
{
    if (session_current() == NULL)
        (void)skein_gate_move(&control()->gate, 0, gate_of_lure());
}

/* Never takes away the view of a ring that comes at this moment. */
void session_unlure(void)
{
    (void)skein_gate_move(&control()->gate, gate_of_lure(), 0);
}

/* ---- what no ring has ---- */

void session_missed_clear(void)
{
    __atomic_store_n(&session_missed, 0, __ATOMIC_SEQ_CST);
}

/* Whoever comes here has told of an event by the end, also where another thread was the first and is
 * held on its way: each does the whole. */
void session_miss(uint64_t began_ns)
{
    uint64_t ns = began_ns ? began_ns : session_missed_ns();
    if (!ns) {
        SKEIN_TEST_POINT("first_miss_seen");
        ns = raw_clock_ns(CLOCK_MONOTONIC); /* as who has the ring compares */
    }
    /* Stored before it is looked whether there is a ring; who makes the ring publishes it before it
     * looks here. So one of the two tells. */
    session_missed_note(&session_missed, ns);
    const struct session *session = session_current();
    if (session != NULL)
        session_missed_note(&session_record(session)->missed_ns, session_missed_ns());
    /* Last: from here on events may go by unseen. */
    if (!skein_load32(&attach_client_wanted))
        session_unlure();
}

void session_exit_say(int status)
{
    if (attach_client_is_barred())
        return; /* no system call that the program has not asked for, not even for its id */
    const struct session *session = session_current();
    struct ring_process_record *record = session != NULL ? session_record(session) : NULL;
    if (record == NULL ||
        record->pid != raw_getpid()) /* a vfork child ends in its parent's memory */
        return;
    record->exit_status = status;
    __atomic_store_n(&record->exit_said, RING_EXIT_SAID, __ATOMIC_RELEASE);
}

bool session_clock_is_tsc(void)
{
    const struct skein_view *view = session_view();
    return view == NULL || view->clock == RING_CLOCK_TSC;
}
