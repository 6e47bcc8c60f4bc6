/* SPDX-License-Identifier: Apache-2.0
 *
 * The source of evidence "files": what each open descriptor of a process is, and its sockets by
 * state, when a capture ends. Keeps nothing but what may be told (privacy). Evidence thread; the
 * loop's sets the rule.
 */
#ifndef FILES_SOURCE_H
#define FILES_SOURCE_H

#include "evidence.h"
#include "privacy.h"

#define FILES_TOLD_MAX 4096 /* descriptors with an event of their own, the lowest numbers */

struct files_source {
    const char *proc;        /* NULL: the system's own */
    uint32_t off;            /* atomic; nothing is told */
    uint32_t mode;           /* atomic; enum privacy, of paths and addresses */
    uint64_t privacy_key[2]; /* constant */
};

/* May be called again with the same key. Any thread. */
void files_source_set(struct files_source *source, bool on, const struct privacy_rule *rule);

evidence_collect_fn files_collect; /* source: a struct files_source */

#endif
