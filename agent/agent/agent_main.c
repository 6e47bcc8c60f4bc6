/* SPDX-License-Identifier: Apache-2.0
 *
 * skein-agent: the per-host daemon. Owns the command line, the signals and the config file; the
 * rest is agent.c's. Main thread.
 *
 * SIGTERM and SIGINT drain and end; SIGHUP reads the config file again.
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent.h"
#include "config_command.h"
#include "loop.h"
#include "no_core.h"

struct options {
    struct config_sources sources;
    bool check;
};

struct signals {
    int fd;
    struct agent *agent;
    const struct config_sources *sources;
};

static const struct config_option page_options[] = {
    {"-c, --config FILE", "parameters as JSON"},
    {"--set KEY=VALUE", "a parameter, over file and environment; may be given again"},
    {"--check-config", "say whether the agent would start with these parameters, and end"},
    {"--print-markdown, --print-schema", "the parameters as docs or JSON Schema"},
    {"--print-man", "this text as a man page"},
    {"-V, --version", "the version"},
    {"-h, --help", "this text"},
    {NULL, NULL}};

static const struct config_page page = {
    .name = "skein-agent",
    .summary = "keeps the recent past of every traced process of a host",
    .synopsis = "[OPTION]...\n",
    .about =
        "Keeps the recent past of every traced process of this host, and captures it when the collector\n"
        "asks, by its rules and policies, when the service asks (skein_snapshot) or a process crashes.\n",
    .options = page_options,
    .examples =
        "skein-agent --config /etc/skein/agent.json\n"
        "skein-agent --config agent.json --check-config\n"
        "\n"
        "A file with a collector elsewhere, and one command that checks may run:\n"
        "{\"collector\":{\"control\":\"tcp://10.0.0.5:7461\",\"data\":\"tcp://10.0.0.5:7460\"},\n"
        " \"checks\":{\"exec_allow\":[\"redis-cli -p 6379 ping\"]}}\n",
    .more =
        "SIGTERM ends captures with what there is, waits for uploads (drain_ms), and ends. SIGHUP reads the\n"
        "file again.\n",
    .see = ".BR skein (1),\n.BR skein\\-run (1),\n.BR skeind (8)",
    .params = agent_params,
};

static void settings_reload(struct signals *signals)
{
    struct agent_config fresh;
    char error[512] = "";
    if (agent_config_load(signals->sources, &fresh, error, sizeof error) == SKEIN_OK)
        agent_reload(signals->agent, &fresh);
    else
        log_error("agent", "the configuration stays as it was", "reason", error, NULL);
}

static void on_signal(void *context, uint32_t events)
{
    struct signals *signals = context;
    struct signalfd_siginfo info;
    (void)events;
    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            settings_reload(signals);
        else
            agent_stop(signals->agent);
    }
}

/* Before any thread is started, so that all of them leave the signals to the loop. */
static int block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int agent_serve(const struct options *options, struct agent_config *config)
{
    char error[512] = "";
    struct signals signals = {.sources = &options->sources};
    no_core_set();
    signals.fd = block_signals();
    int status =
        signals.fd >= 0 ? agent_new(config, &signals.agent, error, sizeof error) : SKEIN_IO;
    if (status == SKEIN_OK)
        status = loop_fd_add(agent_loop(signals.agent), signals.fd, EPOLLIN, on_signal, &signals);
    if (status != SKEIN_OK) {
        fprintf(stderr, "skein-agent: %s\n", error[0] != '\0' ? error : skein_status_text(status));
        agent_free(&signals.agent);
        return 1;
    }
    agent_run(signals.agent);
    loop_fd_remove(agent_loop(signals.agent), signals.fd);
    close(signals.fd);
    size_t hanging = agent_free(&signals.agent);
    if (hanging > 0) {
        log_warn("agent", "ended while checks were still hanging", "checks",
                 log_fmt("%zu", hanging), NULL);
        _exit(0); /* their threads use what a normal end would free */
    }
    return 0;
}

/* Buffers of a capture are large, and threads make and free them by turns. By itself the C library would
 * take larger and larger ones from its heaps, one for each thread, where whatever lies behind them keeps
 * their memory after they are freed. */
#define BUFFER_BYTES_MIN (256 << 10)
#define HEAPS_MAX        2

static void memory_limit(void)
{
    mallopt(M_MMAP_THRESHOLD, BUFFER_BYTES_MIN);
    mallopt(M_TRIM_THRESHOLD, BUFFER_BYTES_MIN);
    mallopt(M_ARENA_MAX, HEAPS_MAX);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    const struct config_flag flags[] = {{"check-config", &options.check}, {NULL, NULL}};
    int ended = config_command_read(argc, argv, &page, flags, &options.sources);
    if (ended != CONFIG_COMMAND_GO_ON)
        return ended;
    struct agent_config config;
    char error[512] = "";
    if (agent_config_load(&options.sources, &config, error, sizeof error) != SKEIN_OK) {
        fprintf(stderr, "skein-agent: %s\n", error);
        return 1;
    }
    if (options.check) {
        int wrong = agent_config_check(&config, error, sizeof error);
        if (wrong == SKEIN_OK)
            printf("skein-agent: the settings are fine\n");
        else
            fprintf(stderr, "skein-agent: %s\n", error);
        agent_config_free(&config);
        return wrong == SKEIN_OK ? 0 : 1;
    }
    memory_limit();
    log_configure(agent_config_log_level(&config), agent_config_log_json(&config));
    int status = agent_serve(&options, &config);
    agent_config_free(&config);
    return status;
}
