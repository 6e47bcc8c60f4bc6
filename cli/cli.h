/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command of `skein` is: a row of the command table with a table of options. The tables
 * generate the parser, `--help`, the man pages, shell completion, and the suggestions for mistyped
 * names. One thread.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

/* Exit statuses and what each means: the enum, the help and the man pages. */
#define CLI_EXIT_LIST(X)                                                                           \
    X(OK, 0, "done")                                                                               \
    X(FAILED, 1, "failed: the message says what, where and what to do")                            \
    X(USAGE, 2, "wrong usage")                                                                     \
    X(INCOMPLETE, 3, "the capture has gaps; what there is of it is kept")                          \
    X(UNREACHABLE, 4, "no collector answers")
enum cli_exit {
#define X(name, value, text) CLI_##name = value,
    CLI_EXIT_LIST(X)
#undef X
};

enum cli_type {
    CLI_END,      /* ends the table */
    CLI_FLAG,     /* bool */
    CLI_TEXT,     /* const char *; one of `choices` where there are any */
    CLI_LIST,     /* struct cli_list: may be given again */
    CLI_NUMBER,   /* struct cli_number */
    CLI_DURATION, /* struct cli_number, in nanoseconds: "20us", "500ms", "10s", "5m", "2h" */
    CLI_TIME,     /* struct cli_number, UTC nanoseconds: RFC 3339, or "-30s": so long ago */
    CLI_FORMAT,   /* bool: json or table */
    CLI_RESULT    /* struct cli_result: json, table or a file; may be given again */
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
/* Which collector, and how it is asked. */
struct cli_collector {
    const char *url, *ca_file, *token_file; /* NULL: not given */
};
struct cli_result {
    const char *file; /* NULL: none */
    bool json;
};

struct cli_option {
    enum cli_type type;
    char letter; /* 0: none */
    const char *name, *value, *help;
    size_t offset;              /* of the value in the command's struct of options */
    uint64_t max;               /* NUMBER: largest; 0: no bound */
    const char *const *choices; /* TEXT: NULL-terminated; or NULL */
};

/* Rows that several commands share. */
#define CLI_OPTION(type, letter, name, value, s, field, help)                                      \
    {                                                                                              \
        type, letter, name, value, help, offsetof(s, field), 0, NULL                               \
    }
#define CLI_CHOICE(letter, name, value, s, field, choices, help)                                   \
    {                                                                                              \
        CLI_TEXT, letter, name, value, help, offsetof(s, field), 0, choices                        \
    }
#define CLI_COLLECTOR(s)                                                                           \
    CLI_OPTION(CLI_TEXT, 0, "collector", "URL", s, collector.url,                                  \
               "the collector (default: $SKEIN_COLLECTOR, then http://127.0.0.1:7462)"),           \
        CLI_OPTION(CLI_TEXT, 0, "ca", "FILE", s, collector.ca_file,                                \
                   "whom to trust for https, PEM (default: $SKEIN_CA, then the system's)"),        \
        CLI_OPTION(CLI_TEXT, 0, "token-file", "FILE", s, collector.token_file,                     \
                   "file with the token (default: the token in $SKEIN_TOKEN)")
#define CLI_OUTPUT(s)                                                                              \
    CLI_OPTION(CLI_FORMAT, 'o', "output", "FORM", s, json, "json or table (default: table)"),      \
        CLI_OPTION(CLI_FLAG, 'j', "json", NULL, s, json, "short for -o json")
#define CLI_OUTPUT_FILE(s, what)                                                                   \
    CLI_OPTION(CLI_RESULT, 'o', "output", "FILE|FORM", s, result,                                  \
               what "; json or table: the form of what is printed (./json: a file)"),              \
        CLI_OPTION(CLI_FLAG, 'j', "json", NULL, s, result.json, "short for -o json")
#define CLI_SELECTOR(s)                                                                            \
    CLI_OPTION(CLI_TEXT, 'l', "selector", "LABELS", s, selector,                                   \
               "which processes: service=redis,zone in (a,b),!canary")
#define CLI_OPTIONS_END                                                                            \
    {                                                                                              \
        CLI_END, 0, NULL, NULL, NULL, 0, 0, NULL                                                   \
    }

struct cli_command {
    const char *name;      /* of an action with its command: "rule apply" */
    const char *arguments; /* "FILE...", after the options */
    const char *summary;   /* one line */
    const char *details;   /* more for --help: prose, lines that end with a newline; or NULL */
    const char *examples;  /* lines */
    const struct cli_option *options;
    size_t options_bytes; /* sizeof the struct of options; at most CLI_OPTIONS_BYTES */
    int min_arguments, max_arguments;
    const char *const *choices; /* of the argument, NULL-terminated; or NULL */
    bool stops_at_argument;     /* options after the first argument belong to it (run) */
    int (*run)(const void *options, int count, char **arguments);
    /* NULL-terminated: then the word behind the command is one of them, and where there is none the
     * first is meant; nothing else of this row counts but name, summary, details and examples. */
    const struct cli_command *const *actions;
};
#define CLI_OPTIONS_BYTES 1024
#define CLI_ARGUMENTS_ANY 1000000
/* NULL-terminated, in the order of the help. */
extern const struct cli_command *const cli_commands[];

/* ---- cli_commands.c ---- */

/* "apply" of "rule apply". */
const char *cli_word(const struct cli_command *command);

/* Follows words through the table; *used says how many were names. NULL where the first is none. A
 * command with actions is returned as it is where no action follows. */
const struct cli_command *cli_find(const char *const *words, size_t count, size_t *used);

/* `skein` itself: argv as main() has it. Returns the exit status. */
int cli_main(int argc, char **argv);

/* Says that `text` is none of the table's, and what it was probably meant to be. CLI_USAGE. */
int cli_unknown(const char *text, const struct cli_command *of,
                const struct cli_command *const *table);

/* The closest of `names` to a mistyped one, or NULL where none is close. */
const char *cli_nearest(const char *text, const char *const *names, size_t count);

/* ---- cli_options.c ---- */

/* Parses and runs one command without actions; argv[0] is its name. Returns the exit status. */
int cli_command_run(const struct cli_command *command, int argc, char **argv);

/* "20us", "500ms", "10s", "5m", "2h", "1d"; a bare number is milliseconds. SKEIN_OK or
 * SKEIN_INVALID. */
int cli_duration_parse(const char *text, uint64_t *ns);

/* ---- cli_help.c, cli_man.c, cli_complete.c: to standard output ---- */

void cli_help(void);
void cli_command_help(const struct cli_command *command);
/* A man page: of one command with its actions, or of skein where it is NULL. */
void cli_man_put(struct buf *out, const struct cli_command *command);
/* What the last of the words behind `skein` may become: a line for each, "word<tab>help"; the line
 * ":files" asks for names of files. */
void cli_complete_put(struct buf *out, const char *const *words, size_t count);

#endif
