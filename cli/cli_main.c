/* SPDX-License-Identifier: Apache-2.0
 *
 * `skein`: the table of its commands. A command is one file, or a few that are alike, and one row
 * here. One thread.
 */
#include "cli.h"
#include "cmd.h"

const struct cli_command *const cli_commands[] = {
    &cmd_run,      &cmd_watch_process, &cmd_ps,      &cmd_snapshot, &cmd_record,    &cmd_stream,
    &cmd_captures, &cmd_capture,       &cmd_open,    &cmd_fetch,    &cmd_info,      &cmd_check,
    &cmd_what,     &cmd_report,        &cmd_threads, &cmd_sched,    &cmd_vitals,    &cmd_cat,
    &cmd_stats,    &cmd_diff,          &cmd_sql,     &cmd_export,   &cmd_symbolize, &cmd_import,
    &cmd_rule,     &cmd_policy,        &cmd_watch,   &cmd_loss,     &cmd_series,    &cmd_storage,
    &cmd_agents,   &cmd_join_token,    &cmd_token,   &cmd_audit,    &cmd_health,    &cmd_console,
    &cmd_help,     &cmd_completion,    NULL};

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
