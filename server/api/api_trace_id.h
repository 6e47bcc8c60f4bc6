/* SPDX-License-Identifier: Apache-2.0
 *
 * `trace_id` of the listings of partitions and captures; see api_trace_id.c. For api_captures.c and
 * api_partitions.c alone.
 */
#ifndef API_TRACE_ID_H
#define API_TRACE_ID_H

#include "api.h"
#include "capture_has.h"
#include "partition.h"

struct api_trace_id {
    struct api_services *api;
    struct http_exchange *x;
    bool given;
    uint8_t id[16];
    uint64_t deadline_ns;     /* CLOCK_MONOTONIC */
    uint64_t footers, unread; /* looked at; of these, and of those left for want of time */
};

/* What a footer says of it. */
enum { TRACE_ID_NONE = 0, TRACE_ID_PERHAPS = 1, TRACE_ID_UNREAD = 2 };

/* Reads the parameter; false: a 400 was given. */
bool api_trace_id_take(struct http_exchange *x, struct api_trace_id *t);
/* Before the first look: its time begins. */
void api_trace_id_begin(struct api_trace_id *t, struct api_services *api);
/* Whether there is no time left, or nobody waits. The caller looks at one thing at least. */
bool api_trace_id_is_over(const struct api_trace_id *t);
/* One of the three, or SKEIN_NO_MEMORY. */
int api_trace_id_look(struct api_trace_id *t, const struct partition_row *row);
/* Of the capture's partitions whose processes match (NULL: all) the first that may hold the trace;
 * *out NULL: none does. SKEIN_OK or a status; *out is the caller's. */
int api_trace_id_capture(struct api_trace_id *t, const struct capture_id *id,
                         const struct selector *selector, cJSON **out);
/* As api_reply_items, with what was read. Owns items from here on. */
void api_trace_id_reply(struct http_exchange *x, cJSON *items, const char *next_cursor,
                        const struct api_trace_id *t);

/* api_partitions.c: reads the footer from the partition's tail, as much of it as need be. SKEIN_OK,
 * and free it; or a status. */
int api_footer_read(struct api_services *api, const struct partition_row *row,
                    struct partition_footer *footer);

#endif
