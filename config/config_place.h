/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a daemon keeps things if no configuration says it: systemd's folders for a unit of ours,
 * else an ordinary user's own (XDG Base Directory). Reads the environment; only folder_make makes
 * anything. Any thread.
 */
#ifndef CONFIG_PLACE_H
#define CONFIG_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CONFIG_PLACE_BYTES 4096

/* State: $STATE_DIRECTORY, or $XDG_STATE_HOME/skein/NAME. The socket `name`:
 * $RUNTIME_DIRECTORY/NAME, or $XDG_RUNTIME_DIR/skein/NAME, or beside the state if there is no such
 * folder. False: root outside of a unit, or no home: use the table's default. */
bool config_place_state(const char *name, char out[CONFIG_PLACE_BYTES]);
bool config_place_socket(const char *name, char out[CONFIG_PLACE_BYTES]);

/* Makes the folder, and those above it (0700), if they are missing. 0, or -1 with errno. */
int folder_make(const char *path, mode_t mode);

#endif
