/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans of OpenTelemetry as OTLP/JSON (an ExportTraceServiceRequest): regions whose arguments name a
 * trace, process by process. A span's id is made of process, thread, begin and what it is, so that the
 * same region has the same id in each export. The parent of a span is the innermost range around it on
 * its thread that names the same trace: ranges are known from their begin on. Regions that are
 * recorded once, when they end, are nobody's parent.
 *
 * Owns the ranges that are open on each thread of the process at hand.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "checksum.h"
#include "export_int.h"
#include "trace_text.h"

#define TRACE_ID_LETTERS 32
#define STACK_MAX        8192 /* open ranges of a thread that are followed */

struct otlp_range {
    uint64_t begin_ns, span;
    uint32_t type;
    char trace[TRACE_ID_LETTERS + 1]; /* "": it names none */
};

struct otlp_thread {
    struct otlp_range *open; /* outermost first */
    size_t count, cap;
    uint64_t last_ns; /* begin of the last span that an id was made for */
    uint32_t twins;   /* and how many began then before it */
};

struct otlp {
    struct otlp_thread *threads; /* by number; those of earlier processes are empty */
    size_t thread_cap;
    uint32_t process; /* at hand; SKEIN_NONE: none has had a span */
    bool any_process, any_span;
    uint64_t spans;
    uint64_t not_followed; /* ranges deeper than STACK_MAX */
};

/* ---- ids ---- */

/* Whether the row names a trace; in lower case. All zeros are no id. */
static bool trace_id_take(const struct export_row *row, char out[TRACE_ID_LETTERS + 1])
{
    out[0] = '\0';
    for (unsigned i = 0; export_has_args(row) && i < row->what->arg_count; i++) {
        const struct skein_arg_type *type = &row->what->args[i];
        if (type->type != SKEIN_T_STR || strcmp(type->name, "trace_id") != 0 ||
            row->args[i].len != TRACE_ID_LETTERS)
            continue;
        unsigned digits = 0;
        bool zero = true;
        for (; digits < TRACE_ID_LETTERS; digits++) {
            char c = row->args[i].text[digits];
            if (c >= 'A' && c <= 'F')
                c = (char)(c - 'A' + 'a');
            if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
                break;
            out[digits] = c;
            zero = zero && c == '0';
        }
        out[digits] = '\0';
        if (digits == TRACE_ID_LETTERS && !zero)
            return true;
        out[0] = '\0';
    }
    return false;
}

static uint64_t span_id(struct export_run *x, struct otlp_thread *thread,
                        const struct export_row *row)
{
    struct buf key = {0};
    thread->twins = thread->last_ns == row->time_ns ? thread->twins + 1 : 0;
    thread->last_ns = row->time_ns;
    buf_put(&key, row->of->id, sizeof row->of->id);
    buf_put_u32(&key, row->on != NULL ? row->on->tid : 0);
    buf_put_u64(&key, row->on != NULL ? row->on->incarnation : 0);
    buf_put_u64(&key, row->time_ns);
    buf_put_u32(&key, thread->twins);
    if (row->what != NULL)
        buf_put(&key, row->what->name, strlen(row->what->name));
    export_needs(x, &key);
    uint64_t id = checksum64(key.data, key.len);
    buf_fini(&key);
    return id != 0 ? id : 1; /* all zeros are no id */
}

/* ---- ranges that are open ---- */

static int thread_of(struct otlp *o, const struct export_row *row, struct otlp_thread **out)
{
    size_t at = row->thread == SKEIN_NONE ? 0 : (size_t)row->thread + 1;
    if (!array_grow_zero(o->threads, at + 1, &o->thread_cap))
        return SKEIN_NO_MEMORY;
    *out = &o->threads[at];
    return SKEIN_OK;
}

static int range_open(struct export_run *x, struct otlp_thread *thread,
                      const struct export_row *row)
{
    struct otlp *o = x->state;
    struct otlp_range range = {.begin_ns = row->time_ns, .type = row->type};
    if (thread->count >= STACK_MAX) {
        o->not_followed++;
        return SKEIN_OK;
    }
    if (!array_grow(thread->open, thread->count + 1, &thread->cap))
        return SKEIN_NO_MEMORY;
    if (trace_id_take(row, range.trace))
        range.span = span_id(x, thread, row);
    thread->open[thread->count++] = range;
    return x->out.status;
}

