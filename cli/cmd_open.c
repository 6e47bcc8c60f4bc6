/* SPDX-License-Identifier: Apache-2.0
 *
 * skein open: a capture in the console, in the browser or as a link; for a file, where it may be dropped.
 * One thread.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli_browser.h"
#include "cli_capture.h"
#include "cli_id.h"
#include "cli_out.h"
#include "cmd.h"

struct options {
    struct cli_collector collector;
    bool print;
};

static const struct cli_option options[] = {CLI_OPTION(CLI_FLAG, 0, "print", NULL, struct options,
                                                       print,
                                                       "only print the link, and open nothing"),
                                            CLI_COLLECTOR(struct options), CLI_OPTIONS_END};

static int link_give(const struct options *o, const char *url, const char *words)
{
    struct buf out = {0};
    bool opened = !o->print && browser_open(url);
    buf_printf(&out, "%s", opened ? "opened " : "");
    shown_put(&out, url);
    buf_printf(&out, "\n%s", o->print ? "" : words);
    int status = out_write(&out) ? out_close() : CLI_FAILED;
    buf_fini(&out);
    return status;
}

static int open_capture(const struct options *o, const struct api *api, const char *text)
{
    char id[CLI_ID_BYTES];
    cJSON *capture = NULL;
    int status = capture_id_find(api, text, id);
    if (status == CLI_OK)
        status = capture_get(api, id, &capture);
    if (status == CLI_OK)
        status = link_give(o, json_text_at(capture, "url"), "");
    cJSON_Delete(capture);
    return status;
}

static int open_file(const struct options *o, const struct api *api, const char *file)
{
    struct buf url = {0}, words = {0};
    if (access(file, R_OK) != 0) {
        say_error("%s: %s", file, strerror(errno));
        return CLI_FAILED;
    }
    api_url(api, "!/open", &url);
    shown_put_between(
        &words, "Drop ", file,
        " on that page, or choose it there. The browser reads it by itself: nothing is "
        "uploaded.\n");
    int status = link_give(o, text_of(&url), text_of(&words));
    buf_fini(&url);
    buf_fini(&words);
    return status;
}

static int open_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    const char *text = call->arguments[0];
    struct api api;
    int status = api_init(&api, o->collector);
    if (status != CLI_OK)
        return status;
    bool is_file = access(text, F_OK) == 0 || !id_begins(text, CLI_ID_BYTES - 1);
    return is_file ? open_file(o, &api, text) : open_capture(o, &api, text);
}

const struct cli_command cmd_open = {
    .name = "open",
    .arguments = "CAPTURE|FILE",
    .summary = "Open a capture in the web console",
    .details =
        "In the browser of the desktop, where there is one and this is a terminal; else the link is\n"
        "printed. For a file it is the page that reads files: they are dropped there, and never\n"
        "leave the browser.\n",
    .examples = "  skein open 0193a5c0e1f27d3b8c4e5f60718293a4\n"
                "  skein open --print 0193a5c0\n"
                "  skein open redis.skein\n",
    CLI_RUN(options, struct options, open_run),
};
