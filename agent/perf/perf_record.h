/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a perf ring that overwrites itself backwards, as perf_ring_open asks for them: the
 * newest lies first.
 *
 *   bytes 0                                                    n
 *         | SAMPLE newest | SAMPLE | LOST | ... | SAMPLE oldest |  zeroes, or what is half overwritten
 *
 *   SAMPLE: header, ip, pid+tid, time, cpu, period, call chain, user registers, user stack
 *   of a kernel's event: ... call chain, raw bytes, and perhaps user registers and user stack
 *
 * Pure: reads its bytes and nothing else. Each number is checked against the record's end, the
 * record against the bytes'. Any thread.
 */
#ifndef PERF_RECORD_H
#define PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

/* The largest record that the kernel writes: its size has 16 bits. */
#define PERF_RECORD_BYTES_MAX 65536u

/* Bytes of user stack in each sample. */
#define PERF_STACK_BYTES 8192u

/* Registers of user mode in a sample, in the order of their bits in PERF_USER_REGS: the kernel's
 * numbers for this machine (asm/perf_regs.h), without flags and segments. 0: no registers and no
 * stack are asked for, call chains alone. */
#if defined(__x86_64__)
#define PERF_USER_REGS UINT64_C(0xff01ff) /* ax bx cx dx si di bp sp ip, r8 to r15 */
#define PERF_REGS      17u
#elif defined(__aarch64__)
#define PERF_USER_REGS UINT64_C(0x1ffffffff) /* x0 to x29, lr, sp, pc */
#define PERF_REGS      33u
#else
#define PERF_USER_REGS UINT64_C(0)
#define PERF_REGS      0u
#endif

#define PERF_FRAMES_MAX 128u /* of a call chain, in the kernel and in user mode each */

struct perf_chain {
    uint64_t pcs[PERF_FRAMES_MAX]; /* innermost first */
    uint32_t count;
    bool cut; /* it had more */
};

struct perf_sample {
    uint64_t ip, time_ns, period_ns; /* CLOCK_MONOTONIC; CPU time that the sample stands for */
    uint32_t pid, tid, cpu;
    bool in_kernel; /* ip is the kernel's */
    struct perf_chain kernel, user;
    bool has_regs; /* of a 64-bit program in user mode */
    uint64_t regs[PERF_REGS + 1];
    const uint8_t *stack; /* from the stack pointer up; in the bytes that were given */
    uint32_t stack_bytes; /* 0: none was there, as of a thread of the kernel */
    const uint8_t *raw;   /* of a kernel's event: its fields; else NULL */
    uint32_t raw_bytes;
};

/* What the first bytes of a record say: whose it is, without the rest. */
#define PERF_HEAD_BYTES 48u

/* EXEC: the process began another program. THREAD: one began, ended, or was named, which the kernel
 * tells along with that. */
enum perf_kind {
    PERF_KIND_SAMPLE,
    PERF_KIND_LOST,
    PERF_KIND_EXEC,
    PERF_KIND_THREAD,
    PERF_KIND_OTHER
};

struct perf_head {
    enum perf_kind kind; /* OTHER: also a sample that is too short to be one */
    size_t bytes;        /* of the record */
    uint64_t lost;       /* LOST: samples that the kernel says it could not write */
    uint32_t pid;        /* SAMPLE, EXEC */
    uint64_t time_ns;    /* SAMPLE, EXEC */
    uint64_t period_ns;  /* SAMPLE */
};
/* Of a record's first bytes; those behind its end, or that are not there, are 0. False: it is none. */
bool perf_head_get(const uint8_t bytes[PERF_HEAD_BYTES], struct perf_head *out);

struct perf_walk {
    uint64_t samples;
    uint64_t unread; /* records of other kinds, and samples that do not read */
    size_t bytes;    /* that were records */
    bool torn;       /* ends with what is no record, or with a part of one */
};

/* false: it has seen enough. The sample is good for the call. */
typedef bool perf_sample_fn(void *context, const struct perf_sample *sample);

/* Gives each sample, newest first, and says in *out what was there. */
void perf_records_walk(const uint8_t *bytes, size_t n, perf_sample_fn *fn, void *context,
                       struct perf_walk *out);
/* The same for records of the kernel's events (perf_ring_watch). */
void perf_raw_records_walk(const uint8_t *bytes, size_t n, perf_sample_fn *fn, void *context,
                           struct perf_walk *out);

#endif
