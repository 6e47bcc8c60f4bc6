/* SPDX-License-Identifier: Apache-2.0
 *
 * Trace events as lines for people. Owns nothing. Every text is hostile: nothing that a terminal
 * would obey gets through.
 */
#include "trace_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "text_shown.h"
#include "trace_json.h"

/* The time in `unit`, rounded to so many digits behind the point. */
static void duration_put(uint64_t ns, uint64_t unit, unsigned digits, const char *name,
                         char out[TRACE_DURATION_BYTES])
{
    uint64_t scale = digits == 3 ? 1000 : 10, step = unit / scale;
    uint64_t rounded = ns / step + (ns % step >= step - step / 2 ? 1 : 0);
    snprintf(out, TRACE_DURATION_BYTES, "%" PRIu64 ".%0*" PRIu64 " %s", rounded / scale,
             (int)digits, rounded % scale, name);
}

/* What would be 1000 of a unit is 1 of the next. */
static void duration_text(uint64_t ns, unsigned digits, char out[TRACE_DURATION_BYTES])
{
    uint64_t fraction = digits == 3 ? 2000 : 20; /* half of the last digit is 1 / fraction */
    if (ns < 1000)
        snprintf(out, TRACE_DURATION_BYTES, "%" PRIu64 " ns", ns);
    else if (ns < 1000000 - 1000 / fraction)
        duration_put(ns, 1000, digits, "us", out);
    else if (ns < 1000000000 - 1000000 / fraction)
        duration_put(ns, 1000000, digits, "ms", out);
    else
        duration_put(ns, 1000000000, 3, "s", out);
}

void trace_duration_text(uint64_t ns, char out[TRACE_DURATION_BYTES])
{
    duration_text(ns, 3, out);
}

void trace_duration_short(uint64_t ns, char out[TRACE_DURATION_BYTES])
{
    duration_text(ns, 1, out);
}

/* `special`: bytes that get a backslash, because they would end the text. */
static void text_put_but(struct buf *b, const char *text, size_t n, const char *special)
{
    struct text_shown shown = {.marks = 0};
    for (size_t i = 0; i < n;) {
        i += text_shown_next(&shown, text + i, n - i);
        if (shown.point != 0 && shown.point < 0x80 && strchr(special, (int)shown.point) != NULL)
            buf_put_u8(b, '\\');
        buf_put(b, shown.bytes, strlen(shown.bytes));
    }
}

const char *trace_error_name(const char *unit, int64_t value)
{
    if (strcmp(unit, "errno") != 0 || value >= 0 || value < -INT16_MAX)
        return NULL;
    return strerrorname_np((int)-value);
}

/* Units that say how a number is written are not written themselves. */
static void i64_put(struct buf *b, const char *unit, int64_t value)
{
    const char *error = trace_error_name(unit, value);
    if (strcmp(unit, "address") == 0)
        buf_printf(b, "0x%" PRIx64, (uint64_t)value);
    else
        buf_printf(b, "%" PRId64, value);
    if (error != NULL)
        buf_printf(b, " (%s)", error);
    if (unit[0] != 0 && strcmp(unit, "address") != 0 && strcmp(unit, "errno") != 0) {
        buf_put_u8(b, ' ');
        shown_put(b, unit);
    }
}

static void value_put(struct buf *b, uint8_t type, const struct partition_value *value)
{
    switch (type) {
    case SKEIN_T_U64:
        buf_printf(b, "%" PRIu64, value->u64);
        break;
    case SKEIN_T_F64:
        buf_printf(b, "%g", value->f64);
        break;
    case SKEIN_T_BOOL:
        buf_printf(b, "%s", value->u64 ? "true" : "false");
        break;
    case SKEIN_T_PTR:
        buf_printf(b, "0x%" PRIx64, value->u64);
        break;
    case SKEIN_T_STR:
        buf_put_u8(b, '"');
        text_put_but(b, value->str.text, value->str.len, "\"\\");
        buf_printf(b, "\"%s", value->str.cut ? "..." : "");
        break;
    case SKEIN_T_SEQ:
        buf_printf(b, "%" PRIx64 "#%" PRIu64, value->seq.resource, value->seq.number);
        break;
    default:
        buf_put_u8(b, '?');
    }
}

