/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and paths into JSON. Standard output goes to a file. One thread.
 */
#include <fcntl.h>
#include <pty.h>
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

/* The same on a terminal of so many columns; freed by the caller. */
static char *on_terminal(const struct table_column *of, const char *items, unsigned short columns_)
{
    struct winsize size = {.ws_row = 25, .ws_col = columns_};
    static char text[4096];
    int terminal, end;
    setenv("TERM", "dumb", 1); /* no colours */
    ck_assert_int_eq(openpty(&terminal, &end, NULL, NULL, &size), 0);
    cJSON *array = cJSON_Parse(items);
    ck_assert_ptr_nonnull(array);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    dup2(end, STDOUT_FILENO);
    int status = table_print(array, false, of, "nothing here");
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    ck_assert_int_eq(status, CLI_OK);
    cJSON_Delete(array);
    close(end); /* lines come one after the other; behind the last one read() fails */
    size_t length = 0;
    for (ssize_t n; (n = read(terminal, text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)n;
    ck_assert_uint_gt(length, 0);
    text[length] = 0;
    close(terminal);
    char *out = calloc(1, sizeof text), *to = out; /* a terminal's lines end in \r\n */
    for (const char *c = text; *c; c++)
        if (*c != '\r')
            *to++ = *c;
    return out;
}

START_TEST(lines_fit_the_terminal)
{
    static const struct table_column wide[] = {{"SERVICE", "service", TABLE_TEXT},
                                               {"MODE", "mode", TABLE_TEXT | TABLE_SPARE},
                                               {"BYTES", "bytes", TABLE_BYTES | TABLE_SPARE},
                                               {"REASON", "reason", TABLE_TEXT},
                                               {"PROCESS", "process", TABLE_ID},
                                               {NULL, NULL, TABLE_TEXT}};
    const char *items =
        "[{\"service\":\"shop\",\"mode\":\"circular\",\"bytes\":1,\"reason\":\"all good\","
        "\"process\":\"0123456789abcdef0123456789abcdef\"},"
        "{\"service\":\"till\",\"mode\":\"circular\",\"bytes\":2,\"reason\":"
        "\"na\u00efve and much longer than there is room for\","
        "\"process\":\"0123456789aa0000000000000000ffff\"}]";
    unsetenv("COLUMNS");
    char *text = on_terminal(wide, items, 200);
    ck_assert_ptr_nonnull(strstr(text, "0123456789abcdef0123456789abcdef"));
    free(text);
    text = on_terminal(wide, items, 50);
    ck_assert_str_eq(text, "SERVICE  REASON                       PROCESS\n"
                           "shop     all good                     0123456789ab\n"
                           "till     na\xc3\xafve and much longer than\xe2\x80\xa6  0123456789aa\n"
                           "narrow terminal, left out: MODE, BYTES\n");
    free(text);
    setenv("COLUMNS", "42", 1); /* goes before what the terminal says */
    text = on_terminal(wide, items, 200);
    ck_assert_ptr_nonnull(strstr(text, "left out: MODE, BYTES\n"));
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 42 + 4); /* bytes of UTF-8 */
    free(text);
    setenv("COLUMNS", "30", 1); /* then columns go that are not spare */
    text = on_terminal(wide, items, 200);
    ck_assert_str_eq(text, "SERVICE  PROCESS\n"
                           "shop     0123456789ab\n"
                           "till     0123456789aa\n"
                           "narrow terminal, left out: MODE,\n"
                           "BYTES, REASON\n");
    free(text);
}
END_TEST

START_TEST(a_cell_joins_what_there_is_of_several_texts)
{
    static const struct table_column one[] = {{"STATUS", "status not_recorded", TABLE_STATUS},
                                              {NULL, NULL, TABLE_TEXT}};
    char *text = on_terminal(one,
                             "[{\"status\":\"odd\"},{\"status\":\"odd\",\"not_recorded\":"
                             "\"attach_refused\"},{}]",
                             80);
    ck_assert_str_eq(text, "STATUS\nodd\nodd attach_refused\n-\n");
    free(text);
}
END_TEST

START_TEST(ages_are_told_in_one_unit)
{
    static const struct table_column one[] = {{"SEEN", "ms", TABLE_AGO}, {NULL, NULL, TABLE_TEXT}};
    char *text = on_terminal(
        one, "[{\"ms\":999},{\"ms\":119000},{\"ms\":120000},{\"ms\":7200000},{\"ms\":1e9}]", 80);
    ck_assert_str_eq(text, "     SEEN\n  0 s ago\n119 s ago\n2 min ago\n  2 h ago\n 11 d ago\n");
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
    ck_assert_ptr_nonnull(strstr(text, "a\\x1b[31m\\x0ab\\x7f\\u{9b}"));
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
    return suite_run(suite_of(
        "cli_table", columns_align_and_absent_values_show, lines_fit_the_terminal,
        ages_are_told_in_one_unit, a_cell_joins_what_there_is_of_several_texts,
        an_empty_table_says_so_and_empty_json_is_an_array, hostile_text_cannot_drive_the_terminal,
        paths_reach_into_objects, quantities_read_well, NULL));
}
