/* SPDX-License-Identifier: Apache-2.0
 *
 * What the holder (ring_hold.h) keeps of each process for the next agent: who it is, and what became
 * of it. Puts it while processes come and go, and takes it back at the start. Loop thread, and main
 * before it runs.
 *
 *     attached ── put ──▶ gone, its ring is kept ── put, as ended ──▶ its ring goes ── drop
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_clock.h"
#include "agent_int.h"
#include "buf.h"
#include "clock.h"
#include "descriptor.h"
#include "proc_info.h"
#include "ring_layout.h"

#define OWED_MS 100 /* from one try to tell the holder what it is to drop, to the next */

enum { HELD_ENDED = 1, HELD_LEFT = 2, HELD_DEATH = 4 };

static bool key_of(const struct process *p, struct hold_key *key)
{
    struct stat st;
    _Static_assert(sizeof key->process == sizeof p->uid.bytes, "a process's id");
    if (p->ring_fd < 0 || fstat(p->ring_fd, &st) != 0)
        return false;
    memcpy(key->process, p->uid.bytes, sizeof key->process);
    key->ring = (uint64_t)st.st_ino;
    return true;
}

/* A time of the line on CLOCK_MONOTONIC, on which two agents agree. */
static uint64_t monotonic_of(uint64_t line_ns)
{
    uint64_t ago_ns = agent_clock_ns() - line_ns, now_ns = clock_monotonic_ns();
    return ago_ns < now_ns ? now_ns - ago_ns : 1;
}

static void held_text_put(struct buf *out, const char *text)
{
    buf_put_text(out, text, strlen(text));
}

static void held_put(const struct process *p, bool ended, struct buf *out)
{
    buf_put_u8(out, (uint8_t)((ended ? HELD_ENDED : 0) | (p->left ? HELD_LEFT : 0) |
                              (p->death.known ? HELD_DEATH : 0)));
    buf_put_u32(out, p->pid);
    buf_put_u32(out, p->user);
    buf_put_u64(out, p->start_clock_ticks);
    buf_put_u64(out, p->start_stack);
    buf_put_u32(out, (uint32_t)p->death.signal);
    buf_put_u32(out, (uint32_t)p->death.status);
    held_text_put(out, p->service);
    held_text_put(out, p->labels);
    held_text_put(out, p->exe);
}

/* ring_hold_look_fn: by the first numbers of a note. */
enum ring_hold_look agent_held_look(const uint8_t *note, size_t note_bytes)
{
    struct cursor from;
    cursor_init(&from, note, note_bytes);
    (void)cursor_u8(&from);
    const pid_t pid = (pid_t)cursor_u32(&from);
    (void)cursor_u32(&from);
    const uint64_t start_clock_ticks = cursor_u64(&from), start_stack = cursor_u64(&from);
    if (from.status != SKEIN_OK)
        return RING_HOLD_ELSE;
    switch (proc_runs_on(pid, start_clock_ticks, start_stack)) {
    case PROC_RUNS_ON:
        return RING_HOLD_RUNS;
    case PROC_RUNS_NOT:
        return RING_HOLD_ENDS;
    default:
        return RING_HOLD_ELSE;
    }
}

void agent_held_put(const struct agent *agent, const struct process *p, bool ended)
{
    struct buf note = {0};
    struct hold_item item = {.fds = {p->ring_fd, ended ? -1 : p->pidfd},
                             .died_ns = ended ? monotonic_of(p->gone_ns) : 0};
    item.runs_ns = p->runs_ns < p->died_ns ? monotonic_of(p->runs_ns) : item.died_ns;
    if (agent->hold == NULL || p->watched || !key_of(p, &item.key))
        return;
    held_put(p, ended, &note);
    item.note = note.data;
    item.note_bytes = note.len;
    if (note.status == SKEIN_OK)
        ring_hold_put(agent->hold, &item);
    buf_fini(&note);
}

static void owed_settle(void *context)
{
    struct agent *agent = context;
    agent->held_timer = NULL; /* one-shot */
    if (!ring_hold_settle(agent->hold))
        agent->held_timer = loop_timer_add(agent->loop, OWED_MS, 0, owed_settle, agent);
}

static void held_drop(struct agent *agent, const struct hold_key *key)
{
    ring_hold_drop(agent->hold, key);
    if (agent->held_timer == NULL)
        owed_settle(agent);
}

void agent_held_drop(void *context, const struct process *p)
{
    struct agent *agent = context;
    struct hold_key key;
    if (agent->hold != NULL && key_of(p, &key))
        held_drop(agent, &key);
}

/* ---- taking it back ---- */

struct held_list {
    struct process *items[HOLD_MAX];
    uint8_t flags[HOLD_MAX];
    size_t count;
};

static void held_text_take(struct cursor *from, char *text, size_t bytes)
{
    size_t n;
    const char *at = cursor_text(from, bytes - 1, &n);
    if (at != NULL)
        memcpy(text, at, n);
    text[at != NULL ? n : 0] = '\0';
}

