/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with frame pointers and, as its unwind tables are taken out of the file, nothing else to
 * walk it by. Calls itself a few times deep, writes its registers, its stack and where its functions
 * return to, and waits.
 */
#include "symbol_bare.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct bare_told told;
static uint64_t stack_end;

static __attribute__((noinline)) uint64_t bare_deeper(unsigned depth)
{
    told.returns[depth] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    if (depth > 0)
        return bare_deeper(depth - 1) + depth; /* no tail call */
    getcontext(&told.registers);
    uint64_t from = (uint64_t)told.registers.uc_mcontext.gregs[REG_RSP];
    told.stack_bytes = stack_end - from;
    if (told.stack_bytes > sizeof told.stack)
        told.stack_bytes = sizeof told.stack;
    memcpy(told.stack, (const void *)(uintptr_t)from, told.stack_bytes);
    return fwrite(&told, sizeof told, 1, stdout) + (uint64_t)fflush(stdout);
}

int main(int argc, char **argv)
{
    (void)argc;
    stack_end = (uint64_t)(uintptr_t)argv; /* behind _start's frame */
    if (bare_deeper(BARE_DEPTH - 1) == 0)  /* it has not told */
        return 1;
    for (;;)
        pause();
}
