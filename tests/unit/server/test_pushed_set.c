/* SPDX-License-Identifier: Apache-2.0
 * Rules and policies at an agent that was away while they changed: it gets them, whatever it says
 * first when it is back, and until then nobody counts it among those that have them. */
#include <stdio.h>

#include "collector_fixture.h"
#include "support.h"

static void put_rule(struct fixture *f, const char *name, int status)
{
    char path[64];
    snprintf(path, sizeof path, "/api/v1/rules/%s", name);
    cJSON_Delete(call_json(f, "PUT", path, "{\"selector\":\"\",\"when\":{\"crash\":{}}}", status));
}

static void put_policy(struct fixture *f, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/api/v1/policies/%s", name);
    cJSON_Delete(
        call_json(f, "PUT", path, "{\"selector\":\"\",\"every_ms\":60000,\"record_ms\":500}", 201));
}

/* Takes pushes of the kind until one has this generation, and returns that one. */
static cJSON *take_push(struct fixture *f, const char *kind, double generation)
{
    for (;;) {
        cJSON *command = wire_agent_command(&f->agent, kind, (int)support_deadline_ms());
        ck_assert_msg(command != NULL, "no push of %s", kind);
        wire_agent_ack(&f->agent, command, NULL);
        if (number_at(command, "generation") >= generation)
            return command;
        cJSON_Delete(command);
    }
}

static void expect_current(struct fixture *f, const char *path, double current, double online)
{
    cJSON *json = call_json(f, "GET", path, NULL, 200);
    ck_assert_double_eq(number_at(json, "state.agents_current"), current);
    ck_assert_double_eq(number_at(json, "state.agents"), online);
    cJSON_Delete(json);
}

/* The first word of an agent that is back is what it had to say meanwhile: a list of processes, or a
 * capture that began. */
static void speak(struct fixture *f, bool of_capture)
{
    char error[256];
    if (of_capture)
        ck_assert(wire_agent_report(
            &f->agent, wire_fired(&f->agent, "0199000000000000000000000000000a", 1, "", 0), error,
            sizeof error));
    else
        wire_agent_processes(&f->agent, 1, 2, "shop");
}

static void be_away_while_rules_change(bool of_capture)
{
    struct fixture f;
    fixture_start(&f);
    wire_agent_processes(&f.agent, 1, 1, "shop");
    put_rule(&f, "one", 201);
    put_policy(&f, "early");
    cJSON_Delete(take_push(&f, "rules", 1));
    cJSON_Delete(take_push(&f, "policies", 1));
    f.agent.policies_generation = 1;
    cJSON *answer = wire_agent_beat(&f.agent, 0, 1);
    ck_assert(!cJSON_IsTrue(at_path(answer, "hello")));
    cJSON_Delete(answer);
    expect_current(&f, "/api/v1/rules/one", 1, 1);

    fixture_lease_end(&f);
    put_rule(&f, "two", 201);
    put_policy(&f, "late");
    struct http_response response;
    call(&f, "DELETE", "/api/v1/rules/one", NULL, NULL, &response);
    http_response_fini(&response);
    speak(&f, of_capture);
    expect_current(&f, "/api/v1/rules/two", 0, 0);

    answer = wire_agent_beat(&f.agent, 0, 1);
    ck_assert_msg(cJSON_IsTrue(at_path(answer, "hello")), "nobody asks it what it has missed");
    cJSON_Delete(answer);
    cJSON_Delete(wire_agent_hello(&f.agent));
    cJSON *command = take_push(&f, "rules", 3);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(command, "rules")), 1);
    ck_assert_str_eq(text_at(command, "rules.0.name"), "two");
    cJSON_Delete(command);
    command = take_push(&f, "policies", 2);
    ck_assert_int_eq(cJSON_GetArraySize(at_path(command, "policies")), 2);
    cJSON_Delete(command);
    f.agent.policies_generation = 2;
    cJSON_Delete(wire_agent_beat(&f.agent, 0, 3));
    expect_current(&f, "/api/v1/rules/two", 1, 1);
    fixture_stop(&f);
}

START_TEST(an_agent_that_is_back_with_a_list_gets_what_it_missed)
{
    be_away_while_rules_change(false);
}
END_TEST

START_TEST(an_agent_that_is_back_with_a_firing_gets_what_it_missed)
{
    be_away_while_rules_change(true);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("pushed_set", an_agent_that_is_back_with_a_list_gets_what_it_missed,
                              an_agent_that_is_back_with_a_firing_gets_what_it_missed, NULL));
}
