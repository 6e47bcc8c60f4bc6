/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's browser: opened where there is one to be seen, else nothing happens. One thread.
 */
#ifndef CLI_BROWSER_H
#define CLI_BROWSER_H

#include <stdbool.h>

/* Opens the address in the browser of the desktop (xdg-open) and waits for it to take it. False: standard
 * output is no terminal, there is no desktop, no xdg-open, or it failed; nobody has been told. */
bool browser_open(const char *url);

#endif
