/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that helps to pack; see cut_helper.h. Owns the thread, not the writer.
 */
#include "cut_helper.h"

#include <unistd.h>

static void policy_set(int tid, int policy, const struct sched_param *param)
{
    (void)sched_setscheduler(tid, policy, param); /* refused: it stays as it is, and still works */
}

/*
 *     helper                              worker
 *     SCHED_IDLE                          hurries = true
 *     tid = its own      (A)              read tid; not 0: SCHED_OTHER (B)
 *     read hurries; true: SCHED_OTHER
 *
 * Sequentially consistent on both sides: one of them sees what the other wrote, so that the worker
 * never waits for a thread that nobody runs.
 */
static void *helper_main(void *context)
{
    struct cut_helper *helper = context;
    const struct sched_param idle = {0};
    /* Who may not come back from SCHED_IDLE (RLIMIT_NICE) would keep the worker waiting. */
    if (sched_setscheduler(0, SCHED_IDLE, &idle) != 0 ||
        sched_setscheduler(0, helper->policy, &helper->param) != 0) {
        __atomic_store_n(&helper->ended, true, __ATOMIC_SEQ_CST);
        return NULL;
    }
    policy_set(0, SCHED_IDLE, &idle);
    __atomic_store_n(&helper->tid, gettid(), __ATOMIC_SEQ_CST); /* A */
    if (__atomic_load_n(&helper->hurries, __ATOMIC_SEQ_CST))
        policy_set(0, helper->policy, &helper->param);
    partition_writer_help(helper->writer);
    policy_set(0, helper->policy, &helper->param);
    __atomic_store_n(&helper->ended, true, __ATOMIC_SEQ_CST);
    return NULL;
}

/* The worker waits for the helper, or does no more. */
static void turn_lend(void *context, bool lent)
{
    const struct cut_helper *helper = context;
    const struct sched_param idle = {0};
    int tid = __atomic_load_n(&helper->tid, __ATOMIC_SEQ_CST); /* B */
    if (tid != 0 && !__atomic_load_n(&helper->ended, __ATOMIC_SEQ_CST))
        policy_set(tid, lent ? helper->policy : SCHED_IDLE, lent ? &helper->param : &idle);
}

static bool has_processors(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}

void cut_helper_start(struct cut_helper *helper, struct partition_writer *writer, uint64_t bytes)
{
    *helper = (struct cut_helper){.writer = writer};
    if (bytes < CUT_HELPED_BYTES || !has_processors())
        return;
    const struct partition_lend lend = {turn_lend, helper};
    helper->policy = sched_getscheduler(0);
    if (helper->policy < 0 || sched_getparam(0, &helper->param) != 0 ||
        partition_writer_share(writer, &lend) != SKEIN_OK)
        return;
    helper->runs = pthread_create(&helper->thread, NULL, helper_main, helper) == 0;
}

void cut_helper_end(struct cut_helper *helper)
{
    if (!helper->runs)
        return;
    helper->runs = false;
    partition_writer_unshare(helper->writer);
    __atomic_store_n(&helper->hurries, true, __ATOMIC_SEQ_CST);
    turn_lend(helper, true);
    pthread_join(helper->thread, NULL);
}
