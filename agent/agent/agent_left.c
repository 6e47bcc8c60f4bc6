/* SPDX-License-Identifier: Apache-2.0
 *
 * When a ring ended that a process left as it called exec: until then the ring that it has now
 * lacks something, and behind that nothing. Known once the process is here again, as nobody can
 * write to the former ring then, and only where that is still there. The worker looks, the loop is
 * told.
 */
#include <stdlib.h>

#include "agent_int.h"
#include "cutter.h"

#define LOOKS_MAX 64 /* under way; nobody who execs for ever keeps the worker from its cuts */

struct left_look {
    struct agent *agent;
    struct process *former, *process; /* references */
    uint64_t last_ns;
    int status;
};

static void look_end(struct left_look *look)
{
    look->agent->left_looks--;
    process_unref(&look->former);
    process_unref(&look->process);
    free(look);
}

static void look_done(void *context)
{
    struct left_look *look = context;
    struct process *p = look->process;
    uint64_t to_ns =
        look->status == SKEIN_OK ? process_lacks_to(look->former, look->last_ns) : UINT64_MAX;
    if (to_ns < p->lacks_to_ns)
        process_lacks_set(p, p->lacks_from_ns, to_ns);
    look_end(look);
}

static void look_run(void *context)
{
    struct left_look *look = context;
    look->status =
        cut_last(look->agent->host_page, look->former, look->process->attached_ns, &look->last_ns);
    while (loop_post(look->agent->loop, look_done, look) != SKEIN_OK)
        continue; /* a few bytes; nobody else could let go of the processes */
}

void agent_left_look(struct agent *agent, struct process *former, struct process *process)
{
    struct left_look *look = agent->left_looks < LOOKS_MAX ? calloc(1, sizeof *look) : NULL;
    if (look == NULL)
        return; /* then until it was here again */
    agent->left_looks++;
    *look = (struct left_look){
        .agent = agent, .former = process_ref(former), .process = process_ref(process)};
    if (worker_post(agent->worker, NULL, look_run, look) != SKEIN_OK)
        look_end(look);
}
