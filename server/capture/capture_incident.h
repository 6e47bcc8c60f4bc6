/* SPDX-License-Identifier: Apache-2.0
 *
 * Incidents: captures that people list, fetch, change and delete as one. Any thread; the functions
 * take the control lock.
 *
 * Each firing of a rule has a capture of its own. Those whose windows overlap that of the first of
 * them are an incident, which has that one's id; a capture that overlaps none is an incident alone,
 * and so is each that was asked for.
 *
 *     firing 1, host a   [----A----]              capture A, incident A
 *     firing 2, host b        [----B----]         capture B, incident A
 *     firing 3, host c              [----C----]   capture C, incident C: it is not in A's window
 *
 * SKEIN_NOT_FOUND: no capture of it is there, or none that `within` shows. To change an incident
 * one must see all targets of all its captures (SKEIN_DENIED); then all of it changes, or nothing.
 */
#ifndef CAPTURE_INCIDENT_H
#define CAPTURE_INCIDENT_H

#include "capture.h"

/* All-zero is an empty list; its owner frees the items. */
struct capture_ids {
    struct capture_id *items;
    size_t count, cap;
};
int capture_ids_add(struct capture_ids *ids, const struct capture_id *id); /* SKEIN_NO_MEMORY */

/* As capture_change; *out: its captures, an array, without targets. Appends their ids. */
int capture_incident_change(struct capture_engine *e, const struct capture_id *incident,
                            const struct selector *within, const struct capture_change *change,
                            struct capture_ids *ids, cJSON **out);
/* As capture_delete. Appends the ids of what is deleted: with SKEIN_IO those whose rows are gone.
 */
int capture_incident_delete(struct capture_engine *e, const struct capture_id *incident,
                            const struct selector *within, struct capture_ids *ids);

#endif
