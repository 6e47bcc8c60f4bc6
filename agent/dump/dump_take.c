/* SPDX-License-Identifier: Apache-2.0
 *
 * The look at a process's threads, on a thread apart: first everything is looked at and copied, as close
 * together as may be. That thread stays with those of the process that were asked to stop and are late.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "descriptor.h"
#include "dump_int.h"
#include "look_apart.h"
#include "proc_info.h"

#define ROUNDS 3

/* A thread whose stack is copied is looked at again for that; the others are told of as they are seen
 * here. */
static bool thread_look(const struct dump *dump, struct dump_thread *thread, bool again)
{
    bool there = dump_look(dump, thread);
    for (int round = 1; again && there && thread->blocked && round < ROUNDS; round++) {
        if (dump_same(dump, thread))
            break;
        there = dump_look(dump, thread);
    }
    return there;
}

static void threads_look(struct dump *dump)
{
    size_t there = 0;
    for (size_t i = 0; i < dump->count; i++)
        if (thread_look(dump, &dump->threads[i], there >= DUMP_STACKS_MAX))
            dump->threads[there++] = dump->threads[i];
    dump->count = there;
}

static bool is_left(const struct dump *dump)
{
    for (size_t i = 0; i < dump->count && i < DUMP_STACKS_MAX; i++)
        if (dump->threads[i].fate == DUMP_STACK_NONE)
            return true;
    return false;
}

/* Those that were never got hold of, as they ran when it was the sleepers' turn, and slept when it
 * was that of those who run. */
static void left_settle(struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++) {
        struct dump_thread *thread = &dump->threads[i];
        if (thread->fate == DUMP_STACK_NONE)
            thread->fate = i >= DUMP_STACKS_MAX            ? DUMP_STACK_BEYOND
                           : dump->stop_ns >= DUMP_STOP_NS ? DUMP_STACK_UNTRIED
                                                           : DUMP_STACK_MOVED;
    }
}

static void fates_count(struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        dump->fates[dump->threads[i].fate]++;
}

static void threads_take(struct dump *dump)
{
    threads_look(dump);
    for (int round = 0; round < ROUNDS && (round == 0 || is_left(dump)); round++) {
        dump_copy_running(dump); /* first: what runs is not there for long */
        dump_copy_blocked(dump);
    }
    left_settle(dump);
    dump_locks(dump);
    fates_count(dump);
}

/* ---- apart ---- */

static void dump_look_apart(struct apart *apart, void *context)
{
    struct dump *dump = context;
    const pid_t pid = (pid_t)dump->pid;
    pid_t late[DUMP_STACKS_MAX];
    dump->status = apart_at(apart, pid) ? dump_list(dump) : SKEIN_BUSY;
    /* The folder that is open is this process's, or an earlier one's that is empty by now. */
    if (dump->status == SKEIN_OK && dump->start_clock_ticks != 0 &&
        !proc_is_same(pid, dump->start_clock_ticks))
        dump->status = SKEIN_NOT_FOUND;
    if (dump->status == SKEIN_OK) {
        threads_take(dump);
        if (!dump->hangs)
            proc_title(pid, dump->title, sizeof dump->title);
    }
    fd_close(&dump->task);
    size_t late_count = dump->late_count;
    memcpy(late, dump->late, late_count * sizeof *late);
    apart_tell(apart); /* the dump is its owner's from here on */
    dump_stay_with_late(late, late_count);
}

static void dump_drop(void *context)
{
    struct dump *dump = context;
    dump_discard(&dump);
}

int dump_run(struct dump **dump)
{
    const uint64_t now_ns = clock_monotonic_ns(), deadline_ns = (*dump)->deadline_ns;
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    left_ns = left_ns < DUMP_NS_MAX ? left_ns : DUMP_NS_MAX;
    int status = apart_run(dump_look_apart, dump_drop, *dump, left_ns + DUMP_GRACE_NS);
    if (status == SKEIN_TIMEOUT)
        *dump = NULL;
    return status == SKEIN_OK ? (*dump)->status : status;
}

struct dump *dump_new(uint32_t pid, uint64_t deadline_ns)
{
    struct dump *dump = calloc(1, sizeof *dump);
    if (dump != NULL)
        *dump = (struct dump){.pid = pid, .task = -1, .deadline_ns = deadline_ns};
    return dump;
}

void dump_discard(struct dump **dump)
{
    for (size_t i = 0; *dump != NULL && i < (*dump)->count; i++)
        free((*dump)->threads[i].stack);
    if (*dump != NULL)
        free((*dump)->threads);
    free(*dump);
    *dump = NULL;
}
