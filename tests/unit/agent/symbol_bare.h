/* SPDX-License-Identifier: Apache-2.0
 * What symbol_bare says of itself. */
#ifndef SYMBOL_BARE_H
#define SYMBOL_BARE_H

#include <stdint.h>
#include <ucontext.h>

#define BARE_DEPTH 6
#define BARE_WORDS 8192

struct bare_told {
    ucontext_t registers;         /* in the innermost function */
    uint64_t returns[BARE_DEPTH]; /* of the functions, innermost first */
    uint64_t stack_bytes;         /* from its stack pointer on */
    uint64_t stack[BARE_WORDS];
};

#endif
