/* SPDX-License-Identifier: Apache-2.0
 *
 * A page that leads a browser to an address that nobody else may see: what programs are given as
 * arguments can be read by every user of the host, a file of one's own cannot. One thread.
 */
#ifndef CONSOLE_PAGE_H
#define CONSOLE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the page in place of the one before, and gives its address ("file:///..."). False: there is
 * no folder that is the user's alone ($XDG_RUNTIME_DIR), or it cannot be written. */
bool console_page_write(const char *url, char *address, size_t address_bytes);

#endif
