/* SPDX-License-Identifier: Apache-2.0
 *
 * The executable mappings of a process, from /proc/PID/maps. Paths are what the process has chosen.
 * Any thread; reads text alone, opens no file of the process's.
 */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "partition.h"

#define PROCESS_MAPS_MAX 16384 /* executable ones; further ones are counted */

struct process_map {
    struct partition_mapping mapping; /* path: "[vdso]", "" and such, too; without " (deleted)" */
    dev_t device;
    uint64_t inode; /* 0: no file */
    bool deleted;
};

struct process_maps {
    struct process_map *items; /* by address */
    size_t count, cap;
    char *text;        /* of the paths */
    uint64_t left_out; /* at least so many are not in it */
};

/* Without build ids (symbolizer_maps has them). SKEIN_OK; SKEIN_NOT_FOUND, SKEIN_DENIED,
 * SKEIN_IO, SKEIN_NO_MEMORY; SKEIN_TIMEOUT, SKEIN_BUSY: it hangs, or did of late (look_apart.h). The
 * caller calls process_maps_free after SKEIN_OK. */
int process_maps_read(pid_t pid, struct process_maps *out);
void process_maps_free(struct process_maps *maps);

/* The same from a text of n bytes, which is copied. SKEIN_OK, SKEIN_NO_MEMORY. Lines that are none
 * are passed over. */
int process_maps_parse(const char *text, size_t n, struct process_maps *out);

/* The one that holds the address, or NULL. */
struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address);

#endif
