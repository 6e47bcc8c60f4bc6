/* SPDX-License-Identifier: Apache-2.0
 *
 * skein run: becomes the given program, with the preload tracer before it. Nothing of this process
 * stays. One thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_ask.h"
#include "attach_client.h"
#include "attach_proto.h"
#include "cli.h"
#include "cli_out.h"
#include "cmd.h"
#include "program_labels.h"
#include "program_starter.h"
#include "selector.h"
#include "skein/skein.h"

#define PRELOAD_NAME   "libskein-preload.so"
#define SOCKET_DEFAULT AGENT_SOCKET_DEFAULT
#define WATCH_WAIT_MS  ATTACH_NOW_MS /* for the agent's answer, which is shown */

struct options {
    const char *service, *socket, *preload;
    struct cli_list labels;
    struct cli_number io_threshold;
    bool quiet;
};

/* What a selector can name. */
#define SERVICE_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-"

static const struct cli_option options[] = {
    CLI_OPTION(CLI_TEXT, 's', "service", "NAME", struct options, service,
               "the service's name (default: the program's)"),
    CLI_OPTION(CLI_LIST, 'l', "label", "KEY=VALUE", struct options, labels,
               "a label; may be given again"),
    CLI_OPTION(CLI_TEXT, 0, "socket", "PATH", struct options, socket,
               "the agent's socket (default: $SKEIN_SOCKET, then " SOCKET_DEFAULT ")"),
    CLI_OPTION(CLI_DURATION, 0, "io-threshold", "TIME", struct options, io_threshold,
               "shortest I/O to record (default: 20us)"),
    CLI_OPTION(CLI_TEXT, 0, "preload", "PATH", struct options, preload,
               "the tracer, where it is not beside this program"),
    CLI_OPTION(CLI_FLAG, 'q', "quiet", NULL, struct options, quiet,
               "no warnings, such as of an agent that is not there yet"),
    CLI_OPTIONS_END};

/* ---- the library ---- */

/* Looks where an installation and a build tree put it, relative to this program. */
static bool preload_find(const char *given, char *path, size_t bytes)
{
    static const char *const places[] = {"", ("../" SKEIN_LIBRARY_FOLDER "/"), "../lib/",
                                         "../lib/skein/", "../client-lib/preload/"};
    char self[PATH_MAX];
    if (given != NULL) {
        snprintf(path, bytes, "%s", given);
        return access(path, R_OK) == 0;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL)
        return false;
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char full[2 * PATH_MAX];
        char resolved[PATH_MAX];
        snprintf(full, sizeof full, "%s%s" PRELOAD_NAME, self, places[i]);
        if (realpath(full, resolved) != NULL && access(resolved, R_OK) == 0) {
            snprintf(path, bytes, "%s", resolved);
            return true;
        }
    }
    return false;
}

/* ---- what cannot be traced ---- */

/* Where the program is: as execvp() looks it up. */
static bool program_find(const char *name, char *path, size_t bytes)
{
    const char *folders = getenv("PATH");
    if (strchr(name, '/') != NULL) {
        snprintf(path, bytes, "%s", name);
        return access(path, X_OK) == 0;
    }
    folders = folders != NULL ? folders : "/usr/local/bin:/bin:/usr/bin";
    while (*folders) {
        size_t n = strcspn(folders, ":");
        snprintf(path, bytes, "%.*s/%s", n ? (int)n : 1, n ? folders : ".", name);
        struct stat about;
        if (access(path, X_OK) == 0 && stat(path, &about) == 0 && S_ISREG(about.st_mode))
            return true;
        folders += n;
        folders += *folders == ':';
    }
    return false;
}

/* Why the tracer does not come into the program; NULL: it does. */
static const char *kind_text(const struct program_kind *kind)
{
    if (kind->is_static)
        return "is statically linked: it runs, but what it, or what it starts, does cannot be "
               "recorded";
    if (kind->changes_user)
        return "changes its user when it starts: the system removes the tracer from it";
    if (kind->is_other_machine)
        return "is a 32-bit program, or another processor's: it runs, but what it, or what it "
               "starts, does cannot be recorded";
    if (kind->is_unreadable)
        return "may be executed but not read, so it is not known whether the tracer can enter it: it "
               "runs, but what it, or what it starts, does cannot be recorded";
    if (kind->has_other_libc)
        return "has another C library: it runs, but what it, or what it starts, does cannot be "
               "recorded";
    return NULL;
}

