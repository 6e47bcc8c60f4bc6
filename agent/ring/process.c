/* SPDX-License-Identifier: Apache-2.0
 *
 * A process: owns its ring and page mappings and all its descriptors, until the last
 * reference goes. References and state are atomic, so workers and the loop may let go in any order.
 * Of its ring it reads
 * two words, as of what it should have had.
 */
#include "process.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent_clock.h"
#include "clock.h"
#include "descriptor.h"
#include "proc_info.h"
#include "ring_memory.h"
#include "skein_atomic.h"

int process_new(struct process **out)
{
    struct process *p = calloc(1, sizeof *p);
    if (p == NULL)
        return SKEIN_NO_MEMORY;
    p->references = 1;
    p->state = PROCESS_LIVE;
    p->socket = p->pidfd = p->ring_fd = p->page_fd = -1;
    *out = p;
    return SKEIN_OK;
}

struct process *process_ref(struct process *p)
{
    __atomic_fetch_add(&p->references, 1, __ATOMIC_RELAXED);
    return p;
}

/* It is set at a process's begin and by reloads, and read once a capture: one mutex will do. */
static pthread_mutex_t go_mutex = PTHREAD_MUTEX_INITIALIZER;

void process_go_set(struct process *p, const struct process_go *go)
{
    pthread_mutex_lock(&go_mutex);
    p->go = *go;
    pthread_mutex_unlock(&go_mutex);
}

struct process_go process_go(const struct process *p)
{
    pthread_mutex_lock(&go_mutex);
    struct process_go go = p->go;
    pthread_mutex_unlock(&go_mutex);
    return go;
}

static const struct ring_process_record *record_of(const struct process *p)
{
    return (const struct ring_process_record *)(const void *)(p->ring + p->geometry.process_off);
}

static const struct ring_header *header_of(const struct process *p)
{
    return (const struct ring_header *)(const void *)p->ring;
}

const char *process_program(const struct process *p)
{
    return p->exe[0] != '\0' ? p->exe : p->service;
}

struct share_key process_share_key(const struct process *p, const char *cause)
{
    return share_key_of(p->user, process_program(p), cause);
}

/* ---- what its ring has not ---- */

static uint64_t monotonic_at(uint64_t realtime_ns)
{
    uint64_t now_ns = clock_monotonic_ns(), ago_ns = agent_clock_ns() - realtime_ns;
    return ago_ns < now_ns ? now_ns - ago_ns : 1;
}

void process_lacks_set(struct process *p, uint64_t from_ns, uint64_t to_ns)
{
    struct ring_header *header = (struct ring_header *)(void *)p->ring;
    if (from_ns == 0 || p->ring == NULL)
        return;
    p->lacks_from_ns = from_ns;
    p->lacks_to_ns = to_ns;
    skein_store64(&header->lacks_from_ns, monotonic_at(from_ns));
    skein_store64(&header->lacks_to_ns, monotonic_at(to_ns));
}

void process_lacks_recall(struct process *p)
{
    uint64_t from_ns = skein_load64(&header_of(p)->lacks_from_ns);
    p->lacks_from_ns = from_ns != 0 ? agent_clock_at(from_ns) : 0;
    p->lacks_to_ns = agent_clock_at(skein_load64(&header_of(p)->lacks_to_ns));
}

/* Some time of a process's; none where it ends before it begins. */
struct span {
    uint64_t from_ns, to_ns;
};
static const struct span SPAN_NONE = {UINT64_MAX, 0};

static struct span span_within(struct span span, uint64_t from_ns, uint64_t to_ns)
{
    span.from_ns = span.from_ns > from_ns ? span.from_ns : from_ns;
    span.to_ns = span.to_ns < to_ns ? span.to_ns : to_ns;
    return span.from_ns < span.to_ns ? span : SPAN_NONE;
}

/* Over both, and what lies between them. */
static struct span span_over(struct span a, struct span b)
{
    a.from_ns = a.from_ns < b.from_ns ? a.from_ns : b.from_ns;
    a.to_ns = a.to_ns > b.to_ns ? a.to_ns : b.to_ns;
    return a;
}

/* What rings before have had. */
static struct span replaced_span(const struct process *p)
{
    return p->lacks_from_ns != 0 ? (struct span){p->lacks_from_ns, p->lacks_to_ns} : SPAN_NONE;
}

/* When events came and there was no ring. A process that got its ring some milliseconds ago has not
 * said yet what it missed: then it is all.
 *
 *   missed_ns |---- gap ----| began_ns     the first missed event, until events went to this ring
 *   began_ns  |---- gap ----| missed_ns    its thread had looked for a ring earlier and stood still
 */
