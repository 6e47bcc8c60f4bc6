/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's parameters: one table generates the reader, the checks and --help. Main thread.
 */
#ifndef AGENT_CONFIG_H
#define AGENT_CONFIG_H

#include "config.h"
#include "log.h"
#include "privacy.h"

struct agent_config {
    char *control_address, *data_address, *socket, *state_dir, *labels, *host, *mode;
    uint64_t ring_bytes, ring_bytes_max, ring_bytes_total, ring_linger_ms, processes_max;
    struct config_strs public_keys;
    char *join_token_file;
    bool insecure_plaintext;
    bool same_uid_only;
    uint64_t io_threshold_ns, lock_threshold_ns, stack_ns;
    uint64_t spool_bytes;
    uint64_t heartbeat_ms, drain_ms;
    struct config_strs exec_allow, service_users;
    char *check_user;
    uint64_t checks_max, startup_grace_ms;
    uint64_t capture_targets_max, partition_bytes;
    bool symbols_enabled;
    uint64_t symbols_budget_ms, symbols_memory_bytes, symbols_names_bytes;
    uint64_t samples_hz, samples_hz_max, samples_reach_ms, samples_bytes;
    uint64_t snapshot_pre_ms, snapshot_post_ms, snapshot_cooldown_ms;
    bool evidence_taken, evidence_no_threads;
    uint64_t evidence_deadline_ms, evidence_bytes;
    bool crash_capture, crash_exit, crash_stacks, crash_words;
    uint64_t crash_pre_ms, crash_cooldown_ms;
    char *privacy;
    bool vitals_host, vitals_processes, vitals_top, vitals_files;
    uint64_t sched_buffer_kib;
    struct config_strs watch_select;
    uint64_t watch_max;
    char *log_level, *log_form;
};

extern const struct config_param agent_params[];

/* config_load with the agent's environment and places, and what the table cannot say.
 * SKEIN_OK; else a sentence in error and *config is zero. */
int agent_config_load(const struct config_sources *given, struct agent_config *config, char *error,
                      size_t error_bytes);
/* Whether the agent would start: folders, keys. Makes nothing. SKEIN_OK; else a text in error. */
int agent_config_check(const struct agent_config *config, char *error, size_t error_bytes);
void agent_config_free(struct agent_config *config);

/* For values that agent_config_load has checked. */
enum log_level agent_config_log_level(const struct agent_config *config);
bool agent_config_log_json(const struct agent_config *config);
uint8_t agent_config_mode(const struct agent_config *config); /* enum skein_mode */
enum privacy agent_config_privacy(const struct agent_config *config);

#endif
