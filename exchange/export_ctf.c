/* SPDX-License-Identifier: Apache-2.0
 *
 * CTF 1.8: a folder with a stream file for each process, packet by packet, and the metadata, written
 * last (export_ctf_tsdl.c), when all event classes are known.
 *
 *   packet: magic u32, uuid 16, stream class u32 │ begin, end, content bits, packet bits, discarded,
 *           number (u64 each), pid u32, process, host, service │ events
 *   event:  class u32, time u64 │ tid u32, thread, flags u8, frames u16, each a text │ of a region
 *           begin u64, duration u64, state u8 │ arguments
 *
 * Times within a stream rise, as readers demand, and a region is recorded when it ends: so it is one
 * event at its end, which says its begin and duration. Owns the packet of each process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "checksum.h"
#include "clock.h"
#include "export_ctf_int.h"

#define CTF_MAGIC    UINT32_C(0xc1fc1fc1)
#define PACKET_BYTES ((size_t)64 << 10) /* a packet ends behind the event that reaches it */
#define LAST_NS      (INT64_MAX - 10 * NS_PER_S) /* readers count from 1970 with 63 bits */

enum {
    AT_BEGIN = 24,
    AT_END = 32,
    AT_CONTENT = 40,
    AT_SIZE = 48,
    AT_DISCARDED = 56,
    AT_NUMBER = 64
};

static void text_put(struct buf *out, const char *text)
{
    export_utf8_put(out, text, strlen(text));
    buf_put_u8(out, 0);
}

/* ---- packets ---- */

static void packet_begin(struct export_run *x, const struct export_row *row,
                         struct ctf_stream *stream, uint64_t ns)
{
    const struct ctf *ctf = x->state;
    struct buf *p = &stream->packet;
    buf_put_u32(p, CTF_MAGIC);
    buf_put(p, ctf->uuid, sizeof ctf->uuid);
    buf_put_u32(p, 0);
    for (unsigned i = 0; i < 6; i++)
        buf_put_u64(p, 0);
    buf_put_u32(p, row->of->pid);
    for (unsigned i = 0; i < sizeof row->of->id; i++)
        buf_printf(p, "%02x", row->of->id[i]);
    buf_put_u8(p, 0);
    text_put(p, row->of->host);
    text_put(p, row->of->service);
    stream->begin_ns = ns;
}

static int packet_end(struct export_run *x, struct ctf_stream *stream)
{
    const struct ctf *ctf = x->state;
    struct buf *p = &stream->packet;
    char name[32];
    int status = p->status;
    if (p->len == 0)
        return status;
    if (status == SKEIN_OK) {
        buf_set_u64(p, AT_BEGIN, stream->begin_ns - ctf->base_ns);
        buf_set_u64(p, AT_END, stream->last_ns - ctf->base_ns);
        buf_set_u64(p, AT_CONTENT, (uint64_t)p->len * 8);
        buf_set_u64(p, AT_SIZE, (uint64_t)p->len * 8);
        buf_set_u64(p, AT_DISCARDED, stream->discarded);
        buf_set_u64(p, AT_NUMBER, stream->packets++);
        snprintf(name, sizeof name, "stream_%zu", (size_t)(stream - ctf->streams));
        status = x->sink.put(x->sink.context, name, p->data, p->len);
    }
    buf_clear(p);
    return status;
}

static int stream_of(struct ctf *ctf, uint32_t process, struct ctf_stream **out)
{
    if (!array_grow_zero(ctf->streams, (size_t)process + 1, &ctf->stream_cap))
        return SKEIN_NO_MEMORY;
    *out = &ctf->streams[process];
    return SKEIN_OK;
}

/* ---- events ---- */

bool ctf_has_field(uint8_t type)
{
    return type >= SKEIN_T_U64 && type <= SKEIN_T_SEQ;
}

static void argument_put(struct buf *p, uint8_t type, const struct skein_arg *arg)
{
    switch (type) {
    case SKEIN_T_BOOL:
        buf_put_u8(p, arg->u64 != 0);
        break;
    case SKEIN_T_F64:
        buf_put_f64(p, arg->f64);
        break;
    case SKEIN_T_STR:
        text_put(p, arg->text);
        break;
    case SKEIN_T_SEQ:
        buf_put_u64(p, arg->resource);
        buf_put_u64(p, arg->number);
        break;
    default:
        buf_put_u64(p, arg->u64);
    }
}

