/* SPDX-License-Identifier: Apache-2.0
 *
 * skein help: the help of a command, and all man pages. One thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "cmd.h"

struct options {
    const char *man;
};
static const struct cli_option options[] = {
    CLI_OPTION(CLI_TEXT, 0, "man", "FOLDER", struct options, man,
               "write all man pages into FOLDER, which is there already"),
    CLI_OPTIONS_END};

static int page_write(const char *folder, const struct cli_command *command)
{
    struct buf path = {0}, page = {0};
    buf_printf(&path, "%s/skein%s%s.1", folder, command != NULL ? "-" : "",
               command != NULL ? command->name : "");
    cli_man_put(&page, command);
    int status = CLI_FAILED;
    FILE *file = fopen(text_of(&path), "we");
    bool written =
        file != NULL && page.status == SKEIN_OK && fwrite(page.data, 1, page.len, file) == page.len;
    if (file != NULL && fclose(file) == 0 && written)
        status = CLI_OK;
    else
        say_error("%s: %s", text_of(&path), strerror(errno));
    buf_fini(&path);
    buf_fini(&page);
    return status;
}

static int pages_write(const char *folder)
{
    int status = page_write(folder, NULL);
    for (const struct cli_command *const *c = cli_commands; *c != NULL && status == CLI_OK; c++)
        status = page_write(folder, *c);
    return status;
}

static int help_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    size_t used = 0;
    if (o->man != NULL)
        return pages_write(o->man);
    if (call->count == 0) {
        cli_help();
        return out_close();
    }
    const struct cli_command *command =
        cli_find((const char *const *)call->arguments, (size_t)call->count, &used);
    if (command == NULL)
        return cli_unknown(call->arguments[0], NULL, cli_commands);
    if (command->actions != NULL && used < (size_t)call->count)
        return cli_unknown(call->arguments[1], command, command->actions);
    cli_command_help(command);
    return out_close();
}

const struct cli_command cmd_help = {
    .name = "help",
    .arguments = "[COMMAND [ACTION]]",
    .summary = "Explain a command",
    .examples = "  skein help snapshot\n  skein help rule apply\n",
    .max_arguments = 2,
    CLI_RUN(options, struct options, help_run),
};
