/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the collector; for collector*.c alone.
 */
#ifndef COLLECTOR_INT_H
#define COLLECTOR_INT_H

#include "collector.h"

/* Opens what is on disk. SKEIN_OK, or a status with words in error. (collector_open.c) */
int collector_open(struct collector *c, char *error, size_t error_bytes);
/* What reads traces, where there is such a program. The same. (collector_analyst.c) */
int collector_analyst_make(struct collector *c, char *error, size_t error_bytes);
/* What sums captures up with it, behind ingest, which it asks for room. The same. (collector_analyst.c) */
int collector_aggregate_make(struct collector *c, char *error, size_t error_bytes);
/* Whether the disk is too short for more. `collector`; any thread. (collector_analyst.c) */
bool collector_is_full(void *collector);
/* Whether this is not a collector's first start: what it has only now, it had before. */
bool collector_is_used(const struct collector *c);

#endif
