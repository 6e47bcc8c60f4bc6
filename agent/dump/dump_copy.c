/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of stacks, by process_vm_readv. A thread that sleeps is not stopped for it; see dump_int.h. Memory
 * of a process may not answer (look_apart.h): then the dump is given up, and goes on by itself. As no
 * thread may stay stopped for so long, the stacks of those are copied by another thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "clock.h"
#include "dump_int.h"
#include "look_apart.h"

#define PAGE  4096u
#define PARTS (DUMP_STACK_BYTES / PAGE + 1)
#define LOOKS 3
/* A page may have to come from a disk first. */
#define READ_NS (100 * NS_PER_MS)

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

/* ---- apart ---- */

struct memory_copy {
    uint32_t pid;
    uint64_t address;
    uint8_t *bytes;
    size_t wanted, had;
    int status;
};

static void memory_read(struct apart *apart, void *context)
{
    struct memory_copy *copy = context;
    copy->status = SKEIN_BUSY;
    if (!apart_at(apart, (pid_t)copy->pid))
        return;
    errno = 0;
    copy->had = dump_read(copy->pid, copy->address, copy->bytes, copy->wanted);
    copy->status = copy->had > 0 ? SKEIN_OK : errno == EPERM ? SKEIN_DENIED : SKEIN_IO;
}

static void memory_copy_free(void *context)
{
    struct memory_copy *copy = context;
    free(copy->bytes);
    free(copy);
}

int dump_read_apart(struct dump *dump, uint64_t address, size_t bytes, uint8_t **copied, size_t *n)
{
    struct memory_copy *copy = dump->hangs ? NULL : calloc(1, sizeof *copy);
    if (copy == NULL)
        return dump->hangs ? SKEIN_BUSY : SKEIN_NO_MEMORY;
    *copy = (struct memory_copy){
        .pid = dump->pid, .address = address, .bytes = malloc(bytes), .wanted = bytes};
    int status = copy->bytes != NULL ? apart_run(memory_read, memory_copy_free, copy, READ_NS)
                                     : SKEIN_NO_MEMORY;
    dump->hangs = status == SKEIN_TIMEOUT || (status == SKEIN_OK && copy->status == SKEIN_BUSY);
    if (status == SKEIN_TIMEOUT)
        return SKEIN_BUSY; /* the copy is the other thread's */
    status = status == SKEIN_OK ? copy->status : status;
    if (status == SKEIN_OK) {
        *copied = copy->bytes;
        *n = copy->had;
        copy->bytes = NULL;
    }
    memory_copy_free(copy);
    return status;
}

/* ---- stacks ---- */

/* Most stacks are short; 512 long ones would be 32 MiB. */
static void stack_fit(struct dump_thread *thread)
{
    uint8_t *fitted = realloc(thread->stack, thread->stack_bytes);
    thread->stack = fitted != NULL ? fitted : thread->stack;
}

enum dump_stack_fate dump_stack_copy_stopped(struct dump *dump, struct dump_thread *thread)
{
    int status = dump_read_apart(dump, thread->registers[DUMP_SP], DUMP_STACK_BYTES, &thread->stack,
                                 &thread->stack_bytes);
    if (status == SKEIN_OK)
        stack_fit(thread);
    return status == SKEIN_OK       ? DUMP_STACK_TAKEN
           : status == SKEIN_DENIED ? DUMP_STACK_REFUSED
           : status == SKEIN_BUSY   ? DUMP_STACK_HANGS
                                    : DUMP_STACK_UNREADABLE;
}

/* SKEIN_OK, SKEIN_DENIED, SKEIN_NO_MEMORY, SKEIN_IO. */
static int stack_copy(uint32_t pid, struct dump_thread *thread)
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
    stack_fit(thread);
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
        int status = stack_copy(dump->pid, thread);
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
        thread->fate = dump->hangs                                 ? DUMP_STACK_HANGS
                       : clock_monotonic_ns() >= dump->deadline_ns ? DUMP_STACK_UNTRIED
                                                                   : blocked_copy(dump, thread);
    }
}
