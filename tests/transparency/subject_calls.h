/* SPDX-License-Identifier: Apache-2.0
 *
 * Subjects that call what the tracer stands before in ways that no program should. Each prints what
 * came of it, which is the same in every run.
 */
#ifndef SUBJECT_CALLS_H
#define SUBJECT_CALLS_H

int bad_pointers(void); /* of paths and addresses, with good and bad flags, at the end of a page */
int calls_in_handler(
    void); /* connect(), accept(), open(), stat() in a handler that interrupts them */
int calls_in_children(void);
int calls_in_threads(void);
int ends_exit(void); /* in a handler of exit(), and from a vfork child */
int ends_abort(void);
int ends_assert(void);
int waits_of_all_kinds(void); /* for locks with owners, threads, children */

/* ---- subject_stacks.c ---- */
int waits_on_small_stack(void);
int frames_astray(void);
int sandbox_by_hand(void);

/* ---- subject_memory.c ---- */
int memory_locked(void);

/* ---- subject_crashes.c ---- */
int crash_plain(void);
int crash_thread(void);
int crash_caught(void);
int crash_barrier(void);
int crash_once(void);
int crash_logged(void);
int crash_blocked(void);
int crash_ignored(void);
int crash_deep(void);
int crash_deep_handled(void);
int crash_deep_twice(void);
int crash_abort(void);
int crash_abort_handled(void);
int crash_trap(void);
int crash_killed(void);
int crash_bus(void);
int ends_by_status(void);

#endif
