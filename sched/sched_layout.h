/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the fields of scheduler records lie: read from the `format` texts of tracefs, which perf
 * copies into its files, too. Both texts and records are hostile. No I/O; the struct is the caller's.
 */
#ifndef SCHED_LAYOUT_H
#define SCHED_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "sched_event.h"

struct sched_field {
    uint32_t offset, size; /* size 0: there is none */
};

/* The record of one kind; known after its text was read. */
struct sched_shape {
    bool known;
    uint16_t id;
    struct sched_field flags, current, tid, next, state, target_cpu, clone_flags, comm, next_comm;
};

struct sched_layout {
    struct sched_shape shapes[SCHED_EVENT_NEW + 1]; /* by enum sched_event_kind; 0 is unused */
};

/* Names of the events that are read, by kind: "sched/sched_switch"; NULL for no kind. */
const char *sched_layout_name(enum sched_event_kind kind);

/* A field of a `format` text, or of header_page: SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_CORRUPT. */
int sched_field_find(const char *text, size_t n, const char *name, struct sched_field *out);

/* Takes the `format` text of an event. SKEIN_OK; SKEIN_UNSUPPORTED: it is none of those that are
 * read; SKEIN_CORRUPT: it is, and lacks a field. Then nothing has changed. */
int sched_layout_add(struct sched_layout *layout, const char *text, size_t n);

/* Which kind an id is of; 0: none. */
enum sched_event_kind sched_layout_kind(const struct sched_layout *layout, uint64_t id);

/* The record in n bytes, but for time and CPU. False: it is none of those that are read, or too
 * short. */
bool sched_layout_decode(const struct sched_layout *layout, const uint8_t *record, size_t n,
                         struct sched_event *out);

#endif
