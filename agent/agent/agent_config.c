/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of the agent's parameters, and the checks between them. Main thread.
 */
#include "agent_config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "checks.h"
#include "config_check.h"
#include "config_place.h"
#include "outside_rule.h"
#include "ring_layout.h"
#include "seal.h"
#include "selector.h"
#include "skein/skein.h"
#include "transport.h"

#define HOUR 3600000
#define DAY  86400000
#define S    struct agent_config

/* The row, but taking effect on SIGHUP. */
#define LIVE_U64(field, path, number, min, max, help)                                              \
    {                                                                                              \
        CONFIG_TYPE_U64, offsetof(S, field), path, NULL, number, min, max, true, help              \
    }
#define LIVE_STR(field, path, otherwise, help)                                                     \
    {                                                                                              \
        CONFIG_TYPE_STR, offsetof(S, field), path, otherwise, 0, 0, 0, true, help                  \
    }
#define LIVE_BOOL(field, path, number, help)                                                       \
    {                                                                                              \
        CONFIG_TYPE_BOOL, offsetof(S, field), path, NULL, number, 0, 1, true, help                 \
    }
#define LIVE_STRS(field, path, help)                                                               \
    {                                                                                              \
        CONFIG_TYPE_STRS, offsetof(S, field), path, NULL, 0, 0, 0, true, help                      \
    }