static void args_put(struct buf *b, const struct trace_event *event)
{
    const struct partition_event_type *type = event->type;
    if (event->kind == TRACE_LOSS && event->loss != NULL) {
        buf_printf(b, " reason=%s", partition_loss_text(event->loss->reason));
        if (event->loss->events > 0)
            buf_printf(b, " events=%" PRIu64, event->loss->events);
    } else if (event->has_detail) {
        const char *name = type != NULL && type->nargs > 0 ? type->args[0].name : "detail";
        buf_put_u8(b, ' ');
        shown_put(b, name);
        buf_put_u8(b, '=');
        i64_put(b, type != NULL && type->nargs > 0 ? type->args[0].unit : "", event->detail);
    } else if (type != NULL && !event->begin_clipped) {
        for (unsigned i = 0; i < type->nargs; i++) {
            buf_put_u8(b, ' ');
            shown_put(b, type->args[i].name);
            buf_put_u8(b, '=');
            if (type->args[i].type == SKEIN_T_I64) {
                i64_put(b, type->args[i].unit, event->args[i].i64);
                continue;
            }
            value_put(b, type->args[i].type, &event->args[i]);
            if (type->args[i].unit[0] != 0) {
                buf_put_u8(b, ' ');
                shown_put(b, type->args[i].unit);
            }
        }
    }
}

/* "  (db.c:17)": the file without its folders, which are those of the machine that built it. */
static void place_put(struct buf *b, const struct partition_event_type *type)
{
    if (type == NULL || type->file[0] == '\0')
        return;
    const char *slash = strrchr(type->file, '/'), *name = slash != NULL ? slash + 1 : type->file;
    buf_printf(b, "  (");
    shown_put(b, name);
    buf_printf(b, ":%" PRIu32 ")", type->line);
}

void trace_text_put_args(struct buf *b, const struct trace_event *event)
{
    args_put(b, event);
    place_put(b, event->type);
}

static void time_put(struct buf *b, uint64_t ns)
{
    char text[CLOCK_TEXT_BYTES];
    clock_text(ns, text);
    size_t n = strlen(text);
    buf_put(b, text, n > 0 ? n - 1 : 0); /* without the Z */
    buf_printf(b, "%03" PRIu64 "Z", ns / 1000 % 1000);
}

void trace_text_put(struct buf *b, const struct partition_info *info,
                    const struct trace_event *event)
{
    time_put(b, event->time_ns);
    buf_put_u8(b, ' ');
    shown_put(b, info->service);
    buf_printf(b, "[%" PRIu32 "] ", info->pid);
    if (event->thread != NULL) {
        shown_put(b, event->thread->name);
        buf_printf(b, "/%" PRIu32, event->thread->tid);
    } else {
        buf_put_u8(b, '-');
    }
    buf_printf(b, "  %-7s  %*s", trace_kind_text(event->kind),
               (int)(event->depth < 20 ? event->depth * 2 : 40), "");
    const char *name = event->kind == TRACE_LOSS ? "records lost"
                       : event->type != NULL     ? event->type->name
                                                 : "unknown";
    shown_put(b, name);
    if (event->kind == TRACE_REGION || event->kind == TRACE_OPEN || event->kind == TRACE_LOSS) {
        char duration[TRACE_DURATION_BYTES];
        trace_duration_text(event->dur_ns, duration);
        buf_printf(b, "  %s%s%s", event->begin_clipped || event->end_clipped ? "at least " : "",
                   duration, event->kind == TRACE_OPEN ? " so far" : "");
    }
    buf_put_u8(b, ' ');
    trace_text_put_args(b, event);
    buf_put_u8(b, '\n');
}
