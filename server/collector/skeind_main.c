/* SPDX-License-Identifier: Apache-2.0
 *
 * skeind, the collector: command line, config, signals. The main thread starts the collector and
 * then only waits for signals: SIGTERM and SIGINT drain, SIGHUP reads the config again.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector.h"
#include "config_command.h"
#include "log.h"
#include "no_core.h"
#include "skeind_admin.h"
#include "skeind_config.h"
#include "skeind_token.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct options {
    struct config_sources sources;
    bool check, rebuild, restore;
};

static const struct config_option page_options[] = {
    {"-c, --config FILE", "settings as JSON (default " SKEIND_CONFIG " where it exists)"},
    {"--set KEY=VALUE", "a setting, over file and environment; may be given again"},
    {"--check-config", "say whether skeind would start with these settings, and exit"},
    {"--rebuild-index", "make the index anew from the segments and exit"},
    {"--restore-state", "put the newest backup in the place of state.db and exit"},
    {"--print-markdown, --print-schema", "the settings as docs or JSON Schema"},
    {"--print-man", "this text as a man page"},
    {"-h, --help", "this text"},
    {"-V, --version", "the version"},
    {NULL, NULL}};

static const struct config_page page = {
    .name = "skeind",
    .summary = "the collector of Skein, a flight recorder for fleets",
    .synopsis = "[OPTION]...\n"
                "token create|list|revoke [OPTION]...\n"
                "join-token create|list|revoke [OPTION]...\n"
                "agent list|revoke|forget [OPTION]...\n"
                "keygen [OPTION]...\n",
    .about =
        "Takes partitions from agents, stores them, runs captures and rules, answers over HTTP.\n"
        "Its commands let in people (token) and agents (keygen, join-token, agent); each has a\n"
        "--help of its own.\n",
    .options = page_options,
    .examples = "skeind --config /etc/skein/collector.json\n"
                "skeind --config ./collector.json --check-config\n"
                "curl http://127.0.0.1:7462/readyz\n",
    .more =
        "SIGTERM and SIGINT stop it after running downloads and uploads have finished; SIGHUP reads\n"
        "the settings again. Exit status: 0 ok, 1 failed, 2 usage.\n",
    .see = ".BR skein (1),\n.BR skein\\-agent (8)",
    .params = collector_params,
};

static void log_apply(const struct collector_config *config)
{
    enum log_level level = LOG_LEVEL_INFO;
    (void)log_level_parse(config->log_level, &level); /* it was checked when it was loaded */
    log_configure(level, strcmp(config->log_form, "json") == 0);
}

/* Settings that differ between two configs but need a restart. */
static void restart_report(const struct collector_config *old, const struct collector_config *new)
{
    for (const struct config_param *p = collector_params; p->type != CONFIG_TYPE_NONE; p++) {
        if (!p->live && config_differs(p, old, new))
            log_warn("skeind", "a changed setting waits for a restart", "setting", p->path, NULL);
    }
}

static void skeind_reload(const struct options *o, struct collector *c)
{
    struct collector_config fresh;
    char error[512];
    if (http_reload(c->http, error, sizeof error) != SKEIN_OK)
        log_error("skeind", "the certificate cannot be read; the old one stays", "error", error,
                  NULL);
    if (skeind_config_load(&o->sources, &fresh, error, sizeof error) != SKEIN_OK) {
        log_error("skeind", "the settings are wrong; the old ones stay", "error", error, NULL);
        return;
    }
    restart_report(&c->config, &fresh);
    log_apply(&fresh);
    log_info("skeind", "settings read again", "config",
             o->sources.file != NULL ? o->sources.file : "", NULL);
    /* The running collector keeps its own texts; only the log's settings are live. */
    config_free(collector_params, &fresh);
}

/* Agents hold a connection each, and more than the usual 1024 may come. */
static void descriptors_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            log_warn("skeind", "cannot raise the limit of open files", NULL);
    }
}

/* Under the store's lock: no collector runs on the folder. */
static int state_restore(const struct collector_config *g)
{
    struct store_settings settings = {g->folder, g->segment_bytes, g->min_free_bytes};
    struct store *store = NULL;
    char words[5000] = "";
    int status = store_open(&settings, &store, words, sizeof words);
    if (status == SKEIN_OK)
        status = state_backup_restore(g->folder, words, sizeof words);
    if (status != SKEIN_OK)
        fprintf(stderr, "skeind: %s: %s %s\n", g->folder, skein_status_text(status), words);
    else
        printf("skeind: state.db is %s; captures begun since are not known any more\n", words);
    if (store != NULL)
        store_close(&store);
    return status == SKEIN_OK ? 0 : EXIT_FAILED;
}