static struct span missed_span(const struct process *p)
{
    uint64_t began_ns = skein_load64(&record_of(p)->began_ns);
    uint64_t missed_ns = skein_load64(&record_of(p)->missed_ns);
    if (began_ns == 0)
        return (struct span){p->lacks_from_ns != 0 ? p->lacks_to_ns : p->start_ns, UINT64_MAX};
    if (missed_ns == 0)
        return SPAN_NONE;
    bool stood = missed_ns > began_ns;
    return (struct span){agent_clock_at(stood ? began_ns : missed_ns),
                         agent_clock_at(stood ? missed_ns : began_ns)};
}

/* A ring may say anything: nothing of its process was before that began, or is behind its end. */
static struct span span_in_life(const struct process *p, struct span span)
{
    bool ended = process_state(p) != PROCESS_LIVE && !p->left;
    return span_within(span, p->start_ns, ended ? p->gone_ns : UINT64_MAX);
}

bool process_unrecorded(const struct process *p, uint64_t from_ns, uint64_t to_ns,
                        struct loss_gap *out)
{
    if (p->watched) {
        struct span life =
            span_within(span_in_life(p, (struct span){0, UINT64_MAX}), from_ns, to_ns);
        *out = (struct loss_gap){life.from_ns, life.to_ns, LOSS_WATCHED};
        return life.from_ns < life.to_ns;
    }
    if (p->ring == NULL)
        return false;
    struct span before = span_in_life(p, replaced_span(p));
    struct span missed = span_in_life(p, missed_span(p));
    /* Each by itself: a window that begins between the two lacks nothing of the first. */
    struct span span =
        span_over(span_within(before, from_ns, to_ns), span_within(missed, from_ns, to_ns));
    *out = (struct loss_gap){span.from_ns, span.to_ns, p->unrecorded};
    return span.from_ns < span.to_ns;
}

static bool ring_is_empty(const struct process *p)
{
    struct process_cursors at;
    process_cursors(p, &at);
    return at.small == 0 && at.big == 0 &&
           skein_total_load(&header_of(p)->num_records_dropped) == 0;
}

static struct span lacks_span(const struct process *p, uint64_t last_ns)
{
    uint64_t began_ns = skein_load64(&record_of(p)->began_ns);
    struct span own = {began_ns != 0 ? agent_clock_at(began_ns) : p->start_ns, last_ns};
    struct span before = span_over(replaced_span(p), missed_span(p));
    return span_within(ring_is_empty(p) ? before : span_over(before, own), p->start_ns, UINT64_MAX);
}

uint64_t process_lacks_from(const struct process *p)
{
    if (p->watched) /* a ring that comes has taken no other's place */
        return 0;
    if (p->ring == NULL)
        return p->start_ns;
    struct span span = lacks_span(p, UINT64_MAX);
    return span.from_ns < span.to_ns ? span.from_ns : 0;
}

uint64_t process_lacks_to(const struct process *p, uint64_t last_ns)
{
    return p->ring == NULL ? UINT64_MAX : lacks_span(p, last_ns).to_ns;
}

bool process_runs_on(const struct process *p)
{
    return proc_runs_on((pid_t)p->pid, p->start_clock_ticks, p->start_stack) == PROC_RUNS_ON;
}

bool process_runs_else(const struct process *p)
{
    const pid_t pid = (pid_t)p->pid;
    const enum proc_runs runs = proc_runs_on(pid, p->start_clock_ticks, p->start_stack);
    return runs == PROC_RUNS_UNKNOWN ? proc_code_kib(pid) != p->code_kib
                                     : runs == PROC_RUNS_ELSE && p->start_stack != 0;
}

bool process_is_being_ended(const struct process *p)
{
    return proc_runs_on((pid_t)p->pid, p->start_clock_ticks, 0) == PROC_RUNS_NOT;
}

void process_unref(struct process **pointer)
{
    struct process *p = *pointer;
    *pointer = NULL;
    /* Release: what this user did is over; acquire: the last one sees that of all the others. */
    if (p == NULL || __atomic_fetch_sub(&p->references, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    if (p->ring != NULL)
        munmap(p->ring, p->geometry.total);
    if (p->page != NULL)
        munmap(p->page, SHARED_PAGE_BYTES);
    fd_close(&p->socket);
    fd_close(&p->pidfd);
    fd_close(&p->ring_fd);
    fd_close(&p->page_fd);
    if (p->chain_free != NULL)
        p->chain_free(p);
    free(p);
}

void process_set_gone(struct process *p, enum process_state state)
{
    p->gone_ns = p->died_ns != 0 ? p->died_ns : agent_clock_ns();
    __atomic_store_n(&p->state, (uint32_t)state, __ATOMIC_RELEASE);
}

enum process_state process_state(const struct process *p)
{
    return (enum process_state)__atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
}
