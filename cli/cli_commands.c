/* SPDX-License-Identifier: Apache-2.0
 *
 * The way from the words of a command line to a row of the command table, and what a mistyped name
 * was probably meant to be. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"

#define NAME_MAX_BYTES 32
#define COMMANDS_MAX   64

/* ---- nearest name ---- */

/* Letters to add, drop, change or swap; names longer than NAME_MAX_BYTES are never near. */
static size_t command_distance(const char *a, const char *b)
{
    size_t rows[3][NAME_MAX_BYTES + 1];
    size_t na = strlen(a), nb = strlen(b);
    if (na > NAME_MAX_BYTES || nb > NAME_MAX_BYTES)
        return SIZE_MAX;
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[na % 3][nb];
}

const char *cli_nearest(const char *text, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t least = strlen(text) / 3 + 2; /* further away it is another word */
    for (size_t i = 0; i < count; i++) {
        size_t d = command_distance(text, names[i]);
        if (d < least) {
            least = d;
            nearest = names[i];
        }
    }
    return nearest;
}

/* ---- finding ---- */

const char *cli_word(const struct cli_command *command)
{
    const char *space = strchr(command->name, ' ');
    return space != NULL ? space + 1 : command->name;
}

static const struct cli_command *command_find_in(const struct cli_command *const *table,
                                                 const char *word)
{
    for (; *table != NULL; table++)
        if (strcmp(cli_word(*table), word) == 0)
            return *table;
    return NULL;
}

const struct cli_command *cli_find(const char *const *words, size_t count, size_t *used)
{
    *used = 0;
    const struct cli_command *found = count > 0 ? command_find_in(cli_commands, words[0]) : NULL;
    if (found == NULL)
        return NULL;
    *used = 1;
    const struct cli_command *action =
        found->actions != NULL && count > 1 ? command_find_in(found->actions, words[1]) : NULL;
    *used += action != NULL;
    return action != NULL ? action : found;
}

int cli_unknown(const char *text, const struct cli_command *of,
                const struct cli_command *const *table)
{
    const char *names[COMMANDS_MAX];
    size_t count = 0;
    for (; *table != NULL && count < COMMANDS_MAX; table++)
        names[count++] = cli_word(*table);
    const char *near = cli_nearest(text, names, count);
    say_error("%s%sunknown %s '%s'%s%s%s See: skein %s%s--help", of != NULL ? of->name : "",
              of != NULL ? ": " : "", of != NULL ? "action" : "command", text,
              near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
              near != NULL ? "'?" : ".", of != NULL ? of->name : "", of != NULL ? " " : "");
    return CLI_USAGE;
}

/* ---- running ---- */

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int cli_main(int argc, char **argv)
{
    size_t used;
    if (argc < 2) {
        cli_help();
        return CLI_USAGE;
    }
    if (asks_for_help(argv[1])) {
        cli_help();
        return out_close();
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("skein " SKEIN_VERSION_TEXT "\n");
        return out_close();
    }
    const struct cli_command *command =
        cli_find((const char *const *)(argv + 1), (size_t)argc - 1, &used);
    if (command == NULL)
        return cli_unknown(argv[1], NULL, cli_commands);
    if (command->actions != NULL && argc > 2 && asks_for_help(argv[2])) {
        cli_command_help(command);
        return out_close();
    }
    if (command->actions != NULL && argc > 2 && argv[2][0] != '-')
        return cli_unknown(argv[2], command, command->actions);
    if (command->actions != NULL)
        command = command->actions[0];
    return cli_command_run(command, argc - (int)used, argv + used);
}
