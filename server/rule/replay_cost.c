/* SPDX-License-Identifier: Apache-2.0
 *
 * What a capture would have held, estimated: the bytes of the stored partitions that overlap its
 * window, by the part of each that lies in it, for the whole length of the window. Of a process of
 * which nothing is stored there, nothing is known and nothing counted.
 */
#include <stdlib.h>
#include <string.h>

#include "replay_int.h"

#define COVERED_LEAST_NS UINT64_C(1000000000) /* less stored time says little of a second */

struct stored_part {
    double bytes, covered_ns;
};

struct cost {
    uint64_t from_ns, to_ns;
    const char *host;              /* NULL: any */
    const struct process_uid *but; /* not this one; NULL: all */
    struct idmap parts;
    int status;
};

static int take_row(void *context, const struct partition_row *row)
{
    struct cost *c = context;
    const uint8_t *id = row->record.key.process.bytes;
    if ((c->host != NULL && strcmp(c->host, row->host) != 0) ||
        (c->but != NULL && process_uid_equal(c->but, &row->record.key.process)))
        return 0;
    struct stored_part *part = idmap_get(&c->parts, id);
    if (part == NULL) {
        part = calloc(1, sizeof *part);
        if (part == NULL || idmap_put(&c->parts, id, part) != SKEIN_OK) {
            free(part);
            c->status = SKEIN_NO_MEMORY;
            return 1;
        }
    }
    uint64_t from = row->from_ns > c->from_ns ? row->from_ns : c->from_ns;
    uint64_t to = row->to_ns < c->to_ns ? row->to_ns : c->to_ns;
    double length = (double)(row->to_ns - row->from_ns) + 1;
    double inside = to >= from ? (double)(to - from) + 1 : 0;
    part->bytes += (double)row->place.bytes * inside / length;
    part->covered_ns += inside;
    return 0;
}

static uint64_t add_up(struct cost *c)
{
    double window = (double)(c->to_ns - c->from_ns) + 1, sum = 0;
    double least = window < (double)COVERED_LEAST_NS ? window : (double)COVERED_LEAST_NS;
    size_t at = 0;
    for (struct stored_part *part; (part = idmap_next(&c->parts, &at)) != NULL; free(part)) {
        double covered = part->covered_ns > least ? part->covered_ns : least;
        sum += part->bytes * (window / covered); /* less than 1 where partitions overlap */
    }
    idmap_fini(&c->parts);
    return (uint64_t)sum;
}

static int estimate(struct replay *p, const struct partition_query *query, const char *host,
                    const struct process_uid *but, uint64_t *bytes)
{
    struct cost cost = {.from_ns = query->from_ns, .to_ns = query->to_ns, .host = host, .but = but};
    int64_t rows = index_query(p->index, query, take_row, &cost);
    *bytes = add_up(&cost);
    return rows < 0 ? (int)rows : cost.status;
}

int replay_cost_of(struct replay *p, const struct process_uid *process, uint64_t from_ns,
                   uint64_t to_ns, uint64_t *bytes)
{
    struct partition_query query = {.process = process, .from_ns = from_ns, .to_ns = to_ns};
    return estimate(p, &query, NULL, NULL, bytes);
}

int replay_cost_matching(struct replay *p, const struct selector *selector, const char *host,
                         const struct process_uid *but, uint64_t from_ns, uint64_t to_ns,
                         uint64_t *bytes)
{
    struct partition_query query = {.selector = selector, .from_ns = from_ns, .to_ns = to_ns};
    return estimate(p, &query, host, but, bytes);
}
