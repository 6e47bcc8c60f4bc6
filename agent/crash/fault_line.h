/* SPDX-License-Identifier: Apache-2.0
 *
 * The address that a program should not have touched, as the kernel's log has it:
 *
 *   4,1873,69548438291,-;worker[22606]: segfault at 10 ip 000055dd1e2da6a1 sp 00007fffea6c69f0 error 6 in ...
 *
 * No other place of the kernel's has it that may be asked without a hand in the program. The kernel
 * writes the line for each fault that nobody handles (debug.exception-trace), though not more than
 * ten in five seconds. Which fault it is of, instruction and stack pointer prove.
 */
#ifndef FAULT_LINE_H
#define FAULT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

struct fault_line {
    char name[64]; /* of the thread */
    uint32_t tid;
    uint64_t address, ip, sp;
    uint64_t error; /* of the processor: bit 1: a write, bit 4: an instruction was fetched */
};

/* A record of /dev/kmsg. False: it is none on a fault. The text may be any process's. */
bool fault_line_parse(const char *record, size_t n, struct fault_line *out);

/* Looks through the log, newest last. SKEIN_OK; SKEIN_NOT_FOUND: no such line; SKEIN_DENIED: it may
 * not be read, or is not there. path: NULL: /dev/kmsg. */
int fault_line_find(const char *path, uint32_t tid, uint64_t ip, uint64_t sp,
                    struct fault_line *out);

/* "write", "read", "execute". */
const char *fault_access(const struct fault_line *line);

#endif
