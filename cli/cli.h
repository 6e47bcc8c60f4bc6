/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command of `skein` is: a row of the command table with a table of options (cli_option.h).
 * The tables generate the parser, `--help`, the man pages, shell completion, and the suggestions
 * for mistyped names. One thread.
 */
#ifndef CLI_H
#define CLI_H

#include "buf.h"
#include "cli_option.h"

/* Exit statuses and what each means: the enum, the help and the man pages. */
#define CLI_EXIT_LIST(X)                                                                           \
    X(OK, 0, "done")                                                                               \
    X(FAILED, 1, "failed: the message says what, where and what to do")                            \
    X(USAGE, 2, "wrong usage")                                                                     \
    X(INCOMPLETE, 3, "the capture has gaps, or rows are left out; what there is of it is kept")    \
    X(UNREACHABLE, 4, "no collector answers")                                                      \
    X(NOT_STARTED, 126, "run: the program is there, and could not be started")                     \
    X(NOT_THERE, 127, "run: no such program")
enum cli_exit {
#define X(name, value, text) CLI_##name = value,
    CLI_EXIT_LIST(X)
#undef X
};

/* Variables of the environment, for the same. */
#define CLI_ENVIRONMENT_LIST(X)                                                                    \
    X("SKEIN_COLLECTOR", "URL of the collector, where --collector does not say it")                \
    X("SKEIN_TOKEN", "the token for it, where --token-file does not say it")                       \
    X("SKEIN_CA", "PEM file of whom to trust for https, where --ca does not say it")               \
    X("NO_COLOR", "set: no colours, also on a terminal")

/* What a command is called with. */
struct cli_call {
    const struct cli_command *command;
    const void *options; /* the command's struct of them */
    int count;
    char **arguments; /* `count` of them, and NULL */
};

struct cli_command {
    const char *name;      /* of an action with its command: "rule apply" */
    const char *arguments; /* "FILE...", after the options; NULL: none */
    const char *summary;   /* one line */
    const char *details;   /* more for --help: prose, lines that end with a newline; or NULL */
    const char *examples;  /* lines */
    const struct cli_option *options;
    size_t options_bytes;             /* sizeof the struct of options; at most CLI_OPTIONS_BYTES */
    int min_arguments, max_arguments; /* none said: one of "FILE", one or more of "FILE..." */
    const char *const *choices;       /* of the argument, NULL-terminated; or NULL */
    bool stops_at_argument;           /* options after the first argument belong to it (run) */
    int (*run)(const struct cli_call *call); /* returns the exit status */
    const void *context;                     /* of a `run` that several commands have */
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

/* "20us", "500ms", "1.5s", "5m", "2h", "7d" (common/units.h). SKEIN_OK; SKEIN_INVALID;
 * SKEIN_TRUNCATED: a number without a unit. */
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
