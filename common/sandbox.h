/* SPDX-License-Identifier: Apache-2.0
 *
 * What a helper of a daemon may do that reads hostile bytes: compute, and talk on the socket it was
 * given (child.h). For the programs skein-symbolizer and skein-analyst. Main thread.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

struct sandbox_limits {
    uint64_t memory_bytes; /* of address space */
    uint64_t descriptors;
    int nice; /* its priority; 0: the daemon's, who may set it */
};

/* For good: those limits, no core file, no new rights, no capabilities, and of the system calls those
 * that memory and the descriptors at hand need: no file is opened, nothing connected, no program
 * begun, no other process sent a signal or held to other limits. It ends with the thread that began it. False: the kernel does not let itself be asked; then
 * nothing hostile may be read. */
bool sandbox_enter(const struct sandbox_limits *limits);

/* As much processor time from now on; then SIGXCPU is its end. False: the kernel does not say so. */
bool sandbox_allow(uint64_t processor_s);

#endif
