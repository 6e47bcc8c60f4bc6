/* SPDX-License-Identifier: Apache-2.0
 *
 * See trace_twins.h. Compared are sections as they are stored, all but SYMBOLS and FOOTER, which other
 * names of addresses change (partition_rename.h); with a slice all but its blocks and losses, too (F-39).
 *
 *   key is new ────────────────────────────────────────────────▶ given
 *   all sections are those of one that is there ───────────────▶ left out: a copy
 *   a slice of a whole that is there ──────────────────────────▶ left out: a copy
 *   the whole of a slice that is there, or that one is broken ─▶ given in its place
 *   another slice of one of which a slice is there, or broken ─▶ left out: a gap
 *   else ──────────────────────────────────────────────────────▶ given: a process of its own
 *
 * Two sums for each find what to compare with, however many share a key.
 */
#include "trace_twins.h"

#include <string.h>

#include "array.h"
#include "checksum.h"
#include "partition_int.h"
#include "trace_int.h"

#define KEY_BYTES  32 /* process, epoch, sequence */
#define TWIN_BYTES (KEY_BYTES + 9)

enum { OF_ALL, OF_TABLES }; /* what a sum is of: without blocks and losses */

static void key_put(uint8_t bytes[KEY_BYTES], const struct partition_key *key)
{
    memcpy(bytes, key->process.bytes, 16);
    memcpy(bytes + 16, &key->epoch, 8);
    memcpy(bytes + 24, &key->sequence, 8);
}

/* ---- two partitions ---- */

/* The next section that counts; payload NULL at the end. false: it is broken. */
static bool section_next(struct cursor *c, const uint8_t *bytes, int of, struct section *section)
{
    while (cursor_left(c) > 0) {
        const uint8_t *head = c->pos;
        if (section_get(c, (uint64_t)(head - bytes), section) != SKEIN_OK ||
            !section_sound(section, head))
            return false;
        bool part = section->kind == SECTION_BLOCK || section->kind == SECTION_LOSS;
        if (section->kind != SECTION_SYMBOLS && section->kind != SECTION_FOOTER &&
            (of == OF_ALL || !part))
            return true;
    }
    *section = (struct section){.payload = NULL};
    return true;
}

static bool sections_begin(struct cursor *c, const struct buf *bytes)
{
    if (bytes->len < HEAD_BYTES + TAIL_BYTES)
        return false;
    cursor_init(c, bytes->data + HEAD_BYTES, bytes->len - HEAD_BYTES - TAIL_BYTES);
    return true;
}

/* false: a section is broken. */
static bool sum_of(const struct buf *bytes, int of, uint64_t *sum)
{
    struct cursor c;
    struct section section = {.kind = 0};
    uint64_t fields[3] = {0};
    if (!sections_begin(&c, bytes))
        return false;
    do {
        if (!section_next(&c, bytes->data, of, &section))
            return false;
        fields[1] = section.kind;
        fields[2] = section.checksum; /* of its fields and its payload */
        fields[0] = checksum64(fields, sizeof fields);
    } while (section.payload != NULL);
    *sum = fields[0];
    return true;
}

static bool sections_same(const struct buf *a, const struct buf *b, int of)
{
    struct cursor x, y;
    struct section one = {.kind = 0}, two = {.kind = 0};
    if (!sections_begin(&x, a) || !sections_begin(&y, b))
        return false;
    do {
        if (!section_next(&x, a->data, of, &one) || !section_next(&y, b->data, of, &two) ||
            (one.payload == NULL) != (two.payload == NULL))
            return false;
        if (one.payload != NULL &&
            (one.kind != two.kind || one.raw_bytes != two.raw_bytes || one.length != two.length ||
             memcmp(one.payload, two.payload, (size_t)one.length) != 0))
            return false;
    } while (one.payload != NULL);
    return true;
}

/* ---- those that are there ---- */

/* The part that stands for these bytes in the table, or NULL. */
static int slot_put(struct intern_table *table, struct trace_part ***parts, size_t *cap,
                    const void *bytes, size_t n, struct trace_part ***slot)
{
    bool fresh;
    if (!array_grow(*parts, table->count + 1, cap))
        return SKEIN_NO_MEMORY;
    int64_t at = intern_table_put(table, bytes, n, &fresh);
    if (at < 0)
        return SKEIN_NO_MEMORY;
    if (fresh)
        (*parts)[at] = NULL;
    *slot = &(*parts)[at];
    return SKEIN_OK;
}

static int twin_slot(struct skein_trace *trace, const struct trace_part *part, int of, uint64_t sum,
                     struct trace_part ***slot)
{
    uint8_t bytes[TWIN_BYTES];
    key_put(bytes, &part->entry->footer.key);
    bytes[KEY_BYTES] = (uint8_t)of;
    memcpy(bytes + KEY_BYTES + 1, &sum, sizeof sum);
    return slot_put(&trace->twin_keys, &trace->twin_parts, &trace->twin_cap, bytes, sizeof bytes,
                    slot);
}

/* What is read of a part, and the places where others like it are found. */
struct twin {
    struct buf bytes;
    uint64_t sums[2];
    bool sound;
};

static int twin_read(struct trace_part *part, struct twin *twin)
{
    int status = trace_file_read(part->file, part->at, &twin->bytes);
    twin->sound = status == SKEIN_OK && sum_of(&twin->bytes, OF_ALL, &twin->sums[OF_ALL]) &&
                  sum_of(&twin->bytes, OF_TABLES, &twin->sums[OF_TABLES]);
    return status == SKEIN_NO_MEMORY ? status : SKEIN_OK;
}

