/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of `skein`, for its table (cli_main.c) alone.
 */
#ifndef CMD_H
#define CMD_H

#include "cli.h"

extern const struct cli_command cmd_run, cmd_ps, cmd_snapshot, cmd_record, cmd_stream, cmd_captures,
    cmd_capture, cmd_fetch, cmd_info, cmd_check, cmd_cat, cmd_export, cmd_rule, cmd_health,
    cmd_help, cmd_completion, cmd_token, cmd_join_token, cmd_agents, cmd_audit, cmd_watch,
    cmd_policy, cmd_loss, cmd_storage, cmd_what, cmd_sched, cmd_import, cmd_vitals, cmd_symbolize,
    cmd_threads, cmd_watch_process, cmd_report, cmd_stats, cmd_diff, cmd_sql, cmd_series, cmd_open,
    cmd_console;

#endif
