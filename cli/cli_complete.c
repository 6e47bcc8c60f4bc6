/* SPDX-License-Identifier: Apache-2.0
 *
 * What a shell may complete a command line to, from the tables. The shells' own scripts
 * (cmd_completion.c) only ask here, so that all of them know the same. One thread.
 */
#include <string.h>

#include "buf.h"
#include "cli.h"

static void word_put(struct buf *out, const char *prefix, const char *head, const char *word,
                     const char *help)
{
    size_t n = strlen(head);
    if (strncmp(head, prefix, strlen(prefix) < n ? strlen(prefix) : n) != 0 ||
        (strlen(prefix) > n && strncmp(word, prefix + n, strlen(prefix) - n) != 0))
        return;
    buf_printf(out, "%s%s\t%s\n", head, word, help);
}

static void table_put(struct buf *out, const char *prefix, const struct cli_command *const *table)
{
    for (; *table != NULL; table++)
        word_put(out, prefix, "", cli_word(*table), (*table)->summary);
}

static void choices_put(struct buf *out, const char *prefix, const char *head,
                        const char *const *choices)
{
    for (; choices != NULL && *choices != NULL; choices++)
        word_put(out, prefix, head, *choices, "");
}

static void options_put(struct buf *out, const char *prefix, const struct cli_command *command)
{
    for (const struct cli_option *o = command->options; o->type; o++)
        word_put(out, prefix, "--", o->name, o->help);
    word_put(out, prefix, "--", "help", "this text");
}

/* `head` is what stands before the value in the same word: "--output=" or "". */
static void values_put(struct buf *out, const char *prefix, const char *head,
                       const struct cli_option *option)
{
    static const char *const forms[] = {"json", "table", NULL};
    if (option->type == CLI_FORMAT || option->type == CLI_RESULT)
        choices_put(out, prefix, head, forms);
    choices_put(out, prefix, head, option->choices);
    if (option->value != NULL &&
        (strstr(option->value, "FILE") != NULL || strcmp(option->value, "PATH") == 0))
        buf_printf(out, ":files\n");
}

/* "--output", "-o": the option, where it takes a value. */
static const struct cli_option *option_of(const struct cli_command *command, const char *word,
                                          size_t n)
{
    for (const struct cli_option *o = command->options; o->type; o++) {
        bool is_long = n > 2 && strlen(o->name) == n - 2 && strncmp(word, "--", 2) == 0 &&
                       memcmp(o->name, word + 2, n - 2) == 0;
        bool is_short = n == 2 && o->letter && word[0] == '-' && word[1] == o->letter;
        if (is_long || is_short)
            return o->type == CLI_FLAG ? NULL : o;
    }
    return NULL;
}

/* Whether an argument, or "--", stands among the words before the last. */
static bool past_options(const struct cli_command *command, const char *const *words, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        if (words[i][0] != '-' || strcmp(words[i], "--") == 0)
            return true;
        i += option_of(command, words[i], strlen(words[i])) != NULL;
    }
    return false;
}

static void argument_put(struct buf *out, const char *prefix, const struct cli_command *command)
{
    const char *arguments = command->arguments != NULL ? command->arguments : "";
    choices_put(out, prefix, "", command->choices);
    if (strstr(arguments, "FILE") != NULL || command->stops_at_argument)
        buf_printf(out, ":files\n");
    if (strncmp(arguments, "[COMMAND", 8) == 0)
        table_put(out, prefix, cli_commands);
}

/* `words` are those behind the command's name. */
static void command_complete(struct buf *out, const struct cli_command *command,
                             const char *const *words, size_t count)
{
    const char *last = words[count - 1];
    const char *equals = last[0] == '-' ? strchr(last, '=') : NULL;
    const struct cli_option *option = NULL;
    if (command->stops_at_argument && past_options(command, words, count)) {
        argument_put(out, last, command);
        return;
    }
    if (equals != NULL) {
        char head[64];
        size_t n = (size_t)(equals - last);
        option = n + 2 <= sizeof head ? option_of(command, last, n) : NULL;
        if (option != NULL) {
            memcpy(head, last, n + 1);
            head[n + 1] = '\0';
            values_put(out, last, head, option);
        }
        return;
    }
    /* bash gives "--output=js" as three words. */
    if (strcmp(last, "=") == 0)
        last = "";
    else if (count > 1 && strcmp(words[count - 2], "=") == 0)
        count--;
    if (count > 1)
        option = option_of(command, words[count - 2], strlen(words[count - 2]));
    if (option != NULL)
        values_put(out, last, "", option);
    else if (last[0] == '-')
        options_put(out, last, command);
    else
        argument_put(out, last, command);
}

void cli_complete_put(struct buf *out, const char *const *words, size_t count)
{
    size_t used = 0;
    if (count == 0)
        return;
    const struct cli_command *command = cli_find(words, count - 1, &used);
    if (count == 1) {
        table_put(out, words[0], cli_commands);
    } else if (command != NULL && command->actions != NULL) {
        if (count == 2 && words[1][0] != '-')
            table_put(out, words[1], command->actions);
        else if (words[1][0] == '-') /* the first action is meant */
            command_complete(out, command->actions[0], words + used, count - used);
    } else if (command != NULL) {
        command_complete(out, command, words + used, count - used);
    }
}
