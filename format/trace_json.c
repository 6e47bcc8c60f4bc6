/* SPDX-License-Identifier: Apache-2.0
 *
 * Trace events as lines of JSON. Owns nothing; every text is hostile and leaves escaped.
 */
#include "trace_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text_shown.h"
#include "trace_stack.h"
#include "trace_text.h"
#include "utf8_scan.h"

const char *trace_kind_text(uint8_t kind)
{
    static const char *const texts[] = {
        [TRACE_BEGIN] = "begin",     [TRACE_REGION] = "region", [TRACE_INSTANT] = "instant",
        [TRACE_COUNTER] = "counter", [TRACE_LOG] = "log",       [TRACE_OPEN] = "open",
        [TRACE_LOSS] = "loss",       [TRACE_END_ONLY] = "end"};
    return kind < sizeof texts / sizeof *texts && texts[kind] != NULL ? texts[kind] : "unknown";
}

static void json_put(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

/* Beyond it most readers of JSON round: such numbers are texts, as in the collector's API. */
#define EXACT_MAX (UINT64_C(1) << 53)

static void integer_put(struct buf *b, bool negative, uint64_t v)
{
    char digits[24];
    size_t at = sizeof digits;
    bool text = v > EXACT_MAX;
    if (text)
        digits[--at] = '"';
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    if (negative)
        digits[--at] = '-';
    if (text)
        digits[--at] = '"';
    buf_put(b, digits + at, sizeof digits - at);
}

static void u64_put(struct buf *b, uint64_t v)
{
    integer_put(b, false, v);
}

static void i64_put(struct buf *b, int64_t v)
{
    integer_put(b, v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

static void escape_put(struct buf *b, uint32_t c)
{
    if (c == '"' || c == '\\')
        buf_printf(b, "\\%c", (char)c);
    else if (c == '\n')
        json_put(b, "\\n");
    else if (c == '\t')
        json_put(b, "\\t");
    else
        text_json_digits(b, c);
}

void trace_json_string(struct buf *b, const char *text, size_t n)
{
    const uint8_t *s = (const uint8_t *)text;
    size_t plain = 0;
    buf_put_u8(b, '"');
    for (size_t i = 0; i < n;) {
        uint32_t point = 0;
        size_t len = utf8_scan(s + i, n - i, &point);
        bool unseen = point < 0x20 || (point >= 0x7f && text_unseen(point));
        if (len > 0 && !unseen && point != '"' && point != '\\') {
            i += len;
            continue;
        }
        buf_put(b, s + plain, i - plain);
        if (len == 0)
            json_put(b, "\xef\xbf\xbd");
        else
            escape_put(b, point);
        i += len == 0 ? 1 : len;
        plain = i;
    }
    buf_put(b, s + plain, n - plain);
    buf_put_u8(b, '"');
}

static void f64_put(struct buf *b, double v)
{
    if (isnan(v))
        json_put(b, "\"NaN\"");
    else if (isinf(v))
        json_put(b, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    else
        buf_printf(b, "%.17g", v);
}

static void value_put(struct buf *b, uint8_t type, const struct partition_value *value)
{
    switch (type) {
    case SKEIN_T_U64:
        u64_put(b, value->u64);
        break;
    case SKEIN_T_I64:
        i64_put(b, value->i64);
        break;
    case SKEIN_T_F64:
        f64_put(b, value->f64);
        break;
    case SKEIN_T_BOOL:
        json_put(b, value->u64 ? "true" : "false");
        break;
    case SKEIN_T_PTR:
        buf_printf(b, "\"0x%" PRIx64 "\"", value->u64);
        break;
    case SKEIN_T_STR:
        trace_json_string(b, value->str.text, value->str.len);
        break;
    case SKEIN_T_SEQ:
        json_put(b, "{\"resource\":");
        u64_put(b, value->seq.resource);
        json_put(b, ",\"number\":");
        u64_put(b, value->seq.number);
        json_put(b, "}");
        break;
    default:
        json_put(b, "null");
    }
}

static void name_put(struct buf *b, const char *name)
{
    trace_json_string(b, name, strlen(name));
    buf_put_u8(b, ':');
}

static void loss_put(struct buf *b, const struct trace_event *event)
{
    json_put(b, "\"reason\":\"");
    json_put(b, partition_loss_text(event->loss->reason));
    json_put(b, "\",\"events\":");
    u64_put(b, event->loss->events);
    json_put(b, ",\"to_ts_ns\":");
    u64_put(b, event->time_ns + event->dur_ns);
}

/* The members of "args"; returns whether a string was cut. */
static bool args_put(struct buf *b, const struct trace_event *event)
{
    bool cut = false;
    const struct partition_event_type *type = event->type;
    if (event->kind == TRACE_LOSS && event->loss != NULL) {
        loss_put(b, event);
    } else if (event->has_detail) { /* an operation shows its first argument (skein_op_enter) */
        name_put(b, type != NULL && type->nargs > 0 ? type->args[0].name : "detail");
        i64_put(b, event->detail);
    } else if (type != NULL && !(event->begin_clipped && event->kind != TRACE_LOSS)) {
        for (unsigned i = 0; i < type->nargs; i++) {
            if (i > 0)
                buf_put_u8(b, ',');
            name_put(b, type->args[i].name);
            value_put(b, type->args[i].type, &event->args[i]);
            cut = cut || (type->args[i].type == SKEIN_T_STR && event->args[i].str.cut);
        }
    }
    return cut;
}

/* The error that the event's result is. */
static void error_put(struct buf *b, const struct trace_event *event)
{
    const struct partition_event_type *type = event->type;
    if (type == NULL || event->has_detail || event->begin_clipped)
        return;
    for (unsigned i = 0; i < type->nargs; i++) {
        const char *name = type->args[i].type == SKEIN_T_I64
                               ? trace_error_name(type->args[i].unit, event->args[i].i64)
                               : NULL;
        if (name != NULL) {
            buf_printf(b, ",\"error\":\"%s\"", name);
            return;
        }
    }
}

static void flags_put(struct buf *b, const struct trace_event *event, bool cut)
{
    if (event->depth > 0)
        buf_printf(b, ",\"depth\":%" PRIu32, event->depth);
    if (event->fixed_up)
        json_put(b, ",\"fixed_up\":true");
    if (event->begin_clipped)
        json_put(b, ",\"begin_clipped\":true");
    if (event->end_clipped)
        json_put(b, ",\"end_clipped\":true");
    if (cut)
        json_put(b, ",\"cut\":true");
}

void trace_json_put(struct buf *b, const struct partition_info *info,
                    const struct trace_event *event, struct partition_reader *reader)
{
    char process[ID_TEXT_BYTES];
    id_text(info->key.process.bytes, process);
    json_put(b, "{\"ts_ns\":");
    u64_put(b, event->time_ns);
    if (event->kind == TRACE_REGION || event->kind == TRACE_OPEN) {
        json_put(b, event->kind == TRACE_REGION ? ",\"dur_ns\":" : ",\"open_ns\":");
        u64_put(b, event->dur_ns);
    }
    json_put(b, ",\"process\":\"");
    json_put(b, process);
    json_put(b, "\",\"service\":");
    trace_json_string(b, info->service, strlen(info->service));
    json_put(b, ",\"pid\":");
    u64_put(b, info->pid);
    if (event->thread != NULL) {
        json_put(b, ",\"thread\":");
        trace_json_string(b, event->thread->name, strlen(event->thread->name));
        json_put(b, ",\"tid\":");
        u64_put(b, event->thread->tid);
    } else {
        json_put(b, ",\"thread\":null,\"tid\":null");
    }
    json_put(b, ",\"type\":\"");
    json_put(b, trace_kind_text(event->kind));
    json_put(b, "\",\"name\":");
    const char *name = event->kind == TRACE_LOSS ? "records lost"
                       : event->type != NULL     ? event->type->name
                                                 : "unknown";
    trace_json_string(b, name, strlen(name));
    json_put(b, ",\"args\":{");
    bool cut = args_put(b, event);
    json_put(b, "}");
    if (event->type != NULL && event->type->file[0] != '\0') {
        json_put(b, ",\"file\":");
        trace_json_string(b, event->type->file, strlen(event->type->file));
        json_put(b, ",\"line\":");
        u64_put(b, event->type->line);
    }
    error_put(b, event);
    flags_put(b, event, cut);
    if (event->stack != 0 && reader != NULL) {
        json_put(b, ",");
        trace_stack_json(b, reader, event->stack);
    }
    json_put(b, "}\n");
}
