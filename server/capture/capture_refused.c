/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures that an agent has begun and that are refused: for what it says of them next there is
 * nothing. This is remembered of the agent that was refused, of so many of the last ones, and in memory
 * alone. So it takes nothing from anybody else: whoever has the same id, as all parts of a sample have,
 * is heard as before. Under the control lock.
 */
#include <stdlib.h>

#include "capture_control.h"
#include "capture_int.h"
#include "capture_target.h"
#include "clock.h"
#include "log.h"

#define REFUSED_MAX 256 /* of each agent */

bool capture_is_refused(const struct fleet_agent *agent, const struct capture_id *id)
{
    for (size_t i = 0; i < agent->refused_count && i < REFUSED_MAX; i++)
        if (capture_id_equal(&agent->refused[i], id))
            return true;
    return false;
}

static void refused_note(struct fleet_agent *agent, const struct capture_id *id)
{
    agent->refused_to_ns = clock_realtime_ns();
    if (agent->refused == NULL)
        agent->refused = calloc(REFUSED_MAX, sizeof *agent->refused);
    if (agent->refused != NULL)
        agent->refused[agent->refused_count++ % REFUSED_MAX] = *id;
    else
        log_warn("captures", "a refused capture cannot be noted; what comes of it is kept", NULL);
}

/* Whether it is there by reports of this agent's targets alone, which came before the firing. */
static bool is_agents_alone(const struct capture *c, const struct fleet_agent *agent)
{
    bool alone = capture_waits_for_fired(c);
    for (size_t i = 0; i < c->target_count && alone; i++)
        alone = c->targets[i]->own && c->targets[i]->agent == agent->id;
    return alone;
}

void capture_refuse(struct capture_engine *e, struct fleet_agent *agent,
                    const struct capture_id *id)
{
    control_assert_locked(e->control);
    struct capture *c = capture_find(e, id);
    if (c != NULL && !is_agents_alone(c, agent))
        return;
    if (!capture_is_deleted(e, id) && !capture_is_refused(agent, id))
        refused_note(agent, id);
    if (c != NULL)
        capture_withdraw(e, c);
}
