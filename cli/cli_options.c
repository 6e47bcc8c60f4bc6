/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of a command from its table, parsed with getopt_long(), which keeps to the customs of all
 * GNU tools. One thread.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "clock.h"
#include "units.h"

#define OPTIONS_MAX 24
#define SHORT_BYTES (2 * OPTIONS_MAX + 4)
#define NAME_BYTES  33
#define LONG_BASE   1000 /* getopt_long's value of option i is LONG_BASE + i */

/* ---- values ---- */

int cli_duration_parse(const char *text, uint64_t *ns)
{
    uint64_t value;
    int status = unit_parse(text, UNIT_NS, &value);
    if (status == SKEIN_OK && value > INT64_MAX)
        return SKEIN_INVALID;
    if (status == SKEIN_OK)
        *ns = value;
    return status;
}

static int number_parse(const char *text, uint64_t max, uint64_t *value)
{
    char *end;
    if (*text < '0' || *text > '9' || strlen(text) > 19)
        return SKEIN_INVALID;
    *value = strtoull(text, &end, 10);
    return *end || (max && *value > max) ? SKEIN_INVALID : SKEIN_OK;
}

static int time_parse(const char *text, uint64_t *realtime_ns)
{
    uint64_t ago;
    if (text[0] == '-' && cli_duration_parse(text + 1, &ago) == SKEIN_OK) {
        uint64_t now = clock_realtime_ns();
        *realtime_ns = ago < now ? now - ago : 0;
        return SKEIN_OK;
    }
    return clock_parse(text, realtime_ns);
}

static int format_parse(const char *text, bool *json)
{
    *json = strcmp(text, "json") == 0;
    return *json || strcmp(text, "table") == 0 ? SKEIN_OK : SKEIN_INVALID;
}

/* A form, or else the name of a file. */
static int result_parse(const char *text, struct cli_result *result)
{
    if (format_parse(text, &result->json) == SKEIN_OK)
        return SKEIN_OK;
    if (!*text || result->file != NULL)
        return SKEIN_INVALID;
    result->file = text;
    return SKEIN_OK;
}

static int text_parse(const struct cli_option *option, const char *text, const char **place)
{
    *place = text;
    if (option->choices == NULL)
        return SKEIN_OK;
    for (const char *const *choice = option->choices; *choice != NULL; choice++)
        if (strcmp(*choice, text) == 0)
            return SKEIN_OK;
    return SKEIN_INVALID;
}

/* What a value must look like, for the message. */
static const char *option_wanted(const struct cli_option *option, struct buf *words)
{
    switch (option->type) {
    case CLI_TEXT:
        buf_printf(words, "one of");
        for (const char *const *choice = option->choices; choice != NULL && *choice != NULL;
             choice++)
            buf_printf(words, " %s", *choice);
        return text_of(words);
    case CLI_NUMBER:
        return "a whole number";
    case CLI_DURATION:
        return "a duration such as 500ms, 10s or 5m";
    case CLI_TIME:
        return "a time such as 2026-11-21T09:40:00Z, or -30s for so long ago";
    case CLI_FORMAT:
        return "json or table";
    case CLI_RESULT:
        return "json, table, or one file";
    case CLI_LIST:
        return "given at most 32 times";
    default:
        return "another value";
    }
}

static int value_set(const struct cli_option *option, const char *text, void *options)
{
    void *place = (char *)options + option->offset;
    struct cli_number *number = place;
    struct cli_list *list = place;
    int status = SKEIN_OK;
    switch (option->type) {
    case CLI_FLAG:
        *(bool *)place = true;
        return SKEIN_OK;
    case CLI_TEXT:
        return text_parse(option, text, place);
    case CLI_LIST:
        if (list->count == CLI_LIST_MAX)
            return SKEIN_INVALID;
        list->items[list->count++] = text;
        return SKEIN_OK;
    case CLI_FORMAT:
        return format_parse(text, place);
    case CLI_RESULT:
        return result_parse(text, place);
    case CLI_NUMBER:
        status = number_parse(text, option->max, &number->value);
        break;
    case CLI_DURATION:
        status = cli_duration_parse(text, &number->value);
        break;
    case CLI_TIME:
        status = time_parse(text, &number->value);
        break;
    case CLI_END:
        return SKEIN_INVALID;
    }
    number->given = status == SKEIN_OK;
    return status;
}

/* ---- parsing ---- */

struct parser {
    struct option longs[OPTIONS_MAX + 2];
    char shorts[SHORT_BYTES];
    const char *names[OPTIONS_MAX + 1];
    size_t count;
};

