/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and paths into JSON. Standard output goes to a file. One thread.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_out.h"
#include "support.h"

const struct cli_command *const cli_commands[] = {NULL};

static const struct table_column columns[] = {{"NAME", "name", TABLE_TEXT},
                                              {"SIZE", "of.bytes", TABLE_BYTES},
                                              {"LABELS", "labels", TABLE_LABELS},
                                              {NULL, NULL, TABLE_TEXT}};

/* What table_print writes; freed by the caller. */
static char *printed(const char *items, bool json)
{
    char *folder = temp_dir_new();
    char *path = path_join(folder, "out");
    cJSON *array = cJSON_Parse(items);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    int status = table_print(array, json, columns, "nothing here");
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(file);
    close(saved);
    cJSON_Delete(array);
    ck_assert_int_eq(status, CLI_OK);
    char *text = file_read(path, NULL);
    free(path);
    temp_dir_free(&folder);
    return text;
}

START_TEST(columns_align_and_absent_values_show)
{
    char *text = printed("[{\"name\":\"a\",\"of\":{\"bytes\":2048},\"labels\":{\"x\":\"1\",\"y\":"
                         "\"2\"}},{\"name\":\"longer\"}]",
                         false);
    ck_assert_str_eq(text, "NAME       SIZE  LABELS\n"
                           "a       2.0 KiB  x=1,y=2\n"
                           "longer        -  -\n");
    free(text);
}
END_TEST

START_TEST(an_empty_table_says_so_and_empty_json_is_an_array)
{
    char *table = printed("[]", false), *json = printed("[]", true);
    ck_assert_str_eq(table, "nothing here\n");
    ck_assert_str_eq(json, "[]\n");
    free(table);
    free(json);
}
END_TEST

START_TEST(hostile_text_cannot_drive_the_terminal)
{
    char *text = printed("[{\"name\":\"a\\u001b[31m\\nb\\u007f\\u009b\"}]", false);
    ck_assert_ptr_null(strchr(text, '\033'));
    ck_assert_ptr_null(strchr(text, '\177'));
    ck_assert_ptr_nonnull(strstr(text, "a\\x1b[31m\\x0ab\\x7f\\xc2"));
    free(text);
}
END_TEST

START_TEST(paths_reach_into_objects)
{
    cJSON *json = cJSON_Parse("{\"a\":{\"b\":\"18446744073709551615\",\"c\":7},\"d\":-1}");
    ck_assert_uint_eq(json_u64_at(json, "a.b"), UINT64_MAX);
    ck_assert_uint_eq(json_u64_at(json, "a.c"), 7);
    ck_assert_uint_eq(json_u64_at(json, "d"), 0);
    ck_assert_str_eq(json_text_at(json, "a.c"), "");
    ck_assert_ptr_null(json_at(json, "a.b.c"));
    ck_assert_ptr_null(json_at(json, "nothing.at.all"));
    cJSON_Delete(json);
}
END_TEST

START_TEST(quantities_read_well)
{
    struct buf b = {0};
    text_put_duration(&b, 999);
    text_put_duration(&b, 1500);
    text_put_duration(&b, 2000000000);
    text_put_bytes(&b, 1023);
    text_put_bytes(&b, UINT64_MAX);
    buf_put_u8(&b, 0);
    ck_assert_str_eq((char *)b.data, "999 ns1.5 us2.000 s1023 B16.0 EiB");
    buf_fini(&b);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("cli_table", columns_align_and_absent_values_show,
                              an_empty_table_says_so_and_empty_json_is_an_array,
                              hostile_text_cannot_drive_the_terminal, paths_reach_into_objects,
                              quantities_read_well, NULL));
}
