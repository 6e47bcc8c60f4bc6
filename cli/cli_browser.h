/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's browser: opened where there is one to be seen, else nothing happens. One thread.
 */
#ifndef CLI_BROWSER_H
#define CLI_BROWSER_H

#include <stdbool.h>

/* Whether the address is of the web. Collectors say addresses, too, and the desktop has programs for many
 * other kinds: for files, shares, mail. */
bool browser_is_web(const char *url);

/* Opens the address, of the web alone, in the browser of the desktop (xdg-open) and waits for it to take it.
 * False: it is of another kind, standard output is no terminal, there is no desktop, no xdg-open, or it
 * failed; nobody has been told. */
bool browser_open(const char *url);
/* The same for a page that this program has written, "file://…". */
bool browser_open_page(const char *url);

#endif