static void parser_init(struct parser *p, const struct cli_command *command)
{
    char *s = p->shorts;
    memset(p, 0, sizeof *p);
    if (command->stops_at_argument)
        *s++ = '+';
    *s++ = ':'; /* tells a missing value from an unknown option */
    for (const struct cli_option *o = command->options; o->type && p->count < OPTIONS_MAX; o++) {
        size_t i = p->count++;
        p->names[i] = o->name;
        p->longs[i] = (struct option){o->name, o->type != CLI_FLAG, NULL, LONG_BASE + (int)i};
        if (o->letter) {
            *s++ = o->letter;
            if (o->type != CLI_FLAG)
                *s++ = ':';
        }
    }
    *s++ = 'h';
    p->names[p->count] = "help";
    p->longs[p->count] = (struct option){"help", 0, NULL, 'h'};
}

static void unknown_say(const struct cli_command *command, const struct parser *p, char **argv)
{
    const char *text = argv[optind - 1];
    const char *near = NULL;
    if (strncmp(text, "--", 2) == 0) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(text + 2, "="), text + 2);
        near = cli_nearest(name, p->names, p->count + 1);
        say_error("%s: unknown option %s%s%s%s", command->name, text,
                  near != NULL ? "; did you mean --" : "", near != NULL ? near : "",
                  near != NULL ? "?" : "");
    } else {
        say_error("%s: unknown option -%c", command->name, optopt);
    }
    fprintf(stderr, "See: skein %s --help\n", command->name);
}

static const struct cli_option *option_of(const struct cli_command *command, int found)
{
    if (found >= LONG_BASE)
        return &command->options[found - LONG_BASE];
    for (const struct cli_option *o = command->options; o->type; o++)
        if (o->letter == found)
            return o;
    return NULL;
}

static void wrong_say(const struct cli_command *command, const struct cli_option *option,
                      int status)
{
    struct buf words = {0};
    if (option->type == CLI_DURATION && status == SKEIN_TRUNCATED)
        say_error("%s: --%s %s: has no unit; %ss? %sms?", command->name, option->name, optarg,
                  optarg, optarg);
    else
        say_error("%s: --%s %s: must be %s", command->name, option->name, optarg,
                  option_wanted(option, &words));
    buf_fini(&words);
}

/* Fills options. -1: go on; else the exit status. */
static int option_parse(const struct cli_command *command, int argc, char **argv, void *options)
{
    struct parser p;
    int found;
    parser_init(&p, command);
    optind = 0; /* starts getopt over */
    opterr = 0;
    while ((found = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != -1) {
        if (found == 'h') {
            cli_command_help(command);
            return out_close();
        }
        if (found == ':') {
            say_error("%s: %s needs a value. See: skein %s --help", command->name, argv[optind - 1],
                      command->name);
            return CLI_USAGE;
        }
        const struct cli_option *option = option_of(command, found);
        if (option == NULL) {
            unknown_say(command, &p, argv);
            return CLI_USAGE;
        }
        int status = value_set(option, optarg, options);
        if (status != SKEIN_OK) {
            wrong_say(command, option, status);
            return CLI_USAGE;
        }
    }
    return -1;
}

/* How many arguments it takes; where its row leaves that to what it calls them, "FILE" is one, and
 * "FILE..." one or more. */
static void counts_get(const struct cli_command *command, int *min, int *max)
{
    const char *called = command->arguments;
    size_t n = called != NULL ? strlen(called) : 0;
    bool said = called == NULL || command->max_arguments > 0;
    bool many = n > 3 && strcmp(called + n - 3, "...") == 0;
    *min = said ? command->min_arguments : 1;
    *max = said ? command->max_arguments : many ? CLI_ARGUMENTS_ANY : 1;
}

int cli_command_run(const struct cli_command *command, int argc, char **argv)
{
    _Alignas(max_align_t) char options[CLI_OPTIONS_BYTES] = {0};
    if (command->options_bytes > sizeof options)
        return CLI_FAILED;
    int status = option_parse(command, argc, argv, options);
    if (status >= 0)
        return status;
    int count = argc - optind, min, max;
    counts_get(command, &min, &max);
    if (count < min || count > max) {
        say_error("%s: %s", command->name,
                  count < min ? "too few arguments" : "too many arguments");
        fprintf(stderr, "Usage: skein %s [OPTIONS] %s\nSee: skein %s --help\n", command->name,
                command->arguments != NULL ? command->arguments : "", command->name);
        return CLI_USAGE;
    }
    return command->run(&(struct cli_call){command, options, count, argv + optind});
}
