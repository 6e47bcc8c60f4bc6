/* SPDX-License-Identifier: Apache-2.0
 * Every route that changes something leaves an entry in the audit log: the table below must name
 * each route of the API that does not only read, so that a new one is thought of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "clock.h"
#include "collector_fixture.h"
#include "support.h"

#define V1    "/api/v1"
#define AGENT "00000000000000e1"
#define RULE                                                                                       \
    "{\"selector\":\"service=shop\",\"when\":{\"webhook\":{}},"                                    \
    "\"capture\":{\"pre_ms\":1000,\"post_ms\":0}}"
#define POLICY "{\"selector\":\"service=shop\",\"record_ms\":1000,\"every_ms\":1000000}"

/* In this order. Of the paths, {} is the last id that was answered, or `object`; of the bodies, TOKEN
 * is the token. action NULL: it only reads, and needs a body for that. */
static const struct {
    const char *method, *pattern, *object, *body;
    long status;
    const char *action;
} changes[] = {
    {"POST", V1 "/captures", "", "{\"selector\":\"service=shop\",\"post_ms\":60000}", 202,
     "capture.create"},
    {"PATCH", V1 "/captures/{}", "", "{\"pin\":true}", 200, "capture.update"},
    {"POST", V1 "/captures/{}/sql", "", "{\"query\":\"select 1\"}", 404, "capture.query"},
    {"POST", V1 "/captures/{}:stop", "", NULL, 202, "capture.stop"},
    {"DELETE", V1 "/captures/{}", "", NULL, 204, "capture.delete"},
    {"POST", V1 "/captures", "", "{\"selector\":\"service=shop\",\"post_ms\":60000}", 202,
     "capture.create"},
    {"PATCH", V1 "/captures?incident={}", "", "{\"pin\":true}", 200, "capture.update"},
    {"DELETE", V1 "/captures?incident={}", "", NULL, 204, "capture.delete"},
    {"PUT", V1 "/rules/{}", "r", RULE, 201, "rule.put"},
    {"PATCH", V1 "/rules/{}", "r", "{\"enabled\":true}", 200, "rule.put"},
    {"POST", V1 "/rules/{}:test", "r", "{}", 200, NULL},
    {"POST", V1 "/rules:test", "", "{}", 422, NULL},
    {"POST", V1 "/triggers/{}", "r", "{}", 202, "rule.trigger"},
    {"DELETE", V1 "/rules/{}", "r", NULL, 204, "rule.delete"},
    {"PUT", V1 "/policies/{}", "p", POLICY, 201, "policy.put"},
    {"PATCH", V1 "/policies/{}", "p", "{\"enabled\":true}", 200, "policy.put"},
    {"DELETE", V1 "/policies/{}", "p", NULL, 204, "policy.delete"},
    {"POST", V1 "/selectors:match", "", "{\"selector\":\"a=b\"}", 200, NULL},
    {"POST", V1 "/agents/{}:revoke", AGENT, NULL, 204, "agent.revoke"},
    {"DELETE", V1 "/agents/{}", AGENT, NULL, 204, "agent.forget"},
    {"POST", V1 "/join-tokens", "", "{}", 201, "join_token.create"},
    {"DELETE", V1 "/join-tokens/{}", "", NULL, 204, "join_token.delete"},
    {"POST", V1 "/tokens", "", "{\"name\":\"t\",\"scope\":\"admin\"}", 201, "token.create"},
    {"POST", V1 "/login-codes", "", NULL, 201, "login_code.create"},
    {"POST", V1 "/session", "", "{\"token\":\"TOKEN\"}", 204, "session.create"},
    /* A token has no session to end; what does is in test_session.c. */
    {"DELETE", V1 "/session", "", NULL, 404, NULL},
    {"DELETE", V1 "/tokens/{}", "t", NULL, 204, "token.revoke"},
};
enum { CHANGES = sizeof changes / sizeof *changes };

struct audited {
    struct fixture f;
    char id[64], token[192]; /* the last answered; header, once there is a token */
};

static void enrol(struct fixture *f)
{
    struct seal_pair pair;
    struct enroll *e = f->collector.enroll;
    uint64_t now = clock_realtime_ns();
    char id[ENROLL_ID_BYTES], text[ENROLL_TOKEN_BYTES], reason[SEAL_REASON_MAX + 1];
    seal_pair_make(&pair);
    ck_assert_int_eq(enroll_token_create(e, now, now + UINT64_C(3600000000000), 1, id, text),
                     SKEIN_OK);
    ck_assert_int_eq(enroll_admit(e, 0xe1, &pair.open, text, now, id, reason, sizeof reason),
                     SKEIN_OK);
}

