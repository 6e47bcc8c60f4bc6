/* SPDX-License-Identifier: Apache-2.0
 *
 * How a process was ended: the evidence of kind "crash". The kernel notes each signal that is about
 * to end a program, with the registers and the stack of its thread, in memory that overwrites itself.
 * When an attached process has died, what is of it is taken out; it waits for its capture.
 *
 *   attached ── where its code lies: read at once, and when it has grown ──┐
 *                                                                         ├──▶ crash.signal …
 *   signal ──▶ kernel's ring ── the process is gone: read at once ─────────┤
 *   standard error, if that is a file ── gone: its end is read at once ────┘
 *
 * Nothing is done in the program, nor to it. Loop thread, but for crash_collect.
 */
#ifndef CRASH_H
#define CRASH_H

#include "evidence.h"
#include "process.h"

struct crash;
struct symbolizer;

struct crash_settings {
    bool stacks;                   /* false: nothing is watched, and each capture says so */
    struct symbolizer *symbolizer; /* NULL: none; stacks are by frame pointers then */
    const char *tracefs, *kmsg;    /* NULL: the kernel's */
};

/* SKEIN_OK, also where the kernel refuses, which the log is told; or SKEIN_NO_MEMORY. */
int crash_new(const struct crash_settings *settings, struct crash **out);
/* After the evidence thread; the symbolizer is still there. Returns how many threads hang in a file
 * and are left behind, with what they use: end by _exit then. */
size_t crash_free(struct crash **crash);

/* A process that is looked after from now on. SKEIN_OK, SKEIN_NO_MEMORY. */
int crash_attached(struct crash *crash, const struct process *process);
/* It has died, or (process->left) is somebody else's now. */
void crash_gone(struct crash *crash, const struct process *process);

/* What captures leave out: `private`: registers and last words, which may hold what nobody is to
 * know; `words`: these alone. */
void crash_leave_out(struct crash *crash, bool private, bool words);

#define CRASH_LOOK_MS 1000
void crash_look(void *crash); /* loop_fn: every _LOOK_MS */

/* The source, AT_DEATH. */
evidence_collect_fn crash_collect;

#endif
