/* SPDX-License-Identifier: Apache-2.0
 *
 * Where `skein symbolize` finds programs and their debug information: this host, folders, a server.
 * All by build id. The symbolizer's thread, while there is one.
 */
#ifndef SYMBOL_SOURCES_H
#define SYMBOL_SOURCES_H

#include "cli_option.h"
#include "debuginfod_client.h"
#include "partition.h"

struct symbol_sources {
    const struct cli_list *folders; /* debug folders: .build-id/xx/yy…, or the files themselves */
    struct debuginfod_files *server; /* NULL: none */
};

/* For struct symbolizer_settings. A file is taken if its build id is the mapping's; one without is
 * never taken, as nobody knows what it was. */
int symbol_sources_find(void *sources, const struct partition_mapping *mapping, int *fd,
                        int *debug_fd);

#endif