/* Has the agent watch from outside what this process becomes. NULL; or what keeps it from that. */
static const char *outside_watch(const struct options *o, const struct program_kind *kind,
                                 const char *socket, char text[256])
{
    char labels[LABELS_BYTES];
    const char *own = getenv("SKEIN_LABELS"), *service = o->service;
    if (service == NULL) /* as the tracer would name it */
        service = getenv("SKEIN_SERVICE");
    if (kind->changes_user && geteuid() != 0)
        return "root may have it watched from outside: skein watch-process PID";
    labels_fit(kind->is_go ? "runtime=go" : NULL, own, labels);
    int status = agent_watch_ask(socket, ATTACH_WATCH_BECOMES, (uint32_t)getpid(),
                                 service != NULL ? service : "", labels,
                                 o->quiet ? 0 : WATCH_WAIT_MS, text, 256);
    if (status == SKEIN_OK)
        return NULL;
    if (status == SKEIN_NOT_FOUND)
        return "once an agent is there, skein watch-process PID has it watched from outside";
    if (status == SKEIN_TIMEOUT)
        return "the agent has been asked to watch it from outside, and has not answered yet: see "
               "skein ps";
    if (status == SKEIN_AGAIN)
        return "the agent takes no more questions at this moment: it is not watched from outside";
    return text[0] != '\0' ? text : "the agent did not answer: it is not watched from outside";
}

