/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the thread dump, shared by dump_*.c and thread_dump.c alone.
 *
 * A thread that sleeps in the kernel is not touched: PTRACE_INTERRUPT would end its system call with
 * EINTR where the kernel does not restart it (epoll_wait, semtimedop, sigtimedwait, reads of inotify
 * …), and a restarted one is seen by seccomp filters. What the kernel tells of it, /proc's syscall
 * with stack pointer and pc, holds as long as it sleeps; so its stack is copied, and is good if
 * /proc says the same afterwards, and that it was not switched in meanwhile. State, wait channel and
 * call are read between the same two counts of switches, so that they are of one sleep, too.
 *
 *   sleeps   look ── copy ── look again: the same? ─┬─ yes: a stack
 *                                                   └─ no: once more, then none
 *   runs     seize ── interrupt ── registers, copy ── detach     all of them within DUMP_STOP_NS
 *
 * Who has woken, or gone to sleep, since he was looked at goes the other way.
 */
#ifndef DUMP_INT_H
#define DUMP_INT_H

#include <sys/types.h>

#include "thread_dump.h"

/* By DWARF's numbers, as the symbolizer has them. */
#define DUMP_REGISTERS 17
enum dump_register { DUMP_FP = 6, DUMP_SP = 7, DUMP_PC = 16 }; /* x86-64 */

enum dump_stack_fate {
    DUMP_STACK_NONE,       /* not tried yet */
    DUMP_STACK_TAKEN,      /* sp and pc are exact; of a thread that was stopped, all registers */
    DUMP_STACK_MOVED,      /* it ran each time we looked */
    DUMP_STACK_REFUSED,    /* the kernel said no */
    DUMP_STACK_TRACED,     /* somebody else's */
    DUMP_STACK_LATE,       /* asked to stop, and did not; also of an earlier dump */
    DUMP_STACK_UNREADABLE, /* there is no memory where it says that its stack is, or no /proc */
    DUMP_STACK_UNTRIED,    /* no time left */
    DUMP_STACK_BEYOND,     /* behind the first DUMP_STACKS_MAX */
    DUMP_STACK_ENDED,      /* it had, or it was a zombie */
    DUMP_STACK_HANGS, /* the memory in which it is, or other memory of the process, does not answer */
    DUMP_STACK_FATES
};

struct dump_thread {
    uint32_t tid;
    uint32_t inner_tid; /* its number in its own pid namespace: what the program knows it by */
    char name[16], wchan[48];
    char state;     /* as in /proc/…/stat */
    uint64_t at_ns; /* CLOCK_MONOTONIC, of this look */
    uint64_t cpu_ns, voluntary, involuntary;
    uint32_t tracer; /* 0: none */
    /* The system call that it sleeps in: -1, none. `blocked`: sp and pc are known. */
    int64_t call;
    uint64_t args[6];
    bool blocked, runs; /* neither: the kernel does not tell */
    uint64_t registers[DUMP_REGISTERS];
    bool whole_registers; /* not sp and pc alone */
    enum dump_stack_fate fate;
    uint8_t *stack; /* from registers[DUMP_SP] on */
    size_t stack_bytes;
    uint32_t stack_id; /* in the evidence; 0: none */
    /* What it waits for, if it is known (dump_lock.c) */
    const char *waits_for; /* static: mutex, thread; NULL: not known */
    uint64_t object;
    uint32_t holder;
};

struct dump {
    /* constant */
    uint32_t pid;
    uint64_t start_clock_ticks; /* of the process that is meant; 0: whoever has the pid */
    uint64_t deadline_ns;
    int task;   /* /proc/PID/task, while it is looked at */
    int status; /* what became of dump_run, in its thread */
    bool hangs; /* its memory does not answer: no more of it is asked for */
    char title[128];
    struct dump_thread *threads;
    size_t count, cap, left_out; /* left_out: threads beyond DUMP_THREADS_MAX */
    size_t stopped;              /* threads that we stopped */
    uint64_t stop_ns;            /* from the first stop asked for to the last one over, summed up */
    size_t fates[DUMP_STACK_FATES];
    size_t unwalked;             /* copies that the symbolizer gave no stack of */
    int walk_status;             /* and why; SKEIN_NOT_FOUND: there is none. dump_walk.c */
    pid_t late[DUMP_STACKS_MAX]; /* asked to stop, and did not yet: the thread's that asked */
    size_t late_count;
};