const struct config_param agent_params[] = {
    CONFIG_STR(S, control_address, "collector.control", "tcp://127.0.0.1:7461",
               "the collector's control port"),
    CONFIG_STR(S, data_address, "collector.data", "tcp://127.0.0.1:7460",
               "the collector's data port"),
    CONFIG_STRS(S, public_keys, "collector.public_key",
                "the collector's public keys, as skeind keygen prints them; with one, all that is "
                "said is sealed, and nobody else is believed"),
    CONFIG_STR(S, join_token_file, "collector.join_token_file", "",
               "file with the token that lets this agent in for the first time"),
    CONFIG_BOOL(S, insecure_plaintext, "collector.insecure_plaintext_on_network", false,
                "talk to a collector on the network without a key: whoever answers is believed, "
                "and everybody on the way can read"),
    CONFIG_STR(S, socket, "socket", "/run/skein/agent.sock",
               "Unix socket where services attach; an ordinary user's own: "
               "$XDG_RUNTIME_DIR/skein/agent.sock"),
    CONFIG_STR(S, state_dir, "state_dir", "/var/lib/skein-agent",
               "folder of identity, rules and spool; an ordinary user's own: "
               "$XDG_STATE_HOME/skein/agent"),
    CONFIG_STR(S, labels, "labels", "", "labels of this agent, \"zone=a,rack=7\""),
    CONFIG_STR(S, host, "host", "", "name of this host; empty: as the kernel says"),
    CONFIG_U64(S, heartbeat_ms, "heartbeat_ms", 10000, 100, HOUR,
               "wished time between heartbeats; the collector decides"),
    LIVE_U64(drain_ms, "drain_ms", 5000, 0, HOUR, "how long an end waits for uploads under way"),
    CONFIG_U64(S, ring_bytes, "ring.bytes", 16 << 20, RING_BYTES_MIN, RING_BYTES_MAX,
               "ring of a process that wishes no other size"),
    CONFIG_U64(S, ring_bytes_max, "ring.max_bytes", 64 << 20, RING_BYTES_MIN, RING_BYTES_MAX,
               "largest ring that is granted"),
    CONFIG_U64(
        S, ring_bytes_total, "ring.total_max_bytes", UINT64_C(1) << 30, RING_BYTES_MIN, UINT64_MAX,
        "memory of all rings of this host together; counted is what they use, and of the rest an "
        "eighth"),
    LIVE_U64(ring_linger_ms, "ring.linger_ms", 10000, 0, HOUR,
             "how long the ring of a process that has ended is kept for captures"),
    CONFIG_STR(S, mode, "ring.mode", "circular",
               "circular (keeps the newest) or oneshot (keeps the first)"),
    CONFIG_U64(S, processes_max, "processes.max", 1024, 1, 100000,
               "processes attached at once, shared out among users"),
    CONFIG_BOOL(S, same_uid_only, "processes.same_uid_only", true,
                "refuse processes of other users, unless the agent is root"),
    CONFIG_STRS(
        S, service_users, "processes.service_users",
        "services that are bound to users of this host, \"payments=pay,root\": a process of "
        "another user that calls itself so is called payments.uid-NUMBER"),
    LIVE_U64(io_threshold_ns, "thresholds.io_ns", 0, 0, UINT64_C(3600000000000),
             "shorter I/O is not recorded; 0: each process's own default"),
    LIVE_U64(lock_threshold_ns, "thresholds.lock_ns", 0, 0, UINT64_C(3600000000000),
             "shorter waits for locks are not recorded; 0: each process's own default"),
    LIVE_U64(
        stack_ns, "thresholds.stack_ns", 1000000, 0, UINT64_C(3600000000000),
        "operations and regions that last as long carry the stack of their thread; 0: none does"),
    CONFIG_U64(S, spool_bytes, "spool.max_bytes", UINT64_C(1) << 30, 1 << 20, UINT64_MAX,
               "disk for partitions that the collector has not stored yet"),
    LIVE_STRS(
        exec_allow, "checks.exec_allow",
        "command lines that exec checks may run, \"redis-cli -p * ping\": a program by name or "
        "path, and all its arguments; * is a value without a slash"),
    CONFIG_STR(
        S, check_user, "checks.user", CHECK_USER,
        "who runs the programs of exec checks, where the agent is root; empty: root. " CHECK_STAND_IN
        " stands in for " CHECK_USER " where the host has no such user"),
    CONFIG_U64(S, checks_max, "checks.max", 64, 1, 4096, "checks that run at once, a thread each"),
    CONFIG_U64(S, startup_grace_ms, "checks.startup_grace_ms", 5000, 0, HOUR,
               "before its first pass, a check of a younger process fires nothing"),
    CONFIG_U64(
        S, capture_targets_max, "capture.max_targets", 4096, 1, 100000,
        "processes that are captured at once; of further ones the verdict says that the agent was busy"),
    CONFIG_U64(S, partition_bytes, "capture.partition_bytes", 16 << 20, 64 << 10, 16 << 20,
               "ring bytes in a partition"),
    CONFIG_BOOL(
        S, symbols_enabled, "symbols.enabled", true,
        "name the functions of captured stacks: skein-symbolizer, a child of the agent, reads "
        "the programs' files"),
    CONFIG_U64(S, symbols_budget_ms, "symbols.budget_ms", 250, 0, 60000,
               "how long a partition waits for names; addresses whose names come later stay raw"),
    CONFIG_U64(S, symbols_memory_bytes, "symbols.memory_bytes", UINT64_C(1) << 30, 128 << 20,
               UINT64_C(64) << 30,
               "address space of skein-symbolizer; it has open files of half as much, and a larger "
               "one is not read"),
    CONFIG_U64(S, symbols_names_bytes, "symbols.names_bytes", 16 << 20, 64 << 10, UINT64_C(4) << 30,
               "memory of the agent for names that were found before"),
    CONFIG_U64(S, samples_hz, "samples.hz", 99, 0, 1000,
               "how often in a second of each CPU it is noted what runs there; 0: never"),
    CONFIG_U64(S, samples_hz_max, "samples.max_hz", 1000, 0, 1000,
               "a policy may have CPUs sampled up to so often; below samples.hz: none may"),
    CONFIG_U64(S, samples_reach_ms, "samples.reach_ms", 10000, 1000, HOUR,
               "how far back these samples reach at least, if a CPU is always busy"),
    CONFIG_U64(S, samples_bytes, "samples.memory_bytes", 256 << 20, 1 << 20, UINT64_C(1) << 40,
               "the kernel's memory for the samples of all CPUs; too little, and they reach less "
               "far back"),
    LIVE_U64(snapshot_pre_ms, "snapshot.pre_ms", 10000, 0, DAY,
             "skein_snapshot: time before the call"),
    LIVE_U64(snapshot_post_ms, "snapshot.post_ms", 0, 0, DAY,
             "skein_snapshot: time after the call"),
    LIVE_U64(snapshot_cooldown_ms, "snapshot.cooldown_ms", 10000, 0, DAY,
             "skein_snapshot: pause of a process between two"),
    CONFIG_BOOL(S, evidence_taken, "evidence.enabled", true,
                "take what explains a capture beside the ring: thread dumps, samples, vitals"),
    LIVE_BOOL(evidence_no_threads, "evidence.no_threads", false,
              "never dump the threads of a process; else it is done when a health, heartbeat or "
              "latency rule fires, or a request asks for it"),
    CONFIG_U64(S, evidence_deadline_ms, "evidence.deadline_ms", 2000, 100, 60000,
               "how long a capture's report waits for its evidence; four times "
               "as long, up to 10 s, for that of a crash"),
    CONFIG_U64(S, evidence_bytes, "evidence.max_bytes", 8 << 20, 64 << 10, 16 << 20,
               "memory of the evidence of a process in a capture; what is beyond is left out and "
               "counted"),
    LIVE_BOOL(crash_capture, "crash.capture", true, "capture processes that crash"),
    LIVE_BOOL(crash_exit, "crash.exit", true,
              "also services that end by themselves with another exit status than 0"),
    CONFIG_BOOL(
        S, crash_stacks, "crash.stacks", true,
        "have the kernel note the signals that end programs: of a captured crash the thread, "
        "the address and the stack are then known"),
    LIVE_BOOL(crash_words, "crash.words", true,
              "of a captured crash keep the last 64 KiB of standard error, where that is a file"),
    LIVE_U64(crash_pre_ms, "crash.pre_ms", 30000, 0, DAY, "crash: time before the end"),
    LIVE_U64(crash_cooldown_ms, "crash.cooldown_ms", 10000, 0, DAY,
             "crash: pause of a user's program of a service between two"),
    LIVE_STR(
        privacy, "evidence.privacy", "off",
        "paths, names of hosts, addresses and command lines in captures: off (as they are), "
        "hash (a keyed hash in their place; the key is privacy.key in state_dir) or leave_out"),
    CONFIG_BOOL(S, vitals_host, "vitals.host", true,
                "record the host's CPU, memory, disks and network every second"),
    CONFIG_BOOL(S, vitals_processes, "vitals.processes", true,
                "record CPU, memory, faults and limits of each attached process"),
    CONFIG_BOOL(S, vitals_top, "vitals.top", true,
                "record which ten processes use most CPU, memory and I/O"),
    LIVE_BOOL(vitals_files, "vitals.files", true,
              "list open descriptors and sockets of captured processes"),
    CONFIG_U64(
        S, sched_buffer_kib, "sched.buffer_kib", 0, 0, 1 << 20,
        "kernel memory of each CPU for what its scheduler did, in KiB; all CPUs together take "
        "at most a 64th of the host's memory; 0: it is not recorded"),
    LIVE_STRS(
        watch_select, "watch.select",
        "processes to watch from outside, without a ring: \"SERVICE exe=GLOB cgroup=GLOB "
        "port=N label=KEY=VALUE go_pprof=HOST:PORT go_flight=HOST:PORT/PATH\", of which one of "
        "exe, cgroup and port is needed, and all must hold"),
    LIVE_U64(watch_max, "watch.max", 256, 1, 4096,
             "processes watched from outside at once; of further ones captures say that the agent "
             "did not take them"),
    LIVE_STR(log_level, "log.level", "info", "debug, info, warn or error"),
    LIVE_STR(log_form, "log.form", "text", "text or json"),
    {.path = NULL}};

