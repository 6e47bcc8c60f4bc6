/* SPDX-License-Identifier: Apache-2.0
 * The command line that daemons share: what goes on, what ends with which status. */
#include <getopt.h>
#include <string.h>

#include "config_command.h"
#include "support.h"

struct values {
    uint64_t number;
};

static const struct config_param params[] = {
    CONFIG_U64(struct values, number, "number", 5, 1, 10, "a number"), {.type = CONFIG_TYPE_NONE}};
static const struct config_option options[] = {{"-h, --help", "this text"}, {NULL, NULL}};
static const struct config_page page = {.name = "testd",
                                        .summary = "a daemon of a test",
                                        .synopsis = "[OPTION]...\n",
                                        .about = "",
                                        .options = options,
                                        .examples = "",
                                        .more = "",
                                        .see = "",
                                        .params = params};

static struct config_sources sources;
static bool check, rebuild;

#define MAX_WORDS  160
#define WORD_BYTES 24
static char line[MAX_WORDS][WORD_BYTES];

static int read_words(const char *const words[])
{
    const struct config_flag flags[] = {
        {"check-config", &check}, {"rebuild-index", &rebuild}, {NULL, NULL}};
    char *argv[MAX_WORDS] = {"testd"};
    int argc = 1;
    for (; words[argc - 1] != NULL && argc < MAX_WORDS - 1; argc++) {
        ck_assert_uint_lt(strlen(words[argc - 1]), WORD_BYTES);
        argv[argc] = strcpy(line[argc], words[argc - 1]);
    }
    optind = 0; /* getopt begins anew */
    return config_command_read(argc, argv, &page, flags, &sources);
}
#define READ(...) read_words((const char *const[]){__VA_ARGS__, NULL})

START_TEST(sources_and_flags_are_taken)
{
    ck_assert_int_eq(READ("-c", "file", "--set", "a=1", "--set=b=2", "--rebuild-index"),
                     CONFIG_COMMAND_GO_ON);
    ck_assert_str_eq(sources.file, "file");
    ck_assert_uint_eq(sources.set_count, 2);
    ck_assert_str_eq(sources.sets[0], "a=1");
    ck_assert_str_eq(sources.sets[1], "b=2");
    ck_assert(rebuild && !check);
}
END_TEST

START_TEST(nothing_goes_on)
{
    ck_assert_int_eq(read_words((const char *const[]){NULL}), CONFIG_COMMAND_GO_ON);
    ck_assert_ptr_null(sources.file);
}
END_TEST

START_TEST(what_is_asked_for_ends_well)
{
    static const char *const words[] = {"--help",           "-h",          "--version",     "-V",
                                        "--print-markdown", "--print-man", "--print-schema"};
    ck_assert_int_eq(READ(words[_i]), 0);
}
END_TEST

START_TEST(wrong_lines_end_with_2)
{
    static const char *const words[] = {"--no-such-option", "argument", "--config"};
    ck_assert_int_eq(READ(words[_i]), 2);
}
END_TEST

START_TEST(more_sets_than_are_kept_are_refused)
{
    const char *words[CONFIG_SETS_MAX + 2] = {NULL};
    for (size_t i = 0; i < CONFIG_SETS_MAX; i++)
        words[i] = "--set=a=1";
    ck_assert_int_eq(read_words(words), CONFIG_COMMAND_GO_ON);
    ck_assert_uint_eq(sources.set_count, CONFIG_SETS_MAX);
    ck_assert_int_eq(READ("--set=a=1"), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_command");
    TCase *c = tcase_create("all");
    tcase_add_test(c, sources_and_flags_are_taken);
    tcase_add_test(c, nothing_goes_on);
    tcase_add_loop_test(c, what_is_asked_for_ends_well, 0, 7);
    tcase_add_loop_test(c, wrong_lines_end_with_2, 0, 3);
    tcase_add_test(c, more_sets_than_are_kept_are_refused);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
