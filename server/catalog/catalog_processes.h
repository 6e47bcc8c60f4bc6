/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's table of the processes that agents have reported. Rows only; threads and rules as
 * in catalog.h.
 */
#ifndef CATALOG_PROCESSES_H
#define CATALOG_PROCESSES_H

#include "catalog.h"

struct catalog_process {
    struct process_uid process;
    uint64_t agent;
    uint32_t pid;
    uint64_t start_ns, attached_ns, ended_ns; /* realtime; ended_ns 0: it lives */
    const char *host, *service, *labels, *exe;
};
typedef int catalog_process_fn(void *context, const struct catalog_process *row);

void catalog_put_process(struct catalog *c, const struct catalog_process *row);
void catalog_delete_process(struct catalog *c, const struct process_uid *process);
void catalog_delete_processes_of(struct catalog *c, uint64_t agent);
int64_t catalog_processes(struct catalog *c, catalog_process_fn *fn, void *context);

#endif
