/* SPDX-License-Identifier: Apache-2.0
 *
 * The browser, by xdg-open; see cli_browser.h. Owns a child for as long as that takes.
 */
#include "cli_browser.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value;
}

/* What it says, and the browser behind it, does not belong on this terminal. */
static bool silent(posix_spawn_file_actions_t *actions)
{
    for (int fd = 0; fd < 3; fd++)
        if (posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0) != 0)
            return false;
    return true;
}

bool browser_is_web(const char *url)
{
    return strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
}

bool browser_open(const char *url)
{
    return browser_is_web(url) && browser_open_page(url);
}

bool browser_open_page(const char *url)
{
    posix_spawn_file_actions_t actions;
    char program[] = "xdg-open", *address = strdup(url);
    char *arguments[] = {program, address, NULL};
    pid_t child = -1;
    int status = -1;
    bool seen = isatty(STDOUT_FILENO) && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
    if (!seen || address == NULL || posix_spawn_file_actions_init(&actions) != 0) {
        free(address);
        return false;
    }
    if (silent(&actions) && posix_spawnp(&child, program, &actions, NULL, arguments, environ) == 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    posix_spawn_file_actions_destroy(&actions);
    free(address);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
