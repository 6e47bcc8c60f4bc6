/* SPDX-License-Identifier: Apache-2.0
 *
 * What an option of a command is: a row of its table, and the rows that many commands share.
 * Declarations only.
 */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
#define CLI_NEWEST_FIRST(s)                                                                        \
    CLI_OPTION(CLI_TIME, 0, "from", "TIME", s, from,                                               \
               "no older than this: 2026-11-21T09:40:00Z, or -2h"),                                \
        CLI_OPTION(CLI_TIME, 0, "to", "TIME", s, to, "no newer than this"),                        \
        CLI_OPTION(CLI_NUMBER, 'n', "limit", "N", s, limit,                                        \
                   "at most so many (default: 50; 0: all)")
#define CLI_OPTIONS_END                                                                            \
    {                                                                                              \
        CLI_END, 0, NULL, NULL, NULL, 0, 0, NULL                                                   \
    }

/* Members of a command's row: its options, into a struct `s`, with which `fn` runs. */
#define CLI_RUN(rows, s, fn) .options = (rows), .options_bytes = sizeof(s), .run = (fn)

#endif
