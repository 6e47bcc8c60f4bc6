/* SPDX-License-Identifier: Apache-2.0
 *
 * skein console: the collector's console in the browser, logged in. One thread.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli_api.h"
#include "cli_browser.h"
#include "cli_out.h"
#include "cmd.h"
#include "console_page.h"

struct options {
    struct cli_collector collector;
    bool json, print;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_FLAG, 0, "print", NULL, struct options, print,
               "print the link alone, and open nothing"),
    CLI_OUTPUT(struct options), CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

/* Whether browsers keep the cookie of a session there. */
static bool is_trusted(const char *url)
{
    static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};
    if (strncasecmp(url, "http://", 7) != 0)
        return true;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        size_t n = strlen(own[i]);
        if (strncasecmp(url + 7, own[i], n) == 0 && strchr(":/", url[7 + n]) != NULL)
            return true; /* strchr finds the end, too */
    }
    return false;
}

/* The link, with a code in it where a login is needed; `expires` is the code's, or "". Where the
 * collector knows by what name people reach it, it is that one. */
static int link_make(const struct api *api, struct buf *link, char expires[40])
{
    cJSON *who = NULL, *code = NULL;
    char place[512];
    int status = api_call(api, "GET", "/whoami", NULL, &who);
    bool login = !cJSON_IsFalse(json_at(who, "login_needed"));
    const char *known = json_text_at(who, "url");
    (void)snprintf(place, sizeof place, "%s", browser_is_web(known) ? known : api->collector);
    cJSON_Delete(who);
    expires[0] = '\0';
    if (status == CLI_OK && login)
        status = api_call(api, "POST", "/login-codes", NULL, &code);
    if (status != CLI_OK)
        return status;
    buf_printf(link, "%s/", place);
    if (login) {
        buf_printf(link, "login#c=");
        api_segment(link, json_text_at(code, "code"));
        (void)snprintf(expires, 40, "%s", json_text_at(code, "expires"));
    }
    cJSON_Delete(code);
    if (login && !is_trusted(place))
        say_warning("browsers keep no login over plain HTTP from another machine: use https, or "
                    "ssh -L 7462:localhost:7462 HOST and --collector http://localhost:7462");
    return CLI_OK;
}

static bool link_open(const char *link, bool secret)
{
    char page[4096];
    if (!secret)
        return browser_open(link);
    return isatty(STDOUT_FILENO) && console_page_write(link, page, sizeof page) &&
           browser_open_page(page);
}

static int link_show(const struct options *o, const char *link, const char *expires)
{
    if (o->json) {
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "url", link);
        if (*expires)
            cJSON_AddStringToObject(json, "expires", expires);
        int status = json_show(json);
        cJSON_Delete(json);
        return status;
    }
    bool opened = !o->print && link_open(link, *expires != '\0');
    safe_print(link);
    printf("\n");
    if (*expires)
        fprintf(stderr, "good once, within a minute%s\n", opened ? "; the browser opens it" : "");
    else
        fprintf(stderr,
                "no login is needed: there is no token yet, and root and the collector's own "
                "user are admin on its machine\n");
    return out_close();
}

static int console_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct api api;
    struct buf link = {0};
    char expires[40] = "";
    int status = api_init(&api, o->collector);
    if (status == CLI_OK)
        status = link_make(&api, &link, expires);
    if (status == CLI_OK)
        status = link_show(o, text_of(&link), expires);
    buf_fini(&link);
    return status;
}

const struct cli_command cmd_console = {
    .name = "console",
    .summary = "Open the collector's console in the browser, logged in",
    .details =
        "Prints a link that logs a browser in as the token that this command has, once, within\n"
        "a minute; and opens it where there is a display, standard output is a terminal, and\n"
        "$XDG_RUNTIME_DIR is the user's own. While the collector has no token, the link is its\n"
        "address alone: on its machine, root and its own user need no login.\n",
    .examples = "  skein console\n  skein console --print --token-file me.token\n",
    CLI_RUN(options, struct options, console_run),
};
