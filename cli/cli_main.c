/* SPDX-License-Identifier: Apache-2.0
 *
 * `skein`: finds the command and runs it. A command is one file and one row here. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"

const struct cli_command *const cli_commands[] = {
    &cmd_run,   &cmd_ps,  &cmd_snapshot, &cmd_captures, &cmd_capture, &cmd_fetch, &cmd_info,
    &cmd_check, &cmd_cat, &cmd_export,   &cmd_rule,     &cmd_health,  NULL};

#define COMMANDS_MAX (sizeof(cli_commands) / sizeof(*cli_commands))

static const struct cli_command *command_find(const char *name)
{
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[COMMANDS_MAX];
    size_t count = 0;
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        names[count++] = (*c)->name;
    const char *near = cli_nearest(name, names, count);
    if (near)
        say_error("unknown command '%s'; did you mean '%s'?", name, near);
    else
        say_error("unknown command '%s'. See: skein --help", name);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        cli_help();
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        const struct cli_command *about = argc > 2 ? command_find(argv[2]) : NULL;
        if (argc > 2 && !about)
            return unknown_command(argv[2]);
        if (about)
            cli_command_help(about);
        else
            cli_help();
        return out_close();
    }
    if (strcmp(name, "--version") == 0) {
        printf("skein " SKEIN_VERSION_TEXT "\n");
        return out_close();
    }
    const struct cli_command *command = command_find(name);
    return command ? cli_command_run(command, argc - 1, argv + 1) : unknown_command(name);
}