static const char *bounds_check(const struct agent_config *config)
{
    enum log_level level;
    if (log_level_parse(config->log_level, &level) != SKEIN_OK)
        return "log.level: must be debug, info, warn or error";
    if (strcmp(config->log_form, "text") != 0 && strcmp(config->log_form, "json") != 0)
        return "log.form: must be text or json";
    if (strcmp(config->privacy, "off") != 0 && strcmp(config->privacy, "hash") != 0 &&
        strcmp(config->privacy, "leave_out") != 0)
        return "evidence.privacy: must be off, hash or leave_out";
    if (strcmp(config->mode, "circular") != 0 && strcmp(config->mode, "oneshot") != 0)
        return "ring.mode: must be circular or oneshot";
    if (config->ring_bytes % 4096 != 0)
        return "ring.bytes: must be a multiple of 4096";
    if (config->ring_bytes > config->ring_bytes_max)
        return "ring.bytes: must not be above ring.max_bytes";
    if (config->ring_bytes > config->ring_bytes_total)
        return "ring.bytes: must not be above ring.total_max_bytes";
    if (config->labels[0] != '\0' &&
        (!labels_valid(config->labels) || strlen(config->labels) > 511))
        return "labels: must be \"key=value,key2=value2\" of at most 511 bytes";
    if (strlen(config->host) > 255)
        return "host: must have at most 255 bytes";
    if (config->socket[0] != '/' || strlen(config->socket) > 107)
        return "socket: must be an absolute path of at most 107 bytes";
    if (config->state_dir[0] != '/')
        return "state_dir: must be an absolute path";
    if (!config_is_address(config->control_address, "tcp://"))
        return "collector.control: must be tcp://HOST:PORT";
    if (!config_is_address(config->data_address, "tcp://"))
        return "collector.data: must be tcp://HOST:PORT";
    if (config->public_keys.count == 0 && !config->insecure_plaintext &&
        (!transport_is_loopback(config->control_address) ||
         !transport_is_loopback(config->data_address)))
        return "collector.public_key: is needed for a collector on the network (skeind keygen "
               "prints it), or set collector.insecure_plaintext_on_network";
    return NULL;
}