static void arguments_put(struct export_run *x, struct buf *p, const struct export_row *row)
{
    for (unsigned i = 0; i < row->what->arg_count; i++) {
        uint8_t type = row->what->args[i].type;
        if (!ctf_has_field(type)) {
            x->arguments_left++;
            continue;
        }
        x->cut_texts += type == SKEIN_T_STR && row->args[i].cut;
        argument_put(p, type, &row->args[i]);
    }
}

static void frames_put(struct export_run *x, struct buf *p, const struct export_row *row)
{
    struct ctf *ctf = x->state;
    bool whole;
    size_t most = sizeof ctf->frames / sizeof ctf->frames[0];
    size_t count = export_stack(x, row, ctf->frames, most, &whole);
    buf_put_u16(p, (uint16_t)(count + !whole));
    for (size_t i = 0; i < count; i++) {
        export_frame_put(p, &ctf->frames[i]);
        buf_put_u8(p, 0);
    }
    if (!whole)
        text_put(p, "...");
}

static uint8_t state_of(const struct export_row *row)
{
    bool begin = (row->flags & SKEIN_ROW_BEGIN_CLIPPED) != 0;
    bool end = (row->flags & SKEIN_ROW_END_CLIPPED) != 0;
    if (row->kind == SKEIN_ROW_OPEN)
        return 4;
    return (uint8_t)((begin ? 1 : 0) | (end ? 2 : 0));
}

static enum ctf_variant variant_of(const struct export_row *row)
{
    switch (row->kind) {
    case SKEIN_ROW_REGION:
        return export_has_args(row) ? CTF_REGION : CTF_BARE;
    case SKEIN_ROW_OPEN:
        if (row->more != NULL && row->more->has_detail)
            return CTF_OPERATION;
        return export_has_args(row) ? CTF_REGION : CTF_BARE;
    case SKEIN_ROW_END_ONLY:
        return CTF_END;
    default:
        return CTF_POINT;
    }
}

static uint32_t class_of(const struct export_row *row)
{
    if (row->kind == SKEIN_ROW_LOSS)
        return CTF_ID_LOSS;
    return row->what == NULL ? CTF_ID_END : row->type * CTF_VARIANTS + variant_of(row);
}

static int class_note(struct ctf *ctf, const struct export_row *row)
{
    if (row->kind == SKEIN_ROW_LOSS || row->what == NULL)
        return SKEIN_OK;
    if (row->type >= UINT32_MAX / CTF_VARIANTS - 1)
        return SKEIN_TOO_LARGE;
    if (!array_grow_zero(ctf->used, (size_t)row->type + 1, &ctf->used_cap))
        return SKEIN_NO_MEMORY;
    ctf->used[row->type] |= (uint8_t)(1u << variant_of(row));
    return SKEIN_OK;
}

static void event_put(struct export_run *x, struct buf *p, const struct export_row *row,
                      uint64_t ns)
{
    const struct ctf *ctf = x->state;
    buf_put_u32(p, class_of(row));
    buf_put_u64(p, ns - ctf->base_ns);
    buf_put_u32(p, row->on != NULL ? row->on->tid : 0);
    text_put(p, row->on != NULL ? row->on->name : "");
    buf_put_u8(p, row->flags);
    frames_put(x, p, row);
    if (row->kind == SKEIN_ROW_LOSS) {
        buf_put_u64(p, row->time_ns);
        buf_put_u64(p, row->dur_ns);
        text_put(p, row->more != NULL ? skein_loss_text(row->more->loss_reason) : "unknown");
        buf_put_u64(p, row->more != NULL ? row->more->lost : 0);
        return;
    }
    if (row->what == NULL)
        return;
    enum ctf_variant variant = variant_of(row);
    if (variant != CTF_POINT && variant != CTF_END) {
        buf_put_u64(p, row->time_ns);
        buf_put_u64(p, row->dur_ns);
        buf_put_u8(p, state_of(row));
    }
    if (variant == CTF_OPERATION)
        buf_put_u64(p, (uint64_t)row->more->detail);
    else if (variant == CTF_POINT || variant == CTF_REGION)
        arguments_put(x, p, row);
}

