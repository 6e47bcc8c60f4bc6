/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of stacks, by process_vm_readv. A thread that sleeps is not stopped for it; see dump_int.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "clock.h"
#include "dump_int.h"

#define PAGE  4096u
#define PARTS (DUMP_STACK_BYTES / PAGE + 1)
#define LOOKS 3

/* A part for each page: what is behind the stack's end takes away nothing of what is before. */
size_t dump_read(uint32_t pid, uint64_t address, void *to, size_t bytes)
{
    struct iovec from[PARTS], into = {.iov_base = to, .iov_len = bytes};
    size_t parts = 0, planned = 0;
    while (planned < bytes && parts < PARTS) {
        uint64_t at = address + planned;
        size_t n = PAGE - (size_t)(at % PAGE);
        n = n < bytes - planned ? n : bytes - planned;
        from[parts].iov_base = (void *)(uintptr_t)at;
        from[parts++].iov_len = n;
        planned += n;
    }
    ssize_t n = process_vm_readv((pid_t)pid, &into, 1, from, parts, 0);
    return n > 0 ? (size_t)n : 0;
}

int dump_stack_copy(uint32_t pid, struct dump_thread *thread)
{
    if (thread->stack == NULL)
        thread->stack = malloc(DUMP_STACK_BYTES);
    if (thread->stack == NULL)
        return SKEIN_NO_MEMORY;
    errno = 0;
    thread->stack_bytes =
        dump_read(pid, thread->registers[DUMP_SP], thread->stack, DUMP_STACK_BYTES);
    if (thread->stack_bytes == 0)
        return errno == EPERM ? SKEIN_DENIED : SKEIN_IO;
    /* Most stacks are short; 512 long ones would be 32 MiB. */
    uint8_t *fitted = realloc(thread->stack, thread->stack_bytes);
    thread->stack = fitted != NULL ? fitted : thread->stack;
    return SKEIN_OK;
}

static void stack_drop(struct dump_thread *thread)
{
    free(thread->stack);
    thread->stack = NULL;
    thread->stack_bytes = 0;
}

/* The thread's fate; NONE: it runs. */
static enum dump_stack_fate blocked_copy(const struct dump *dump, struct dump_thread *thread)
{
    for (int look = 0; look < LOOKS; look++) {
        if ((look > 0 || !thread->blocked) && !dump_look(dump, thread))
            return DUMP_STACK_ENDED;
        if (thread->fate != DUMP_STACK_NONE || !thread->blocked)
            return thread->fate;
        int status = dump_stack_copy(dump->pid, thread);
        bool same = dump_same(dump, thread);
        if (status == SKEIN_OK && same)
            return DUMP_STACK_TAKEN;
        stack_drop(thread);
        if (status == SKEIN_DENIED)
            return DUMP_STACK_REFUSED;
        if (same)
            return DUMP_STACK_UNREADABLE;
    }
    return DUMP_STACK_MOVED;
}

void dump_copy_blocked(struct dump *dump)
{
    size_t count = dump->count < DUMP_STACKS_MAX ? dump->count : DUMP_STACKS_MAX;
    for (size_t i = 0; i < count; i++) {
        struct dump_thread *thread = &dump->threads[i];
        if (thread->fate != DUMP_STACK_NONE)
            continue;
        thread->fate = clock_monotonic_ns() >= dump->deadline_ns ? DUMP_STACK_UNTRIED
                                                                 : blocked_copy(dump, thread);
    }
}
