/* SPDX-License-Identifier: Apache-2.0
 *
 * Which program had a pid when: the kernel's records name a process by its pid alone, and exec and a new
 * process with an old pid make another one of it. For import_perf_script.c and import_perfetto_lives.c.
 *
 *   first    what begins another life of a pid, in the order of its time: the kernel's own records (exec,
 *            fork, exit), a process that says another name than before, and a main thread that is called
 *            otherwise than before. The last was no exec, if another thread of before is still seen behind
 *            it
 *   then     either the same once more, one after the other, or (import_lives_sort) any of them by its time
 *
 * `at` is a line or a time, which never falls. One owner, one thread; memory is bounded by the constants
 * below.
 */
#ifndef IMPORT_LIVES_H
#define IMPORT_LIVES_H

#include "import_map.h"

#define IMPORT_LIVES_MAX 1000000u /* of all pids; the last one goes on */
#define IMPORT_LIVES_UNSURE                                                                        \
    16u /* of a pid; one that is renamed more often is a program that renames itself */
#define IMPORT_LIVES_NAMES                                                                         \
    2u /* kinds of names that a process says, which do not tell of each other */

struct import_comm {
    const char *text;
    size_t n;
};

struct import_life {
    uint64_t at;
    uint32_t pid, before; /* before: the one of the same pid + 1; 0: none */
    uint32_t number;
    bool sure, exec, none; /* exec: its thread runs on; none: it was none */
};

struct lives_pid {
    uint32_t life, last; /* last: in `lives` + 1 */
    uint32_t unsure;
    bool fresh, ended; /* fresh: nothing was seen of this life; ended: its main thread has */
    char comm[16];     /* of its main thread; "": not known */
    struct {
        uint64_t name; /* 0: none */
        uint32_t life; /* that said it */
    } said[IMPORT_LIVES_NAMES];
};

struct import_lives {
    struct import_life *lives; /* by `at` */
    size_t count, cap;
    struct import_map pid_at,
        threads; /* threads: the life in which each was seen, by pid and tid */
    struct lives_pid *pids;
    size_t pid_count, pid_cap;
    size_t next; /* of the second pass */
    bool no_memory;
};

void import_lives_fini(struct import_lives *l);

/* ---- the first pass ---- */

/* This thread of this process was called so. */
void import_lives_seen(struct import_lives *l, uint64_t at, uint32_t pid, uint32_t tid,
                       struct import_comm comm);
/* The process runs another program from here on; it is called comm, if that is known. */
void import_lives_exec(struct import_lives *l, uint64_t at, uint32_t pid, struct import_comm comm);
/* It is called otherwise, and is the same. */
void import_lives_renamed(struct import_lives *l, uint32_t pid, struct import_comm comm);
/* It is new: what had this pid before is another one. */
void import_lives_born(struct import_lives *l, uint64_t at, uint32_t pid);
/* Its main thread has left its CPU for good: what has this pid from now on is another one. */
void import_lives_ended(struct import_lives *l, uint32_t pid);
/* It says a name of this kind, any number but 0. another: if the name is another one, so is the process,
 * whatever its threads do. */
void import_lives_named(struct import_lives *l, uint64_t at, uint32_t pid, unsigned kind,
                        uint64_t name, bool another);

/* ---- one after the other ---- */

void import_lives_again(struct import_lives *l);
/* The life that begins at this line, or one before; NULL: none does. To be asked until then. */
const struct import_life *import_lives_next(struct import_lives *l, uint64_t at);
/* Which life of the pid this is, from 0. */
uint32_t import_lives_now(const struct import_lives *l, uint32_t pid);

/* ---- any of them ---- */

void import_lives_sort(struct import_lives *l);
/* Which life the pid had then, from 0. After import_lives_sort. */
uint32_t import_lives_then(const struct import_lives *l, uint32_t pid, uint64_t at);
/* Where that began; UINT64_MAX: it is the first. */
uint64_t import_lives_since(const struct import_lives *l, uint32_t pid, uint64_t at);

#endif
