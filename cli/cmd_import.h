/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands below `skein import`, for its table (cmd_import.c) alone.
 */
#ifndef CMD_IMPORT_H
#define CMD_IMPORT_H

#include "cli.h"

extern const struct cli_command cmd_import_go, cmd_import_ctf, cmd_import_fxt,
    cmd_import_perf_script, cmd_import_perfetto;

#endif
