/* SPDX-License-Identifier: Apache-2.0
 *
 * The push of a set to agents, by generation; see pushed_set.h. Under the control lock.
 */
#include "pushed_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "selector.h"

/* Whether the agent has a set of this collector, from which changes lead to the one that is. */
static bool takes_change(const struct pushed_set *set, const struct fleet_agent *agent)
{
    const struct fleet_set_state *state = &agent->sets[set->set];
    return set->set == FLEET_RULES && !state->whole && state->refused == NULL &&
           state->wanted != 0 && state->generation >= set->since &&
           state->generation <= state->wanted && state->wanted <= set->generation;
}

static void removed_add(const struct pushed_set *set, uint64_t base, cJSON *to)
{
    for (size_t i = 0; i < set->removed_count && i < PUSHED_REMOVED_MAX; i++)
        if (set->removed[i].generation > base)
            cJSON_AddItemToArray(to, cJSON_CreateString(set->removed[i].name));
}

static void set_push_to(struct pushed_set *set, struct fleet_agent *agent, bool whole)
{
    static const enum command_kind kinds[FLEET_SETS] = {COMMAND_RULES, COMMAND_POLICIES};
    control_assert_locked(fleet_control(set->fleet));
    struct fleet_set_state *state = &agent->sets[set->set];
    struct command command = {.kind = kinds[set->set], .generation = set->generation};
    state->is_change = !whole && takes_change(set, agent);
    if (state->is_change) {
        command.kind = COMMAND_RULES_CHANGE;
        command.base = state->generation;
        command.removed = cJSON_CreateArray();
        removed_add(set, command.base, command.removed);
    }
    command.set = set->list(set->context, agent, state->is_change ? command.base : PUSHED_WHOLE,
                            command.removed);
    state->wanted = set->generation;
    int status = fleet_push(set->fleet, agent, set->set, &command);
    cJSON_Delete(command.set);
    cJSON_Delete(command.removed);
    if (status != SKEIN_OK)
        log_error(fleet_set_text(set->set), "cannot be sent to an agent", "host", agent->host,
                  "error", skein_status_text(status), NULL);
}

bool pushed_set_concerns(const char *text, const struct fleet_agent *agent)
{
    struct selector *selector = NULL;
    char error[160];
    if (text == NULL)
        return false;
    if (strstr(text, "host") == NULL ||
        selector_new(text, &selector, error, sizeof error) != SKEIN_OK)
        return true; /* without memory, rather to all */
    bool allows = selector_allows(selector, "host", agent->host);
    selector_free(&selector);
    return allows;
}

void pushed_set_to_all(struct pushed_set *set)
{
    control_assert_locked(fleet_control(set->fleet));
    size_t at = 0;
    for (struct fleet_agent *agent; (agent = fleet_agent_next(set->fleet, &at)) != NULL;)
        if (agent->session && agent->online)
            set_push_to(set, agent, true);
}

void pushed_set_changed(struct pushed_set *set, const char *name, const char *before,
                        const char *after, bool is_removed)
{
    control_assert_locked(fleet_control(set->fleet));
    size_t at = 0;
    if (is_removed) {
        size_t place = set->removed_count++ % PUSHED_REMOVED_MAX;
        if (set->removed[place].generation > set->since)
            set->since = set->removed[place].generation; /* it is forgotten now */
        snprintf(set->removed[place].name, sizeof set->removed[place].name, "%s", name);
        set->removed[place].generation = set->generation;
    }
    for (struct fleet_agent *agent; (agent = fleet_agent_next(set->fleet, &at)) != NULL;)
        if (agent->session && agent->online &&
            (pushed_set_concerns(before, agent) || pushed_set_concerns(after, agent)))
            set_push_to(set, agent, false);
}

void pushed_set_joined(struct pushed_set *set, struct fleet_agent *agent)
{
    control_assert_locked(fleet_control(set->fleet));
    agent->sets[set->set].wanted = 0; /* what it has may be another collector's */
    agent->sets[set->set].whole = false;
    if (set->generation > 0)
        set_push_to(set, agent, true);
}

void pushed_set_heard(struct pushed_set *set, struct fleet_agent *agent)
{
    control_assert_locked(fleet_control(set->fleet));
    const struct fleet_set_state *state = &agent->sets[set->set];
    if (state->generation != state->wanted && !fleet_has_push(agent, set->set))
        set_push_to(set, agent, true);
}

void pushed_set_done(struct pushed_set *set, struct fleet_agent *agent, const char *error)
{
    control_assert_locked(fleet_control(set->fleet));
    struct fleet_set_state *state = &agent->sets[set->set];
    const bool left_out = strncmp(error, "rule ", 5) == 0;
    if (error[0] != '\0' && state->is_change && !left_out) {
        state->whole = true;
        set_push_to(set, agent, true);
        return;
    }
    free(state->refused);
    state->refused = error[0] != '\0' ? strdup(error) : NULL;
    if (error[0] != '\0')
        log_warn(fleet_set_text(set->set), "an agent left out some", "host", agent->host, "error",
                 error, NULL);
    else
        state->generation = state->wanted;
}

size_t pushed_set_current(const struct pushed_set *set, size_t *online)
{
    control_assert_locked(fleet_control(set->fleet));
    size_t at = 0, current = 0;
    *online = 0;
    for (struct fleet_agent *a; (a = fleet_agent_next(set->fleet, &at)) != NULL;) {
        *online += a->online;
        current += a->online && a->sets[set->set].generation == a->sets[set->set].wanted;
    }
    return current;
}
