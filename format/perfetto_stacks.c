/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks of the Perfetto exporter: interned frames and callstacks of a packet sequence. What a sequence was told is in x->told, whose numbers are the iids. Entered through
 * perfetto_export.c alone.
 */
#include <string.h>

#include "perfetto_export_int.h"
#include "perfetto_fields.h"
#include "protobuf_put.h"
#include "trace_stack.h"

enum told_kind { TOLD_STACK = 1, TOLD_FRAME, TOLD_MAPPING };

/* What is interned of a sequence, beside names of types; sequence as in names_intern. */
struct told_key {
    uint64_t sequence, address;
    uint32_t kind, line;
};
_Static_assert(sizeof(struct told_key) == 24, "no padding: keys are compared as bytes");

/* The iid, and whether the sequence has to be told; 0: no memory. */
static uint64_t told_iid(struct perfetto_export *x, uint32_t track, enum told_kind kind,
                         uint64_t address, uint32_t line, bool *fresh)
{
    const struct told_key key = {(uint64_t)track << 32 | x->track_at[track].restarts, address, kind,
                                 line};
    int64_t at = intern_table_put(&x->told, &key, sizeof key, fresh);
    if (at < 0)
        x->status = SKEIN_NO_MEMORY;
    return at < 0 ? 0 : (uint64_t)at + 1;
}

static void string_intern(struct perfetto_export *x, unsigned field, uint64_t iid, const void *text,
                          size_t n)
{
    pb_varint(&x->item, INTERNED_IID, iid);
    pb_bytes(&x->item, INTERNED_NAME, text, n);
    pb_message(&x->interned, field, &x->item);
}

static uint64_t mapping_intern(struct perfetto_export *x, uint32_t track,
                               const struct partition_mapping *mapping)
{
    bool fresh;
    if (mapping == NULL)
        return 0;
    uint64_t at = (uint64_t)(mapping - partition_reader_mapping_at(x->reader, 0));
    uint64_t iid = told_iid(x, track, TOLD_MAPPING, at, 0, &fresh);
    if (iid == 0 || !fresh)
        return iid;
    string_intern(x, INTERNED_MAPPING_PATHS, iid, mapping->path, strlen(mapping->path));
    string_intern(x, INTERNED_BUILD_IDS, iid, mapping->build_id, mapping->build_id_bytes);
    pb_varint(&x->item, INTERNED_IID, iid);
    pb_varint(&x->item, MAPPING_BUILD_ID, iid);
    pb_varint(&x->item, MAPPING_OFFSET, mapping->offset);
    pb_varint(&x->item, MAPPING_START, mapping->start);
    pb_varint(&x->item, MAPPING_END, mapping->end);
    pb_varint(&x->item, MAPPING_PATH_IDS, iid);
    pb_message(&x->interned, INTERNED_MAPPINGS, &x->item);
    return iid;
}

/* `line`: of the functions at one address, which this is. */
static uint64_t frame_intern(struct perfetto_export *x, uint32_t track,
                             const struct trace_frame *frame, uint32_t line)
{
    bool fresh;
    char place[TRACE_PLACE_BYTES];
    uint64_t iid = told_iid(x, track, TOLD_FRAME, frame->looked_up, line, &fresh);
    if (iid == 0 || !fresh)
        return iid;
    uint64_t mapping = mapping_intern(x, track, frame->mapping);
    trace_frame_place(frame, place);
    const char *name = *frame->function != 0 ? frame->function : place;
    string_intern(x, INTERNED_FUNCTIONS, iid, name, strlen(name));
    if (*frame->file != 0)
        string_intern(x, INTERNED_SOURCE_PATHS, iid, frame->file, strlen(frame->file));
    pb_varint(&x->item, INTERNED_IID, iid);
    pb_varint(&x->item, FRAME_FUNCTION, iid);
    pb_varint(&x->item, FRAME_MAPPING, mapping);
    pb_varint(&x->item, FRAME_REL_PC, frame->mapping != NULL ? frame->offset : frame->looked_up);
    if (*frame->file != 0)
        pb_varint(&x->item, FRAME_SOURCE_PATH, iid);
    if (frame->line != 0)
        pb_varint(&x->item, FRAME_LINE, frame->line);
    pb_message(&x->interned, INTERNED_FRAMES, &x->item);
    return iid;
}

/* The iids of a stack's frames, innermost first. */
static void frames_intern(struct perfetto_export *x, uint32_t track, struct trace_frames *frames,
                          struct buf *iids)
{
    struct trace_frame frame;
    uint32_t line = 0;
    while (x->status == SKEIN_OK && trace_frames_next(frames, &frame)) {
        buf_put_u64(iids, frame_intern(x, track, &frame, line));
        line = frame.inlined ? line + 1 : 0;
    }
}

uint64_t export_stack_intern(struct perfetto_export *x, uint32_t track, uint32_t id)
{
    struct trace_frames frames;
    struct buf iids = {0};
    bool fresh;
    if (id == 0 || !trace_frames_begin(&frames, x->reader, id))
        return 0;
    uint64_t iid = told_iid(x, track, TOLD_STACK, id, 0, &fresh);
    if (iid == 0 || !fresh)
        return iid;
    frames_intern(x, track, &frames, &iids);
    pb_varint(&x->item, INTERNED_IID, iid);
    struct cursor c;
    for (size_t at = iids.len; at > 0; at -= 8) { /* there the outermost comes first */
        cursor_init(&c, iids.data + at - 8, 8);
        pb_varint(&x->item, CALLSTACK_FRAMES, cursor_u64(&c));
    }
    if (iids.status != SKEIN_OK)
        x->status = SKEIN_NO_MEMORY;
    pb_message(&x->interned, INTERNED_CALLSTACKS, &x->item);
    buf_fini(&iids);
    return iid;
}

void export_interned_flush(struct perfetto_export *x)
{
    if (x->interned.len > 0 || x->interned.status != SKEIN_OK)
        pb_message(&x->packet, PACKET_INTERNED, &x->interned);
}
