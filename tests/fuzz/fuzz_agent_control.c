/* SPDX-License-Identifier: Apache-2.0
 * What a false collector may say to an agent: each body as every message that it could be, put
 * again and read as the same; rules read to the end; and the agent's own report of a target
 * rewritten from whatever the disk held. */
#include <stdlib.h>
#include <string.h>

#include "agent_command.h"
#include "fuzz_again.h"
#include "fuzz_target.h"
#include "heartbeat.h"
#include "hello.h"
#include "report.h"
#include "rule_program.h"
#include "target_result.h"

static void read_rules(const cJSON *rules)
{
    const struct config_strs nothing = {NULL, 0};
    const struct rule_program_bounds bounds = {&nothing, ""};
    for (const cJSON *item = rules->child; item != NULL; item = item->next) {
        struct rule_spec *rule;
        char error[256] = "";
        if (rule_spec_new(item, &rule, error, sizeof error) != SKEIN_OK) {
            if (error[0] == '\0')
                abort();
            continue;
        }
        struct check_spec *check = rule_spec_check(rule, 4711, &bounds);
        char name[64];
        if (check == NULL || check->program != NULL) /* nothing is allowed here */
            abort();
        check_name(check, name, sizeof name);
        check_spec_free(&check);
        rule_spec_free(&rule);
    }
}

static void try_command(const uint8_t *bytes, size_t n)
{
    char error[256] = "", refuse[64];
    struct agent_command *command;
    cJSON *json = control_body_parse(bytes, n, error, sizeof error);
    int status = agent_command_new(json, &command, refuse, error, sizeof error);
    if ((status == SKEIN_OK) != (command != NULL) || (status != SKEIN_OK && error[0] == '\0'))
        abort();
    if (command != NULL &&
        (command->says.kind == COMMAND_RULES || command->says.kind == COMMAND_RULES_CHANGE))
        read_rules(command->says.set);
    agent_command_free(&command);
}

static void try_bodies(const cJSON *json)
{
    FUZZ_AGAIN(welcome, json);
    FUZZ_AGAIN(heartbeat_ack, json);
    FUZZ_AGAIN(report_ack, json);
    FUZZ_AGAIN(control_error, json);
    FUZZ_AGAIN_OWNER(command, json);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char error[256] = "";
    try_command(bytes, n);
    cJSON *json = control_body_parse(bytes, n, error, sizeof error);
    if (json != NULL)
        try_bodies(json);
    cJSON_Delete(json);

    struct spool_head lost = {.key = {.epoch = 1, .sequence = 2}, .events = 3};
    struct buf out = {0};
    if (target_result_amend((const char *)bytes, n, &lost, "spool_full", &out) == SKEIN_OK) {
        struct target_result again = {.state = REPORT_CAPTURING};
        if (target_result_read(&again, (const char *)out.data, out.len) != SKEIN_OK)
            abort();
        target_result_fini(&again);
    }
    buf_fini(&out);
    struct target_result result = {.state = REPORT_CAPTURING};
    (void)target_result_read(&result, (const char *)bytes, n);
    (void)target_result_drop(&result, &lost, "rejected");
    target_result_fini(&result);
    return 0;
}
