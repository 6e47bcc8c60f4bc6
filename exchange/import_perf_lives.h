/* SPDX-License-Identifier: Apache-2.0
 *
 * Which program had a pid when: lines of perf script name a process by its pid alone, and exec and a
 * new process with an old pid make another one of it. For import_perf_script.c.
 *
 *   first pass   lines that begin another life of a pid: the kernel's own records (exec, fork, exit), and
 *                a main thread that is called otherwise than before. The latter was no exec, if another
 *                thread of before still has a line behind it
 *   second pass  the same lines, one after the other
 *
 * One owner, one thread; memory is bounded by the constants below.
 */
#ifndef IMPORT_PERF_LIVES_H
#define IMPORT_PERF_LIVES_H

#include "import_map.h"
#include "import_perf_line.h"

#define PERF_LIVES_MAX 1000000u /* of all pids; the last one goes on */
#define PERF_LIVES_UNSURE                                                                          \
    64u /* of a pid; one that is renamed more often is a program that renames itself */

struct perf_life {
    uint64_t line;
    uint32_t pid, before; /* before: the one of the same pid + 1; 0: none */
    uint32_t number;
    bool sure, exec, none; /* exec: its thread runs on; none: it was none */
};

struct perf_pid {
    uint32_t life, last; /* last: in `lives` + 1 */
    uint32_t unsure;
    bool fresh, ended; /* fresh: nothing was seen of this life; ended: its main thread has */
    char comm[16];     /* of its main thread; "": not known */
};

struct perf_lives {
    struct perf_life *lives; /* by line */
    size_t count, cap;
    struct import_map pid_at,
        threads; /* threads: the life in which each was seen, by pid and tid */
    struct perf_pid *pids;
    size_t pid_count, pid_cap;
    size_t next; /* of the second pass */
    bool no_memory;
};

void perf_lives_fini(struct perf_lives *l);

/* ---- the first pass; lines rise ---- */

/* The head of a line: this thread of this process was called so. */
void perf_lives_seen(struct perf_lives *l, uint64_t line, uint32_t pid, uint32_t tid,
                     struct perf_span comm);
/* The process runs another program from here on; it is called comm, if that is known. */
void perf_lives_exec(struct perf_lives *l, uint64_t line, uint32_t pid, struct perf_span comm);
/* It is called otherwise, and is the same. */
void perf_lives_renamed(struct perf_lives *l, uint32_t pid, struct perf_span comm);
/* It is new: what had this pid before is another one. */
void perf_lives_born(struct perf_lives *l, uint64_t line, uint32_t pid);
/* Its main thread has left its CPU for good: what has this pid from now on is another one. */
void perf_lives_ended(struct perf_lives *l, uint32_t pid);

/* ---- the second pass ---- */

void perf_lives_again(struct perf_lives *l);
/* The life that begins with this line, or one before; NULL: none does. To be asked until then. */
const struct perf_life *perf_lives_next(struct perf_lives *l, uint64_t line);
/* Which life of the pid this is, from 0. */
uint32_t perf_lives_now(const struct perf_lives *l, uint32_t pid);

#endif
