/* SPDX-License-Identifier: Apache-2.0
 * The collector's shipped file is one that it accepts, and the shipped schema is its table's. */
#include "collector.h"
#include "shipped.h"

START_TEST(shipped_file_is_accepted)
{
    struct collector_config config = {0};
    char error[512] = "";
    int status = config_load(collector_params, &config,
                             &(struct config_sources){.file = SHIPPED_FOLDER "collector.json"},
                             error, sizeof error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    config_free(collector_params, &config);
}
END_TEST

START_TEST(shipped_schema_is_the_table)
{
    expect_schema(collector_params, "skeind", SHIPPED_FOLDER "collector.schema.json");
}
END_TEST

START_TEST(each_parameter_has_a_variable_of_its_own)
{
    expect_own_variables(collector_params, "skeind");
}
END_TEST

int main(void)
{
    return suite_run(suite_of("shipped_collector", shipped_file_is_accepted,
                              shipped_schema_is_the_table, each_parameter_has_a_variable_of_its_own,
                              NULL));
}
