/* SPDX-License-Identifier: Apache-2.0
 *
 * Work for which files are opened in the middle of a program: a descriptor more is not without effect
 * there. Another thread's next one has another number, and closing one takes away all record locks
 * (fcntl, lockf) that the process has on that file. Included by the preload library's files only.
 */
#ifndef PRELOAD_APART_H
#define PRELOAD_APART_H

#include <stdbool.h>
#include <stdint.h>

/* Runs it in a thread that is made for it, with a table of descriptors of its own, and waits until it has
 * ended; in the caller, where no thread is to be had, or the caller is `alone`. Signals are blocked
 * meanwhile. The thread uses the caller's thread-local storage, and has 32 KiB of stack. Not where system
 * calls are barred. Any thread; signal-safe, also in a vfork child; keeps errno. */
void thread_apart_run(bool alone, uint32_t (*run)(void *), void *context);

#endif
