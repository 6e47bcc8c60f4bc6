/* SPDX-License-Identifier: Apache-2.0
 *
 * The web console's files over HTTP: the shell (index.html) at every path of a page, and what it is
 * made of. They hold no data and need no token: what a page shows it asks of the API. Handlers keep
 * no state and are called by any thread.
 */
#ifndef CONSOLE_H
#define CONSOLE_H

#include "http.h"

/* For http_settings.pages. The last row before the end has the pattern "": what no path has is a page
 * that says so, or a problem for whoever does not read pages. */
extern const struct http_route console_routes[];

#endif