/* The part is found by its sums from now on; a whole one in front of slices. */
static int twin_note(struct skein_trace *trace, struct trace_part *part, const struct twin *twin)
{
    struct trace_part **slot;
    for (int of = OF_ALL; of <= OF_TABLES; of++) {
        if (twin_slot(trace, part, of, twin->sums[of], &slot) != SKEIN_OK)
            return SKEIN_NO_MEMORY;
        if (*slot == NULL || (!part->entry->footer.slice && (*slot)->entry->footer.slice))
            *slot = part;
    }
    return SKEIN_OK;
}

/* One that holds the same sections; NULL: none does. */
static int same_find(struct skein_trace *trace, const struct trace_part *part,
                     const struct twin *twin, int of, struct trace_part **same)
{
    struct trace_part **slot;
    struct buf bytes = {0};
    *same = NULL;
    int status = twin_slot(trace, part, of, twin->sums[of], &slot);
    struct trace_part *there = status == SKEIN_OK ? *slot : NULL;
    if (there == NULL)
        return status;
    status = trace_file_read(there->file, there->at, &bytes);
    if (status == SKEIN_OK && sections_same(&twin->bytes, &bytes, of))
        *same = there;
    buf_fini(&bytes);
    return status == SKEIN_NO_MEMORY ? status : SKEIN_OK;
}

/* ---- one more ---- */

static void fate_set(struct trace_part *part, struct trace_part *same, enum trace_fate fate)
{
    part->fate = fate;
    part->variant = same->variant;
    part->instead = same;
}

/* It has the tables of `same`, and one of the two is a slice. */
static void slice_judge(struct trace_part *part, struct trace_part *same)
{
    const struct partition_footer *a = &same->entry->footer, *b = &part->entry->footer;
    if (!a->slice)
        fate_set(part, same, TRACE_COPY);
    else if (!b->slice)
        fate_set(part, same, TRACE_INSTEAD);
    else
        fate_set(part, same, TRACE_LEFT);
}

static int twin_judge(struct skein_trace *trace, struct trace_part *part, struct trace_part *first,
                      const struct twin *twin)
{
    struct trace_part *same;
    int status = same_find(trace, part, twin, OF_ALL, &same);
    if (status != SKEIN_OK || same != NULL) {
        if (same != NULL)
            fate_set(part, same, TRACE_COPY);
        return status;
    }
    status = same_find(trace, part, twin, OF_TABLES, &same);
    if (status != SKEIN_OK)
        return status;
    if (same != NULL && (same->entry->footer.slice || part->entry->footer.slice)) {
        slice_judge(part, same);
    } else {
        part->fate = TRACE_GIVEN;
        part->variant = ++first->variants;
    }
    return part->fate == TRACE_GIVEN || part->fate == TRACE_INSTEAD ? twin_note(trace, part, twin)
                                                                    : SKEIN_OK;
}

/* *slot has its key; a broken one gives it up. */
static int key_judge(struct skein_trace *trace, struct trace_part *part, struct trace_part **slot)
{
    struct trace_part *first = *slot;
    struct twin one = {.sound = false}, other = {.sound = false};
    int status = twin_read(part, &one);
    if (status == SKEIN_OK && first->variants == 0) { /* its sums are not known yet, or again */
        status = twin_read(first, &other);
        if (status == SKEIN_OK && other.sound)
            status = twin_note(trace, first, &other);
    }
    if (status == SKEIN_OK && !one.sound) {
        fate_set(part, first, TRACE_LEFT);
    } else if (status == SKEIN_OK && first->variants == 0 && !other.sound) {
        fate_set(part, first, TRACE_INSTEAD);
        *slot = part;
        status = twin_note(trace, part, &one);
    } else if (status == SKEIN_OK) {
        status = twin_judge(trace, part, first, &one);
    }
    buf_fini(&one.bytes);
    buf_fini(&other.bytes);
    return status;
}

/* Parts of this input are nowhere any more. */
static void slots_forget(struct trace_part **slots, size_t count, const struct trace_input *input)
{
    for (size_t k = 0; k < count; k++)
        if (slots[k] != NULL && slots[k]->file == input->file)
            slots[k] = NULL;
}

int twins_judge(struct skein_trace *trace, struct trace_input *input)
{
    int status = SKEIN_OK;
    for (size_t i = 0; i < trace_file_count(input->file) && status == SKEIN_OK; i++) {
        uint8_t bytes[KEY_BYTES];
        struct trace_part *part = &input->parts[i], **slot;
        *part = (struct trace_part){
            .entry = trace_file_entry(input->file, i), .file = input->file, .at = i};
        key_put(bytes, &part->entry->footer.key);
        status = slot_put(&trace->partition_keys, &trace->key_parts, &trace->key_cap, bytes,
                          sizeof bytes, &slot);
        if (status == SKEIN_OK && *slot == NULL)
            *slot = part;
        else if (status == SKEIN_OK)
            status = key_judge(trace, part, slot);
    }
    if (status != SKEIN_OK) {
        slots_forget(trace->key_parts, trace->partition_keys.count, input);
        slots_forget(trace->twin_parts, trace->twin_keys.count, input);
    }
    return status;
}

struct trace_twins trace_twins(const struct skein_trace *trace)
{
    return trace->twins;
}