/* dump_take.c: lists, looks and copies, on a thread apart (look_apart.h), for which one waits until the
 * deadline and DUMP_GRACE_NS more. SKEIN_OK; SKEIN_TIMEOUT: it hangs, and *dump, NULL then, is gone with it;
 * SKEIN_BUSY: it is left alone, as it, or its user's others, hung; SKEIN_NOT_FOUND, SKEIN_NO_MEMORY,
 * SKEIN_IO. */
int dump_run(struct dump **dump);
struct dump *dump_new(uint32_t pid, uint64_t deadline_ns); /* NULL: no memory */
void dump_discard(struct dump **dump);

/* dump_proc.c: what /proc says. Opens `task`, and lists the threads. SKEIN_OK, SKEIN_NOT_FOUND,
 * SKEIN_NO_MEMORY, SKEIN_IO. */
int dump_list(struct dump *dump);
/* Fills in all but the stack. false: the thread is gone. */
bool dump_look(const struct dump *dump, struct dump_thread *thread);
/* The part of it that tells whether it has run: switches, system call, sp and pc. */
bool dump_same(const struct dump *dump, const struct dump_thread *thread);
/* Whether it runs, now. */
bool dump_runs(const struct dump *dump, const struct dump_thread *thread);
/* What stays as long as a process is the same program: another after each exec. Zeroes where the
 * kernel does not tell it: then it tells no stacks either. */
struct dump_program {
    uint64_t code_begin, code_end, stack_begin;
};
struct dump_program dump_program(uint32_t pid);
/* "futex(0x7f…, 0x80, 0x2, …)"; "": in none. */
void dump_call_text(const struct dump_thread *thread, char *out, size_t bytes);

/* dump_copy.c: memory of the process. Returns how many bytes were read, from the first on. May hang: on a
 * thread apart alone, and while no thread of the process is stopped. */
size_t dump_read(uint32_t pid, uint64_t address, void *to, size_t bytes);
/* The same, at most DUMP_STACK_BYTES, on another thread apart. SKEIN_OK: *copied is *n bytes, more than
 * 0, for free(). SKEIN_DENIED, SKEIN_NO_MEMORY, SKEIN_IO; SKEIN_BUSY: it hangs. */
int dump_read_apart(struct dump *dump, uint64_t address, size_t bytes, uint8_t **copied, size_t *n);
/* Copies from registers[DUMP_SP] on, of one that is stopped. The fate that this is. */
enum dump_stack_fate dump_stack_copy_stopped(struct dump *dump, struct dump_thread *thread);
/* Those that sleep, each with a look behind. Those that run are left: NONE. */
void dump_copy_blocked(struct dump *dump);

/* dump_stop.c: those that run, within what is left of DUMP_STOP_NS. Those that sleep by now are
 * left: NONE. Those that are late are noted in `late`, for the same thread to stay with them. */
void dump_copy_running(struct dump *dump);
void dump_stay_with_late(const pid_t *late, size_t count);

/* dump_lock.c: finds waits_for, object and holder of those that are blocked in a futex. There was a
 * moment when all of them waited so: a circle among them is one. */
void dump_locks(struct dump *dump);

/* dump_walk.c: unwinds all copies, as far as the deadline allows, and writes them and the mappings
 * that they lead to; each thread then knows its stack's number in `out`. */
void dump_walk(const struct evidence_ask *ask, struct evidence_out *out, struct dump *dump);

#endif
