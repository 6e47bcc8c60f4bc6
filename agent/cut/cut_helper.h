/* SPDX-License-Identifier: Apache-2.0
 *
 * A second thread for the time that a large cut is packed. It compresses and checksums full blocks
 * while the worker decodes what goes into the next. It runs where a processor is idle (SCHED_IDLE), so
 * that it takes nothing from the programs that are watched, or in the worker's place, with the
 * worker's priority, while the worker waits for it. Included by cutter.c and cut_int.h. One owner:
 * the thread that cuts.
 */
#ifndef CUT_HELPER_H
#define CUT_HELPER_H

#include <pthread.h>
#include <sched.h>

#include "partition_writer.h"

/* Fewer bytes of a ring are packed before a thread is worth its start. */
#define CUT_HELPED_BYTES (256u << 10)

struct cut_helper {
    pthread_t thread;
    bool runs;
    struct partition_writer *writer;
    int policy; /* the worker's */
    struct sched_param param;
    /* atomic */
    int tid;      /* of the thread, once it is idle in the scheduler's sense; 0 before */
    bool hurries; /* the worker waits for its end */
    bool ended;   /* it has, with the worker's priority: its tid is nobody's, or soon another's */
};

/* Shares the writer, if there is a processor for it and enough to do. Without memory or a thread the
 * writer is as it was, or shared with nobody, and all goes on. */
void cut_helper_start(struct cut_helper *helper, struct partition_writer *writer, uint64_t bytes);
/* Ends the thread, if one runs. Call it before the writer is freed; before partition_writer_finish
 * only if that will not be called. */
void cut_helper_end(struct cut_helper *helper);

#endif