/* Takes the range that the row is the end of, and what is inside of it; false: its begin is unknown,
 * as of a region that is recorded when it ends. */
static bool range_close(struct otlp_thread *thread, const struct export_row *row,
                        struct otlp_range *out)
{
    for (size_t i = thread->count; i > 0; i--) {
        const struct otlp_range *range = &thread->open[i - 1];
        if (range->begin_ns < row->time_ns)
            return false; /* all others are around the row */
        if (range->begin_ns == row->time_ns && range->type == row->type) {
            *out = *range;
            thread->count = i - 1;
            return true;
        }
    }
    return false;
}

static uint64_t parent_of(const struct otlp_thread *thread, const struct export_row *row,
                          const char *trace)
{
    for (size_t i = thread->count; i > 0; i--) {
        const struct otlp_range *range = &thread->open[i - 1];
        if (range->begin_ns <= row->time_ns && strcmp(range->trace, trace) == 0)
            return range->span;
    }
    return 0;
}

/* ---- attributes ---- */

static void key_begin(struct buf *out, bool *any, const char *key)
{
    buf_printf(out, "%s{\"key\":", *any ? "," : "");
    export_json_text(out, key);
    buf_printf(out, ",\"value\":{");
    *any = true;
}

static void text_attribute(struct buf *out, bool *any, const char *key, const char *text)
{
    key_begin(out, any, key);
    buf_printf(out, "\"stringValue\":");
    export_json_text(out, text);
    buf_printf(out, "}}");
}

static void number_attribute(struct buf *out, bool *any, const char *key, int64_t v)
{
    key_begin(out, any, key);
    buf_printf(out, "\"intValue\":\"%" PRId64 "\"}}", v);
}

static void flag_attribute(struct buf *out, bool *any, const char *key, bool holds)
{
    if (!holds)
        return;
    key_begin(out, any, key);
    buf_printf(out, "\"boolValue\":true}}");
}

static void hex_attribute(struct buf *out, bool *any, const char *key, uint64_t v)
{
    key_begin(out, any, key);
    buf_printf(out, "\"stringValue\":\"0x%" PRIx64 "\"}}", v);
}

/* A number that OTLP's integers do not hold is a text. */
static void unsigned_attribute(struct buf *out, bool *any, const char *key, uint64_t v)
{
    key_begin(out, any, key);
    buf_printf(
        out,
        v <= INT64_MAX ? "\"intValue\":\"%" PRIu64 "\"}}" : "\"stringValue\":\"%" PRIu64 "\"}}", v);
}

static void sequence_attributes(struct buf *out, bool *any, const char *name,
                                const struct skein_arg *arg)
{
    struct buf key = {0};
    for (unsigned i = 0; i < 2; i++) {
        buf_clear(&key);
        buf_printf(&key, "%s", name);
        buf_put(&key, i == 0 ? ".resource" : ".number", i == 0 ? 10 : 8); /* and NUL */
        if (key.status != SKEIN_OK)
            out->status = key.status;
        else if (i == 0)
            hex_attribute(out, any, (const char *)key.data, arg->resource);
        else
            unsigned_attribute(out, any, (const char *)key.data, arg->number);
    }
    buf_fini(&key);
}

/* False: its value is unknown, and it is left out. */
static bool attribute_put(struct buf *out, bool *any, const struct skein_arg_type *type,
                          const char *key, const struct skein_arg *arg)
{
    switch (type->type) {
    case SKEIN_T_U64:
        unsigned_attribute(out, any, key, arg->u64);
        return true;
    case SKEIN_T_I64:
        number_attribute(out, any, key, arg->i64);
        return true;
    case SKEIN_T_F64:
        key_begin(out, any, key);
        buf_printf(out, "\"doubleValue\":");
        export_json_f64(out, arg->f64);
        buf_printf(out, "}}");
        return true;
    case SKEIN_T_BOOL:
        key_begin(out, any, key);
        buf_printf(out, "\"boolValue\":%s}}", arg->u64 != 0 ? "true" : "false");
        return true;
    case SKEIN_T_PTR:
        hex_attribute(out, any, key, arg->u64);
        return true;
    case SKEIN_T_STR:
        text_attribute(out, any, key, arg->text);
        return true;
    case SKEIN_T_SEQ:
        sequence_attributes(out, any, key, arg);
        return true;
    default:
        return false;
    }
}

