/* SPDX-License-Identifier: Apache-2.0
 *
 * What commands do alike with the things that a collector holds by name: list them, apply files of
 * them, show, match and delete them. Failures have been told when these return. One thread.
 */
#ifndef CLI_RESOURCE_H
#define CLI_RESOURCE_H

#include "cli_api.h"
#include "cli_out.h"

struct resource {
    const char *noun;                   /* "rule" */
    const char *folder;                 /* "/rules" */
    const struct table_column *columns; /* of the table of all; NULL: there is none */
    const char *empty;                  /* what that says where there are none */
};

/* A listing at `path`, printed; `limit` items (0: all), and a word where there are more. `path` is
 * freed. */
struct listing {
    const struct table_column *columns;
    const char *empty; /* what a table without rows says */
    uint64_t limit;
    bool json;
};
int listing_show(const struct api *api, struct buf *path, const struct listing *listing);

/* GET folder/name and `rest` behind it; the caller frees *answer. */
int resource_get(const struct api *api, const struct resource *r, const char *name,
                 const char *rest, cJSON **answer);

/* As people wrote it: JSON without the collector's `state`, and an empty line. */
int resource_show(const cJSON *answer);

/* Parses a JSON file; "-" is standard input. The caller frees *json. */
int resource_read(const char *file, cJSON **json);

/* What is done for one argument, a name or a file. */
typedef int resource_fn(const struct api *api, const struct resource *r, const char *argument,
                        bool json);

/* Calls fn for each argument; goes on after a failure and returns the first one. */
int resource_each(const struct resource *r, struct cli_collector collector, bool json,
                  resource_fn *fn, const struct cli_call *call);

/* Members of a command's row: it lists all of them, or does `fn` for each argument, with the
 * options of every command that asks the collector and none of its own. */
#define RESOURCE_LIST(r)                                                                           \
    CLI_RUN(resource_options, struct resource_options, resource_list), .context = (r)
#define RESOURCE_EACH(r, fn)                                                                       \
    CLI_RUN(resource_options, struct resource_options, resource_run),                              \
        .context = &(const struct resource_action)                                                 \
    {                                                                                              \
        r, fn                                                                                      \
    }
struct resource_action {
    const struct resource *resource;
    resource_fn *fn;
};
struct resource_options { /* also of commands that show one thing alone */
    struct cli_collector collector;
    bool json;
};
extern const struct cli_option resource_options[];
int resource_list(const struct cli_call *call);
int resource_run(const struct cli_call *call);

/* PUT of each that a JSON file holds: one, or an array of them. "-" is standard input. */
resource_fn resource_apply;

/* DELETE, told as "deleted" or as "revoked". */
resource_fn resource_delete, resource_revoke;

/* The same, told as `result`. */
int resource_remove(const struct api *api, const struct resource *r, const char *name,
                    const char *result, bool json);

/* POST of `body`, to which it adds when the thing `expires`, if that was given as a duration: makes
 * one that has a secret, and prints that alone on standard output, so that a script can take it, or
 * the answer as JSON. Says which by its member `key`. Takes body. */
int resource_create_secret(const struct resource *r, struct cli_collector collector, bool json,
                           cJSON *body, const struct cli_number *expires, const char *key);

/* Whom it matches now. */
resource_fn resource_matches;

/* "rule NAME is deleted", or {"rule":"NAME","result":"deleted"}. */
int resource_said(const struct resource *r, const char *name, const char *result, bool json);

#endif
