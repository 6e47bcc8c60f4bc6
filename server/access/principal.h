/* SPDX-License-Identifier: Apache-2.0
 *
 * Who makes a request: a name for the logs, what it may do, which processes it may see. A value;
 * the exchange (http.h) owns the selector until its answer is sent.
 */
#ifndef PRINCIPAL_H
#define PRINCIPAL_H

#include "selector.h"

/* What a route needs and a principal has; each includes those before it. A route with 0 is never
 * served. */
enum http_scope { HTTP_PUBLIC = 1, HTTP_VIEWER, HTTP_OPERATOR, HTTP_ADMIN };

#define PRINCIPAL_NAME_BYTES     64
#define PRINCIPAL_SELECTOR_BYTES 1024
#define PRINCIPAL_TOKEN_BYTES    13

struct principal {
    char name[PRINCIPAL_NAME_BYTES];
    char token[PRINCIPAL_TOKEN_BYTES]; /* the id of who has one (tokens.h); "" */
    uint64_t session; /* of who has logged in (logins.h), a token's holder, too; 0 */
    enum http_scope scope;
    const struct selector *selector;              /* NULL: all processes */
    char selector_text[PRINCIPAL_SELECTOR_BYTES]; /* the same; "" for all */
};

#endif
