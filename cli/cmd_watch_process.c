/* SPDX-License-Identifier: Apache-2.0
 *
 * skein watch-process: has this host's agent watch a process that runs without the tracer. One
 * thread.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent_ask.h"
#include "attach_proto.h"
#include "cli_out.h"
#include "cmd.h"
#include "selector.h"
#include "skein/status.h"

#define ANSWER_MS 2000

struct options {
    const char *service, *socket;
    struct cli_list labels;
    bool stop;
};

static const struct cli_option options[] = {
    CLI_OPTION(CLI_TEXT, 's', "service", "NAME", struct options, service,
               "the service's name (default: the program's)"),
    CLI_OPTION(CLI_LIST, 'l', "label", "KEY=VALUE", struct options, labels,
               "a label; may be given again"),
    CLI_OPTION(CLI_FLAG, 0, "stop", NULL, struct options, stop, "watch it no longer"),
    CLI_OPTION(CLI_TEXT, 0, "socket", "PATH", struct options, socket,
               "the agent's socket (default: $SKEIN_SOCKET, then " AGENT_SOCKET_DEFAULT ")"),
    CLI_OPTIONS_END};

static bool pid_parse(const char *text, uint32_t *pid)
{
    if (*text == '\0' || strlen(text) > 9 || text[strspn(text, "0123456789")] != '\0')
        return false;
    *pid = (uint32_t)strtoul(text, NULL, 10);
    return *pid > 0;
}

/* NULL: they are too long, or no labels. */
static const char *labels_join(const struct cli_list *labels, char out[512])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < labels->count; i++) {
        int n = snprintf(out + used, 512 - used, "%s%s", i > 0 ? "," : "", labels->items[i]);
        if (n < 0 || (size_t)n >= 512 - used)
            return NULL;
        used += (size_t)n;
    }
    return used == 0 || labels_valid(out) ? out : NULL;
}

static int answer_say(int status, const char *socket, const char *pid, const char *text)
{
    struct buf out = {0};
    if (status != SKEIN_OK) {
        const char *why = text[0] != '\0'             ? text
                          : status == SKEIN_NOT_FOUND ? "no agent listens there"
                          : status == SKEIN_UNSUPPORTED
                              ? "this agent cannot watch processes: it is older than this skein"
                              : skein_status_text(status);
        if (text[0] != '\0')
            say_error("watch-process %s: %s", pid, why);
        else
            say_error("agent at %s: %s", socket, why);
        return CLI_FAILED;
    }
    shown_put_between(&out, "", text, "\n");
    bool written = out_write(&out);
    buf_fini(&out);
    return written ? out_close() : CLI_FAILED;
}

static int watch_process_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    char own[PATH_MAX], labels[512], text[256];
    uint32_t pid;
    if (!pid_parse(call->arguments[0], &pid)) {
        say_error("watch-process: '%s' is no process id", call->arguments[0]);
        return CLI_USAGE;
    }
    if (o->service != NULL && (*o->service == '\0' || strlen(o->service) > 127)) {
        say_error("watch-process: --service: must have 1 to 127 characters");
        return CLI_USAGE;
    }
    if (labels_join(&o->labels, labels) == NULL) {
        say_error("watch-process: --label: must be KEY=VALUE of letters, digits and ._/-, 511 in "
                  "all");
        return CLI_USAGE;
    }
    const char *socket = o->socket != NULL ? o->socket : getenv("SKEIN_SOCKET");
    if ((socket == NULL || *socket == '\0') && agent_socket_own(own))
        socket = own;
    if (socket == NULL || *socket == '\0')
        socket = AGENT_SOCKET_DEFAULT;
    int status =
        agent_watch_ask(socket, o->stop ? ATTACH_WATCH_STOP : ATTACH_WATCH_NOW, pid,
                        o->service != NULL ? o->service : "", labels, ANSWER_MS, text, sizeof text);
    return answer_say(status, socket, call->arguments[0], text);
}

const struct cli_command cmd_watch_process = {
    .name = "watch-process",
    .arguments = "PID",
    .summary = "Watch a process from outside, which runs without the tracer",
    .details =
        "For programs that the tracer cannot enter (Go, statically linked, setuid) or that are not\n"
        "to be started anew. Captures have its thread dumps, CPU samples, scheduling, vitals and\n"
        "files; it has no ring, and what it does is not recorded: they say 'watched'. Your own\n"
        "processes, or all for root. It is watched until it ends, also by an agent that is\n"
        "restarted. watch.select in the agent's config finds processes by program, cgroup or port.\n",
    .examples = "  skein watch-process 4242 --service checkout\n"
                "  skein watch-process $(pidof prometheus) -s prometheus -l zone=a\n"
                "  skein watch-process --stop 4242\n",
    CLI_RUN(options, struct options, watch_process_run),
};
