/* SPDX-License-Identifier: Apache-2.0
 *
 * See cli_states.h.
 */
#include "cli_states.h"

#include <inttypes.h>
#include <string.h>

#include "cli_out.h"
#include "json.h"

void states_of_add(cJSON *json, const struct vitals_of *of)
{
    cJSON_AddStringToObject(json, "host", of->host);
    if (of->service == NULL)
        return;
    cJSON_AddStringToObject(json, "service", of->service);
    cJSON_AddNumberToObject(json, "pid", of->pid);
    if (of->thread == NULL)
        return;
    cJSON_AddStringToObject(json, "thread", of->thread);
    cJSON_AddNumberToObject(json, "tid", of->tid);
}

void states_add(cJSON *json, const struct vitals_list *list)
{
    cJSON *states = cJSON_AddArrayToObject(json, "states");
    for (size_t i = 0; i < list->state_count; i++) {
        const struct vitals_state *state = &list->states[i];
        cJSON *row = cJSON_CreateObject();
        states_of_add(row, &state->of);
        cJSON_AddStringToObject(row, "state", state->state);
        json_add_time(row, "at", state->at_ns);
        json_add_u64(row, "at_least_ns", state->at_least_ns);
        json_add_u64_some(row, "at_most_ns", state->at_most_ns);
        if (state->lasted_most_ns > 0) {
            json_add_u64(row, "lasted_least_ns", state->lasted_least_ns);
            json_add_u64(row, "lasted_most_ns", state->lasted_most_ns);
        }
        cJSON_AddItemToArray(states, row);
    }
}

void states_put(struct buf *out, const cJSON *states)
{
    const cJSON *state;
    cJSON_ArrayForEach(state, states) {
        const char *service = json_text_at(state, "service"), *what = json_text_at(state, "state");
        text_put_safe(out, service, strlen(service));
        buf_printf(out, "[%" PRIu64 "] was ", json_u64_at(state, "pid"));
        text_put_safe(out, what, strlen(what));
        buf_printf(out, " at %s", json_text_at(state, "at"));
        if (json_u64_at(state, "at_least_ns") > 0) {
            buf_printf(out, ", since ");
            text_put_duration(out, json_u64_at(state, "at_least_ns"));
            buf_printf(out, " at least");
        }
        if (json_at(state, "at_most_ns") != NULL) {
            buf_printf(out, ", ");
            text_put_duration(out, json_u64_at(state, "at_most_ns"));
            buf_printf(out, " at most");
        }
        if (json_at(state, "lasted_most_ns") != NULL) {
            buf_printf(out, "; in all ");
            text_put_duration(out, json_u64_at(state, "lasted_least_ns"));
            buf_printf(out, " at least, ");
            text_put_duration(out, json_u64_at(state, "lasted_most_ns"));
            buf_printf(out, " at most");
        }
        buf_printf(out, "\n");
    }
}