static void kind_warn(const char *program, const struct program_kind *kind, const char *socket,
                      const char *unwatched)
{
    /* Who does not read what is said gets the program all the same, with the signal as it was. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    const char *why = kind_text(kind);
    if (access(socket, F_OK) != 0)
        say_warning("no agent at %s yet; %s runs untraced until one is there", socket, program);
    if (why != NULL)
        say_warning("%s %s; %s", program, why,
                    unwatched != NULL ? unwatched
                                      : "the agent watches it from outside: captures have its "
                                        "thread dumps, CPU samples, scheduling, vitals and files");
    else if (kind->is_go)
        say_warning("%s is a Go program: goroutines make their system calls without the C library; "
                    "of what it does only the C side is recorded. Captures have its thread dumps, "
                    "CPU samples, scheduling, vitals and files",
                    program);
    signal(SIGPIPE, before);
}

/* ---- the environment ---- */

static int labels_set(const struct cli_list *labels)
{
    struct buf all = {0};
    int status = CLI_OK;
    for (size_t i = 0; i < labels->count; i++)
        buf_printf(&all, "%s%s", i ? "," : "", labels->items[i]);
    buf_put_u8(&all, 0);
    if (all.status != SKEIN_OK) {
        say_error("out of memory");
        status = CLI_FAILED;
    } else if (labels->count && !labels_valid((const char *)all.data)) {
        say_error("run: --label %s: must be KEY=VALUE of letters, digits and ._/-",
                  (const char *)all.data);
        status = CLI_USAGE;
    } else if (all.len > LABELS_BYTES) {
        say_error("run: --label: %zu characters in all; an agent takes %d", all.len - 1,
                  LABELS_BYTES - 1);
        status = CLI_USAGE;
    } else if (labels->count) {
        setenv("SKEIN_LABELS", (const char *)all.data, 1);
    }
    buf_fini(&all);
    return status;
}

static void preload_set(const char *preload)
{
    const char *others = getenv("LD_PRELOAD");
    if (others != NULL && *others) {
        struct buf both = {0};
        buf_printf(&both, "%s:%s", preload, others);
        buf_put_u8(&both, 0);
        setenv("LD_PRELOAD", both.status == SKEIN_OK ? (const char *)both.data : preload, 1);
        buf_fini(&both);
    } else {
        setenv("LD_PRELOAD", preload, 1);
    }
}

static void environment_set(const struct options *o)
{
    char number[24];
    /* exec() keeps the pid: that process is the service, and recorded from its beginning on. */
    snprintf(number, sizeof number, "%ld", (long)getpid());
    setenv("SKEIN_SERVICE_PID", number, 1);
    if (o->service != NULL)
        setenv("SKEIN_SERVICE", o->service, 1);
    if (o->socket != NULL)
        setenv("SKEIN_SOCKET", o->socket, 1);
    if (o->io_threshold.given) {
        snprintf(number, sizeof number, "%" PRIu64, o->io_threshold.value / 1000);
        setenv("SKEIN_IO_THRESHOLD_US", number, 1);
    }
}

/* AddressSanitizer ends a program where its runtime is not the first library; told not to look, it
 * works behind the tracer as well. What the user has set comes after, and wins. */
static void asan_allow(void)
{
    const char *theirs = getenv("ASAN_OPTIONS");
    struct buf all = {0};
    buf_printf(&all, "verify_asan_link_order=0%s%s", theirs != NULL ? ":" : "",
               theirs != NULL ? theirs : "");
    buf_put_u8(&all, 0);
    if (all.status == SKEIN_OK)
        setenv("ASAN_OPTIONS", (const char *)all.data, 1);
    buf_fini(&all);
}

/* What is to be said of the program before it starts. */
static void program_judge(const struct options *o, const char *program, char *const *arguments,
                          const char *socket, struct program_kind *kind)
{
    char text[256];
    const char *unwatched = NULL;
    const struct program_call call = {AT_FDCWD, program, arguments, true};
    program_look(&call, kind);
    if (kind->is_static && !kind->changes_user && program_hands_on(&call, getenv("PATH")))
        *kind = (struct program_kind){0}; /* what it becomes is recorded */
    if (kind_text(kind) != NULL)
        unwatched = outside_watch(o, kind, socket, text);
    if (!o->quiet)
        kind_warn(program, kind, socket, unwatched);
}

/* The statuses are those that env, nice and shells have. */
static int program_not_started(const char *program, int error)
{
    struct stat about;
    if (error == ENOENT && strchr(program, '/') == NULL)
        say_error("%s: no such program in the PATH", program);
    else if (error == ENOENT && stat(program, &about) == 0)
        say_error("%s: the interpreter that it names is not there", program);
    else
        say_error("%s: %s", program, strerror(error));
    return error == ENOENT ? CLI_NOT_THERE : CLI_NOT_STARTED;
}

static int program_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct program_kind kind = {0};
    char preload[PATH_MAX], program[PATH_MAX], own[PATH_MAX];
    if (o->socket == NULL && getenv("SKEIN_SOCKET") == NULL && agent_socket_own(own))
        setenv("SKEIN_SOCKET", own, 1);
    const char *socket = o->socket != NULL ? o->socket : getenv("SKEIN_SOCKET");
    if (o->service != NULL && (strlen(o->service) > SKEIN_NAME_MAX || !*o->service)) {
        say_error("run: --service: must have 1 to %d characters", SKEIN_NAME_MAX);
        return CLI_USAGE;
    }
    if (o->service != NULL && o->service[strspn(o->service, SERVICE_CHARACTERS)]) {
        say_error("run: --service: '%s' could not be selected; use letters, digits and . _ / -",
                  o->service);
        return CLI_USAGE;
    }
    if (!preload_find(o->preload, preload, sizeof preload)) {
        say_error("%s is not there. It belongs beside this program or in the library folder next "
                  "to it; name another place with --preload PATH",
                  o->preload != NULL ? o->preload : PRELOAD_NAME);
        return CLI_FAILED;
    }
    if (strpbrk(preload, " :") != NULL) {
        say_error("%s: LD_PRELOAD takes no path with a space or a colon; install Skein elsewhere",
                  preload);
        return CLI_FAILED;
    }
    int status = labels_set(&o->labels);
    if (status != CLI_OK)
        return status;
    socket = socket != NULL && *socket ? socket : SOCKET_DEFAULT;
    bool found = program_find(call->arguments[0], program, sizeof program);
    if (found)
        program_judge(o, program, call->arguments, socket, &kind);
    environment_set(o);
    if (program_takes_preload(&kind))
        preload_set(preload);
    if (kind.is_asan)
        asan_allow();
    if (found)
        execv(program, call->arguments);
    if (!found || errno == ENOEXEC) /* a script without #! runs as it would from a shell */
        execvp(call->arguments[0], call->arguments);
    return program_not_started(call->arguments[0], errno);
}

const struct cli_command cmd_run = {
    .name = "run",
    .arguments = "-- PROGRAM [ARGUMENTS]",
    .summary = "Run a program under the preload tracer, unchanged",
    .details =
        "Records waits for locks, I/O, peers and sleeps, and the work of event loops, from the\n"
        "program's beginning on. Programs that it starts are recorded too, from their 50th\n"
        "millisecond on (SKEIN_ATTACH_MS: another age, of all). Without an agent it runs as if\n"
        "nothing were there. A program that the tracer cannot enter (statically linked, setuid,\n"
        "32-bit) is named, and watched from outside: see skein watch-process.\n",
    .examples = "  skein run --service checkout -- ./server --port 8080\n"
                "  skein run -s redis -l zone=a -- redis-server\n",
    .min_arguments = 1,
    .max_arguments = CLI_ARGUMENTS_ANY,
    .stops_at_argument = true,
    CLI_RUN(options, struct options, program_run),
};
