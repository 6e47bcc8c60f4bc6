/* SPDX-License-Identifier: Apache-2.0
 *
 * Places of a daemon's files; see config_place.h.
 */
#include "config_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder that systemd has made for a unit. A daemon that another unit starts (a build's, for
 * example) inherits that unit's folder: it is ours only if its name says so. */
static bool unit_folder(const char *variable, char out[CONFIG_PLACE_BYTES])
{
    const char *folders = getenv(variable);
    size_t n = folders != NULL ? strcspn(folders, ":") : 0;
    if (n == 0 || n >= CONFIG_PLACE_BYTES || folders[0] != '/')
        return false;
    memcpy(out, folders, n);
    out[n] = '\0';
    return strncmp(strrchr(out, '/') + 1, "skein", 5) == 0;
}

/* False: the variable is not an absolute path (XDG says to ignore it then). */
static bool below(const char *variable, const char *under, const char *name,
                  char out[CONFIG_PLACE_BYTES])
{
    const char *base = getenv(variable);
    if (base == NULL || base[0] != '/')
        return false;
    int n = snprintf(out, CONFIG_PLACE_BYTES, "%s%s/skein/%s", base, under, name);
    return n > 0 && n < CONFIG_PLACE_BYTES;
}

bool config_place_state(const char *name, char out[CONFIG_PLACE_BYTES])
{
    if (unit_folder("STATE_DIRECTORY", out))
        return true;
    if (geteuid() == 0)
        return false;
    return below("XDG_STATE_HOME", "", name, out) || below("HOME", "/.local/state", name, out);
}

bool config_place_socket(const char *name, char out[CONFIG_PLACE_BYTES])
{
    if (unit_folder("RUNTIME_DIRECTORY", out)) {
        size_t n = strlen(out);
        snprintf(out + n, CONFIG_PLACE_BYTES - n, "/%s", name);
        return true;
    }
    if (geteuid() == 0)
        return false;
    return below("XDG_RUNTIME_DIR", "", name, out) || below("XDG_STATE_HOME", "", name, out) ||
           below("HOME", "/.local/state", name, out);
}

int folder_make(const char *path, mode_t mode)
{
    char above[CONFIG_PLACE_BYTES];
    struct stat st;
    if (strlen(path) >= sizeof above) {
        errno = ENAMETOOLONG;
        return -1;
    }
    snprintf(above, sizeof above, "%s", path);
    for (char *slash = above; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = '\0';
        if (mkdir(above, 0700) != 0 && errno != EEXIST && stat(above, &st) != 0)
            return -1;
    }
    return mkdir(path, mode) == 0 || errno == EEXIST ? 0 : -1;
}
