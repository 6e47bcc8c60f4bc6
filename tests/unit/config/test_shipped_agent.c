/* SPDX-License-Identifier: Apache-2.0
 * The agent's shipped files are such that it accepts, and the shipped schema is its table's. */
#include "agent_config.h"
#include "shipped.h"

static void file_expect(const char *file, struct agent_config *config)
{
    char error[512] = "";
    int status =
        agent_config_load(&(struct config_sources){.file = file}, config, error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
}

START_TEST(shipped_file_is_accepted)
{
    struct agent_config config;
    file_expect(SHIPPED_FOLDER "agent.json", &config);
    agent_config_free(&config);
}
END_TEST

START_TEST(shipped_profile_records_more)
{
    struct agent_config usual, profile;
    file_expect(SHIPPED_FOLDER "agent.json", &usual);
    file_expect(SHIPPED_FOLDER "agent.profile.json", &profile);
    ck_assert_uint_gt(profile.samples_hz, usual.samples_hz);
    ck_assert_uint_gt(profile.sched_buffer_kib, usual.sched_buffer_kib);
    ck_assert_uint_lt(profile.stack_ns, usual.stack_ns);
    agent_config_free(&profile);
    agent_config_free(&usual);
}
END_TEST

START_TEST(shipped_schema_is_the_table)
{
    expect_schema(agent_params, "skein-agent", SHIPPED_FOLDER "agent.schema.json");
}
END_TEST

START_TEST(each_parameter_has_a_variable_of_its_own)
{
    expect_own_variables(agent_params, "skein-agent");
}
END_TEST

START_TEST(by_default_all_processes_can_be_in_a_few_captures_at_once)
{
    struct agent_config config;
    char error[512] = "";
    ck_assert_int_eq(
        agent_config_load(&(struct config_sources){.file = NULL}, &config, error, sizeof error),
        SKEIN_OK);
    ck_assert_uint_ge(config.capture_targets_max, 4 * config.processes_max);
    agent_config_free(&config);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("shipped_agent", shipped_file_is_accepted,
                              shipped_profile_records_more, shipped_schema_is_the_table,
                              each_parameter_has_a_variable_of_its_own,
                              by_default_all_processes_can_be_in_a_few_captures_at_once, NULL));
}
