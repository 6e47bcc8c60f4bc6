/* SPDX-License-Identifier: Apache-2.0
 *
 * POST /rules:test and /rules/{name}:test: rules tried on what is stored. No state but the count of
 * those that run; any thread.
 */
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "clock.h"
#include "json.h"
#include "rule_replay.h"

#define AT_ONCE    2u /* each may hold two partitions in memory */
#define WINDOW_NS  (UINT64_C(3600) * 1000000000u)
#define WINDOW_MAX (UINT64_C(366) * 24 * 3600 * 1000000000u)
#define SHOWN      100
#define NAME_BYTES 64

struct test {
    struct api_services *api;
    struct http_exchange *x;
    cJSON *rule; /* in its full form */
    struct selector *selector;
    struct replay_request request;
};

static void window_read(struct json_reader *r, const cJSON *body, struct replay_request *q)
{
    uint64_t now_ns = clock_realtime_ns();
    q->to_ns = now_ns;
    api_body_time(r, body, "to", &q->to_ns);
    q->from_ns = q->to_ns > WINDOW_NS ? q->to_ns - WINDOW_NS : 0;
    api_body_time(r, body, "from", &q->from_ns);
    if (q->from_ns >= q->to_ns || q->to_ns - q->from_ns > WINDOW_MAX)
        json_fail(r, "", "from", "must lie before `to`, at most 366 days");
    q->shown = (size_t)json_u64(r, body, "", "limit", JSON_OPTIONAL, SHOWN, 0, REPLAY_SHOWN_MAX);
}

/* The rule in the body, else the one of that name; false: an answer was given. */
static bool rule_take(struct test *t, const cJSON *body, const char *name)
{
    char error[512] = "", field[600], own[NAME_BYTES];
    const cJSON *given = cJSON_GetObjectItemCaseSensitive(body, "rule");
    if (given != NULL ? !cJSON_IsObject(given) : name == NULL) {
        http_problem(t->x, 422, "rule", "rule: must be an object, the rule that is to be tried");
        return false;
    }
    if (given == NULL) {
        if (named_set_get(rules_set(t->api->rules), name, &t->rule) == SKEIN_OK)
            return true;
        http_problem(t->x, 404, NULL, "no rule %.64s; GET /api/v1/rules lists them", name);
        return false;
    }
    /* A rule without a name is called so; no real rule can be. */
    const char *inside = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(given, "name"));
    snprintf(own, sizeof own, "%s", name != NULL ? name : inside != NULL ? inside : "untitled");
    t->rule = rule_check(own, given, error, sizeof error);
    if (t->rule != NULL)
        return true;
    snprintf(field, sizeof field, "rule.%s", error);
    api_invalid(t->x, field);
    return false;
}

/* Processes must match both the rule and what the token is confined to. */
static int selector_take(struct test *t)
{
    char all[API_SELECTOR_BYTES], error[160];
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(t->rule, "selector"));
    int status = api_confine(t->x, text, &t->selector, all, error, sizeof error);
    t->request.rule = t->rule;
    t->request.selector = t->selector;
    t->request.confined = http_principal(t->x)->selector;
    return status;
}

static void test_run(struct test *t)
{
    struct api_services *api = t->api;
    cJSON *json = NULL;
    int status = selector_take(t);
    bool busy = __atomic_fetch_add(&api->replays, 1, __ATOMIC_RELAXED) >= AT_ONCE;
    if (status == SKEIN_OK && !busy)
        status = rule_replay(api->rules, api->index, &t->request, &json);
    __atomic_sub_fetch(&api->replays, 1, __ATOMIC_RELAXED);
    if (busy) {
        http_add_header(t->x, "Retry-After", "10");
        http_problem_of(t->x, PROBLEM_BUSY, NULL, "%u tests of rules run already", AT_ONCE);
    } else if (status == SKEIN_OK) {
        http_reply_json(t->x, 200, json);
    } else {
        api_failed(t->x, status, "the rule cannot be tried");
    }
}

static void rule_test(struct api_services *api, struct http_exchange *x, const char *name)
{
    static const char *const known[] = {"from", "to", "limit", "rule", NULL};
    struct json_reader r = {{0}};
    struct test t = {.api = api, .x = x};
    cJSON *body = http_body_json(x);
    if (body == NULL)
        return;
    json_known(&r, body, "", known);
    window_read(&r, body, &t.request);
    if (r.error[0] != '\0')
        api_invalid(x, r.error);
    else if (rule_take(&t, body, name))
        test_run(&t);
    selector_free(&t.selector);
    cJSON_Delete(t.rule);
    cJSON_Delete(body);
}

void api_rules_test(void *context, struct http_exchange *x)
{
    rule_test(context, x, NULL);
}

void api_rules_test_named(void *context, struct http_exchange *x)
{
    rule_test(context, x, http_part(x, 0));
}
