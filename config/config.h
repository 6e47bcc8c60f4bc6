/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration of the daemons: a table of parameters generates the reader of the JSON file, the
 * checks, `--help` and docs/configuration.md. A parameter is one row.
 *
 *   static const struct config_param params[] = {
 *       CONFIG_STR(struct agent_config, socket, "socket", "/run/skein/agent.sock",
 *                  "Unix socket ..."),
 *       CONFIG_U64(struct agent_config, spool_bytes, "spool.max_bytes",
 *                  1 << 30, 1 << 20, UINT64_MAX, "..."),
 *       {0}};
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "skein/status.h"

enum config_type {
    CONFIG_TYPE_NONE,
    CONFIG_TYPE_STR,
    CONFIG_TYPE_U64,
    CONFIG_TYPE_BOOL,
    CONFIG_TYPE_STRS,
    CONFIG_TYPE_MAP
};

struct config_strs {
    char **items;
    size_t count;
};

/* Names with sizes: an object in the file whose keys the operator chooses. */
struct config_map {
    struct config_entry {
        char *name;
        uint64_t number;
    } * items;
    size_t count;
};

struct config_param {
    enum config_type type;
    size_t offset;         /* of char *, uint64_t, bool, struct config_strs or _map in the config */
    const char *path;      /* "spool.max_bytes": a dot for each object in the file */
    const char *otherwise; /* default of a STR */
    uint64_t number, min, max; /* U64: default and bounds; BOOL: default; MAP: bounds of each */
    bool live; /* takes effect on SIGHUP; other changes are reported, and wait for a restart */
    const char *help;
};

#define CONFIG_STR(s, field, path, otherwise, help)                                                \
    {                                                                                              \
        CONFIG_TYPE_STR, offsetof(s, field), path, otherwise, 0, 0, 0, false, help                 \
    }
#define CONFIG_U64(s, field, path, number, min, max, help)                                         \
    {                                                                                              \
        CONFIG_TYPE_U64, offsetof(s, field), path, NULL, number, min, max, false, help             \
    }
#define CONFIG_BOOL(s, field, path, number, help)                                                  \
    {                                                                                              \
        CONFIG_TYPE_BOOL, offsetof(s, field), path, NULL, number, 0, 1, false, help                \
    }
#define CONFIG_STRS(s, field, path, help)                                                          \
    {                                                                                              \
        CONFIG_TYPE_STRS, offsetof(s, field), path, NULL, 0, 0, 0, false, help                     \
    }
#define CONFIG_MAP(s, field, path, min, max, help)                                                 \
    {                                                                                              \
        CONFIG_TYPE_MAP, offsetof(s, field), path, NULL, 0, min, max, false, help                  \
    }

/* Where values come from; each source overrides those before it: the table, `defaults`, the file,
 * environment variables (spool.max_bytes of skein-agent: SKEIN_AGENT_SPOOL_MAX_BYTES), `sets`. In
 * the last two a list of texts is separated by commas, and objects are JSON. */
struct config_default {
    const char *path, *value; /* of a STR; value NULL: the table's default */
};
#define CONFIG_SETS_MAX 64
struct config_sources {
    const char *daemon;                    /* "skein-agent"; NULL: no environment */
    const struct config_default *defaults; /* the last one has path NULL; NULL: none */
    const char *file;                      /* NULL: none */
    const char *sets[CONFIG_SETS_MAX];     /* "spool.max_bytes=1GiB" */
    size_t set_count;
};

/* Fills a zeroed config struct. Unknown keys, wrong types and values out of bounds fail; so does an
 * environment variable that is nearly a parameter's. SKEIN_OK; SKEIN_IO, SKEIN_INVALID,
 * SKEIN_NO_MEMORY, with "FILE: spool.max_bytes: must be ..." in error (or the variable's name, or
 * --set, in place of FILE): the struct is then freed and zero. */
int config_load(const struct config_param *params, void *config,
                const struct config_sources *sources, char *error, size_t error_bytes);
void config_free(const struct config_param *params, void *config);

/* Whether the parameter's value differs between the two configs. */
bool config_differs(const struct config_param *param, const void *a, const void *b);

/* Prints "number, default 5, 1 to 10", without a newline. */
void config_print_facts(const struct config_param *param, FILE *out);

/* The name of the environment variable for a parameter. */
#define CONFIG_VARIABLE_BYTES 128
void config_variable(const char *daemon, const struct config_param *param,
                     char out[CONFIG_VARIABLE_BYTES]);

/* The parameter's last name, which says the unit of a number (common/units.h). */
const char *config_leaf(const struct config_param *param);

/* Prints where a daemon's values come from, and which source wins; lines of plain text. */
void config_print_sources(const char *daemon, FILE *out);

/* The parameters as a table for --help, and as Markdown for the docs. */
void config_print_help(const struct config_param *params, FILE *out);
void config_print_markdown(const struct config_param *params, FILE *out);

/* The same as a JSON Schema of the file, for editors and for config/ (config/agent.schema.json).
 * SKEIN_OK or SKEIN_NO_MEMORY. */
int config_print_schema(const struct config_param *params, const char *title, FILE *out);

#endif
