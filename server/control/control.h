/* SPDX-License-Identifier: Apache-2.0
 *
 * The control lock: who holds it may look at agents, processes, captures, rules and policies, and
 * change them. One for a collector; any thread takes it. Owns also what is to be saved of them: it
 * is written in one transaction, before anything that depends on it is acknowledged. Nobody waits
 * for the disk with the lock (no_sync.h):
 *
 *     control_lock   change   control_save                               answer   control_unlock
 *     ───────────────────────▶ collect ┐                       ┌ saved ───────────▶
 *           locked             locked  └ commit, without lock ─┘        locked
 *     others:                            lock, look, change, unlock; control_save: waits, and
 *                                        collects what has changed since for one more commit
 *
 * Others may have changed all that the lock guards when control_save returns: a pointer from before
 * is looked up again. One commit is under way at a time; whoever waits for it finds its own change
 * in the next one, which the first of them makes for all. What was collected and could not be
 * committed is forgotten, and collected anew from what memory says then; so who could not save may
 * take its change back before it gives the lock up, and none of it is ever written.
 *
 * CONTROL_LOCKED at a prototype: the caller holds it. A function that others see says so and
 * asserts it first, a hook that is called through a pointer asserts it; of static ones clang proves
 * it (-Wthread-safety, in the clang preset). CONTROL_GUARDED at a field: clang lets nobody touch it
 * who holds no lock. Who is only given what such a function has found (a capture, an agent) holds
 * it, too, and need not say so.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "catalog.h"

#ifdef __clang__
#define CONTROL_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define CONTROL_ATTRIBUTE(attribute)
#endif

/* The lock's name for the compiler, whichever it is: a process has one that matters. Never read. */
struct CONTROL_ATTRIBUTE(capability("control lock")) control_role {
    char none;
};
extern struct control_role control_role;
#define CONTROL_LOCKED  CONTROL_ATTRIBUTE(requires_capability(control_role))
#define CONTROL_GUARDED CONTROL_ATTRIBUTE(guarded_by(control_role))
/* At the definition of what makes or frees a thing that nobody else sees. */
#define CONTROL_ALONE CONTROL_ATTRIBUTE(no_thread_safety_analysis)

struct control;

/* Who has something to save: one, which asks the others. */
struct control_hooks {
    void *context;
    bool (*is_dirty)(void *context); /* besides what control_mark_dirty said; NULL: nothing is */
    void (*save)(void *context);     /* locked: gives the catalog what is dirty */
    void (*saved)(void *context, bool ok); /* locked: that is committed, or it stays dirty */
};

/* What is to be saved of a thing. It may change again while a commit has it:
 *
 *            saving_mark          saving_take        saving_mark
 *   NOTHING ────────────▶ CHANGED ───────────▶ TAKEN ───────────▶ CHANGED_AGAIN
 *      ▲                   ▲   ▲               │   │                   │
 *      │                   │   └─ end, not ok ─┘   │                   │   end: saving_end
 *      └───────────────────┼────── end, ok ────────┘                   │
 *                          └────────────── end, ok or not ─────────────┘
 *
 * What a commit has is memory's alone until saving_end: no row of it is looked at, and it is not
 * dropped. */
enum save_state { SAVE_NOTHING = 0, SAVE_CHANGED = 1, SAVE_TAKEN = 2, SAVE_CHANGED_AGAIN = 3 };
static inline void saving_mark(enum save_state *state)
{
    *state = (enum save_state)(*state | SAVE_CHANGED);
}
/* For `save`: whether it is to be written. */
static inline bool saving_take(enum save_state *state)
{
    *state = *state != SAVE_NOTHING ? SAVE_TAKEN : SAVE_NOTHING;
    return *state == SAVE_TAKEN;
}
/* For `saved`. */
static inline void saving_end(enum save_state *state, bool ok)
{
    if (!ok && *state != SAVE_NOTHING)
        *state = SAVE_CHANGED;
    *state = (enum save_state)(*state & SAVE_CHANGED);
}

/* SKEIN_OK, SKEIN_NO_MEMORY. The catalog may be NULL where nothing is ever saved. */
int control_new(struct catalog *catalog, const struct control_hooks *hooks, struct control **out);
void control_free(struct control **control);

/* Not for who holds it: that aborts. */
void control_lock(struct control *c) CONTROL_ATTRIBUTE(acquire_capability(control_role));
void control_unlock(struct control *c) CONTROL_ATTRIBUTE(release_capability(control_role));
/* Aborts, in every build, where this thread does not hold it; the log line says who asked. */
#define control_assert_locked(c) control_assert_locked_at(c, __FILE_NAME__, __LINE__)
void control_assert_locked_at(const struct control *c, const char *file, int line)
    CONTROL_ATTRIBUTE(assert_capability(control_role));

/* Something must be saved before the next answer goes out. */
void control_mark_dirty(struct control *c) CONTROL_LOCKED;
/* Saves what is dirty; gives the lock up while it waits. SKEIN_OK: what the caller has changed is
 * committed. Else nothing of it is, and it will be tried again. When it returns, no commit is under
 * way: it waits for that of others also where nothing is dirty. */
int control_save(struct control *c) CONTROL_LOCKED;
/* For who reads rows next: waits for the commit that is under way, so that they say what memory has
 * shown. Not for who holds the lock: that aborts. Waits for no lock. */
void control_catch_up(struct control *c);
/* The number of the save that will have what is changed now; whether that is committed. */
uint64_t control_next_save(const struct control *c) CONTROL_LOCKED;
bool control_has_saved(const struct control *c, uint64_t number) CONTROL_LOCKED;
/* What the last control_save came to; SKEIN_OK before the first. Any thread, never waits. */
int control_last_save(const struct control *c);

#endif
