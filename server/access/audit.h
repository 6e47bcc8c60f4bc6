/* SPDX-License-Identifier: Apache-2.0
 *
 * Who changed or downloaded what, and who was refused: folder/audit.db, bounded by age and rows.
 *
 * An entry is queued, and a thread writes it at once. A kill loses what was added during the commit
 * that runs, some milliseconds. Entries that cannot be written wait in a bounded queue. What does
 * not fit is counted, and the count becomes an entry (audit.lost). Any thread.
 */
#ifndef AUDIT_H
#define AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct audit;

/* Members that are NULL are "". Longer texts than these are cut. */
#define AUDIT_OBJECT_BYTES 256
#define AUDIT_DETAIL_BYTES 1024
struct audit_entry {
    const char *actor;   /* a token's name, "local", "retention", "rule:NAME", "policy:NAME" */
    const char *address; /* the client's; none for what the collector does by itself */
    const char *request; /* its request id, likewise */
    const char *action;  /* "resource.verb" */
    const char *object;  /* id or name of what it was done to */
    const char *result;  /* "ok", or why not */
    const char *detail;  /* further words */
};

/* Entries older than keep_ms (0: no bound) are deleted, and the oldest of more than max_rows.
 * Refusals (auth.refused), questions (capture.query) and downloads of each kind may fill a fifth of the
 * rows each. */
struct audit_settings {
    const char *folder;
    uint64_t keep_ms, max_rows;
};
/* SKEIN_OK, or a status with words. */
int audit_open(const struct audit_settings *settings, struct audit **out, char *error,
               size_t error_bytes);
bool audit_is_new(const struct audit *audit); /* there was none before, not even a damaged one */
/* Writes what waits. */
void audit_close(struct audit **audit);

/* Copies; never fails its caller and never waits for the disk. `audit` may be NULL. */
void audit_add(struct audit *audit, const struct audit_entry *entry);
/* The same for auth.refused. After a burst of 60 at most one a second is written, whoever asks; the
 * next entry says how many were not. */
void audit_add_refusal(struct audit *audit, const struct audit_entry *entry);

struct audit_query {
    const char *actor, *action, *object; /* NULL: all; "rule.*": all actions on a resource */
    uint64_t from_ns, to_ns;             /* both inclusive */
    uint64_t before;                     /* only lower ids; UINT64_MAX: from the newest on */
    size_t limit;
};
struct audit_row {
    uint64_t id, time_ns;
    struct audit_entry entry;
};
/* Newest first, with all that was added before the call. Returns how many rows fn got, or a
 * status. */
typedef int audit_row_fn(void *context, const struct audit_row *row);
int64_t audit_list(struct audit *audit, const struct audit_query *query, audit_row_fn *fn,
                   void *context);

#endif
