/* SPDX-License-Identifier: Apache-2.0
 *
 * A helper process of a daemon, and the socket that is its standard input: begun with nothing else of
 * its parent's, ended by its number as long as nobody has waited for it. What it says is hostile
 * bytes. One thread at a time; nothing here blocks beyond the time it is given.
 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
    pid_t pid;  /* 0: none runs */
    int socket; /* -1 */
};

/* How long one waits. */
struct child_patience {
    uint64_t until_ns;           /* CLOCK_MONOTONIC */
    bool (*stop)(void *context); /* asked some times a second; NULL: never */
    void *context;
};

/* Begins a program: /dev/null for what it prints, a process group of its own, no signal blocked, no
 * environment but a language. SKEIN_OK; SKEIN_NOT_FOUND: there is no such program; SKEIN_IO. */
int child_begin(const char *program, char *const *arguments, struct child *child);

/* How a child ended. */
struct child_end {
    int signal; /* 0: none */
    int code;   /* of exit, where it was none */
};
/* Ends it, where it runs, and waits for that. One that had ended by itself tells how. */
struct child_end child_end(struct child *child);

/* The path of a program beside this one, into n bytes. SKEIN_OK, SKEIN_NOT_FOUND. */
int child_program_path(const char *name, char *out, size_t n);

#define CHILD_FDS_MAX 2
/* All n bytes, with descriptors (which stay the caller's) beside the first. SKEIN_OK; SKEIN_CLOSED:
 * there is nobody at the other end; SKEIN_TIMEOUT; SKEIN_AGAIN: stopped; SKEIN_IO. */
int child_send(const struct child *child, const void *bytes, size_t n, const int *fds,
               size_t fd_count, const struct child_patience *patience);
int child_receive(const struct child *child, void *to, size_t n,
                  const struct child_patience *patience);

#endif
