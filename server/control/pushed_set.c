/* SPDX-License-Identifier: Apache-2.0
 *
 * The push of a set to agents, by generation; see pushed_set.h. Under the control lock.
 */
#include "pushed_set.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "wire.h"

#define SET_BYTES_MAX (WIRE_CONTROL_MAX - 1024u) /* the set travels in one message */

/* Its list is the caller's to delete. */
static struct command command_of(const struct pushed_set *set)
{
    static const enum command_kind kinds[FLEET_SETS] = {COMMAND_RULES, COMMAND_POLICIES};
    return (struct command){
        .kind = kinds[set->set], .generation = set->generation, .set = set->list(set->context)};
}

static void set_push_to(const struct pushed_set *set, struct fleet_agent *agent)
{
    control_assert_locked(fleet_control(set->fleet));
    struct command command = command_of(set);
    int status = fleet_push(set->fleet, agent, set->set, &command);
    cJSON_Delete(command.set);
    if (status != SKEIN_OK)
        log_error(fleet_set_text(set->set), "cannot be sent to an agent", "host", agent->host,
                  "error", skein_status_text(status), NULL);
}

void pushed_set_to_all(const struct pushed_set *set)
{
    control_assert_locked(fleet_control(set->fleet));
    size_t at = 0;
    for (struct fleet_agent *agent; (agent = fleet_agent_next(set->fleet, &at)) != NULL;)
        if (agent->session && agent->online)
            set_push_to(set, agent);
}

void pushed_set_joined(const struct pushed_set *set, struct fleet_agent *agent)
{
    control_assert_locked(fleet_control(set->fleet));
    if (set->generation > 0)
        set_push_to(set, agent);
}

void pushed_set_heard(const struct pushed_set *set, struct fleet_agent *agent)
{
    control_assert_locked(fleet_control(set->fleet));
    if (agent->sets[set->set].generation != set->generation && !fleet_has_push(agent, set->set))
        set_push_to(set, agent);
}

void pushed_set_done(const struct pushed_set *set, struct fleet_agent *agent, const char *error)
{
    control_assert_locked(fleet_control(set->fleet));
    struct fleet_set_state *state = &agent->sets[set->set];
    free(state->refused);
    state->refused = error[0] != '\0' ? strdup(error) : NULL;
    if (error[0] != '\0')
        log_warn(fleet_set_text(set->set), "an agent left out some", "host", agent->host, "error",
                 error, NULL);
    else
        state->generation = set->generation;
}

int pushed_set_fits(const struct pushed_set *set)
{
    control_assert_locked(fleet_control(set->fleet));
    struct buf text = {0};
    struct command command = command_of(set);
    command_put(&command, &text);
    cJSON_Delete(command.set);
    int status = text.len > SET_BYTES_MAX ? SKEIN_TOO_LARGE : SKEIN_OK;
    status = text.status != SKEIN_OK ? text.status : status;
    buf_fini(&text);
    return status;
}

size_t pushed_set_current(const struct pushed_set *set, size_t *online)
{
    control_assert_locked(fleet_control(set->fleet));
    size_t at = 0, current = 0;
    *online = 0;
    for (struct fleet_agent *a; (a = fleet_agent_next(set->fleet, &at)) != NULL;) {
        *online += a->online;
        current += a->online && a->sets[set->set].generation == set->generation;
    }
    return current;
}