static uint8_t held_take(struct cursor *from, struct process *p)
{
    uint8_t flags = cursor_u8(from);
    p->pid = cursor_u32(from);
    p->user = cursor_u32(from);
    p->start_clock_ticks = cursor_u64(from);
    p->start_stack = cursor_u64(from);
    p->death.signal = (int32_t)cursor_u32(from);
    p->death.status = (int32_t)cursor_u32(from);
    p->death.known = (flags & HELD_DEATH) != 0;
    held_text_take(from, p->service, sizeof p->service);
    held_text_take(from, p->labels, sizeof p->labels);
    held_text_take(from, p->exe, sizeof p->exe);
    p->left = (flags & HELD_LEFT) != 0;
    return flags;
}

/* ring_hold_fn */
static void item_note(void *context, const struct hold_item *item)
{
    struct held_list *list = context;
    struct cursor from;
    struct process *p = NULL;
    int fds[HOLD_FDS] = {item->fds[0], item->fds[1]};
    cursor_init(&from, item->note, item->note_bytes);
    if (list->count < HOLD_MAX && process_new(&p) == SKEIN_OK) {
        uint8_t flags = held_take(&from, p);
        p->ring_fd = fds[0];
        p->pidfd = fds[1];
        p->died_ns = item->died_ns != 0 ? agent_clock_at(item->died_ns) : 0;
        p->runs_ns = item->runs_ns != 0 ? agent_clock_at(item->runs_ns) : 0;
        list->flags[list->count] = flags;
        if (from.status == SKEIN_OK) {
            list->items[list->count++] = p;
            return;
        }
        process_unref(&p); /* closes both */
        return;
    }
    fd_close(&fds[0]);
    fd_close(&fds[1]);
}

/* What had ended before is kept as the agent before has kept it. */
static void ended_recover(struct agent *agent, struct process *p)
{
    if (attach_recover_ring(agent->attach, p) != SKEIN_OK) {
        agent_held_drop(agent, p);
        return;
    }
    process_set_gone(p, PROCESS_ENDED);
    roster_attached(agent->roster, p); /* a note of it says less */
    roster_keep(agent->roster, p);
}

/* One that lives, and runs the program that it ran, has its ring. Of another nobody knows until it
 * comes back by itself, with its ring, or without if it has called exec. */
static void item_recover(struct agent *agent, struct process *p, bool ended)
{
    p->start_ns = proc_start_realtime_ns(p->start_clock_ticks);
    if (ended) {
        ended_recover(agent, p);
        return;
    }
    if (p->died_ns == 0 && pidfd_ended(p->pidfd)) /* the holder had not seen it yet */
        p->died_ns = agent_clock_ns();
    if (p->died_ns == 0 && !process_runs_on(p))
        return;
    int32_t status;
    if (attach_recover(agent->attach, p) != SKEIN_OK)
        agent_held_drop(agent, p);
    else if (process_exit_said(p, &status)) /* the program of this ring has ended, and no other */
        p->runs_ns = p->died_ns;
}

void agent_held_fetch(struct agent *agent)
{
    agent->held = agent->hold != NULL ? calloc(1, sizeof *agent->held) : NULL;
    if (agent->held == NULL)
        return;
    ring_hold_take(agent->hold, item_note, agent->held);
    for (size_t i = 0; i < agent->held->count; i++) {
        struct process *p = agent->held->items[i];
        p->uid = process_uid_make(agent->state.agent, agent->boot, p->pid, p->start_clock_ticks);
    }
}

void agent_held_take(struct agent *agent)
{
    struct held_list *list = agent->held;
    roster_on_release(agent->roster, agent_held_drop, agent);
    if (list == NULL)
        return;
    for (int ended = 1; ended >= 0; ended--) /* a ring that exec left, before the one that came */
        for (size_t i = 0; i < list->count; i++)
            if ((list->flags[i] & HELD_ENDED) == ended)
                item_recover(agent, list->items[i], ended != 0);
}

/* A ring that the process has no more is of no use. */
void agent_held_settle(struct agent *agent, const struct process *came)
{
    struct hold_key key, other;
    for (size_t i = 0; agent->held != NULL && i < agent->held->count; i++) {
        const struct process *p = agent->held->items[i];
        bool lives = (agent->held->flags[i] & HELD_ENDED) == 0 && p->ring == NULL;
        bool same = came != NULL && process_uid_equal(&p->uid, &came->uid);
        if (!lives || !key_of(p, &other) || (came != NULL && !same))
            continue;
        if (came == NULL || (key_of(came, &key) && key.ring != other.ring))
            held_drop(agent, &other);
        agent->held->flags[i] |= HELD_ENDED; /* settled */
    }
}

void agent_held_forget(struct agent *agent)
{
    for (size_t i = 0; agent->held != NULL && i < agent->held->count; i++)
        process_unref(&agent->held->items[i]);
    free(agent->held);
    agent->held = NULL;
}
