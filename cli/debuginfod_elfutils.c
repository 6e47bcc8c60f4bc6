/* SPDX-License-Identifier: Apache-2.0
 *
 * The only user of libdebuginfod; see debuginfod_client.h.
 */
#include "debuginfod_client.h"

#include <elfutils/debuginfod.h>
#include <stdlib.h>

#include "skein/status.h"

struct debuginfod_files {
    debuginfod_client *client;
};

int debuginfod_files_new(const char *url, struct debuginfod_files **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL || setenv("DEBUGINFOD_URLS", url, 1) != 0) {
        free(*out);
        *out = NULL;
        return SKEIN_NO_MEMORY;
    }
    (*out)->client = debuginfod_begin();
    if ((*out)->client != NULL)
        return SKEIN_OK;
    free(*out);
    *out = NULL;
    return SKEIN_NO_MEMORY;
}

void debuginfod_files_free(struct debuginfod_files **files_p)
{
    struct debuginfod_files *files = *files_p;
    *files_p = NULL;
    if (files == NULL)
        return;
    debuginfod_end(files->client);
    free(files);
}

int debuginfod_program_open(struct debuginfod_files *files, const uint8_t *id, size_t bytes)
{
    int fd = debuginfod_find_executable(files->client, id, (int)bytes, NULL);
    return fd >= 0 ? fd : -1;
}

int debuginfod_debug_open(struct debuginfod_files *files, const uint8_t *id, size_t bytes)
{
    int fd = debuginfod_find_debuginfo(files->client, id, (int)bytes, NULL);
    return fd >= 0 ? fd : -1;
}
