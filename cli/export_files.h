/* SPDX-License-Identifier: Apache-2.0
 *
 * Exports of exchange/ to files: opens the trace, makes the file or the folder under another name
 * until it is whole, shows how far it is, and tells of what is in it and what is not. One thread.
 */
#ifndef EXPORT_FILES_H
#define EXPORT_FILES_H

#include "export_trace.h"

struct export_wish {
    const char *trace; /* path */
    enum export_form form;
    uint64_t groups;
    const char *to; /* file or folder; NULL: standard output, for a file alone */
};

/* CLI_OK, or CLI_FAILED after telling why: also where a part of the trace cannot be read, but then all
 * the rest is there. *told: a line for people, without its end, where something is there; the caller
 * frees it. */
int export_to_files(const struct export_wish *wish, struct buf *told);

#endif
