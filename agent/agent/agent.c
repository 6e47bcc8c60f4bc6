/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes and unmakes the agent; see agent.h. Main thread.
 */
#include "agent.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_clock.h"
#include "agent_int.h"
#include "checks.h"
#include "clock.h"
#include "durable.h"
#include "http_client.h"
#include "sched_source.h"
#include "thread_dump.h"

#define REFRESH_MS     10000 /* the list's counters, for listings */
#define LOOK_MS        100   /* how exactly it is known when one that did not come back has ended */
#define CHECKS_WAIT_MS 2000

static void host_read(struct agent *agent)
{
    if (agent->config->host[0] != '\0')
        snprintf(agent->host, sizeof agent->host, "%s", agent->config->host);
    else if (gethostname(agent->host, sizeof agent->host - 1) != 0)
        snprintf(agent->host, sizeof agent->host, "localhost");
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(agent->boot, sizeof agent->boot, file) == NULL)
            agent->boot[0] = '\0';
        agent->boot[strcspn(agent->boot, "\n")] = '\0';
        fclose(file);
    }
}

static int agent_spool_open(struct agent *agent, char *error, size_t error_bytes)
{
    char folder[4096];
    int n = snprintf(folder, sizeof folder, "%s/spool", agent->config->state_dir);
    if (n < 0 || (size_t)n >= sizeof folder) {
        snprintf(error, error_bytes, "state_dir: the path is too long");
        return SKEIN_INVALID;
    }
    struct spool_settings settings = {
        .folder = folder, .max_bytes = agent->config->spool_bytes, .amend = target_result_amend};
    int status = spool_open(&settings, &agent->spool, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    struct spool_counters found;
    spool_count(agent->spool, &found);
    int ended = captures_recover(agent->spool, agent->state.agent);
    if (found.partitions + found.reports + found.torn > 0)
        log_info("spool", "recovered", "partitions", log_fmt("%" PRIu64, found.partitions),
                 "reports", log_fmt("%" PRIu64, found.reports), "torn",
                 log_fmt("%" PRIu64, found.torn), "interrupted", log_fmt("%d", ended), NULL);
    if (ended < 0)
        snprintf(error, error_bytes, "recovery of the spool: %s", skein_status_text(ended));
    return ended < 0 ? ended : SKEIN_OK;
}

static int uplink_make(struct agent *agent, char *error, size_t error_bytes)
{
    const struct agent_config *config = agent->config;
    struct uplink_seal_settings seal = {&config->public_keys, config->join_token_file,
                                        config->state_dir, agent->state.folder, agent->state.agent};
    int status = config->public_keys.count == 0
                     ? SKEIN_OK
                     : uplink_seal_new(&seal, &agent->seal, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    struct uplink_settings settings = {.control_address = config->control_address,
                                       .data_address = config->data_address,
                                       .host = agent->host,
                                       .version = SKEIN_VERSION_TEXT,
                                       .boot = agent->boot,
                                       .labels = config->labels,
                                       .agent = agent->state.agent,
                                       .epoch = agent->state.epoch,
                                       .heartbeat_ms = config->heartbeat_ms,
                                       .seal = agent->seal,
                                       .spool = agent->spool};
    struct uplink_hooks hooks = {
        .context = agent, .command = agent_on_command, .welcomed = agent_on_welcome};
    return uplink_new(&settings, &hooks, &agent->uplink);
}

/* Without its program the agent goes on: stacks stay raw. */
static int symbolizer_start(struct agent *agent)
{
    const struct symbolizer_settings settings = {.memory_bytes =
                                                     agent->config->symbols_memory_bytes,
                                                 .names_bytes = agent->config->symbols_names_bytes};
    if (!agent->config->symbols_enabled)
        return SKEIN_OK;
    int status = symbolizer_new(&settings, &agent->symbolizer);
    if (status != SKEIN_NOT_FOUND)
        return status;
    log_warn("symbols", "no skein-symbolizer beside this program: stacks have no names", NULL);
    return SKEIN_OK;
}

/* Before its sources are asked, and the first process comes. */
static int vitals_start(struct agent *agent)
{
    const struct agent_config *config = agent->config;
    const struct vitals_settings settings = {.host = config->vitals_host,
                                             .processes = config->vitals_processes,
                                             .top = config->vitals_top};
    files_source_set(&agent->files, config->vitals_files, &agent->privacy);
    return vitals_new(&settings, &agent->vitals);
}

/* Looks for CPUs that came, and has the heartbeats say which are sampled. */
static void samples_look(void *context)
{
    struct agent *agent = context;
    struct cpu_samples_state state;
    cpu_samples_look(agent->samples);
    cpu_samples_state(agent->samples, &state);
    struct heartbeat_samples samples = {.told = true,
                                        .hz = state.hz,
                                        .cpus = state.cpus,
                                        .bytes = state.bytes,
                                        .reach_ms = state.reach_ms};
    snprintf(samples.refused, sizeof samples.refused, "%s", state.refused);
    uplink_set_samples(agent->uplink, &samples);
}

/* A policy may raise the rate as far as the configuration lets it. What that has switched off stays
 * off. */
static void samples_raise(void *context, uint64_t hz)
{
    struct agent *agent = context;
    const struct agent_config *config = agent->config;
    uint64_t most = hz < config->samples_hz_max ? hz : config->samples_hz_max;
    cpu_samples_set_hz(agent->samples, most > config->samples_hz ? most : config->samples_hz);
    samples_look(agent);
}

static int samples_start(struct agent *agent)
{
    const struct agent_config *config = agent->config;
    struct cpu_samples_settings settings = {.hz = config->evidence_taken ? config->samples_hz : 0,
                                            .reach_ms = config->samples_reach_ms,
                                            .memory_max = config->samples_bytes};
    int status = cpu_samples_new(&settings, &agent->samples);
    if (status != SKEIN_OK)
        return status;
    samples_look(agent);
    agent->samples_timer = loop_timer_add(agent->loop, CPU_SAMPLES_LOOK_MS, 1, samples_look, agent);
    return agent->samples_timer != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

static int crash_start(struct agent *agent)
{
    const struct crash_settings settings = {.stacks = agent->config->crash_stacks,
                                            .symbolizer = agent->symbolizer};
    int status = crash_new(&settings, &agent->crash);
    if (status != SKEIN_OK)
        return status;
    crash_leave_out(agent->crash, agent->privacy.mode != PRIVACY_OFF, !agent->config->crash_words);
    agent->crash_timer = loop_timer_add(agent->loop, CRASH_LOOK_MS, 1, crash_look, agent->crash);
    const struct evidence_source source = {.kind = "crash",
                                           .when = EVIDENCE_AT_DEATH,
                                           .collect = crash_collect,
                                           .source = agent->crash};
    return agent->crash_timer != NULL ? evidence_add(agent->evidence, &source) : SKEIN_NO_MEMORY;
}

/* The first, so that a long dump takes none of its time; what it has is written behind all others. */
static int go_start(struct agent *agent)
{
    int status = go_source_new(&agent->go);
    if (status != SKEIN_OK)
        return status;
    go_source_leave_out(agent->go, agent->privacy.mode != PRIVACY_OFF);
    const struct evidence_source source = {.kind = "go",
                                           .when = EVIDENCE_FETCHED,
                                           .collect = go_source_collect,
                                           .source = agent->go,
                                           .concerns = go_source_concerns,
                                           .state_free = go_source_state_free};
    return evidence_add(agent->evidence, &source);
}

/* Has the log and the heartbeats say what the agent is to take and may not; of samples, others do. */
static void refused_tell(struct agent *agent)
{
    struct heartbeat_refused refused = {.sched = ""};
    if (agent->config->sched_buffer_kib > 0)
        snprintf(refused.sched, sizeof refused.sched, "%s", sched_source_refused(agent->sched));
    thread_dump_refused(refused.threads, sizeof refused.threads);
    if (refused.threads[0] != '\0')
        log_info("threads", "dumps have no stacks", "reason", refused.threads, NULL);
    uplink_set_refused(agent->uplink, &refused);
}

/* The sources of evidence, lowest first: what is asked for first is there first. */
static int evidence_start(struct agent *agent)
{
    const struct agent_config *config = agent->config;
    if (!config->evidence_taken)
        return SKEIN_OK;
    const struct evidence_settings settings = {.deadline_ms = config->evidence_deadline_ms,
                                               .out_bytes_max = (size_t)config->evidence_bytes};
    int status = evidence_new(&settings, agent->symbolizer, &agent->evidence);
    if (status == SKEIN_OK)
        status = go_start(agent);
    if (status == SKEIN_OK)
        status = evidence_add(agent->evidence, &thread_dump_source);
    if (status == SKEIN_OK)
        status = crash_start(agent);
    const struct evidence_source own[] = {{.kind = "vitals",
                                           .when = EVIDENCE_AT_END,
                                           .collect = vitals_collect,
                                           .source = agent->vitals},
                                          {.kind = "files",
                                           .when = EVIDENCE_AT_END,
                                           .collect = files_collect,
                                           .source = &agent->files}};
    for (size_t i = 0; status == SKEIN_OK && i < sizeof own / sizeof *own; i++)
        status = evidence_add(agent->evidence, &own[i]);
    const struct evidence_source samples = {.kind = "samples",
                                            .when = EVIDENCE_AT_BOTH,
                                            .collect = cpu_samples_collect,
                                            .source = agent->samples};
    if (status == SKEIN_OK)
        status = evidence_add(agent->evidence, &samples);
    if (status == SKEIN_OK)
        status = sched_source_new(&(struct sched_settings){.buffer_kib = config->sched_buffer_kib},
                                  &agent->sched);
    const struct evidence_source sched = {.kind = "sched",
                                          .when = EVIDENCE_AT_END,
                                          .collect = sched_source_collect,
                                          .source = agent->sched};
    if (status == SKEIN_OK)
        status = evidence_add(agent->evidence, &sched);
    if (status == SKEIN_OK)
        refused_tell(agent);
    return status;
}

static int captures_start(struct agent *agent)
{
    struct captures_settings settings = {.loop = agent->loop,
                                         .worker = agent->worker,
                                         .spool = agent->spool,
                                         .uplink = agent->uplink,
                                         .host_page = agent->host_page,
                                         .evidence = agent->evidence,
                                         .threads_barred = &agent->config->evidence_no_threads,
                                         .host = agent->host,
                                         .agent = agent->state.agent,
                                         .epoch = agent->state.epoch,
                                         .partition_bytes = agent->config->partition_bytes,
                                         .max_targets =
                                             (uint32_t)agent->config->capture_targets_max,
                                         .symbolizer = agent->symbolizer,
                                         .names_ns = agent->config->symbols_budget_ms * 1000000};
    return captures_new(&settings, &agent->captures);
}

static int rules_start(struct agent *agent)
{
    struct agent_rules_settings settings = {
        .loop = agent->loop,
        .checks = agent->checks,
        .captures = agent->captures,
        .uplink = agent->uplink,
        .worker = agent->worker,
        .spool = agent->spool,
        .host_page = agent->host_page,
        .programs = {&agent->config->exec_allow, agent->config->check_user},
        .host = agent->host,
        .folder = agent->state.folder,
        .agent = agent->state.agent,
        .startup_grace_ms = agent->config->startup_grace_ms};
    return agent_rules_new(&settings, &agent->rules);
}

static int policies_start(struct agent *agent)
{
    struct agent_policies_settings settings = {.loop = agent->loop,
                                               .captures = agent->captures,
                                               .uplink = agent->uplink,
                                               .worker = agent->worker,
                                               .host = agent->host,
                                               .folder = agent->state.folder,
                                               .agent = agent->state.agent,
                                               .samples_hz = samples_raise,
                                               .context = agent};
    return agent_policies_new(&settings, &agent->policies);
}

static int attach_start(struct agent *agent, char *error, size_t error_bytes)
{
    int status = roster_new(agent->loop, &agent->config->ring_linger_ms,
                            agent->config->ring_bytes_total / ROSTER_SHARE, &agent->roster);
    if (status == SKEIN_OK)
        status = roster_file_new(agent->state.folder, agent->worker, &agent->roster_file);
    if (status != SKEIN_OK)
        return status;
    if (roster_file_recall(agent->state.folder, agent->state.agent, agent->boot, agent->roster) > 0)
        agent->look_timer = loop_timer_add(agent->loop, LOOK_MS, 1, agent_look, agent);
    const struct agent_config *config = agent->config;
    struct attach_settings settings = {.socket_path = config->socket,
                                       .agent_id = agent->state.agent,
                                       .epoch = agent->state.epoch,
                                       .ring_bytes = config->ring_bytes,
                                       .ring_bytes_max = config->ring_bytes_max,
                                       .total_ring_bytes_max = config->ring_bytes_total,
                                       .mode = agent_config_mode(config),
                                       .enabled_groups = UINT64_MAX,
                                       .max_processes = (uint32_t)config->processes_max,
                                       .same_uid_only = config->same_uid_only,
                                       .privacy = &agent->privacy,
                                       .service_users = config->service_users.items,
                                       .service_user_count = config->service_users.count};
    struct attach_hooks hooks = agent_attach_hooks;
    hooks.context = agent;
    status = attach_new(agent->loop, agent->host_page, &settings, &hooks, &agent->attach, error,
                        error_bytes);
    if (status == SKEIN_OK)
        agent_held_take(agent);
    return status;
}

static void outside_missed(void *context, const struct process *p)
{
    const struct agent *agent = context;
    roster_recall(agent->roster, p, agent_clock_ns());
}

static int outside_start(struct agent *agent, char *error, size_t error_bytes)
{
    const struct outside_settings settings = {.loop = agent->loop,
                                              .worker = agent->worker,
                                              .attach = agent->attach,
                                              .folder = agent->state.folder,
                                              .agent = agent->state.agent,
                                              .boot = agent->boot,
                                              .watched_max = &agent->config->watch_max,
                                              .has_evidence = agent->config->evidence_taken,
                                              .context = agent,
                                              .refused = agent_attach_hooks.refused,
                                              .missed = outside_missed};
    return outside_new(&settings, &agent->config->watch_select, &agent->outside, error,
                       error_bytes);
}

/* One after the other; each needs those before it. */
static int parts_start(struct agent *agent, char *error, size_t error_bytes)
{
    error[0] = '\0';
    int status = agent_state_open(agent->config->state_dir, &agent->state, error, error_bytes);
    agent->privacy.mode = agent_config_privacy(agent->config);
    memcpy(agent->privacy.key, agent->state.privacy_key, sizeof agent->privacy.key);
    if (status == SKEIN_OK &&
        ring_hold_open(agent->config->state_dir, agent_held_look, &agent->hold) != SKEIN_OK)
        log_warn("agent", "nobody keeps rings over its death: a restart will know less", NULL);
    if (status == SKEIN_OK)
        agent_held_fetch(agent);
    if (status == SKEIN_OK)
        status = http_client_init();
    if (status == SKEIN_OK)
        status = loop_new(&agent->loop);
    if (status == SKEIN_OK)
        status = host_page_new(clock_boottime_ns() / 1000, &agent->host_page);
    if (status == SKEIN_OK)
        status = agent_spool_open(agent, error, error_bytes);
    if (status == SKEIN_OK)
        status = worker_new(&agent->worker);
    if (status == SKEIN_OK)
        status = uplink_make(agent, error, error_bytes);
    if (status == SKEIN_OK)
        status = symbolizer_start(agent);
    if (status == SKEIN_OK)
        status = vitals_start(agent);
    if (status == SKEIN_OK)
        status = samples_start(agent);
    if (status == SKEIN_OK)
        status = evidence_start(agent);
    if (status == SKEIN_OK)
        status = captures_start(agent);
    if (status == SKEIN_OK)
        status = checks_new(agent->loop, (uint32_t)agent->config->checks_max, &agent->checks);
    if (status == SKEIN_OK)
        status = rules_start(agent);
    if (status == SKEIN_OK)
        status = policies_start(agent);
    if (status == SKEIN_OK)
        status = attach_start(agent, error, error_bytes);
    if (status == SKEIN_OK)
        status = outside_start(agent, error, error_bytes);
    /* Last: rules have read the journal, and who cannot serve is no agent to anybody. */
    if (status == SKEIN_OK)
        status = uplink_start(agent->uplink);
    if (status == SKEIN_OK) {
        agent->refresh_timer = loop_timer_add(agent->loop, REFRESH_MS, 1, agent_send_list, agent);
        agent->grace_timer =
            loop_timer_add(agent->loop, AGENT_ATTACH_GRACE_MS, 0, agent_grace_over, agent);
        status =
            agent->refresh_timer != NULL && agent->grace_timer != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    }
    if (status != SKEIN_OK && error[0] == '\0')
        snprintf(error, error_bytes, "the agent could not start: %s", skein_status_text(status));
    return status;
}

int agent_new(struct agent_config *config, struct agent **out, char *error, size_t error_bytes)
{
    *out = NULL;
    struct agent *agent = calloc(1, sizeof *agent);
    if (agent == NULL) {
        snprintf(error, error_bytes, "%s", skein_status_text(SKEIN_NO_MEMORY));
        return SKEIN_NO_MEMORY;
    }
    agent->config = config;
    agent->state = (struct agent_state){.folder = -1, .lock = -1};
    TAILQ_INIT(&agent->awaited);
    host_read(agent);
    int status = parts_start(agent, error, error_bytes);
    if (status != SKEIN_OK) {
        agent_free(&agent);
        return status;
    }
    *out = agent;
    return SKEIN_OK;
}

void agent_run(struct agent *agent)
{
    log_info("agent", "serving", "socket", agent->config->socket, "agent",
             log_fmt("%016" PRIx64, agent->state.agent), "epoch",
             log_fmt("%" PRIu64, agent->state.epoch), NULL);
    if (loop_run(agent->loop) != SKEIN_OK)
        log_error("agent", "the event loop failed", NULL);
    log_info("agent", "draining", "captures", log_fmt("%zu", captures_running(agent->captures)),
             NULL);
    agent_log_tell(&agent->lines, true);
    outside_free(&agent->outside);
    attach_free(&agent->attach);
    agent_rules_free(&agent->rules);
    agent_policies_free(&agent->policies);
    loop_timer_cancel(agent->loop, &agent->grace_timer);
    agent_grace_over(agent);
    captures_drain(agent->captures);
    worker_free(&agent->worker); /* the last cuts and reports are in the spool */
    uplink_free(&agent->uplink, agent->config->drain_ms);
}

void agent_stop(struct agent *agent)
{
    loop_stop(agent->loop);
}

struct loop *agent_loop(struct agent *agent)
{
    return agent->loop;
}

static size_t param_bytes(enum config_type type)
{
    switch (type) {
    case CONFIG_TYPE_STR:
        return sizeof(char *);
    case CONFIG_TYPE_U64:
        return sizeof(uint64_t);
    case CONFIG_TYPE_BOOL:
        return sizeof(bool);
    case CONFIG_TYPE_STRS:
        return sizeof(struct config_strs);
    case CONFIG_TYPE_MAP:
        return sizeof(struct config_map);
    default:
        return 0;
    }
}

static void bytes_swap(char *a, char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

void agent_reload(struct agent *agent, struct agent_config *fresh)
{
    for (const struct config_param *param = agent_params; param->path != NULL; param++) {
        if (param->live)
            bytes_swap((char *)agent->config + param->offset, (char *)fresh + param->offset,
                       param_bytes(param->type));
        else if (config_differs(param, agent->config, fresh))
            log_warn("agent", "this parameter has changed and needs a restart", "parameter",
                     param->path, NULL);
    }
    agent_config_free(fresh); /* holds what was in force before */
    log_configure(agent_config_log_level(agent->config), agent_config_log_json(agent->config));
    agent->privacy.mode = agent_config_privacy(agent->config);
    for (struct process *p = attach_processes(agent->attach); p != NULL; p = p->next)
        agent_set_page(agent, p);
    files_source_set(&agent->files, agent->config->vitals_files, &agent->privacy);
    if (agent->crash != NULL)
        crash_leave_out(agent->crash, agent->privacy.mode != PRIVACY_OFF,
                        !agent->config->crash_words);
    if (agent->go != NULL)
        go_source_leave_out(agent->go, agent->privacy.mode != PRIVACY_OFF);
    agent_rules_reload(agent->rules);
    char why[256];
    if (outside_select(agent->outside, &agent->config->watch_select, why, sizeof why) != SKEIN_OK)
        log_error("agent", "selectors of processes are as before", "reason", why, NULL);
    log_info("agent", "configuration reloaded", NULL);
}

static void end_flush(void *context)
{
    loop_stop(context);
}

/* Runs what other threads have posted and nobody has taken: it owns memory. */
static void posts_flush(struct agent *agent)
{
    loop_timer_cancel(agent->loop, &agent->list_timer);
    loop_timer_cancel(agent->loop, &agent->held_timer);
    loop_timer_cancel(agent->loop, &agent->refresh_timer);
    loop_timer_cancel(agent->loop, &agent->samples_timer);
    loop_timer_cancel(agent->loop, &agent->grace_timer);
    agent->ended = true;
    if (loop_post(agent->loop, end_flush, agent->loop) == SKEIN_OK)
        (void)loop_run(agent->loop);
}

size_t agent_free(struct agent **agent_p)
{
    struct agent *agent = *agent_p;
    if (agent == NULL)
        return 0;
    *agent_p = NULL;
    outside_free(&agent->outside);
    attach_free(&agent->attach);
    agent_rules_free(&agent->rules);
    agent_policies_free(&agent->policies);
    size_t hanging = checks_free(&agent->checks, CHECKS_WAIT_MS);
    size_t sources_hang = go_source_stop(agent->go); /* its threads post to evidence's */
    if (sources_hang == 0)
        sources_hang = evidence_free(&agent->evidence);  /* before the worker: it posts there */
    loop_timer_cancel(agent->loop, &agent->crash_timer); /* the loop runs once more */
    if (sources_hang == 0) {
        sched_source_free(&agent->sched);
        hanging += crash_free(&agent->crash);
    }
    hanging += sources_hang;
    worker_free(&agent->worker);
    roster_file_free(&agent->roster_file);
    roster_free(&agent->roster);
    agent_held_forget(agent);
    ring_hold_close(&agent->hold);
    uplink_free(&agent->uplink, 0);
    uplink_seal_free(&agent->seal);
    if (agent->loop != NULL)
        posts_flush(agent);
    captures_free(&agent->captures);
    if (sources_hang == 0) { /* else they may be asking */
        (void)symbolizer_free(&agent->symbolizer);
        vitals_free(&agent->vitals);
        cpu_samples_free(&agent->samples);
        go_source_free(&agent->go);
    }
    spool_close(&agent->spool);
    host_page_free(&agent->host_page);
    /* A check that hangs may still post to the loop: then it stays. */
    if (agent->loop != NULL && hanging == 0)
        loop_free(&agent->loop);
    agent_state_close(&agent->state);
    free(agent);
    return hanging;
}