/* What the answer says that it has made, and a token to go on with. */
static void take_answer(struct audited *a, const struct http_response *response)
{
    static const char *const names[] = {"capture", "id", "name"};
    cJSON *json = cJSON_ParseWithLength((const char *)response->body.data, response->body.len);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, names[i]));
        if (text != NULL)
            snprintf(a->id, sizeof a->id, "%s", text);
    }
    const char *secret = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "secret"));
    if (secret != NULL && strncmp(secret, "skn_", 4) == 0)
        snprintf(a->token, sizeof a->token, "Authorization: Bearer %s", secret);
    cJSON_Delete(json);
}

struct newest {
    uint64_t id;
    char text[512];
};

static int take_newest(void *context, const struct audit_row *row)
{
    struct newest *n = context;
    n->id = row->id;
    snprintf(n->text, sizeof n->text, "%s %s %s", row->entry.action, row->entry.object,
             row->entry.result);
    return 1;
}

static struct newest newest_entry(struct audited *a)
{
    struct newest n = {0, ""};
    struct audit_query all = {.to_ns = UINT64_MAX, .before = UINT64_MAX, .limit = 1};
    ck_assert_int_ge(audit_list(a->f.collector.audit, &all, take_newest, &n), 0);
    return n;
}

static const char *body_of(const struct audited *a, const char *body, char out[256])
{
    const char *hole = body != NULL ? strstr(body, "TOKEN") : NULL;
    if (hole == NULL)
        return body;
    snprintf(out, 256, "%.*s%s%s", (int)(hole - body), body,
             a->token + strlen("Authorization: Bearer "), hole + strlen("TOKEN"));
    return out;
}

static void try_change(struct audited *a, size_t i)
{
    struct http_response response;
    char body[256];
    char path[256], want[256];
    const char *object = changes[i].object[0] != '\0' ? changes[i].object : a->id;
    const char *hole = strstr(changes[i].pattern, "{}");
    size_t n = hole != NULL ? (size_t)(hole - changes[i].pattern) : strlen(changes[i].pattern);
    snprintf(path, sizeof path, "%.*s%s%s", (int)n, changes[i].pattern, hole != NULL ? object : "",
             hole != NULL ? hole + 2 : "");
    struct newest before = newest_entry(a);
    call(&a->f, changes[i].method, path, body_of(a, changes[i].body, body),
         a->token[0] != '\0' ? a->token : NULL, &response);
    ck_assert_msg(response.status == changes[i].status, "%s %s: %ld %.*s", changes[i].method, path,
                  response.status, (int)response.body.len, (const char *)response.body.data);
    take_answer(a, &response);
    http_response_fini(&response);
    struct newest after = newest_entry(a);
    if (changes[i].action == NULL) {
        ck_assert_msg(after.id == before.id, "%s %s only reads, and is audited: %s",
                      changes[i].method, path, after.text);
        return;
    }
    snprintf(want, sizeof want, "%s %s %s", changes[i].action, hole != NULL ? object : a->id,
             changes[i].status < 400 ? "ok" : "not found");
    ck_assert_msg(after.id > before.id, "%s %s leaves no audit entry", changes[i].method, path);
    ck_assert_str_eq(after.text, want);
}

START_TEST(each_change_leaves_an_entry)
{
    struct audited a = {.id = ""};
    fixture_start(&a.f);
    wire_agent_processes(&a.f.agent, 1, 1, "shop");
    enrol(&a.f);
    for (size_t i = 0; i < CHANGES; i++)
        try_change(&a, i);
    fixture_stop(&a.f);
}
END_TEST

START_TEST(each_route_that_may_change_something_is_in_the_table)
{
    for (const struct http_route *route = api_routes; route->method != NULL; route++) {
        size_t i = 0;
        while (i < CHANGES &&
               (strcmp(route->method, changes[i].method) != 0 ||
                strlen(route->pattern) != strcspn(changes[i].pattern, "?") ||
                memcmp(route->pattern, changes[i].pattern, strlen(route->pattern)) != 0))
            i++;
        ck_assert_msg(i < CHANGES || strcmp(route->method, "GET") == 0,
                      "%s %s: say here what it leaves in the audit log", route->method,
                      route->pattern);
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of("audited", each_change_leaves_an_entry,
                              each_route_that_may_change_something_is_in_the_table, NULL));
}
