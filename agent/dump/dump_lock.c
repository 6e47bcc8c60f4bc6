/* SPDX-License-Identifier: Apache-2.0
 *
 * Who holds what a thread waits for in a futex. The kernel knows but an address and a value; what
 * lies there is the C library's, and is believed only where all of it fits: the memory is the
 * process's, which may write anything. Wrong is at most what a process says of itself.
 *
 * glibc's mutex (pthread_mutex_t), all of 32 bits:
 *
 *    0      4       8       12       16
 *    +------+-------+-------+--------+------+
 *    | lock | count | owner | nusers | kind |     kind: 0x10 robust, 0x20 priority inheritance
 *    +------+-------+-------+--------+------+
 */
#include <linux/futex.h>
#include <sys/syscall.h>

#include "dump_int.h"

#define OP(thread)     ((uint32_t)(thread)->args[1] & (uint32_t)FUTEX_CMD_MASK)
#define KIND_MAX       0x1ffu
#define KIND_IN_WORD   0x30u /* robust or inheriting: the lock word itself names the owner */
#define LOCK_CONTENDED 2u

/* The thread that calls itself so; 0: there is none. */
static uint32_t thread_by_inner(const struct dump *dump, uint32_t inner_tid)
{
    for (size_t i = 0; i < dump->count; i++)
        if (dump->threads[i].inner_tid == inner_tid)
            return dump->threads[i].tid;
    return 0;
}

/* If there is such a holder. */
static void waits_set(const struct dump *dump, struct dump_thread *thread, const char *what,
                      uint32_t holder_inner_tid)
{
    uint32_t holder = thread_by_inner(dump, holder_inner_tid);
    if (holder == 0)
        return;
    thread->waits_for = what;
    thread->object = thread->args[0];
    thread->holder = holder;
}

static void waits_clear(struct dump_thread *thread)
{
    thread->waits_for = NULL;
    thread->object = 0;
    thread->holder = 0;
}

/* As lll_lock, and all its kin with a time limit, wait: for a word that is 2. */
static void mutex_find(const struct dump *dump, struct dump_thread *thread, const uint32_t mutex[5])
{
    uint32_t value = (uint32_t)thread->args[2];
    bool in_word = (mutex[4] & KIND_IN_WORD) != 0;
    uint32_t owner = in_word ? mutex[0] & FUTEX_TID_MASK : mutex[2];
    bool waited_for = in_word ? (mutex[0] & FUTEX_WAITERS) != 0
                              : mutex[0] == LOCK_CONTENDED && value == LOCK_CONTENDED;
    if (waited_for && mutex[3] == 1 && mutex[4] <= KIND_MAX && owner == mutex[2])
        waits_set(dump, thread, "mutex", owner);
}

static void futex_look(const struct dump *dump, struct dump_thread *thread)
{
    uint32_t words[5] = {0}, op = OP(thread);
    uint32_t value = (uint32_t)thread->args[2];
    size_t n = dump_read(dump->pid, thread->args[0], words, sizeof words);
    if (n < sizeof words[0])
        return;
    if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2) {
        waits_set(dump, thread, "mutex", words[0] & FUTEX_TID_MASK);
        return;
    }
    if (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET)
        return;
    if (n == sizeof words)
        mutex_find(dump, thread, words);
    /* pthread_join waits, not privately, until the kernel clears the thread's own number. */
    if (thread->waits_for == NULL && ((uint32_t)thread->args[1] & FUTEX_PRIVATE_FLAG) == 0 &&
        value == words[0] && value != thread->inner_tid)
        waits_set(dump, thread, "thread", value);
}

void dump_locks(struct dump *dump)
{
    for (size_t i = 0; i < dump->count && !dump->hangs; i++) {
        struct dump_thread *thread = &dump->threads[i];
        if (thread->blocked && thread->call == SYS_futex)
            futex_look(dump, thread);
    }
    /* Who still sleeps has slept ever since he was looked at, so all that are left waited at this
     * moment. A holder that runs may have let go since; one that waits himself still holds it. */
    for (size_t i = 0; i < dump->count; i++) {
        struct dump_thread *thread = &dump->threads[i];
        if (thread->waits_for != NULL && !dump_same(dump, thread))
            waits_clear(thread);
    }
}
