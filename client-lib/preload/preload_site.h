/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of waits: names, groups and arguments of their events. Included by preload_wait.h.
 */
#ifndef PRELOAD_SITE_H
#define PRELOAD_SITE_H

#include "skein/skein.h"

/* Name of the event, group, name and unit of argument 0, what arguments there are beside it, text.
 * docs/what-is-recorded.md lists them; a test compares. */
#define SITE_LIST(X)                                                                               \
    X(read, IO, "fd", "", RESULT, "read from a file descriptor")                                   \
    X(write, IO, "fd", "", RESULT, "write to a file descriptor")                                   \
    X(fsync, IO, "fd", "", RESULT, "wait until a file is on disk")                                 \
    X(open, IO, "folder", "fd", NAME, "open a file")                                               \
    X(stat, IO, "folder", "fd", NAME, "look at a file")                                            \
    X(unlink, IO, "folder", "fd", NAME, "remove a file or a folder")                               \
    X(rename, IO, "folder", "fd", NAMES, "rename a file")                                          \
    X(splice, IO, "fd", "", RESULT, "move bytes between file descriptors")                         \
    X(message, IO, "queue", "", RESULT, "send to a message queue, or receive from it")             \
    X(io_getevents, IO, "context", "address", RESULT, "wait for asynchronous I/O")                 \
    X(recv, NET, "fd", "", RESULT, "receive from a socket")                                        \
    X(send, NET, "fd", "", RESULT, "send to a socket")                                             \
    X(sendfile, NET, "fd", "", RESULT, "send a file")                                              \
    X(accept, NET, "fd", "", PEER, "accept a connection")                                          \
    X(connect, NET, "fd", "", PEER, "connect a socket")                                            \
    X(resolve, NET, "family", "", HOST, "look up a host's name or address")                        \
    X(poll, NET, "fds", "", FD, "wait for events on file descriptors")                             \
    X(select, NET, "fds", "", RESULT, "wait for events on file descriptors")                       \
    X(epoll_wait, NET, "fd", "", RESULT, "wait for events of an epoll descriptor")                 \
    X(mutex_lock, LOCK, "lock", "address", OWNER, "wait for a mutex that another thread holds")    \
    X(rwlock_rdlock, LOCK, "lock", "address", OWNER, "wait to read under a contended lock")        \
    X(rwlock_wrlock, LOCK, "lock", "address", OWNER, "wait to write under a contended lock")       \
    X(sem_wait, LOCK, "lock", "address", RESULT, "wait for a semaphore")                           \
    X(cond_wait, LOCK, "cond", "address", MUTEX, "wait for a condition variable")                  \
    X(barrier_wait, LOCK, "barrier", "address", RESULT, "wait for the others at a barrier")        \
    X(futex_wait, LOCK, "futex", "address", RESULT, "wait for a word of memory to change")         \
    X(file_lock, LOCK, "fd", "", RESULT, "wait for a lock on a file")                              \
    X(semop, LOCK, "set", "", RESULT, "wait for System V semaphores")                              \
    X(sleep, SLEEP, "asked", "ns", RESULT, "the thread asked to sleep")                            \
    X(sigwait, SLEEP, "timeout", "ns", RESULT, "wait for a signal")                                \
    X(thread_join, THREAD, "thread", "address", TID, "wait for a thread to end")                   \
    X(wait_child, THREAD, "pid", "", ENDED, "wait for a child process")                            \
    X(exit, THREAD, "status", "", INSTANT, "the program ends itself")                              \
    X(abort, THREAD, "line", "", ASSERTION,                                                        \
      "the program gives up: abort(), a failed assertion, an uncaught exception")                  \
    X(loop, APP, "ready", "", NOTHING,                                                             \
      "work of an event loop on one batch of ready file descriptors")

/* Beside argument 0. */
enum site_arguments {
    SITE_ARGUMENTS_NOTHING,
    SITE_ARGUMENTS_INSTANT,   /* no wait: emitted by skein_emit(), where there is a ring */
    SITE_ARGUMENTS_ASSERTION, /* the same: the assertion, and the file that it is in */
    /* These have the result as argument 1, and behind it: */
    SITE_ARGUMENTS_RESULT,
    SITE_ARGUMENTS_NAME,  /* a path */
    SITE_ARGUMENTS_NAMES, /* two */
    SITE_ARGUMENTS_PEER,  /* an address and port, or path */
    SITE_ARGUMENTS_HOST,  /* a name and an address */
    SITE_ARGUMENTS_FD,    /* the first descriptor that was ready, or the only one */
    SITE_ARGUMENTS_OWNER, /* the thread that held the lock when the wait began; 0: not known */
    SITE_ARGUMENTS_MUTEX, /* its address */
    SITE_ARGUMENTS_TID,   /* of a thread; 0: it had ended; -1: not known */
    SITE_ARGUMENTS_ENDED  /* a child's exit status, -1: none; the signal that ended it, 0: none */
};

#define X(name, group, arg, unit, arguments, text) SITE_##name,
enum site { SITE_LIST(X) SITE_COUNT };
#undef X

/* Described by sites_fill(), before there is a ring: until then nobody may look into them. An
 * operation that begins without a ring is none (skein_op_enter), so that its end does not. */
extern struct skein_site sites[SITE_COUNT];
void sites_fill(void);

/* Argument 2 of an event of which nothing is known but that its wait was left: 0 may be a descriptor
 * or an exit status. */
int64_t site_unknown(const struct skein_site *site);

/* An enum skein_group; also before. */
uint8_t site_group(enum site site);

#endif
