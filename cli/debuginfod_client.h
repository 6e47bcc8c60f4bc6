/* SPDX-License-Identifier: Apache-2.0
 *
 * Files by build id from a debuginfod server, only of one that was asked for. One owner, one thread
 * at a time.
 */
#ifndef DEBUGINFOD_CLIENT_H
#define DEBUGINFOD_CLIENT_H

#include <stddef.h>
#include <stdint.h>

struct debuginfod_files;

/* From the server at url, kept where elfutils keeps them ($DEBUGINFOD_CACHE_PATH, else
 * ~/.cache/debuginfod_client). SKEIN_OK, SKEIN_NO_MEMORY. Sets $DEBUGINFOD_URLS of this process: call
 * it before there are threads. */
int debuginfod_files_new(const char *url, struct debuginfod_files **out);
void debuginfod_files_free(struct debuginfod_files **files);

/* An open file, or -1. */
int debuginfod_program_open(struct debuginfod_files *files, const uint8_t *id, size_t bytes);
int debuginfod_debug_open(struct debuginfod_files *files, const uint8_t *id, size_t bytes);

#endif
