/* SPDX-License-Identifier: Apache-2.0
 *
 * Which agents are let in: /join-tokens, and what ends an agent's time. No state; any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "clock.h"
#include "json.h"

#define DEFAULT_NS (UINT64_C(3600) * 1000000000u)

/* ---- join tokens ---- */

static cJSON *token_json(const struct enroll_token *t)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "id", t->id);
    cJSON_AddStringToObject(json, "state", t->state);
    json_add_time(json, "created", t->created_ns);
    json_add_time(json, "expires", t->expires_ns);
    json_add_u64(json, "uses_left", t->uses_left);
    return json;
}

static int listed_take(void *context, const struct enroll_token *token)
{
    struct api_page *page = context;
    if (!api_page_wants(page, token->id))
        return page->more;
    cJSON_AddItemToArray(page->items, token_json(token));
    return 0;
}

void api_join_tokens_list(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct api_page page;
    if (!api_page_begin(x, &page))
        return;
    int64_t rows = enroll_tokens(api->enroll, clock_realtime_ns(), listed_take, &page);
    api_page_reply(x, &page, rows, "the join tokens cannot be listed");
}

static void token_read(struct json_reader *r, const cJSON *body, struct enroll_token *token)
{
    static const char *const known[] = {"expires", "uses", NULL};
    json_known(r, body, "", known);
    token->uses_left = json_u64(r, body, "", "uses", JSON_OPTIONAL, 1, 1, ENROLL_USES_MAX);
    token->expires_ns = token->created_ns + DEFAULT_NS;
    api_body_time(r, body, "expires", &token->expires_ns);
    if (token->expires_ns <= token->created_ns ||
        token->expires_ns - token->created_ns > ENROLL_TOKEN_NS_MAX)
        json_fail(r, "", "expires", "must be a time to come, at most 366 days from now");
}

void api_join_tokens_post(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct json_reader r = {{0}};
    struct enroll_token token = {.created_ns = clock_realtime_ns(), .state = "active"};
    char id[ENROLL_ID_BYTES] = "", text[ENROLL_TOKEN_BYTES], detail[64], location[64];
    cJSON *body = http_body_json(x);
    if (body == NULL)
        return;
    token_read(&r, body, &token);
    cJSON_Delete(body);
    if (r.error[0] != '\0') {
        api_invalid(x, r.error);
        return;
    }
    int status = enroll_token_create(api->enroll, token.created_ns, token.expires_ns,
                                     token.uses_left, id, text);
    snprintf(detail, sizeof detail, "for %" PRIu64 " agents", token.uses_left);
    api_audit(x, "join_token.create", id, api_result(status), detail);
    if (status != SKEIN_OK) {
        api_failed(x, status, "the join token could not be saved");
        return;
    }
    token.id = id;
    cJSON *json = token_json(&token);
    cJSON_AddStringToObject(json, "secret", text);
    seal_wipe(text, sizeof text);
    snprintf(location, sizeof location, "/api/v1/join-tokens/%s", id);
    http_add_header(x, "Location", location);
    http_reply_json(x, 201, json);
}

void api_join_tokens_delete(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    const char *id = http_part(x, 0);
    int status = enroll_token_revoke(api->enroll, id);
    api_audit(x, "join_token.delete", id, api_result(status), NULL);
    if (status == SKEIN_OK)
        http_reply(x, 204, NULL, NULL, 0);
    else if (status == SKEIN_NOT_FOUND)
        http_problem(x, 404, NULL, "no join token %.64s; GET /api/v1/join-tokens lists them", id);
    else
        api_failed(x, status, "the join token could not be deleted");
}

/* ---- agents ---- */

void api_add_enrolment(struct enroll *enroll, cJSON *agent)
{
    struct enroll_agent known;
    uint64_t id;
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(agent, "agent"));
    if (text == NULL || agent_parse(text, &id) != SKEIN_OK ||
        enroll_agent_find(enroll, id, &known) != SKEIN_OK)
        return;
    json_add_time(agent, "enrolled", known.enrolled_ns);
    if (known.revoked_ns != 0)
        json_add_time(agent, "revoked", known.revoked_ns);
}

static void no_agent(struct http_exchange *x, const char *what)
{
    http_problem(x, 404, NULL, "no agent %.64s%s; GET /api/v1/agents lists them", http_part(x, 0),
                 what);
}

void api_agents_revoke(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    uint64_t id;
    int status = agent_parse(http_part(x, 0), &id) == SKEIN_OK
                     ? enroll_revoke(api->enroll, id, clock_realtime_ns())
                     : SKEIN_NOT_FOUND;
    api_audit(x, "agent.revoke", http_part(x, 0), api_result(status), NULL);
    if (status == SKEIN_NOT_FOUND) {
        no_agent(x, " is enrolled");
        return;
    }
    if (status != SKEIN_OK) {
        api_failed(x, status, "the agent could not be revoked");
        return;
    }
    gate_look(api->gate);
    control_lock(api->control);
    struct fleet_agent *agent = fleet_agent_find(api->fleet, id);
    if (agent != NULL)
        fleet_agent_end(api->fleet, agent);
    control_unlock(api->control);
    http_reply(x, 204, NULL, NULL, 0);
}

/* Enrolled or listed, or both: an agent that speaks plain was never enrolled, and one that has
 * joined may never have said HELLO. */
static int agent_forget(struct api_services *api, uint64_t id)
{
    int enrolled = enroll_forget(api->enroll, id);
    if (enrolled != SKEIN_OK && enrolled != SKEIN_NOT_FOUND)
        return enrolled;
    gate_look(api->gate);
    control_lock(api->control);
    struct fleet_agent *agent = fleet_agent_find(api->fleet, id);
    int status = agent != NULL ? fleet_agent_forget(api->fleet, agent) : enrolled;
    control_unlock(api->control);
    return status;
}

void api_agents_delete(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    uint64_t id;
    int status =
        agent_parse(http_part(x, 0), &id) == SKEIN_OK ? agent_forget(api, id) : SKEIN_NOT_FOUND;
    api_audit(x, "agent.forget", http_part(x, 0), api_result(status), NULL);
    if (status == SKEIN_OK)
        http_reply(x, 204, NULL, NULL, 0);
    else if (status == SKEIN_NOT_FOUND)
        no_agent(x, "");
    else
        api_failed(x, status, "the agent could not be forgotten");
}
