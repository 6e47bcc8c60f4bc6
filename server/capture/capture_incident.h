/* SPDX-License-Identifier: Apache-2.0
 *
 * Incidents: captures that people list, fetch, change and delete as one. Any thread; the functions
 * take the control lock.
 *
 * Each firing of a rule has its own capture. The first firing's capture begins an incident, with
 * the same id. A later one whose window overlaps the first one's belongs to it, too. Any other
 * capture is an incident alone; so is each that was asked for.
 *
 *     firing 1, host a   [----A----]              capture A, incident A
 *     firing 2, host b        [----B----]         capture B, incident A
 *     firing 3, host c              [----C----]   capture C, incident C: does not overlap A
 *
 * SKEIN_NOT_FOUND: the incident has no capture, or none that `within` shows. Only who sees all
 * targets of all its captures may change it (SKEIN_DENIED). A change applies to all captures, or to
 * none.
 */
#ifndef CAPTURE_INCIDENT_H
#define CAPTURE_INCIDENT_H

#include "capture.h"
#include "catalog.h"

/* All-zero is an empty list; its owner frees the items. */
struct capture_ids {
    struct capture_id *items;
    size_t count, cap;
    int status; /* SKEIN_NO_MEMORY: one could not be added */
};
int capture_ids_add(struct capture_ids *ids, const struct capture_id *id); /* its status */
int capture_ids_take(void *ids, const struct capture_id *id); /* the same for a catalog_id_fn */
/* Appends the ids of its captures that are saved. Takes no lock. SKEIN_OK or a status. */
int capture_incident_ids(struct catalog *catalog, const struct capture_id *incident,
                         struct capture_ids *ids);

#endif
