/* SPDX-License-Identifier: Apache-2.0
 *
 * The frame that the kernel puts on the stack in front of a handler. A program with a handler for
 * its own faults, which writes a log and then ends itself by the same signal, dies in that handler;
 * what the fault was stands in this frame.
 *
 *   sp ▶ | … handler … | return | ucontext: registers of the fault, its address | siginfo | … stack
 *
 * A handler without SA_SIGINFO has no siginfo there, and is not found.
 *
 * Pure: reads the copied stack and nothing else, which any program may have filled with anything. On
 * x86-64; elsewhere nothing is found.
 */
#ifndef SIGNAL_FRAME_H
#define SIGNAL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct signal_frame {
    int32_t signal, code;
    uint64_t address; /* of the fault */
    uint64_t pc, sp;  /* where it was */
    uint64_t error;   /* of the processor, as struct fault_line's; good if has_error */
    bool has_error;
};

/* Looks for frames of faults in a copied stack whose first byte lies at `address`, from *at on
 * (0: from its begin), which moves behind the one that is found. A frame may be one of long ago, in
 * room that nobody has used since: whoever knows the calls knows whether its pc is among them. */
bool signal_frame_next(const uint8_t *stack, size_t n, uint64_t address, size_t *at,
                       struct signal_frame *out);

#endif
