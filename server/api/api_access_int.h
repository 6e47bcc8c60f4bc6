/* SPDX-License-Identifier: Apache-2.0
 *
 * What logging in (api_session.c) shares with the check of each request (api_access.c). Any thread.
 */
#ifndef API_ACCESS_INT_H
#define API_ACCESS_INT_H

#include "api.h"

/* The cookie of a session. Browsers keep cookies by the host's name, whatever the port, so two
 * collectors behind one "localhost" would end each other's sessions: each has a name of its own, made
 * of a number that its state.db has. */
#define SESSION_COOKIE_BYTES 24
const char *session_cookie(const struct api_services *api, char out[SESSION_COOKIE_BYTES]);

/* Whether requests need a token: 1; 0: not yet, and who asks is the admin "local"; a status: it
 * cannot be found out. */
int access_needs_token(struct api_services *api);

/* Whose token the text is; `field` is where the request has it. False: a 401, 429 or 503 was given,
 * and the audit log told. */
bool access_token(struct api_services *api, struct http_exchange *x, const char *text,
                  const char *field, struct token *out);
/* Answers that a token or code is wrong: 401, or 429 after too many. */
void access_wrong(struct api_services *api, struct http_exchange *x, const char *text,
                  const char *field, const char *words);

/* The session of the request's cookie; this counts as a request of it. False: it has none. */
bool access_login(struct api_services *api, const struct http_exchange *x, struct login *out);

/* Whether a page of this server may ask so that its browser's session changes; false: a 403 was
 * given. `actor`: whose session it is; "": nobody's yet. A browser that does not say which page asks
 * is refused where `told`. */
bool access_page(struct api_services *api, struct http_exchange *x, const char *actor, bool told);

#endif
