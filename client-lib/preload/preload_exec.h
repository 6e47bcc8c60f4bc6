/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the tracer can enter a program that is about to be started, and the environment that it
 * gets; see preload_exec.c. Included by the preload library's files only. Any thread; signal-safe,
 * also in a vfork child.
 */
#ifndef PRELOAD_EXEC_H
#define PRELOAD_EXEC_H

#include <stdbool.h>

/* execve and execveat by their numbers. */
long exec_call(long number, const long a[6]);

/* Takes our entry out of these lines, in place: for a program that starts others by system calls of its
 * own, which nobody sees. Before the program has read them. */
void exec_entry_drop(char *const *lines);

/* Until this ends (or is unwound, when its thread is cancelled), the shell that the C library starts itself
 * finds no entry of ours in `environ`, if the tracer cannot enter it. They nest, in any thread. Keeps
 * errno. */
#define SHELL_CALL                                                                                 \
    const bool shell_call __attribute__((cleanup(exec_shell_end), unused)) = exec_shell_begin()
bool exec_shell_begin(void);
void exec_shell_end(const bool *begun);

/* In a fork child: whatever other threads had begun. */
void exec_forked(void);

#endif
