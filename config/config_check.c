/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at what settings name; see config_check.h. Main thread.
 */
#include "config_check.h"

#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_place.h"
#include "skein/status.h"

static int param_refuse(const char *key, const char *value, const char *why, char *error,
                        size_t error_bytes)
{
    snprintf(error, error_bytes, "%s %s: %s", key, value, why);
    return SKEIN_INVALID;
}

bool config_is_address(const char *text, const char *scheme)
{
    size_t n = strlen(scheme);
    const char *colon = strrchr(text, ':');
    if (strncmp(text, scheme, n) != 0 || colon == NULL || colon <= text + n)
        return false;
    size_t digits = strspn(colon + 1, "0123456789");
    return digits > 0 && digits <= 5 && colon[1 + digits] == '\0' &&
           strtoul(colon + 1, NULL, 10) <= UINT16_MAX;
}

/* Whether `folder` can be made below `there`, which exists: makes and removes its first part. */
static int folder_try(const char *folder, const char *there)
{
    char first[CONFIG_PLACE_BYTES];
    size_t n = strcmp(there, ".") == 0 ? 0 : strlen(there);
    n += strspn(folder + n, "/");
    snprintf(first, sizeof first, "%.*s", (int)(n + strcspn(folder + n, "/")), folder);
    if (mkdir(first, 0700) != 0)
        return errno;
    (void)rmdir(first);
    return 0;
}

/* Checks the folder itself, or the nearest one above it that exists. */
int config_check_folder(const char *key, const char *folder, char *error, size_t error_bytes)
{
    char there[CONFIG_PLACE_BYTES];
    struct stat st;
    int failed = 0;
    snprintf(there, sizeof there, "%s", folder);
    while (stat(there, &st) != 0) {
        char *slash = strrchr(there, '/');
        if (errno != ENOENT)
            return param_refuse(key, folder, strerror(errno), error, error_bytes);
        if (slash == NULL)
            snprintf(there, sizeof there, ".");
        else
            slash[slash == there] = '\0';
    }
    if (!S_ISDIR(st.st_mode))
        return param_refuse(key, there, "is no folder", error, error_bytes);
    if (access(there, W_OK | X_OK) != 0)
        failed = errno;
    else if (strcmp(there, folder) != 0)
        failed = folder_try(folder, there);
    return failed == 0 ? SKEIN_OK : param_refuse(key, folder, strerror(failed), error, error_bytes);
}

int config_check_readable(const char *key, const char *file, char *error, size_t error_bytes)
{
    struct stat st;
    if (access(file, R_OK) != 0)
        return param_refuse(key, file, strerror(errno), error, error_bytes);
    if (stat(file, &st) == 0 && S_ISDIR(st.st_mode))
        return param_refuse(key, file, "is a folder", error, error_bytes);
    return SKEIN_OK;
}

static int port_try(const struct addrinfo *at)
{
    int one = 1;
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    int failed = bind(fd, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    close(fd);
    return failed == EADDRINUSE ? 0 : failed;
}

int config_check_listen(const char *key, const char *address, char *error, size_t error_bytes)
{
    char host[256];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    const char *from = strncmp(address, "tcp://", 6) == 0 ? address + 6 : address;
    const char *colon = strrchr(from, ':');
    size_t n = colon != NULL ? (size_t)(colon - from) : 0;
    if (n == 0 || n >= sizeof host)
        return param_refuse(key, address, "is no HOST:PORT", error, error_bytes);
    bool brackets = from[0] == '[' && from[n - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(n - (brackets ? 2 : 0)), from + brackets);
    int failed = getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, colon + 1, &hints, &found);
    if (failed != 0 && if_nametoindex(host) != 0)
        return SKEIN_OK; /* of an interface */
    if (failed != 0)
        return param_refuse(key, address, gai_strerror(failed), error, error_bytes);
    failed = port_try(found);
    freeaddrinfo(found);
    return failed == 0 ? SKEIN_OK
                       : param_refuse(key, address, strerror(failed), error, error_bytes);
}

/* Where the host begins, and its length; what follows is ":PORT". */
static const char *host_of(const char *address, size_t *bytes)
{
    const char *host = strncmp(address, "tcp://", 6) == 0 ? address + 6 : address;
    const char *colon = strrchr(host, ':');
    *bytes = colon != NULL ? (size_t)(colon - host) : 0;
    return host;
}

static bool is_any(const char *host, size_t bytes)
{
    static const char *const names[] = {"*", "0.0.0.0", "[::]"};
    for (size_t i = 0; i < 3; i++)
        if (bytes == strlen(names[i]) && memcmp(host, names[i], bytes) == 0)
            return true;
    return false;
}

int config_check_apart(const char *key, const char *address, const char *other, char *error,
                       size_t error_bytes)
{
    size_t n, m;
    const char *a = host_of(address, &n), *b = host_of(other, &m);
    bool same_host = (n == m && memcmp(a, b, n) == 0) || is_any(a, n) || is_any(b, m);
    if (!same_host || strcmp(a + n, b + m) != 0 || strcmp(a + n, ":0") == 0)
        return SKEIN_OK;
    return param_refuse(key, address, "is the port of another setting, too", error, error_bytes);
}