/* Whether an earlier argument has the name: keys must be unique. */
static bool name_is_taken(const struct skein_event_type *type, unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if (strcmp(type->args[k].name, type->args[i].name) == 0)
            return true;
    return false;
}

static unsigned arguments_put(struct export_run *x, const struct export_row *row, bool *any)
{
    unsigned dropped = 0;
    for (unsigned i = 0; i < row->what->arg_count; i++) {
        const struct skein_arg_type *type = &row->what->args[i];
        bool text = type->type == SKEIN_T_STR;
        if (text && strcmp(type->name, "trace_id") == 0)
            continue;
        if (name_is_taken(row->what, i) ||
            !attribute_put(&x->out, any, type, type->name, &row->args[i]))
            dropped++;
        x->cut_texts += text && row->args[i].cut;
    }
    x->arguments_left += dropped;
    return dropped;
}

/* ---- spans ---- */

static void resource_end(struct export_run *x)
{
    struct otlp *o = x->state;
    if (o->process != SKEIN_NONE)
        buf_printf(&x->out, "\n]}]}");
    o->process = SKEIN_NONE;
}

static void resource_begin(struct export_run *x, const struct export_row *row)
{
    struct otlp *o = x->state;
    const struct skein_process *p = row->of;
    struct buf *out = &x->out;
    bool any = false;
    char id[33];
    for (unsigned i = 0; i < sizeof p->id; i++)
        snprintf(id + (size_t)i * 2, 3, "%02x", p->id[i]);
    buf_printf(out, "%s{\"resource\":{\"attributes\":[", o->any_process ? ",\n" : "");
    text_attribute(out, &any, "service.name", p->service);
    text_attribute(out, &any, "service.instance.id", id);
    text_attribute(out, &any, "host.name", p->host);
    number_attribute(out, &any, "process.pid", p->pid);
    text_attribute(out, &any, "process.executable.path", p->exe);
    text_attribute(out, &any, "skein.labels", p->labels);
    buf_printf(out,
               "],\"droppedAttributesCount\":0},\"scopeSpans\":[{\"scope\":{\"name\":\"skein\","
               "\"version\":\"" SKEIN_VERSION_TEXT "\"},\"spans\":[");
    o->process = row->process;
    o->any_process = true;
    o->any_span = false;
}

static void attributes_put(struct export_run *x, const struct export_row *row)
{
    struct buf *out = &x->out;
    bool any = false;
    buf_printf(out, ",\"attributes\":[");
    unsigned dropped = arguments_put(x, row, &any);
    if (row->on != NULL) {
        number_attribute(out, &any, "thread.id", row->on->tid);
        text_attribute(out, &any, "thread.name", row->on->name);
    }
    if (row->what->file[0] != '\0') {
        text_attribute(out, &any, "code.file.path", row->what->file);
        number_attribute(out, &any, "code.line.number", row->what->line);
    }
    flag_attribute(out, &any, "skein.in_progress", row->kind == SKEIN_ROW_OPEN);
    flag_attribute(out, &any, "skein.begin_clipped", (row->flags & SKEIN_ROW_BEGIN_CLIPPED) != 0);
    flag_attribute(out, &any, "skein.end_clipped", (row->flags & SKEIN_ROW_END_CLIPPED) != 0);
    flag_attribute(out, &any, "skein.fixed_up", (row->flags & SKEIN_ROW_FIXED_UP) != 0);
    buf_printf(out, "],\"droppedAttributesCount\":%u", dropped);
}