static const char *selectors_check(const struct agent_config *config, char *text, size_t bytes)
{
    char why[160];
    struct outside_rules rules;
    if (outside_rules_parse(&config->watch_select, &rules, why, sizeof why) != SKEIN_OK) {
        snprintf(text, bytes, "watch.select: %s", why);
        return text;
    }
    outside_rules_free(&rules);
    return NULL;
}

int agent_config_load(const struct config_sources *given, struct agent_config *config, char *error,
                      size_t error_bytes)
{
    char state[CONFIG_PLACE_BYTES], socket[CONFIG_PLACE_BYTES];
    const struct config_default defaults[] = {
        {"state_dir", config_place_state("agent", state) ? state : NULL},
        {"socket", config_place_socket("agent.sock", socket) ? socket : NULL},
        {NULL, NULL}};
    struct config_sources sources = *given;
    sources.daemon = "skein-agent";
    sources.defaults = defaults;
    *config = (struct agent_config){0};
    int status = config_load(agent_params, config, &sources, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    const char *wrong = bounds_check(config);
    char selector[192];
    if (wrong == NULL)
        wrong = selectors_check(config, selector, sizeof selector);
    if (wrong == NULL)
        return SKEIN_OK;
    snprintf(error, error_bytes, "%s: %s", given->file != NULL ? given->file : "settings", wrong);
    agent_config_free(config);
    return SKEIN_INVALID;
}

/* An agent whose key lets it in does not look for the token any more; that it has started once is
 * all that its folder tells. */
static bool has_joined(const struct agent_config *config)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/agent.key", config->state_dir) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

int agent_config_check(const struct agent_config *config, char *error, size_t error_bytes)
{
    uint8_t key[SEAL_KEY_BYTES];
    char folder[sizeof((struct sockaddr_un *)0)->sun_path];
    for (size_t i = 0; i < config->public_keys.count; i++) {
        if (seal_key_parse(config->public_keys.items[i], key) == SKEIN_OK)
            continue;
        snprintf(error, error_bytes, "collector.public_key %s: is no public key",
                 config->public_keys.items[i]);
        return SKEIN_INVALID;
    }
    snprintf(folder, sizeof folder, "%s", config->socket);
    *strrchr(folder, '/') = '\0';
    int status =
        config_check_folder("socket", folder[0] != '\0' ? folder : "/", error, error_bytes);
    if (status == SKEIN_OK)
        status = config_check_folder("state_dir", config->state_dir, error, error_bytes);
    if (status == SKEIN_OK && config->join_token_file[0] != '\0' && config->public_keys.count > 0 &&
        !has_joined(config))
        status = config_check_readable("collector.join_token_file", config->join_token_file, error,
                                       error_bytes);
    return status;
}

void agent_config_free(struct agent_config *config)
{
    config_free(agent_params, config);
    *config = (struct agent_config){0};
}

enum log_level agent_config_log_level(const struct agent_config *config)
{
    enum log_level level = LOG_LEVEL_INFO;
    (void)log_level_parse(config->log_level, &level);
    return level;
}

bool agent_config_log_json(const struct agent_config *config)
{
    return strcmp(config->log_form, "json") == 0;
}

uint8_t agent_config_mode(const struct agent_config *config)
{
    return strcmp(config->mode, "oneshot") == 0 ? SKEIN_MODE_ONESHOT : SKEIN_MODE_CIRCULAR;
}

enum privacy agent_config_privacy(const struct agent_config *config)
{
    if (strcmp(config->privacy, "off") == 0)
        return PRIVACY_OFF;
    return strcmp(config->privacy, "hash") == 0 ? PRIVACY_HASH : PRIVACY_LEAVE_OUT;
}
