/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of a command from its table: parsing with getopt_long(), help, and what a mistyped name
 * was probably meant to be. One thread.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_out.h"
#include "clock.h"

#define OPTIONS_MAX    24
#define SHORT_BYTES    (2 * OPTIONS_MAX + 4)
#define NAME_MAX_BYTES 32
#define LONG_BASE      1000 /* getopt_long's value of option i is LONG_BASE + i */

/* ---- nearest name ---- */

/* Letters to add, drop, change or swap; names longer than NAME_MAX_BYTES are never near. */
static size_t distance(const char *a, const char *b)
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
        size_t d = distance(text, names[i]);
        if (d < least) {
            least = d;
            nearest = names[i];
        }
    }
    return nearest;
}

/* ---- values ---- */

int cli_duration_parse(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6},    {"s", 1e9},
                 {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"", 1e6}};
    char *end;
    if (*text < '0' || *text > '9')
        return SKEIN_INVALID;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(end, units[i].unit) != 0)
            continue;
        double result = value * units[i].ns;
        if (!(result < 9e18))
            return SKEIN_INVALID;
        *ns = (uint64_t)result;
        return SKEIN_OK;
    }
    return SKEIN_INVALID;
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

/* What a value must look like, for the message. */
static const char *wanted(const struct cli_option *option)
{
    switch (option->type) {
    case CLI_NUMBER:
        return "a whole number";
    case CLI_DURATION:
        return "a duration such as 500ms, 10s or 5m";
    case CLI_TIME:
        return "a time such as 2026-11-21T09:40:00Z, or -30s for so long ago";
    case CLI_FORMAT:
        return "json or table";
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
        *(const char **)place = text;
        return SKEIN_OK;
    case CLI_LIST:
        if (list->count == CLI_LIST_MAX)
            return SKEIN_INVALID;
        list->items[list->count++] = text;
        return SKEIN_OK;
    case CLI_FORMAT:
        return format_parse(text, place);
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
    memset(p, 0, sizeof(*p));
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

static void say_unknown(const struct cli_command *command, const struct parser *p, char **argv)
{
    const char *text = argv[optind - 1];
    const char *near = NULL;
    if (strncmp(text, "--", 2) == 0) {
        char name[NAME_MAX_BYTES + 1];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(text + 2, "="), text + 2);
        near = cli_nearest(name, p->names, p->count + 1);
        say_error("%s: unknown option %s%s%s%s", command->name, text,
                  near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
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

/* Fills options. -1: go on; else the exit status. */
static int parse(const struct cli_command *command, int argc, char **argv, void *options)
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
        if (!option) {
            say_unknown(command, &p, argv);
            return CLI_USAGE;
        }
        if (value_set(option, optarg, options) != SKEIN_OK) {
            say_error("%s: --%s %s: must be %s", command->name, option->name, optarg,
                      wanted(option));
            return CLI_USAGE;
        }
    }
    return -1;
}

int cli_command_run(const struct cli_command *command, int argc, char **argv)
{
    _Alignas(max_align_t) char options[CLI_OPTIONS_BYTES] = {0};
    if (command->options_bytes > sizeof(options))
        return CLI_FAILED;
    int status = parse(command, argc, argv, options);
    if (status >= 0)
        return status;
    int count = argc - optind;
    if (count < command->min_arguments || count > command->max_arguments) {
        say_error("%s: %s", command->name,
                  count < command->min_arguments ? "too few arguments" : "too many arguments");
        fprintf(stderr, "Usage: skein %s [OPTIONS] %s\nSee: skein %s --help\n", command->name,
                command->arguments, command->name);
        return CLI_USAGE;
    }
    return command->run(options, count, argv + optind);
}

/* ---- help ---- */

void cli_command_help(const struct cli_command *command)
{
    printf("Usage: skein %s [OPTIONS] %s\n\n%s.\n", command->name, command->arguments,
           command->summary);
    if (command->details)
        printf("\n%s", command->details);
    printf("\nOptions:\n");
    for (const struct cli_option *o = command->options; o->type; o++) {
        char left[64];
        char letter[8] = "    ";
        if (o->letter)
            snprintf(letter, sizeof(letter), "-%c, ", o->letter);
        snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        printf("  %-26s  %s\n", left, o->help);
    }
    printf("  %-26s  %s\n", "-h, --help", "this text");
    if (command->examples)
        printf("\nExamples:\n%s", command->examples);
}

void cli_help(void)
{
    printf("skein: what happened just before, on one process or on the whole fleet.\n\n"
           "Usage: skein COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n");
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        printf("  %-10s  %s\n", (*c)->name, (*c)->summary);
    printf("\n`skein COMMAND --help` says more, with examples. `skein --version` prints the "
           "version.\nExit status: 0 ok, 1 failed, 2 wrong usage.\n"
           "Environment: SKEIN_COLLECTOR (URL of the collector), NO_COLOR.\n");
}