/* A result below 0 is an error. */
static void status_put(struct buf *out, const struct export_row *row)
{
    const char *error = NULL;
    for (unsigned i = 0; i < row->what->arg_count && error == NULL; i++)
        if (row->what->args[i].type == SKEIN_T_I64)
            error = trace_error_name(row->what->args[i].unit, row->args[i].i64);
    if (error != NULL)
        buf_printf(out, "{\"code\":2,\"message\":\"%s\"}", error);
    else
        buf_printf(out, "{}");
}

static void span_put(struct export_run *x, const struct export_row *row, const char *trace,
                     uint64_t span, uint64_t parent)
{
    struct otlp *o = x->state;
    struct buf *out = &x->out;
    if (o->process != row->process) {
        resource_end(x);
        resource_begin(x, row);
    }
    buf_printf(out, "%s\n{\"traceId\":\"%s\",\"spanId\":\"%016" PRIx64 "\"", o->any_span ? "," : "",
               trace, span);
    if (parent != 0)
        buf_printf(out, ",\"parentSpanId\":\"%016" PRIx64 "\"", parent);
    buf_printf(out, ",\"name\":");
    export_json_text(out, row->what->name);
    buf_printf(out,
               ",\"kind\":1,\"startTimeUnixNano\":\"%" PRIu64 "\",\"endTimeUnixNano\":\"%" PRIu64
               "\"",
               row->time_ns, row->made_ns);
    attributes_put(x, row);
    buf_printf(out, ",\"droppedEventsCount\":0,\"droppedLinksCount\":0,\"status\":");
    status_put(out, row);
    buf_put_u8(out, '}');
    o->any_span = true;
    o->spans++;
}

static int otlp_row(struct export_run *x, const struct export_row *row)
{
    struct otlp *o = x->state;
    struct otlp_thread *thread;
    struct otlp_range range = {.span = 0};
    char trace[TRACE_ID_LETTERS + 1];
    bool region = row->kind == SKEIN_ROW_REGION || row->kind == SKEIN_ROW_OPEN;
    int status = thread_of(o, row, &thread);
    if (status != SKEIN_OK)
        return status;
    if (row->kind == SKEIN_ROW_BEGIN)
        return range_open(x, thread, row);
    bool known = region && range_close(thread, row, &range);
    if (!region || row->what == NULL || !trace_id_take(row, trace)) {
        x->left[row->kind < EXPORT_ROW_KINDS ? row->kind : 0]++;
        return SKEIN_OK;
    }
    uint64_t span = known && range.span != 0 ? range.span : span_id(x, thread, row);
    span_put(x, row, trace, span, parent_of(thread, row, trace));
    return x->out.status;
}

/* ---- the whole ---- */

static int otlp_begin(struct export_run *x)
{
    struct otlp *o = x->state;
    o->process = SKEIN_NONE;
    buf_printf(&x->out, "{\"resourceSpans\":[\n");
    return x->out.status;
}

static int otlp_end(struct export_run *x)
{
    resource_end(x);
    buf_printf(&x->out, "\n]}\n");
    return x->out.status;
}

static void otlp_fini(struct export_run *x)
{
    struct otlp *o = x->state;
    for (size_t i = 0; i < o->thread_cap; i++)
        free(o->threads[i].open);
    free(o->threads);
}

static void otlp_told(const struct export_run *x, struct buf *line)
{
    const struct otlp *o = x->state;
    export_count_put(line, o->not_followed, "parent that was too deep",
                     "parents that were too deep");
    if (o->spans == 0)
        buf_printf(line, "%sno region names a trace (an argument trace_id of 32 hex digits)",
                   line->len > 0 ? "; " : "");
}

const struct export_kind export_otlp = {
    .state_bytes = sizeof(struct otlp),
    .kinds = (1u << EXPORT_ROW_KINDS) - 2, /* with begins */
    .columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE | SKEIN_COLUMN_ARGS,
    .by_process = true,
    .begin = otlp_begin,
    .row = otlp_row,
    .end = otlp_end,
    .fini = otlp_fini,
    .told = otlp_told,
};
