/* SPDX-License-Identifier: Apache-2.0
 *
 * Which route a path is of. For http_*.c alone; pure functions.
 */
#ifndef HTTP_ROUTE_H
#define HTTP_ROUTE_H

#include "http.h"

#define HTTP_PARTS_MAX  2
#define HTTP_PART_BYTES 256
struct http_match {
    const struct http_route *route; /* NULL: no such path, or not with this method */
    char parts[HTTP_PARTS_MAX][HTTP_PART_BYTES];
    char allow[64]; /* methods of the path, "" where there is no such path */
};
void http_route_find(const struct http_route *routes, const char *method, const char *path,
                     struct http_match *match);

#endif
