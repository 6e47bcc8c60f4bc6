/* SPDX-License-Identifier: Apache-2.0
 *
 * The child and its socket; see symbol_child.h.
 *
 *            _ready                     died, hung, spoke nonsense
 *   none ------------> runs ------------------------------------> pause (0.1 s, 0.2 s … 30 s)
 *     ^                 | _stop                                     |
 *     +-----------------+<------------------------------------------+ _ready, once it is over
 */
#include "symbol_child.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "clock.h"
#include "proc_info.h"
#include "proc_text.h"

#define PAUSE_NS   (100 * NS_PER_MS)
#define PAUSES     9 /* doublings: about 30 s then */
#define ANSWER_MIN 9 /* memory, status */
#define NICE       10
#define STARVES    6 /* times as long as it may hang, one that gets no processor is waited for */

_Static_assert(SYMBOL_FDS_MAX <= CHILD_FDS_MAX, "they go with one message");

void symbol_child_init(struct symbol_child *child, const char *program, uint64_t memory_bytes,
                       uint64_t hang_ns)
{
    *child = (struct symbol_child){.program = program,
                                   .memory_bytes = memory_bytes,
                                   .hang_ns = hang_ns,
                                   .process = {.socket = -1}};
}

void symbol_child_stop(struct symbol_child *child)
{
    if (child->process.pid == 0)
        return;
    (void)child_end(&child->process);
    child->used_bytes = 0;
}

/* ---- its priority ---- */

static void priority_set(const struct symbol_child *child)
{
    const int own = getpriority(PRIO_PROCESS, 0);
    if (child->process.pid != 0)
        (void)setpriority(PRIO_PROCESS, (id_t)child->process.pid,
                          child->hurries ? own : own + NICE);
}

void symbol_child_hurry(struct symbol_child *child, bool hurries)
{
    const bool same = child->hurries == hurries;
    child->hurries = hurries;
    if (!same)
        priority_set(child);
}

/* ---- life ---- */

static int child_fail(struct symbol_child *child, int status)
{
    symbol_child_stop(child);
    unsigned doublings = child->failures < PAUSES ? child->failures : PAUSES - 1;
    child->pause_ns = clock_monotonic_ns() + (PAUSE_NS << doublings);
    child->failures++;
    if (status == SKEIN_TIMEOUT)
        child->hung++;
    else
        child->crashed++;
    return status;
}

int symbol_child_ready(struct symbol_child *child)
{
    if (child->process.pid != 0)
        return SKEIN_OK;
    if (clock_monotonic_ns() < child->pause_ns)
        return SKEIN_AGAIN;
    char memory[32], name[] = "skein-symbolizer", *arguments[] = {name, memory, NULL};
    snprintf(memory, sizeof memory, "%" PRIu64, child->memory_bytes);
    int status = child_begin(child->program, arguments, &child->process);
    if (status == SKEIN_OK) {
        child->life++;
        priority_set(child);
    } else {
        child->pause_ns = clock_monotonic_ns() + (PAUSE_NS << (PAUSES - 1));
    }
    return status;
}

/* ---- asking ---- */

struct asking {
    pid_t pid;
    uint64_t since_ns, ran_ns, hang_ns;
};

/* Processor time that it has had; 0: nobody knows. */
static uint64_t child_ran_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec ran;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ran) != 0)
        return 0;
    return (uint64_t)ran.tv_sec * NS_PER_S + (uint64_t)ran.tv_nsec;
}

static bool child_is_runnable(pid_t pid)
{
    char text[512], name[32];
    if (proc_file_read(pid, "stat", text, sizeof text) <= 0)
        return false;
    const char *fields = text_stat(text, name, sizeof name);
    return fields != NULL && fields[0] == 'R';
}

/* It sleeps or is stopped, or it computes for too long. One that could run, and has not had the time to,
 * waits for a processor. */
static bool asking_hangs(void *context)
{
    const struct asking *asking = context;
    return clock_monotonic_ns() - asking->since_ns >= asking->hang_ns &&
           (!child_is_runnable(asking->pid) ||
            child_ran_ns(asking->pid) - asking->ran_ns >= asking->hang_ns);
}

static int reply_receive(struct symbol_child *child, uint8_t kind, struct buf *reply,
                         const struct child_patience *patience)
{
    uint8_t head[SYMBOL_HEAD_BYTES], said;
    uint32_t bytes;
    int status = child_receive(&child->process, head, sizeof head, patience);
    if (status != SKEIN_OK)
        return status;
    if (symbol_head_get(head, &said, &bytes) != SKEIN_OK || said != (kind | SYMBOL_REPLY) ||
        bytes < ANSWER_MIN)
        return SKEIN_CORRUPT;
    uint8_t *to = buf_reserve(reply, bytes);
    if (to == NULL)
        return SKEIN_NO_MEMORY;
    status = child_receive(&child->process, to, bytes, patience);
    if (status == SKEIN_OK)
        reply->len += bytes;
    return status;
}

int symbol_child_ask(struct symbol_child *child, const struct buf *request, const int *fds,
                     size_t fd_count, struct buf *reply, struct cursor *answer)
{
    buf_clear(reply);
    cursor_init(answer, NULL, 0);
    if (request->status != SKEIN_OK)
        return request->status;
    int status = symbol_child_ready(child);
    if (status != SKEIN_OK)
        return status;
    struct asking asking = {child->process.pid, clock_monotonic_ns(),
                            child_ran_ns(child->process.pid), child->hang_ns};
    const struct child_patience patience = {asking.since_ns + STARVES * child->hang_ns,
                                            asking_hangs, &asking};
    status = child_send(&child->process, request->data, request->len, fds, fd_count, &patience);
    if (status == SKEIN_OK)
        status = reply_receive(child, request->data[4], reply, &patience);
    if (status != SKEIN_OK)
        return child_fail(child, status == SKEIN_TIMEOUT || status == SKEIN_AGAIN ? SKEIN_TIMEOUT
                                                                                  : SKEIN_CLOSED);
    child->failures = 0;
    cursor_init(answer, reply->data, reply->len);
    child->used_bytes = cursor_u64(answer);
    return -(int)cursor_u8(answer);
}
