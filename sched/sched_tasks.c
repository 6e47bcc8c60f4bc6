/* SPDX-License-Identifier: Apache-2.0
 *
 * See sched_tasks.h.
 */
#include "sched_tasks.h"

#include <stdlib.h>

#include "array.h"
#include "skein/status.h"

void sched_tasks_fini(struct sched_tasks *tasks)
{
    intern_table_fini(&tasks->tids);
    free(tasks->tasks);
    *tasks = (struct sched_tasks){0};
}

struct task *sched_task_get(struct sched_tasks *tasks, uint32_t tid)
{
    bool fresh;
    int64_t number = SKEIN_NO_MEMORY;
    if (array_grow(tasks->tasks, tasks->count + 1, &tasks->cap))
        number = intern_table_put(&tasks->tids, &tid, sizeof tid, &fresh);
    if (number < 0) {
        tasks->no_memory = true;
        return NULL;
    }
    if (fresh)
        tasks->tasks[tasks->count++] = (struct task){.tid = tid, .use = {.tid = tid}};
    return &tasks->tasks[number];
}
