/* SPDX-License-Identifier: Apache-2.0
 * A chain of calls that knows itself, built without frame pointers. */
#ifndef SYMBOL_CHAIN_H
#define SYMBOL_CHAIN_H

#include <stdint.h>
#include <ucontext.h>

#define CHAIN_MAX 256

struct chain {
    unsigned depth;              /* asked for */
    uint64_t returns[CHAIN_MAX]; /* outermost first */
    unsigned count;
    ucontext_t registers; /* of the leaf */
    void (*leaf)(struct chain *chain);
};

/* Calls itself in turns of three functions, with frames of different sizes; at the depth records
 * the registers and calls leaf. */
int chain_run(struct chain *chain);

#endif
