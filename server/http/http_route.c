/* SPDX-License-Identifier: Apache-2.0
 *
 * Matches paths against the route table. Pure functions over hostile text; any thread.
 */
#include "http_route.h"

#include <stdio.h>
#include <string.h>

/* Takes the characters of one "{}": up to the text that follows it in the pattern, never a '/'. */
static bool part_take(const char **path, const char *rest, char out[HTTP_PART_BYTES])
{
    size_t n = strcspn(*path, "/");
    if (rest[0] != '\0' && rest[0] != '/') {
        /* A suffix such as ":stop" ends the part: it must be the end of the segment. */
        size_t suffix = strcspn(rest, "/");
        if (n <= suffix || memcmp(*path + n - suffix, rest, suffix) != 0)
            return false;
        n -= suffix;
    }
    if (n == 0 || n >= HTTP_PART_BYTES)
        return false;
    memcpy(out, *path, n);
    out[n] = '\0';
    *path += n;
    return true;
}

static bool pattern_match(const char *pattern, const char *path, char parts[][HTTP_PART_BYTES])
{
    unsigned count = 0;
    while (*pattern != '\0') {
        if (pattern[0] == '{' && pattern[1] == '}') {
            pattern += 2;
            if (count == HTTP_PARTS_MAX || !part_take(&path, pattern, parts[count]))
                return false;
            count++;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == '\0';
}

static void allow_add(char allow[64], const char *method)
{
    size_t n = strlen(allow);
    snprintf(allow + n, 64 - n, "%s%s%s", n > 0 ? ", " : "", method,
             strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

void http_route_find(const struct http_route *routes, const char *method, const char *path,
                     struct http_match *match)
{
    memset(match, 0, sizeof *match);
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    size_t best_literal = 0;
    for (const struct http_route *r = routes; r->method != NULL; r++) {
        char parts[HTTP_PARTS_MAX][HTTP_PART_BYTES] = {{0}};
        bool rest = r->pattern[0] == '\0';
        if (!rest && !pattern_match(r->pattern, path, parts))
            continue;
        /* "/captures/{}:stop" beats "/captures/{}": the pattern with more literal text wins, with
         * all its methods. */
        size_t literal = strlen(r->pattern);
        if (literal < best_literal)
            continue;
        if (literal > best_literal) {
            match->allow[0] = '\0';
            match->route = NULL;
            best_literal = literal;
        }
        if (!rest)
            allow_add(match->allow, r->method);
        if (strcmp(r->method, wanted) == 0) {
            match->route = r;
            memcpy(match->parts, parts, sizeof parts);
        }
    }
}