static int skeind_index_rebuild(const struct collector_config *g)
{
    struct store_settings settings = {g->folder, g->segment_bytes, g->min_free_bytes};
    struct store *store = NULL;
    struct index *index = NULL;
    char error[512] = "";
    int status = store_open(&settings, &store, error, sizeof error);
    if (status == SKEIN_OK)
        status = index_open(g->folder, store, &index, error, sizeof error);
    if (status == SKEIN_OK)
        status = index_rebuild(index);
    if (status != SKEIN_OK)
        fprintf(stderr, "skeind: %s: %s %s\n", g->folder, skein_status_text(status), error);
    else
        printf("skeind: the index of %s is rebuilt\n", g->folder);
    if (index != NULL)
        index_close(&index);
    if (store != NULL)
        store_close(&store);
    return status == SKEIN_OK ? 0 : EXIT_FAILED;
}

static void end_await(const struct options *o, struct collector *c, const sigset_t *signals)
{
    for (;;) {
        int number = 0;
        if (sigwait(signals, &number) != 0)
            continue;
        if (number == SIGHUP) {
            skeind_reload(o, c);
            continue;
        }
        log_info("skeind", "stopping", "signal", number == SIGTERM ? "SIGTERM" : "SIGINT", NULL);
        return;
    }
}

static int skeind_serve(const struct options *o, struct collector *c)
{
    char error[512] = "";
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before any thread: they inherit it */
    signal(SIGPIPE, SIG_IGN);
    descriptors_raise();
    no_core_set();
    int status = collector_start(c, error, sizeof error);
    if (status != SKEIN_OK) {
        log_error("skeind", "cannot start", "error",
                  error[0] != '\0' ? error : skein_status_text(status), NULL);
        return EXIT_FAILED;
    }
    log_info("skeind", "ready", "version", SKEIN_VERSION_TEXT, "http",
             log_fmt("%s (port %u)", c->config.http_address, http_port(c->http)), "data",
             c->config.data_address, "control", c->config.control_address, "folder",
             c->config.folder, NULL);
    end_await(o, c, &signals);
    collector_stop(c);
    log_info("skeind", "stopped", NULL);
    return 0;
}

static int config_check_run(const struct collector_config *config)
{
    char error[512] = "";
    if (skeind_config_check(config, error, sizeof error) != SKEIN_OK) {
        fprintf(stderr, "skeind: %s\n", error);
        return EXIT_FAILED;
    }
    printf("skeind: the settings are fine\n");
    return 0;
}

/* skeind keygen and its like. */
static int skeind_administer(int argc, char **argv)
{
    struct admin admin;
    struct options o = {0};
    struct collector_config config;
    char error[512];
    if (!admin_parse(argc, argv, &admin)) {
        fprintf(stderr, "Try 'skeind keygen --help'.\n");
        return EXIT_USAGE;
    }
    if (admin.help) {
        admin_print_help();
        return 0;
    }
    o.sources.file = admin.config;
    if (skeind_config_load(&o.sources, &config, error, sizeof error) != SKEIN_OK) {
        fprintf(stderr, "skeind: %s\n", error);
        return EXIT_FAILED;
    }
    int result = admin_run(&admin, &config);
    config_free(collector_params, &config);
    return result;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "token") == 0)
        return skeind_token(argc - 1, argv + 1);
    if (admin_is_command(argc, argv))
        return skeind_administer(argc, argv);
    static struct collector collector;
    struct options options = {0};
    char error[512];
    const struct config_flag flags[] = {{"check-config", &options.check},
                                        {"rebuild-index", &options.rebuild},
                                        {"restore-state", &options.restore},
                                        {NULL, NULL}};
    int ended = config_command_read(argc, argv, &page, flags, &options.sources);
    if (ended != CONFIG_COMMAND_GO_ON)
        return ended;
    if (skeind_config_load(&options.sources, &collector.config, error, sizeof error) != SKEIN_OK) {
        fprintf(stderr, "skeind: %s\n", error);
        return EXIT_FAILED;
    }
    int result = 0;
    if (options.check)
        result = config_check_run(&collector.config);
    else if (options.rebuild)
        result = skeind_index_rebuild(&collector.config);
    else if (options.restore)
        result = state_restore(&collector.config);
    else {
        log_apply(&collector.config);
        result = skeind_serve(&options, &collector);
    }
    config_free(collector_params, &collector.config);
    return result;
}
