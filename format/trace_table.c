/* SPDX-License-Identifier: Apache-2.0
 *
 * The closing table of a trace file (docs/format.md F-36). Pure functions over bytes, which are
 * hostile.
 */
#include "partition_entries_int.h"
#include "trace_table_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace_file.h"

int trace_table_put(const uint64_t *lengths, size_t count, struct buf *out)
{
    size_t start = out->len;
    head_put(out, HEAD_TABLE, 0);
    size_t last = section_begin(out, SECTION_TABLE);
    buf_put_uleb(out, count);
    for (size_t i = 0; i < count; i++)
        buf_put_uleb(out, lengths[i]);
    section_end(out, last);
    tail_put(out, start, last, HEAD_TABLE);
    size_t end = out->len;
    if (out->status != SKEIN_OK || end - start > PARTITION_BYTES_MAX) {
        out->len = start;
        return out->status != SKEIN_OK ? out->status : SKEIN_TOO_LARGE;
    }
    out->len = start;
    head_put(out, HEAD_TABLE, end - start);
    out->len = end;
    return SKEIN_OK;
}

/* The payload of a whole table. SKEIN_OK, SKEIN_CORRUPT. */
static int table_payload_get(const uint8_t *bytes, size_t n, struct cursor *payload,
                             struct partition_fault *fault)
{
    struct tail tail;
    const uint8_t *last;
    size_t need;
    struct section section;
    if (tail_explain(bytes, n, &tail, &last, &need, fault) != SKEIN_OK)
        return SKEIN_CORRUPT;
    uint64_t at = (uint64_t)(last - bytes);
    cursor_init(payload, last, (size_t)tail.last_bytes - TAIL_BYTES);
    if (tail.length != n)
        partition_fault_set(fault, F_14, n - TAIL_BYTES + 8, "the tail tells another length");
    else if (tail.kind != HEAD_TABLE)
        partition_fault_set(fault, F_13, n - 1, "the tail is a partition's, not a table's");
    else if (section_get(payload, 0, &section) != SKEIN_OK || cursor_left(payload) != 0)
        partition_fault_set(fault, F_9, at, "the table's section has impossible lengths");
    else if (!section_sound(&section, last))
        partition_fault_set(fault, F_9, at, "the table's section fails its checksum");
    else if (section.kind != SECTION_TABLE || section.packing != PACKING_RAW)
        partition_fault_set(fault, F_36, at, "the section is of kind %u, not a plain table",
                            section.kind);
    else {
        cursor_init(payload, section.payload, (size_t)section.length);
        return SKEIN_OK;
    }
    return SKEIN_CORRUPT;
}

int trace_table_get(const uint8_t *bytes, size_t n, uint64_t **lengths, size_t *count,
                    uint64_t *sum, struct partition_fault *fault)
{
    struct cursor c;
    *lengths = NULL;
    if (table_payload_get(bytes, n, &c, fault) != SKEIN_OK)
        return SKEIN_CORRUPT;
    *count = (size_t)count_get(&c, PARTITION_BYTES_MAX, 1);
    *sum = 0;
    uint64_t *found = calloc(*count + 1, sizeof *found);
    if (found == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < *count; i++) {
        const uint8_t *at = c.pos;
        found[i] = cursor_uleb(&c);
        if (found[i] < HEAD_BYTES + TAIL_BYTES || found[i] > PARTITION_BYTES_MAX)
            rule_break(&c, F_36, at);
        *sum += found[i];
    }
    if (c.status == SKEIN_OK) {
        *lengths = found;
        return SKEIN_OK;
    }
    free(found);
    partition_fault_set(fault, cursor_rule(&c, F_36), (uint64_t)(c.pos - bytes),
                        "the table is malformed");
    return SKEIN_CORRUPT;
}
