/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks for --check-config: whether what a setting names could be used. Each returns SKEIN_OK, or
 * SKEIN_INVALID with "KEY VALUE: why not" in error, and leaves everything as it was (a folder that
 * is missing is made and removed again).
 */
#ifndef CONFIG_CHECK_H
#define CONFIG_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the text has the form HOST:PORT, behind a scheme ("" or "tcp://"). */
bool config_is_address(const char *text, const char *scheme);

/* A folder that can be written to, or could be made. */
int config_check_folder(const char *key, const char *folder, char *error, size_t error_bytes);
int config_check_readable(const char *key, const char *file, char *error, size_t error_bytes);
/* [tcp://]HOST:PORT, an address of this host; a port that is taken is fine. */
int config_check_listen(const char *key, const char *address, char *error, size_t error_bytes);
/* Checks that two addresses of the same form are not one port. */
int config_check_apart(const char *key, const char *address, const char *other, char *error,
                       size_t error_bytes);

#endif
