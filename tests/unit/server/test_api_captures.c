/* SPDX-License-Identifier: Apache-2.0
 * GET /captures by kind, and by the rule or policy that began a capture: over HTTP, page by page, for
 * who sees all and for who is confined. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "collector_fixture.h"
#include "sampling.h"
#include "support.h"

#define LIST "/api/v1/captures"

static const struct sampling_plan plan = {1000, 600000};

static void report(struct fixture *f, cJSON *json)
{
    char error[256];
    ck_assert_msg(wire_agent_report(&f->agent, json, error, sizeof error), "%s", error);
}

/* Four firings of one rule, one of another, a sample of a policy that has the first rule's name, and
 * a request. */
static void captures_make(struct fixture *f)
{
    char id[ID_TEXT_BYTES];
    uint64_t at_ns = clock_realtime_ns() / 1000000000 * 1000000000;
    wire_agent_processes(&f->agent, 1, 2, "shop");
    cJSON_Delete(call_json(f, "PUT", "/api/v1/policies/ping",
                           "{\"selector\":\"service=shop\",\"record_ms\":500,\"every_ms\":1000}",
                           201));
    for (unsigned i = 0; i < 5; i++) {
        (void)snprintf(id, sizeof id, "01a1000000000000000000000000000%u", i);
        report(f, wire_fired(&f->agent, id, 1, i < 4 ? "ping" : "slow", at_ns));
    }
    id_text(sampling_capture(&plan, "ping", 1, at_ns).bytes, id);
    cJSON *sample = wire_fired(&f->agent, id, 2, NULL, at_ns);
    cJSON_ReplaceItemInObject(sample, "trigger", cJSON_CreateString("policy"));
    cJSON_AddStringToObject(sample, "policy", "ping");
    cJSON_ReplaceItemInObject(sample, "pre_ms", cJSON_CreateNumber(0));
    cJSON_ReplaceItemInObject(sample, "post_ms", cJSON_CreateNumber(500));
    report(f, sample);
    cJSON_Delete(
        call_json(f, "POST", LIST, "{\"selector\":\"service=shop\",\"pre_ms\":1000}", 202));
}

/* How many there are, page by page; each has `value` at `member` (NULL: whatever). */
static unsigned count_of(struct fixture *f, const char *query, const char *member,
                         const char *value)
{
    char path[256];
    unsigned seen = 0;
    (void)snprintf(path, sizeof path, LIST "?limit=2%s", query);
    for (bool more = true; more;) {
        cJSON *json = call_json(f, "GET", path, NULL, 200);
        const cJSON *item, *items = at_path(json, "items");
        cJSON_ArrayForEach(item, items) {
            seen++;
            if (member != NULL)
                ck_assert_str_eq(text_at(item, member), value);
        }
        more = at_path(json, "next_cursor") != NULL;
        (void)snprintf(path, sizeof path, LIST "?limit=2%s&cursor=%s", query,
                       text_at(json, "next_cursor"));
        cJSON_Delete(json);
    }
    return seen;
}

START_TEST(captures_are_listed_by_kind_rule_and_policy)
{
    struct fixture f;
    fixture_start(&f);
    captures_make(&f);
    ck_assert_uint_eq(count_of(&f, "", NULL, NULL), 7);
    ck_assert_uint_eq(count_of(&f, "&rule=ping", "trigger.rule", "ping"), 4);
    ck_assert_uint_eq(count_of(&f, "&rule=slow", "trigger.rule", "slow"), 1);
    ck_assert_uint_eq(count_of(&f, "&policy=ping", "trigger.policy", "ping"), 1);
    ck_assert_uint_eq(count_of(&f, "&kind=sample", "kind", "sample"), 1);
    ck_assert_uint_eq(count_of(&f, "&kind=snapshot", "kind", "snapshot"), 6);
    ck_assert_uint_eq(count_of(&f, "&kind=stream", NULL, NULL), 0);
    ck_assert_uint_eq(count_of(&f, "&rule=gone", NULL, NULL), 0);
    ck_assert_uint_eq(count_of(&f, "&kind=sample&rule=ping", NULL, NULL), 0);
    ck_assert_uint_eq(count_of(&f, "&kind=snapshot&rule=ping&selector=service%3Dshop", NULL, NULL),
                      4);
    ck_assert_uint_eq(count_of(&f, "&rule=ping&selector=service%3Dother", NULL, NULL), 0);
    expect_problem(&f, "GET", LIST "?kind=snap", NULL, 400, "kind");
    expect_problem(&f, "GET", LIST "?rule=", NULL, 400, "rule");
    expect_problem(&f, "GET", LIST "?rule=No%20name", NULL, 400, "rule");
    expect_problem(&f, "GET", LIST "?policy=..", NULL, 400, "policy");
    expect_problem(&f, "GET", LIST "?policy=ping&rule=ping", NULL, 400, "policy");
    fixture_stop(&f);
}
END_TEST

static void make_token(struct fixture *f, const char *name, enum http_scope scope,
                       const char *selector, char header[128])
{
    struct token token = {.scope = scope};
    char text[TOKEN_TEXT_BYTES], error[256] = "";
    (void)snprintf(token.name, sizeof token.name, "%s", name);
    (void)snprintf(token.selector, sizeof token.selector, "%s", selector);
    ck_assert_int_eq(
        tokens_create(f->collector.tokens, &token, clock_realtime_ns(), text, error, sizeof error),
        SKEIN_OK);
    (void)snprintf(header, 128, "Authorization: Bearer %s", text);
}

/* How many items an asker with this token gets; the status is checked. */
static int count_for(struct fixture *f, const char *token, const char *query, long status)
{
    struct http_response response;
    char path[160];
    (void)snprintf(path, sizeof path, LIST "?%s", query);
    call(f, "GET", path, NULL, token, &response);
    buf_put_u8(&response.body, 0);
    ck_assert_msg(response.status == status, "%s: %ld", query, response.status);
    cJSON *json = cJSON_Parse((const char *)response.body.data);
    int count = cJSON_GetArraySize(at_path(json, "items"));
    cJSON_Delete(json);
    http_response_fini(&response);
    return count;
}

START_TEST(who_is_confined_lists_by_kind_and_learns_no_rule)
{
    struct fixture f;
    char header[128];
    fixture_start(&f);
    captures_make(&f);
    make_token(&f, "root", HTTP_ADMIN, "", header);
    make_token(&f, "mine", HTTP_VIEWER, "service=shop", header);
    ck_assert_int_eq(count_for(&f, header, "kind=snapshot", 200), 6);
    ck_assert_int_eq(count_for(&f, header, "kind=sample", 200), 1);
    ck_assert_int_eq(count_for(&f, header, "kind=stream", 200), 0);
    count_for(&f, header, "rule=ping", 403);
    count_for(&f, header, "rule=gone", 403); /* as one that is there */
    count_for(&f, header, "policy=ping", 403);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("api_captures", captures_are_listed_by_kind_rule_and_policy,
                              who_is_confined_lists_by_kind_and_learns_no_rule, NULL));
}
