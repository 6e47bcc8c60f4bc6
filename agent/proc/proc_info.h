/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel knows of another process: start time, names, how it ended. Reads /proc and pidfds
 * only; keeps nothing. Any thread.
 */
#ifndef PROC_INFO_H
#define PROC_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/status.h"

/* Reads a small file as text, cut at bytes - 1, NUL-terminated. Returns its length; SKEIN_IO. */
int text_file_read(const char *path, char *text, size_t bytes);
/* The same of /proc/PID/NAME; a name may be "task/TID/stat". */
int proc_file_read(pid_t pid, const char *name, char *text, size_t bytes);

/* Field 22 of /proc/PID/stat: clock ticks since boot. SKEIN_OK, SKEIN_NOT_FOUND. */
int proc_start_ticks(pid_t pid, uint64_t *ticks);
/* Whether the pid is still, or again, of the process that began then. */
bool proc_is_same(pid_t pid, uint64_t start_clock_ticks);

/* Field 28: where its first stack begins, which is another place after each exec; 0: we may not know,
 * or it is gone. */
uint64_t proc_start_stack(pid_t pid);
/* The same; 0 also where its addresses are not random (setarch -R), so that it is the same place after exec
 * of the same program. */
uint64_t proc_random_stack(pid_t pid);
enum proc_runs {
    PROC_RUNS_ON,   /* it is the process that began then (field 22), and has called no exec since */
    PROC_RUNS_ELSE, /* it has, it is another one, or its stack was not known */
    PROC_RUNS_UNKNOWN, /* it is that one, and we may not know any more where its stack is */
    PROC_RUNS_NOT,     /* no thread of it has memory any more: it is being ended */
};
/* start_stack 0: not known. */
enum proc_runs proc_runs_on(pid_t pid, uint64_t start_clock_ticks, uint64_t start_stack);

/* How much code its program has (VmExe), which everybody may know; 0: it is gone. */
uint64_t proc_code_kib(pid_t pid);

/* Field 4: who began it, or who has taken it over since; 0: nobody that is seen here. */
pid_t proc_parent(pid_t pid);

/* The realtime instant of such a start time, ns. */
uint64_t proc_start_realtime_ns(uint64_t start_clock_ticks);
/* The same on CLOCK_MONOTONIC, at the earliest: earlier by what the host has slept since. 0: before
 * that clock began. */
uint64_t proc_start_monotonic_ns(uint64_t start_clock_ticks);

/* The user that the process runs as; SHARE_USER_UNKNOWN: it is gone. */
uint32_t proc_user(pid_t pid);
/* Whether the process is that user's: it runs as him, and its program is none that changes its user as
 * it begins (setuid, setgid, file capabilities), which it may be just about to. */
bool proc_is_users(pid_t pid, uint32_t user);
/* To whom what a process of `user` takes is charged: within a user namespace, whose root may choose
 * among thousands of users, its maker; where root has made it, the namespace, by its number. */
uint32_t proc_user_charged(pid_t pid, uint32_t user);
/* The same by who is charged: whether it runs as somebody who is charged as `user`, by a program that
 * changes no user. Memory that it keeps from others does not matter. */
bool proc_is_charged(pid_t pid, uint32_t user);

/* Path of the executable; where we may not read it, the process's short name; else "". */
void proc_exe(pid_t pid, char *text, size_t bytes);

/* Its short name, or that of a thread by its number. False, and "": it has ended. */
bool proc_comm(pid_t pid, char *name, size_t bytes);

/* What it calls itself: its command line, or what it has written over it, without the program's
 * folder and up to the first option, as what stands behind may be a secret. ASCII; "" where we may
 * not read it. It is memory of the process, but never waits for others: the kernel (since 4.17) gives no
 * page of a file there, as a FUSE server might keep back, and waits for no userfaultfd. */
void proc_title(pid_t pid, char *text, size_t bytes);

/* A pidfd for the peer of a connected Unix socket: SO_PEERPIDFD where the kernel has it, which
 * cannot hit a later process of the same number, else pidfd_open. -1 with errno. */
int pidfd_of_peer(int socket, pid_t pid);

bool pidfd_ended(int pidfd); /* the process has exited, reaped or not */

/* How the process of an ended pidfd ended: from the kernel (6.15 and later), else from its zombie
 * in /proc if we may see it. Returns whether that is known; *signal and *status are 0 if not. */
bool pidfd_death(int pidfd, pid_t pid, int32_t *signal, int32_t *status);

#endif
