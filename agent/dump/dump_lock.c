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

static bool is_thread(const struct dump *dump, uint32_t tid)
{
    for (size_t i = 0; i < dump->count; i++)
        if (dump->threads[i].tid == tid)
            return true;
    return false;
}

static void waits_set(struct dump_thread *thread, const char *what, uint32_t holder)
{
    thread->waits_for = what;
    thread->object = thread->args[0];
    thread->holder = holder;
}

/* As lll_lock, and all its kin with a time limit, wait: for a word that is 2. */
static void mutex_find(const struct dump *dump, struct dump_thread *thread, const uint32_t mutex[5])
{
    uint32_t value = (uint32_t)thread->args[2];
    bool in_word = (mutex[4] & KIND_IN_WORD) != 0;
    uint32_t owner = in_word ? mutex[0] & FUTEX_TID_MASK : mutex[2];
    bool waited_for = in_word ? (mutex[0] & FUTEX_WAITERS) != 0
                              : mutex[0] == LOCK_CONTENDED && value == LOCK_CONTENDED;
    if (waited_for && mutex[3] == 1 && mutex[4] <= KIND_MAX && owner == mutex[2] &&
        owner != thread->tid && is_thread(dump, owner))
        waits_set(thread, "mutex", owner);
}

static void futex_look(const struct dump *dump, struct dump_thread *thread)
{
    uint32_t words[5] = {0}, op = OP(thread);
    uint32_t value = (uint32_t)thread->args[2];
    size_t n = dump_read(dump->pid, thread->args[0], words, sizeof words);
    if (n < sizeof words[0])
        return;
    if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2) {
        uint32_t owner = words[0] & FUTEX_TID_MASK;
        if (owner != thread->tid && is_thread(dump, owner))
            waits_set(thread, "mutex", owner);
        return;
    }
    if (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET)
        return;
    if (n == sizeof words)
        mutex_find(dump, thread, words);
    /* pthread_join waits, not privately, until the kernel clears the thread's own number. */
    if (thread->waits_for == NULL && ((uint32_t)thread->args[1] & FUTEX_PRIVATE_FLAG) == 0 &&
        value == words[0] && value != thread->tid && is_thread(dump, value))
        waits_set(thread, "thread", value);
}

void dump_locks(struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++) {
        struct dump_thread *thread = &dump->threads[i];
        if (thread->blocked && thread->call == SYS_futex)
            futex_look(dump, thread);
    }
}
