/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command of `skein` is: a row of the command table with a table of options. The tables
 * generate the parser, `--help` and the suggestions for mistyped names. One thread.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_exit { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

enum cli_type {
    CLI_END,      /* ends the table */
    CLI_FLAG,     /* bool */
    CLI_TEXT,     /* const char * */
    CLI_LIST,     /* struct cli_list: may be given again */
    CLI_NUMBER,   /* struct cli_number */
    CLI_DURATION, /* struct cli_number, in nanoseconds: "20us", "500ms", "10s", "5m", "2h" */
    CLI_TIME,     /* struct cli_number, UTC nanoseconds: RFC 3339, or "-30s": so long ago */
    CLI_FORMAT    /* bool: -o json|table */
};

#define CLI_LIST_MAX 32

struct cli_list {
    const char *items[CLI_LIST_MAX];
    size_t count;
};
struct cli_number {
    uint64_t value;
    bool given;
};

struct cli_option {
    enum cli_type type;
    char letter; /* 0: none */
    const char *name, *value, *help;
    size_t offset; /* of the value in the command's struct of options */
    uint64_t max;  /* NUMBER: largest; 0: no bound */
};

/* Rows that several commands share. */
#define CLI_OPTION(type, letter, name, value, s, field, help)                                      \
    {                                                                                              \
        type, letter, name, value, help, offsetof(s, field), 0                                     \
    }
#define CLI_COLLECTOR(s)                                                                           \
    CLI_OPTION(CLI_TEXT, 0, "collector", "URL", s, collector,                                      \
               "the collector (default: $SKEIN_COLLECTOR, then http://127.0.0.1:7462)")
#define CLI_OUTPUT(s)                                                                              \
    CLI_OPTION(CLI_FORMAT, 'o', "output", "FORM", s, json, "json or table (default: table)")
#define CLI_SELECTOR(s)                                                                            \
    CLI_OPTION(CLI_TEXT, 'l', "selector", "LABELS", s, selector,                                   \
               "which processes: service=redis,zone in (a,b),!canary")
#define CLI_OPTIONS_END                                                                            \
    {                                                                                              \
        CLI_END, 0, NULL, NULL, NULL, 0, 0                                                         \
    }

struct cli_command {
    const char *name;
    const char *arguments; /* "FILE...", after the options */
    const char *summary;   /* one line */
    const char *details;   /* more for --help, lines that end with a newline; or NULL */
    const char *examples;  /* lines */
    const struct cli_option *options;
    size_t options_bytes; /* sizeof the struct of options; at most CLI_OPTIONS_BYTES */
    int min_arguments, max_arguments;
    bool stops_at_argument; /* options after the first argument belong to it (run) */
    int (*run)(const void *options, int count, char **arguments);
};
#define CLI_OPTIONS_BYTES 1024
#define CLI_ARGUMENTS_ANY 1000000

extern const struct cli_command cmd_run, cmd_ps, cmd_snapshot, cmd_captures, cmd_capture, cmd_fetch,
    cmd_info, cmd_check, cmd_cat, cmd_export, cmd_rule, cmd_health;

/* NULL-terminated, in the order of the help. */
extern const struct cli_command *const cli_commands[];

/* Parses and runs one command; argv[0] is its name. Returns the exit status. */
int cli_command_run(const struct cli_command *command, int argc, char **argv);

/* Help. */
void cli_help(void);
void cli_command_help(const struct cli_command *command);

/* The closest of `names` to a mistyped one, or NULL where none is close. */
const char *cli_nearest(const char *text, const char *const *names, size_t count);

/* "20us", "500ms", "10s", "5m", "2h", "1d"; a bare number is milliseconds. SKEIN_OK or
 * SKEIN_INVALID. */
int cli_duration_parse(const char *text, uint64_t *ns);

#endif
