/* SPDX-License-Identifier: Apache-2.0
 *
 * What skein-symbolizer may do: compute, and talk on the socket it was given. Main thread.
 */
#ifndef SYMBOL_SANDBOX_H
#define SYMBOL_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/* For good: limits of memory (bytes of address space), descriptors and processor time (of one
 * request, see below), no core file, no new rights, no capabilities, and of the system calls those
 * that memory and the descriptors at hand need: no file is opened, nothing connected, no program
 * begun. False: the kernel does not let itself be asked; then nothing hostile may be read. */
bool symbol_sandbox_enter(uint64_t memory_bytes);

/* Before each request: as much processor time again. */
void symbol_sandbox_allow(void);

#endif
