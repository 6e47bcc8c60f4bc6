/* SPDX-License-Identifier: Apache-2.0
 *
 * Who asks: /whoami. No state; any thread.
 */
#include "api.h"
#include "api_handlers.h"

static const char *via_text(const struct principal *who)
{
    return who->token[0] != '\0' ? "token" : "local";
}

/* What not every collector has: a client looks here before it offers it. */
static void features_add(const struct api_services *api, cJSON *json)
{
    cJSON *features = cJSON_AddArrayToObject(json, "features");
    if (api->analyst_run != NULL)
        cJSON_AddItemToArray(features, cJSON_CreateString("analysis"));
}

void api_whoami(void *context, struct http_exchange *x)
{
    static const char *const known[] = {NULL};
    struct api_services *api = context;
    const struct principal *who = http_principal(x);
    if (!http_query_known(x, known))
        return;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", who->name);
    cJSON_AddStringToObject(json, "scope", scope_text(who->scope));
    if (who->selector_text[0] != '\0')
        cJSON_AddStringToObject(json, "selector", who->selector_text);
    cJSON_AddStringToObject(json, "via", via_text(who));
    cJSON_AddBoolToObject(json, "login_needed", who->token[0] != '\0');
    cJSON_AddStringToObject(json, "version", SKEIN_VERSION_TEXT);
    features_add(api, json);
    http_reply_json(x, 200, json);
}
