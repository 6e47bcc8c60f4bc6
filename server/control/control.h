/* SPDX-License-Identifier: Apache-2.0
 *
 * The control lock: who holds it may look at agents, processes, captures, rules and policies, and
 * change them. One for a collector; any thread takes it. Owns also what is to be saved of them: it
 * is written in one transaction, before anything that depends on it is acknowledged.
 *
 * CONTROL_LOCKED at a prototype: the caller holds it. A function that others see says so and
 * asserts it first, a hook that is called through a pointer asserts it; of static ones clang proves
 * it
 * (-Wthread-safety, in the clang preset). Who is only given what such a function has found (a
 * capture, an agent) holds it, too, and need not say so.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>

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
#define CONTROL_LOCKED CONTROL_ATTRIBUTE(requires_capability(control_role))

struct control;

/* Who has something to save: one, which asks the others. */
struct control_hooks {
    void *context;
    bool (*is_dirty)(void *context); /* besides what control_mark_dirty said; NULL: nothing is */
    int (*save)(void *context);      /* inside the catalog's transaction: writes what is dirty */
    void (*saved)(void *context);    /* it is committed */
};

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
/* Saves now what is dirty. SKEIN_OK, or a status: nothing was saved, and it will be tried again. */
int control_save(struct control *c) CONTROL_LOCKED;
/* What the last control_save came to; SKEIN_OK before the first. Any thread, never waits. */
int control_last_save(const struct control *c);

#endif
