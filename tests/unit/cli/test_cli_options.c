/* SPDX-License-Identifier: Apache-2.0
 *
 * Option tables: what they parse, and what a mistyped name was meant to be. One thread.
 */
#include <stdio.h>

#include "cli.h"
#include "cli_out.h"
#include "skein/status.h"
#include "support.h"

struct options {
    const char *text;
    struct cli_list list;
    struct cli_number number, duration;
    bool flag, json;
};

static const struct cli_option rows[] = {
    CLI_OPTION(CLI_TEXT, 't', "text", "TEXT", struct options, text, ""),
    CLI_OPTION(CLI_LIST, 0, "item", "TEXT", struct options, list, ""),
    {CLI_NUMBER, 'n', "number", "N", "", offsetof(struct options, number), 100, NULL},
    CLI_OPTION(CLI_DURATION, 0, "for", "TIME", struct options, duration, ""),
    CLI_OPTION(CLI_FLAG, 'f', "flag", NULL, struct options, flag, ""),
    CLI_OUTPUT(struct options),
    CLI_OPTIONS_END};

static struct options seen;
static int seen_count;
static char seen_text[16], seen_item[16], seen_argument[16]; /* copies: the words die first */

static int run(const struct cli_call *call)
{
    seen = *(const struct options *)call->options;
    seen_count = call->count;
    snprintf(seen_text, sizeof(seen_text), "%s", seen.text ? seen.text : "");
    snprintf(seen_item, sizeof(seen_item), "%s", seen.list.count > 1 ? seen.list.items[1] : "");
    snprintf(seen_argument, sizeof(seen_argument), "%s", call->count > 1 ? call->arguments[1] : "");
    return CLI_OK;
}

static struct cli_command command = {.name = "try",
                                     .arguments = "[ANY]",
                                     .options = rows,
                                     .options_bytes = sizeof(struct options),
                                     .max_arguments = 2,
                                     .run = run};

const struct cli_command *const cli_commands[] = {&command, NULL};

static int try(char **words)
{
    int count = 0;
    while (words[count])
        count++;
    seen = (struct options){0};
    seen_count = -1;
    return cli_command_run(&command, count, words);
}
#define TRY(...) try((char *[]){(char[]){"try"}, __VA_ARGS__, NULL})
#define W(text)  ((char[]){text})

START_TEST(options_and_arguments_mix)
{
    ck_assert_int_eq(TRY(W("one"), W("-t"), W("a b"), W("--number=7"), W("-f"), W("two")), CLI_OK);
    ck_assert_str_eq(seen_text, "a b");
    ck_assert(seen.number.given && seen.number.value == 7 && seen.flag && !seen.json);
    ck_assert_int_eq(seen_count, 2);
    ck_assert_str_eq(seen_argument, "two");
}
END_TEST

START_TEST(lists_keep_their_order)
{
    ck_assert_int_eq(TRY(W("--item"), W("a"), W("--item"), W("b")), CLI_OK);
    ck_assert_uint_eq(seen.list.count, 2);
    ck_assert_str_eq(seen_item, "b");
}
END_TEST

START_TEST(what_is_wrong_is_usage)
{
    ck_assert_int_eq(TRY(W("--nonsense")), CLI_USAGE);
    ck_assert_int_eq(TRY(W("-x")), CLI_USAGE);
    ck_assert_int_eq(TRY(W("--text")), CLI_USAGE);
    ck_assert_int_eq(TRY(W("-n"), W("101")), CLI_USAGE);
    ck_assert_int_eq(TRY(W("-n"), W("-1")), CLI_USAGE);
    ck_assert_int_eq(TRY(W("--for"), W("soon")), CLI_USAGE);
    ck_assert_int_eq(TRY(W("-o"), W("xml")), CLI_USAGE);
    ck_assert_int_eq(TRY(W("a"), W("b"), W("c")), CLI_USAGE);
    ck_assert_int_eq(seen_count, -1);
}
END_TEST

START_TEST(a_command_may_leave_options_to_its_arguments)
{
    command.stops_at_argument = true;
    ck_assert_int_eq(TRY(W("-f"), W("program"), W("-x")), CLI_OK);
    ck_assert_int_eq(TRY(W("--"), W("-f")), CLI_OK);
    ck_assert(!seen.flag && seen_count == 1);
    command.stops_at_argument = false;
}
END_TEST

START_TEST(what_arguments_are_called_says_how_many_there_are)
{
    struct cli_command said = command;
    command.max_arguments = 0;
    command.arguments = "NAME";
    ck_assert_int_eq(TRY(W("a")), CLI_OK);
    ck_assert_int_eq(TRY(W("-f")), CLI_USAGE);
    ck_assert_int_eq(TRY(W("a"), W("b")), CLI_USAGE);
    command.arguments = "NAME...";
    ck_assert_int_eq(TRY(W("a"), W("b"), W("c")), CLI_OK);
    ck_assert_int_eq(seen_count, 3);
    ck_assert_int_eq(TRY(W("-f")), CLI_USAGE);
    command.arguments = NULL;
    ck_assert_int_eq(TRY(W("-f")), CLI_OK);
    ck_assert_int_eq(TRY(W("a")), CLI_USAGE);
    command = said;
}
END_TEST

START_TEST(durations_have_units)
{
    uint64_t ns;
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"20us", 20000}, {"500ms", 500000000}, {"1.5s", 1500000000}, {"7d", 604800000000000},
        {"0", 0},        {"3ns", 3},           {"2m", 120000000000}, {"1d", 86400000000000}};
    static const char *const bad[] = {"", "s", "-1s", "1x", "1 s", "1e30d", "nan"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        ck_assert_int_eq(cli_duration_parse(good[i].text, &ns), SKEIN_OK);
        ck_assert_uint_eq(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_int_eq(cli_duration_parse(bad[i], &ns), SKEIN_INVALID);
    ck_assert_int_eq(cli_duration_parse("7", &ns), SKEIN_TRUNCATED);
}
END_TEST

START_TEST(nearest_finds_slips_and_nothing_else)
{
    static const char *const names[] = {"snapshot", "captures", "cat", "rule"};
    ck_assert_str_eq(cli_nearest("snaphsot", names, 4), "snapshot");
    ck_assert_str_eq(cli_nearest("captrues", names, 4), "captures");
    ck_assert_str_eq(cli_nearest("rules", names, 4), "rule");
    ck_assert_ptr_null(cli_nearest("frobnicate", names, 4));
    ck_assert_ptr_null(cli_nearest("", names, 4));
    ck_assert_ptr_null(cli_nearest("a-very-long-word-that-is-longer-than-any-name", names, 4));
}
END_TEST

int main(void)
{
    return suite_run(suite_of("cli_options", options_and_arguments_mix, lists_keep_their_order,
                              what_is_wrong_is_usage, a_command_may_leave_options_to_its_arguments,
                              what_arguments_are_called_says_how_many_there_are,
                              durations_have_units, nearest_finds_slips_and_nothing_else, NULL));
}
