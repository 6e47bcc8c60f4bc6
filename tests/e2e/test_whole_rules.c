/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules on what a service itself shows, beside the real daemons: a region that takes too long, log
 * lines, a counter, and a heartbeat that says that it is not well.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "whole.h"

static void rule_put(const struct whole *w, const char *name, const char *when)
{
    char path[64], body[512];
    struct buf answer = {0};
    (void)snprintf(path, sizeof path, "/api/v1/rules/%s", name);
    (void)snprintf(
        body, sizeof body,
        "{\"name\":\"%s\",\"selector\":\"service=clock\",\"when\":{%s},"
        "\"capture\":{\"pre_ms\":500,\"post_ms\":0},\"limits\":{\"cooldown_ms\":600000}}",
        name, when);
    int status = whole_http(w, "PUT", path, body, &answer);
    ck_assert_msg(status == 201, "PUT %s: %d %.*s", path, status, (int)answer.len,
                  answer.data ? (const char *)answer.data : "");
    buf_fini(&answer);
}

struct wanted {
    const struct whole *w;
    const char *rule, *type, *words;
    unsigned complete;
};

static void take_capture(void *context, const cJSON *item)
{
    struct wanted *wanted = context;
    const cJSON *trigger = cJSON_GetObjectItemCaseSensitive(item, "trigger");
    const cJSON *rule = cJSON_GetObjectItemCaseSensitive(trigger, "rule");
    if (!cJSON_IsString(rule) || strcmp(rule->valuestring, wanted->rule) != 0)
        return;
    ck_assert_str_eq(whole_str(trigger, "type"), wanted->type);
    ck_assert_msg(strstr(whole_str(trigger, "reason"), wanted->words) != NULL, "%s",
                  whole_str(trigger, "reason"));
    wanted->complete += strcmp(whole_str(item, "status"), "complete") == 0;
}

static bool is_captured(void *context)
{
    struct wanted *wanted = context;
    wanted->complete = 0;
    (void)whole_list(wanted->w, "/api/v1/captures", take_capture, wanted);
    return wanted->complete > 0;
}

static void wait_captured(const struct whole *w, const char *rule, const char *type,
                          const char *words)
{
    struct wanted wanted = {.w = w, .rule = rule, .type = type, .words = words};
    ck_assert_msg(wait_until(is_captured, &wanted, 0), "%s captures nothing: see %s", rule,
                  w->folder);
    ck_assert_uint_eq(wanted.complete, 1);
}

/* It has looked, and missed nothing. */
static bool never_passes(void *context)
{
    cJSON *rule = whole_get(context, "/api/v1/rules/never");
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(rule, "state");
    const cJSON *process =
        cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(state, "processes"), 0);
    bool passes = process != NULL && strcmp(whole_str(process, "health"), "passing") == 0 &&
                  whole_str(process, "last_error")[0] == '\0';
    cJSON_Delete(rule);
    return passes;
}

START_TEST(what_a_service_shows_is_captured_by_rules)
{
    struct whole w;
    whole_init(&w, NULL, "\"checks\":{\"startup_grace_ms\":0}");
    whole_collector_start(&w);
    whole_agent_start(&w);
    char *socket = whole_path(&w, "agent.sock");
    pid_t subject =
        spawn((const char *const[]){AGENT_SUBJECT, socket, "clock", "await", NULL}, NULL);
    whole_wait_live(&w, "service%3Dclock", 1);
    rule_put(&w, "slow", "\"latency\":{\"region\":\"pause\",\"over_us\":100,\"count\":3}");
    rule_put(&w, "said", "\"log\":{\"match\":\"^still\"}");
    rule_put(&w, "many", "\"counter\":{\"name\":\"ticks\",\"above\":10}");
    rule_put(&w, "never", "\"counter\":{\"name\":\"ticks\",\"below\":0}");
    rule_put(&w, "well", "\"health\":{\"every_ms\":100,\"heartbeat\":{\"silent_ms\":20000}}");
    wait_captured(&w, "slow", "latency", "region pause took");
    wait_captured(&w, "slow", "latency", "(limit 0.100 ms), 3 times in 60000 ms; rule slow");
    wait_captured(&w, "said", "log", "the log says (warn): still here; rule said");
    wait_captured(&w, "many", "counter", "counter ticks was");
    ck_assert_int_eq(kill(subject, SIGUSR2), 0);
    wait_captured(&w, "well", "health", "the service says that it is not well: the queue is full");
    struct wanted never = {.w = &w, .rule = "never", .type = "counter", .words = ""};
    ck_assert(!is_captured(&never));
    ck_assert(wait_until(never_passes, &w, 0));
    free(socket);
    (void)spawn_stop(subject, SIGKILL, 0);
    whole_fini(&w);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("whole_rules", what_a_service_shows_is_captured_by_rules, NULL));
}
