/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks as frames, as lines for people, and as JSON. Owns nothing. Every text is hostile.
 */
#include "trace_stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text_shown.h"
#include "trace_json.h"

bool trace_frames_begin(struct trace_frames *frames, struct partition_reader *reader, uint32_t id)
{
    *frames = (struct trace_frames){.reader = reader};
    return reader != NULL && partition_reader_stack(reader, id, &frames->stack);
}

bool trace_frames_next(struct trace_frames *f, struct trace_frame *frame)
{
    if (f->frame == f->stack.count)
        return false;
    uint64_t address = partition_stack_address(&f->stack, f->frame);
    if (f->line == 0 && !partition_reader_symbol(f->reader, address, &f->symbol))
        f->symbol = (struct partition_symbol){0};
    *frame = (struct trace_frame){.looked_up = address,
                                  .function = "",
                                  .file = "",
                                  .mapping = partition_reader_mapping(f->reader, address)};
    frame->has_address = partition_stack_found(&f->stack, f->frame, &frame->address);
    if (frame->mapping != NULL)
        frame->offset = address - frame->mapping->start + frame->mapping->offset;
    if (f->line < f->symbol.line_count) {
        const struct partition_line *line = &f->symbol.lines[f->line++];
        frame->function = line->function;
        frame->file = line->file;
        frame->line = line->line;
        frame->inlined = f->line < f->symbol.line_count;
    }
    if (f->line == f->symbol.line_count) {
        f->line = 0;
        f->frame++;
    }
    return true;
}

static const char *name_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void trace_frame_place(const struct trace_frame *frame, char out[TRACE_PLACE_BYTES])
{
    const char *module = frame->mapping != NULL ? name_base(frame->mapping->path) : "";
    if (*module != 0)
        snprintf(out, TRACE_PLACE_BYTES, "%.72s+0x%" PRIx64, module, frame->offset);
    else if (frame->has_address)
        snprintf(out, TRACE_PLACE_BYTES, "0x%" PRIx64, frame->address);
    else
        snprintf(out, TRACE_PLACE_BYTES, "(no address)");
}

bool trace_module_is_tracer(const char *path)
{
    static const char *const names[] = {"libskein-preload.so", "libskein.so"};
    const char *base = name_base(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(base, names[i], n) == 0 && (base[n] == '\0' || base[n] == '.'))
            return true;
    }
    return false;
}

/* ---- for people ---- */

static void frame_text(struct buf *b, const struct trace_frame *frame, unsigned indent)
{
    char place[TRACE_PLACE_BYTES];
    trace_frame_place(frame, place);
    buf_printf(b, "%*sat ", (int)indent, "");
    const char *name = *frame->function != 0 ? frame->function : place;
    shown_put(b, name);
    if (*frame->file != 0) {
        const char *file = name_base(frame->file);
        buf_printf(b, "  (");
        shown_put(b, file);
        if (frame->line != 0)
            buf_printf(b, ":%" PRIu32, frame->line);
        buf_printf(b, ")");
    }
    if (*frame->function != 0 && frame->mapping != NULL && !frame->inlined) {
        const char *module = name_base(frame->mapping->path);
        buf_printf(b, "  ");
        shown_put(b, module);
    }
    buf_printf(b, "%s\n", frame->inlined ? "  inlined" : "");
}

static void end_text(struct buf *b, uint8_t end, unsigned indent)
{
    switch (end & ~PARTITION_STACK_EXACT) {
    case PARTITION_STACK_WHOLE:
    case PARTITION_STACK_LISTED:
        break;
    case PARTITION_STACK_CUT:
    case PARTITION_STACK_LISTED_CUT:
        buf_printf(b, "%*s... more frames than are recorded\n", (int)indent, "");
        break;
    case PARTITION_STACK_BROKEN:
        buf_printf(b, "%*s... what called it is unknown\n", (int)indent, "");
        break;
    default:
        buf_printf(b, "%*s... why it ends here is unknown\n", (int)indent, "");
    }
}

/* The innermost frame is where it was, whosever it is. */
static void stack_text(struct buf *b, struct partition_reader *reader, uint32_t id, unsigned indent,
                       bool hides_tracer)
{
    struct trace_frames frames;
    struct trace_frame frame;
    if (!trace_frames_begin(&frames, reader, id))
        return;
    for (bool innermost = true; trace_frames_next(&frames, &frame); innermost = false) {
        const char *module = frame.mapping != NULL ? frame.mapping->path : "";
        if (!hides_tracer || innermost || !trace_module_is_tracer(module))
            frame_text(b, &frame, indent);
    }
    end_text(b, frames.stack.end, indent);
}

/* Samples tell what Skein costs. */
void trace_stack_text(struct buf *b, struct partition_reader *reader, uint32_t id, unsigned indent)
{
    stack_text(b, reader, id, indent, reader != NULL && !partition_reader_info(reader)->evidence);
}

void trace_wait_text(struct buf *b, struct partition_reader *reader, uint32_t id, unsigned indent)
{
    stack_text(b, reader, id, indent, true);
}

/* ---- as JSON ---- */

static void text_member(struct buf *b, const char *name, const char *text)
{
    if (*text == 0)
        return;
    buf_printf(b, "\"%s\":", name);
    trace_json_string(b, text, strlen(text));
    buf_put_u8(b, ',');
}

static void mapping_members(struct buf *b, const struct trace_frame *frame)
{
    const struct partition_mapping *mapping = frame->mapping;
    if (mapping == NULL)
        return;
    text_member(b, "module", mapping->path);
    buf_printf(b, "\"offset\":\"0x%" PRIx64 "\",", frame->offset);
    if (*frame->function != 0 || mapping->build_id_bytes == 0)
        return;
    buf_printf(b, "\"build_id\":\"");
    for (unsigned i = 0; i < mapping->build_id_bytes; i++)
        buf_printf(b, "%02x", mapping->build_id[i]);
    buf_printf(b, "\",");
}

void trace_stack_json(struct buf *b, struct partition_reader *reader, uint32_t id)
{
    struct trace_frames frames;
    struct trace_frame frame;
    if (!trace_frames_begin(&frames, reader, id))
        return;
    buf_printf(b, "\"frames\":[");
    for (bool first = true; trace_frames_next(&frames, &frame); first = false) {
        buf_printf(b, "%s{", first ? "" : ",");
        text_member(b, "function", frame.function);
        text_member(b, "file", frame.file);
        if (frame.line != 0)
            buf_printf(b, "\"line\":%" PRIu32 ",", frame.line);
        if (frame.inlined)
            buf_printf(b, "\"inlined\":true,");
        mapping_members(b, &frame);
        if (frame.has_address)
            buf_printf(b, "\"address\":\"0x%" PRIx64 "\",", frame.address);
        b->len -= b->status == SKEIN_OK && b->data[b->len - 1] == ','; /* the last member's */
        buf_printf(b, "}");
    }
    buf_printf(b, "],\"stack_end\":\"%s\"", partition_stack_end_text(frames.stack.end));
}
