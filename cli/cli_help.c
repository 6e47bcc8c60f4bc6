/* SPDX-License-Identifier: Apache-2.0
 *
 * `--help` from the tables. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static size_t help_column(const struct cli_command *const *table)
{
    size_t most = 0;
    for (; *table != NULL; table++)
        most = strlen(cli_word(*table)) > most ? strlen(cli_word(*table)) : most;
    return most;
}

static void help_list(const struct cli_command *const *table)
{
    int column = (int)help_column(table);
    for (; *table != NULL; table++)
        printf("  %-*s  %s\n", column, cli_word(*table), (*table)->summary);
}

static void option_help(const struct cli_option *o)
{
    char left[64];
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->value != NULL ? " " : "",
             o->value != NULL ? o->value : "");
    printf("  %-26s  %s\n", left, o->help);
}

void cli_command_help(const struct cli_command *command)
{
    bool group = command->actions != NULL;
    bool arguments = !group && command->arguments != NULL;
    printf("Usage: skein %s%s%s%s\n\n%s.\n", command->name,
           group ? " ACTION [OPTIONS] [ARGUMENTS]" : " [OPTIONS]", arguments ? " " : "",
           arguments ? command->arguments : "", command->summary);
    if (command->details != NULL)
        printf("\n%s", command->details);
    if (group) {
        printf("\nActions:\n");
        help_list(command->actions);
        printf("\n`skein %s ACTION --help` says more. Without one: %s.\n", command->name,
               cli_word(command->actions[0]));
    } else {
        printf("\nOptions:\n");
        for (const struct cli_option *o = command->options; o->type; o++)
            option_help(o);
        printf("  %-26s  %s\n", "-h, --help", "this text");
    }
    if (command->examples != NULL)
        printf("\nExamples:\n%s", command->examples);
}

void cli_help(void)
{
    printf("skein: what happened just before, on one process or on the whole fleet.\n\n"
           "Usage: skein COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n");
    help_list(cli_commands);
    printf("\n`skein COMMAND --help` says more, with examples; `skein --version` prints the "
           "version.\n\nExit status:\n");
#define X(name, value, text) printf("  %d  %s\n", value, text);
    CLI_EXIT_LIST(X)
#undef X
    printf("\nEnvironment:\n");
#define X(name, text) printf("  %-15s  %s\n", name, text);
    CLI_ENVIRONMENT_LIST(X)
#undef X
}
