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
    const char *noun;   /* "rule" */
    const char *folder; /* "/rules" */
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

/* All of them as a table. */
int resource_list(const struct resource *r, struct cli_collector collector, bool json,
                  const struct table_column *columns, const char *empty);

/* GET folder/name and `rest` behind it; the caller frees *answer. */
int resource_get(const struct api *api, const struct resource *r, const char *name,
                 const char *rest, cJSON **answer);

/* As people wrote it: JSON without the collector's `state`, and an empty line. */
int resource_show(const cJSON *answer);

/* Parses a JSON file; "-" is standard input. The caller frees *json. */
int resource_read(const char *file, cJSON **json);

/* Calls fn for each argument; goes on after a failure and returns the first one. */
typedef int resource_fn(const struct api *api, const struct resource *r, const char *argument,
                        bool json);
int resource_each(const struct resource *r, struct cli_collector collector, bool json,
                  resource_fn *fn, int count, char **arguments);

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
