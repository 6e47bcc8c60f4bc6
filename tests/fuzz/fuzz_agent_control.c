/* SPDX-License-Identifier: Apache-2.0
 * What a false collector may say to an agent: each body as every message that it could be, rules
 * read to the end, and the agent's own report of a target rewritten from whatever the disk held. */
#include <stdlib.h>
#include <string.h>

#include "agent_command.h"
#include "agent_report.h"
#include "fuzz_target.h"
#include "json.h"
#include "rule_program.h"

static void read_rules(const cJSON *rules)
{
    const struct config_strs nothing = {NULL, 0};
    for (const cJSON *item = rules->child; item != NULL; item = item->next) {
        struct rule_spec *rule;
        char error[256] = "";
        if (rule_spec_new(item, &rule, error, sizeof error) != SKEIN_OK) {
            if (error[0] == '\0')
                abort();
            continue;
        }
        struct check_spec *check = rule_spec_check(rule, 4711, &nothing);
        char name[64];
        if (check == NULL || check->program != NULL) /* nothing is allowed here */
            abort();
        check_name(check, name, sizeof name);
        check_spec_free(&check);
        rule_spec_free(&rule);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char error[256] = "";
    struct command *command;
    cJSON *id;
    int status = command_parse(bytes, n, &command, &id, error, sizeof error);
    if ((status == SKEIN_OK) != (command != NULL) || (status != SKEIN_OK && error[0] == '\0'))
        abort();
    if (command != NULL && command->kind == COMMAND_RULES)
        read_rules(command->set);
    cJSON_Delete(id);
    command_free(&command);

    struct welcome welcome;
    struct heartbeat_ack ack;
    (void)welcome_parse(bytes, n, &welcome, error, sizeof error);
    (void)heartbeat_ack_parse(bytes, n, &ack, error, sizeof error);
    (void)report_ack_parse(bytes, n, error, sizeof error);

    struct spool_head lost = {.key = {.epoch = 1, .sequence = 2}, .events = 3};
    struct buf out = {0};
    if (report_target_drop((const char *)bytes, n, &lost, "spool_full", &out) == SKEIN_OK) {
        cJSON *again = json_parse((const char *)out.data, out.len, error, sizeof error);
        if (again == NULL)
            abort();
        cJSON_Delete(again);
    }
    buf_fini(&out);
    struct target_result result = {.state = "capturing"};
    (void)target_result_read(&result, (const char *)bytes, n);
    (void)target_result_drop(&result, &lost, "rejected");
    target_result_fini(&result);
    return 0;
}