/* The row's time in its stream, whose times rise. */
static uint64_t stream_ns(struct ctf *ctf, const struct ctf_stream *stream,
                          const struct export_row *row)
{
    uint64_t ns = row->made_ns < LAST_NS ? row->made_ns : LAST_NS;
    if (!ctf->based)
        ctf->base_ns = ns - ns % NS_PER_S;
    ctf->based = true;
    uint64_t least = stream->last_ns > ctf->base_ns ? stream->last_ns : ctf->base_ns;
    ctf->changed += ns < least || ns != row->made_ns;
    return ns < least ? least : ns;
}

static int ctf_row(struct export_run *x, const struct export_row *row)
{
    struct ctf *ctf = x->state;
    struct ctf_stream *stream;
    bool loss = row->kind == SKEIN_ROW_LOSS;
    int status = stream_of(ctf, row->process, &stream);
    if (status == SKEIN_OK)
        status = class_note(ctf, row);
    if (status != SKEIN_OK)
        return status;
    uint64_t ns = stream_ns(ctf, stream, row);
    /* A loss has a packet of its own: readers say between which packets something is missing. */
    if (loss)
        status = packet_end(x, stream);
    if (stream->packet.len == 0)
        packet_begin(x, row, stream, ns);
    if (loss && row->more != NULL)
        stream->discarded += row->more->lost;
    stream->last_ns = ns;
    event_put(x, &stream->packet, row, ns);
    bool full = stream->packet.len >= PACKET_BYTES || stream->packet.status != SKEIN_OK;
    return status == SKEIN_OK && (loss || full) ? packet_end(x, stream) : status;
}

/* ---- the whole ---- */

/* The same trace has the same number. */
static void uuid_make(struct export_run *x, uint8_t uuid[16])
{
    struct buf key = {0};
    struct buf number = {0};
    uint64_t bounds[2];
    skein_trace_bounds(x->trace, &bounds[0], &bounds[1]);
    for (uint32_t i = 0; i < skein_trace_process_count(x->trace); i++)
        buf_put(&key, skein_trace_process(x->trace, i)->id, 16);
    buf_put_u64(&key, bounds[0]);
    buf_put_u64(&key, bounds[1]);
    buf_put_u64(&number, checksum64(key.data, key.len));
    buf_put_u8(&key, 1);
    buf_put_u64(&number, checksum64(key.data, key.len));
    export_needs(x, &key);
    export_needs(x, &number);
    if (number.len == 16)
        memcpy(uuid, number.data, 16);
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x80); /* RFC 9562: version 8, made by a rule of ours */
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
    buf_fini(&key);
    buf_fini(&number);
}

static int ctf_begin(struct export_run *x)
{
    struct ctf *ctf = x->state;
    uuid_make(x, ctf->uuid);
    return x->out.status;
}

static int ctf_end(struct export_run *x)
{
    struct ctf *ctf = x->state;
    int status = SKEIN_OK;
    for (size_t i = 0; i < ctf->stream_cap && status == SKEIN_OK; i++)
        status = packet_end(x, &ctf->streams[i]);
    return status == SKEIN_OK ? ctf_metadata_put(x) : status;
}

static void ctf_fini(struct export_run *x)
{
    struct ctf *ctf = x->state;
    for (size_t i = 0; i < ctf->stream_cap; i++)
        buf_fini(&ctf->streams[i].packet);
    free(ctf->streams);
    free(ctf->used);
}

static void ctf_told(const struct export_run *x, struct buf *line)
{
    const struct ctf *ctf = x->state;
    export_count_put(line, x->losses_unknown, "loss of unknown size among the discarded events",
                     "losses of unknown size among the discarded events");
    export_count_put(line, ctf->changed, "time as it was (times rise, and end in 2262)",
                     "times as they were (times rise, and end in 2262)");
}

const struct export_kind export_ctf = {
    .state_bytes = sizeof(struct ctf),
    .columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE | SKEIN_COLUMN_STACK | SKEIN_COLUMN_ARGS,
    .folder = true,
    .begin = ctf_begin,
    .row = ctf_row,
    .end = ctf_end,
    .fini = ctf_fini,
    .told = ctf_told,
};
