/* SPDX-License-Identifier: Apache-2.0
 *
 * Chrome's trace JSON, the object form: events as they come, then stack frames and what is known of
 * the whole. Times are microseconds since a full hour, at least a day before the trace, so that a
 * double keeps the nanosecond. Owns the names of types as JSON, and each frame of a stack once.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "export_int.h"

#define HOUR_NS    UINT64_C(3600000000000)
#define FRAMES_MAX 1024
#define OWN_KEYS   "skein." /* of arguments that Skein adds */

enum { PIECE_NAME, PIECE_CATEGORY, PIECE_PLACE, PIECE_KEYS, PIECES = PIECE_KEYS + SKEIN_ARGS_MAX };

/* Pieces of JSON that every event of a type repeats. */
struct chrome_type {
    struct buf text;
    size_t at[PIECES + 1]; /* piece i is text[at[i] .. at[i + 1]) */
};

struct chrome {
    struct chrome_type *types;
    size_t type_cap, type_count;
    struct intern_table stacks; /* number of the frame around it, its name, NUL, its module */
    struct skein_frame frames[FRAMES_MAX];
    struct buf item;
    uint64_t base;
    uint64_t lost[256], unknown[256]; /* by reason */
    bool any;
};

/* ---- names ---- */

static bool key_is_taken(const struct chrome_type *t, unsigned before, const struct buf *key)
{
    for (unsigned i = PIECE_KEYS; i < PIECE_KEYS + before; i++)
        if (t->at[i + 1] - t->at[i] == key->len &&
            memcmp(t->text.data + t->at[i], key->data, key->len) == 0)
            return true;
    return false;
}

/* The argument's name as a key that no other argument of the type has. */
static void key_put(struct chrome_type *t, unsigned i, const char *name, struct buf *key)
{
    bool own = strncmp(name, OWN_KEYS, strlen(OWN_KEYS)) == 0;
    buf_clear(key);
    export_json_text(key, name);
    while (key->status == SKEIN_OK && (own || key_is_taken(t, i, key))) {
        key->len--;
        export_put(key, "#\"");
        own = false;
    }
    if (key->status != SKEIN_OK)
        t->text.status = key->status;
    buf_put(&t->text, key->data, key->len);
}

/* Where the type stands in its program: the format has no place of its own for it. */
static void place_fill(struct buf *text, const struct skein_event_type *type)
{
    if (type->file[0] == '\0')
        return;
    export_put(text, "\"" OWN_KEYS "file\":");
    export_json_text(text, type->file);
    buf_printf(text, ",\"" OWN_KEYS "line\":%" PRIu32, type->line);
}

static void type_fill(struct chrome *c, struct chrome_type *t, const struct export_row *row)
{
    struct export_row ring = *row;
    ring.flags = 0;
    export_json_text(&t->text, row->what->name);
    t->at[PIECE_CATEGORY] = t->text.len;
    export_category(&c->item, &ring);
    if (c->item.status == SKEIN_OK)
        export_json_text(&t->text, (const char *)c->item.data);
    else
        t->text.status = c->item.status;
    t->at[PIECE_PLACE] = t->text.len;
    place_fill(&t->text, row->what);
    for (unsigned i = 0; i < SKEIN_ARGS_MAX; i++) {
        t->at[PIECE_KEYS + i] = t->text.len;
        if (i < row->what->arg_count)
            key_put(t, i, row->what->args[i].name, &c->item);
        t->at[PIECE_KEYS + i + 1] = t->text.len;
    }
    buf_clear(&c->item);
}

static int type_of(struct chrome *c, const struct export_row *row, struct chrome_type **out)
{
    if (!array_grow_zero(c->types, (size_t)row->type + 1, &c->type_cap))
        return SKEIN_NO_MEMORY;
    *out = &c->types[row->type];
    if ((*out)->text.len == 0)
        type_fill(c, *out, row);
    return (*out)->text.status;
}

static void piece_put(struct buf *out, const struct chrome_type *t, unsigned piece)
{
    buf_put(out, t->text.data + t->at[piece], t->at[piece + 1] - t->at[piece]);
}

/* ---- arguments ---- */

static void value_put(struct buf *out, uint8_t type, const struct skein_arg *arg)
{
    switch (type) {
    case SKEIN_T_U64:
        export_json_u64(out, arg->u64);
        break;
    case SKEIN_T_I64:
        export_json_i64(out, arg->i64);
        break;
    case SKEIN_T_F64:
        export_json_f64(out, arg->f64);
        break;
    case SKEIN_T_BOOL:
        buf_printf(out, arg->u64 != 0 ? "true" : "false");
        break;
    case SKEIN_T_PTR:
        buf_printf(out, "\"0x%" PRIx64 "\"", arg->u64);
        break;
    case SKEIN_T_STR:
        export_json_text(out, arg->text);
        break;
    case SKEIN_T_SEQ:
        buf_printf(out, "{\"resource\":\"0x%" PRIx64 "\",\"number\":", arg->resource);
        export_json_u64(out, arg->number);
        buf_put_u8(out, '}');
        break;
    default:
        export_put(out, "null");
    }
}

static void comma_put(struct buf *out, size_t begin)
{
    if (out->len > begin)
        buf_put_u8(out, ',');
}

static void cut_put(struct buf *out, const struct chrome_type *t, const struct export_row *row,
                    size_t begin)
{
    bool any = false;
    for (unsigned i = 0; i < row->what->arg_count; i++) {
        if (row->what->args[i].type != SKEIN_T_STR || !row->args[i].cut)
            continue;
        if (!any)
            comma_put(out, begin);
        buf_printf(out, any ? "," : "\"" OWN_KEYS "cut\":[");
        piece_put(out, t, PIECE_KEYS + i);
        any = true;
    }
    if (any)
        buf_put_u8(out, ']');
}

static void flag_put(struct buf *out, bool holds, const char *name, size_t begin)
{
    if (!holds)
        return;
    comma_put(out, begin);
    buf_printf(out, "\"" OWN_KEYS "%s\":true", name);
}

/* The values of a counter: numbers all of them, as they are drawn. */
static void curves_put(struct export_run *x, const struct chrome_type *t,
                       const struct export_row *row)
{
    struct buf *out = &x->out;
    uint32_t id = export_counter_id(row);
    if (id != 0)
        buf_printf(out, ",\"id\":\"%u\"", id);
    export_put(out, ",\"args\":{");
    size_t begin = out->len;
    for (unsigned i = 0; i < row->what->arg_count; i++) {
        uint8_t type = row->what->args[i].type;
        if (!export_is_curve(&row->what->args[i], &row->args[i])) {
            x->arguments_left++;
            continue;
        }
        comma_put(out, begin);
        piece_put(out, t, PIECE_KEYS + i);
        buf_put_u8(out, ':');
        if (type == SKEIN_T_F64)
            export_json_f64(out, row->args[i].f64);
        else
            buf_printf(out, type == SKEIN_T_U64 ? "%" PRIu64 : "%" PRId64, row->args[i].u64);
    }
    buf_put_u8(out, '}');
}

/* What is known of the row besides its arguments. */
static void marks_put(struct export_run *x, const struct export_row *row, size_t begin)
{
    struct buf *out = &x->out;
    flag_put(out, (row->flags & SKEIN_ROW_FIXED_UP) != 0, "fixed_up", begin);
    flag_put(out, (row->flags & SKEIN_ROW_BEGIN_CLIPPED) != 0, "begin_clipped", begin);
    flag_put(out, (row->flags & SKEIN_ROW_END_CLIPPED) != 0, "end_clipped", begin);
    flag_put(out, row->kind == SKEIN_ROW_END_ONLY, "begin_lost", begin);
    if (row->kind == SKEIN_ROW_OPEN) {
        comma_put(out, begin);
        buf_printf(out, "\"" OWN_KEYS "open_ns\":");
        export_json_u64(out, row->dur_ns);
    }
    if (row->more != NULL && row->more->has_detail) {
        comma_put(out, begin);
        buf_printf(out, "\"" OWN_KEYS "detail\":");
        export_json_i64(out, row->more->detail);
    }
}

static void arguments_put(struct export_run *x, const struct chrome_type *t,
                          const struct export_row *row)
{
    struct buf *out = &x->out;
    bool has = export_has_args(row);
    export_put(out, ",\"args\":{");
    size_t begin = out->len;
    for (unsigned i = 0; has && i < row->what->arg_count; i++) {
        comma_put(out, begin);
        piece_put(out, t, PIECE_KEYS + i);
        buf_put_u8(out, ':');
        value_put(out, row->what->args[i].type, &row->args[i]);
    }
    if (has)
        cut_put(out, t, row, begin);
    marks_put(x, row, begin);
    if (row->what->file[0] != '\0') {
        comma_put(out, begin);
        piece_put(out, t, PIECE_PLACE);
    }
    buf_put_u8(out, '}');
}

/* ---- stacks ---- */

/* The number of a frame called `name` inside of frame `parent`, from 1. */
static int64_t frame_intern(struct chrome *c, uint32_t parent, const char *module)
{
    bool fresh;
    struct buf key = {0};
    buf_put_u32(&key, parent);
    buf_put(&key, c->item.data, c->item.len);
    buf_put_u8(&key, 0);
    buf_put(&key, module, strlen(module));
    int64_t at = key.status != SKEIN_OK ? key.status
                                        : intern_table_put(&c->stacks, key.data, key.len, &fresh);
    buf_fini(&key);
    return at < 0 ? at : at + 1;
}

static int stack_put(struct export_run *x, const struct export_row *row)
{
    struct chrome *c = x->state;
    bool whole;
    int64_t at = 0;
    size_t count = export_stack(x, row, c->frames, FRAMES_MAX, &whole);
    if (count > 0 && !whole) {
        buf_clear(&c->item);
        export_put(&c->item, "...");
        at = frame_intern(c, 0, "");
    }
    for (size_t i = count; i > 0 && at >= 0; i--) {
        buf_clear(&c->item);
        export_frame_put(&c->item, &c->frames[i - 1]);
        at = c->item.status != SKEIN_OK ? c->item.status
                                        : frame_intern(c, (uint32_t)at, c->frames[i - 1].module);
    }
    if (at > 0)
        buf_printf(&x->out, ",\"sf\":%" PRId64, at);
    return at < 0 ? (int)at : SKEIN_OK;
}

/* ---- events ---- */

static int event_begin(struct export_run *x, const struct export_row *row, const char *phase)
{
    struct chrome *c = x->state;
    uint32_t pid, tid;
    bool fresh;
    int status = export_pid(x, row->process, &pid, &fresh);
    tid = pid;
    if (status == SKEIN_OK && row->thread != SKEIN_NONE)
        status = export_tid(x, row->thread, &tid, &fresh);
    if (status == SKEIN_OK && row->lane != 0)
        status = export_lane_tid(x, row, &tid, &fresh);
    if (status != SKEIN_OK)
        return status;
    struct buf *out = &x->out;
    export_put(out, c->any ? ",\n{\"ph\":\"" : "{\"ph\":\"");
    export_put(out, phase);
    export_put(out, "\",\"pid\":");
    export_json_digits(out, pid);
    export_put(out, ",\"tid\":");
    export_json_digits(out, tid);
    export_put(out, ",\"ts\":");
    export_json_us(&x->out, row->time_ns, c->base);
    c->any = true;
    return SKEIN_OK;
}

static const char *scope_of(const struct export_row *row)
{
    return row->thread == SKEIN_NONE ? "p" : "t";
}

static int loss_put(struct export_run *x, const struct export_row *row)
{
    struct chrome *c = x->state;
    uint8_t reason = row->more != NULL ? row->more->loss_reason : 0;
    uint64_t lost = row->more != NULL ? row->more->lost : 0;
    int status = event_begin(x, row, "i");
    if (status != SKEIN_OK)
        return status;
    buf_printf(&x->out,
               ",\"s\":\"%s\",\"name\":\"records lost\",\"cat\":\"skein\",\"args\":{\"reason\":",
               scope_of(row));
    export_json_text(&x->out, skein_loss_text(reason));
    export_put(&x->out, ",\"records\":");
    if (lost > 0)
        export_json_u64(&x->out, lost);
    else
        export_put(&x->out, "\"unknown\"");
    export_put(&x->out, ",\"ns\":");
    export_json_u64(&x->out, row->dur_ns);
    export_put(&x->out, "}}");
    c->lost[reason] += lost;
    c->unknown[reason] += lost == 0;
    return SKEIN_OK;
}

static const char *phase_of(const struct export_row *row)
{
    switch (row->kind) {
    case SKEIN_ROW_REGION:
        return "X";
    case SKEIN_ROW_OPEN:
        return "B"; /* and no E: it has not ended */
    case SKEIN_ROW_COUNTER:
        return "C";
    default:
        return export_row_is_sample(row) ? "P" : "i";
    }
}

/* An end without its begin whose type is unknown, too. */
static int end_put(struct export_run *x, const struct export_row *row)
{
    int status = event_begin(x, row, "i");
    buf_printf(&x->out,
               ",\"s\":\"%s\",\"name\":\"unknown\",\"cat\":\"skein\",\"args\":{\"" OWN_KEYS
               "begin_lost\":true}}",
               scope_of(row));
    return status;
}

static int chrome_row(struct export_run *x, const struct export_row *row)
{
    struct chrome *c = x->state;
    struct chrome_type *t;
    const char *phase = phase_of(row);
    if (row->kind == SKEIN_ROW_LOSS)
        return loss_put(x, row);
    if (row->what == NULL)
        return end_put(x, row);
    int status = type_of(c, row, &t);
    if (status == SKEIN_OK)
        status = event_begin(x, row, phase);
    if (status != SKEIN_OK)
        return status;
    if (phase[0] == 'X') {
        export_put(&x->out, ",\"dur\":");
        export_json_us(&x->out, row->dur_ns, 0);
    } else if (phase[0] == 'i') {
        buf_printf(&x->out, ",\"s\":\"%s\"", scope_of(row));
    }
    export_put(&x->out, ",\"name\":");
    piece_put(&x->out, t, PIECE_NAME);
    export_put(&x->out, ",\"cat\":");
    if ((row->flags & SKEIN_ROW_EVIDENCE) != 0)
        export_put(&x->out, "\"evidence\"");
    else
        piece_put(&x->out, t, PIECE_CATEGORY);
    if (phase[0] == 'C')
        curves_put(x, t, row);
    else
        arguments_put(x, t, row);
    status = stack_put(x, row);
    buf_put_u8(&x->out, '}');
    return status;
}

/* ---- the whole ---- */

static int chrome_begin(struct export_run *x)
{
    struct chrome *c = x->state;
    uint64_t from, to;
    skein_trace_bounds(x->trace, &from, &to);
    from -= from % HOUR_NS;
    c->base = from > 24 * HOUR_NS ? from - 24 * HOUR_NS : 0;
    export_put(&x->out, "{\"traceEvents\":[\n");
    return SKEIN_OK;
}

static void metadata_begin(struct export_run *x, const char *what, uint32_t pid, uint32_t tid)
{
    struct chrome *c = x->state;
    buf_printf(&x->out, "%s{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{",
               c->any ? ",\n" : "", pid, tid, what);
    c->any = true;
}

static void text_member(struct export_run *x, const char *key, struct buf *text)
{
    buf_printf(&x->out, "\"%s\":", key);
    buf_put_u8(text, 0);
    if (text->status == SKEIN_OK)
        export_json_text(&x->out, (const char *)text->data);
    else
        x->out.status = text->status;
}

/* Names stand behind the events: by then they are the last ones known. */
static void names_put(struct export_run *x)
{
    struct chrome *c = x->state;
    for (uint32_t i = 0; i < x->numbers.pid_cap; i++) {
        if (x->numbers.pids[i] == 0)
            continue;
        const struct skein_process *process = skein_trace_process(x->trace, i);
        metadata_begin(x, "process_name", x->numbers.pids[i], 0);
        buf_clear(&c->item);
        export_process_name(&c->item, process);
        text_member(x, "name", &c->item);
        export_put(&x->out, "}}");
        metadata_begin(x, "process_labels", x->numbers.pids[i], 0);
        export_put(&x->out, "\"labels\":");
        export_json_text(&x->out, process->labels);
        export_put(&x->out, "}}");
    }
    for (uint32_t i = 0; i < x->numbers.tid_cap; i++) {
        if (x->numbers.tids[i] == 0)
            continue;
        const struct skein_thread *thread = skein_trace_thread(x->trace, i);
        metadata_begin(x, "thread_name", x->numbers.pids[thread->process], x->numbers.tids[i]);
        buf_clear(&c->item);
        export_thread_name(&c->item, thread);
        text_member(x, "name", &c->item);
        buf_printf(&x->out, ",\"" OWN_KEYS "tid\":%u}}", thread->tid);
    }
    struct export_lane lane;
    for (size_t i = 0; export_lane_made(x, i, &lane); i++) {
        metadata_begin(x, "thread_name", x->numbers.pids[lane.process], lane.tid);
        buf_clear(&c->item);
        export_lane_name(x, &lane, &c->item);
        text_member(x, "name", &c->item);
        if (lane.thread != SKEIN_NONE)
            buf_printf(&x->out, ",\"" OWN_KEYS "tid\":%u",
                       skein_trace_thread(x->trace, lane.thread)->tid);
        export_put(&x->out, "}}");
    }
}

static void frames_put(struct export_run *x)
{
    struct chrome *c = x->state;
    export_put(&x->out, "],\n\"stackFrames\":{");
    for (size_t i = 0; i < c->stacks.count; i++) {
        uint32_t parent;
        const char *bytes = (const char *)intern_table_bytes(&c->stacks, i);
        const char *name = bytes + sizeof parent, *module = name + strlen(name) + 1;
        size_t n = c->stacks.entries[i].len - (size_t)(module - bytes);
        struct cursor number;
        cursor_init(&number, bytes, sizeof parent);
        parent = cursor_u32(&number);
        buf_printf(&x->out, "%s\n\"%zu\":{\"name\":", i > 0 ? "," : "", i + 1);
        export_json_text(&x->out, name);
        buf_clear(&c->item);
        buf_put(&c->item, module, n);
        buf_put_u8(&x->out, ',');
        text_member(x, "category", &c->item);
        if (parent != 0)
            buf_printf(&x->out, ",\"parent\":%u", parent);
        buf_put_u8(&x->out, '}');
    }
    export_put(&x->out, "},\n");
}

static void loss_counts_put(struct export_run *x, const char *key, const uint64_t *counts)
{
    bool any = false;
    buf_printf(&x->out, ",\n\"%s\":{", key);
    for (unsigned i = 0; i < 256; i++) {
        if (counts[i] == 0)
            continue;
        /* Those of the future are told apart by number. */
        if (strcmp(skein_loss_text((uint8_t)i), "unknown") == 0)
            buf_printf(&x->out, "%s\"unknown %u\":", any ? "," : "", i);
        else
            buf_printf(&x->out, "%s\"%s\":", any ? "," : "", skein_loss_text((uint8_t)i));
        export_json_u64(&x->out, counts[i]);
        any = true;
    }
    buf_put_u8(&x->out, '}');
}

static void processes_put(struct export_run *x)
{
    bool any = false;
    export_put(&x->out, ",\n\"processes\":[");
    for (uint32_t i = 0; i < x->numbers.pid_cap; i++) {
        if (x->numbers.pids[i] == 0)
            continue;
        const struct skein_process *process = skein_trace_process(x->trace, i);
        buf_printf(&x->out, "%s\n{\"pid\":%u,\"shown_as\":%u,\"process\":\"", any ? "," : "",
                   process->pid, x->numbers.pids[i]);
        for (unsigned k = 0; k < sizeof process->id; k++)
            buf_printf(&x->out, "%02x", process->id[k]);
        export_put(&x->out, "\",\"host\":");
        export_json_text(&x->out, process->host);
        export_put(&x->out, ",\"service\":");
        export_json_text(&x->out, process->service);
        export_put(&x->out, ",\"exe\":");
        export_json_text(&x->out, process->exe);
        buf_put_u8(&x->out, '}');
        any = true;
    }
    buf_put_u8(&x->out, ']');
}

static int chrome_end(struct export_run *x)
{
    struct chrome *c = x->state;
    char base[CLOCK_TEXT_BYTES];
    const struct skein_gap *gaps;
    size_t count = export_gaps(x, &gaps);
    names_put(x);
    frames_put(x);
    clock_text(c->base, base);
    buf_printf(&x->out,
               "\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"tool\":\"skein " SKEIN_VERSION_TEXT
               "\",\n\"clock\":\"UTC of the collector\",\n\"ts_0\":\"%s\",\n\"ts_0_ns\":\"%" PRIu64
               "\",\n\"fixed_up\":%" PRIu64 ",\n\"unordered\":%" PRIu64,
               base, c->base, skein_cursor_fixed_up(x->cursor), skein_cursor_unordered(x->cursor));
    loss_counts_put(x, "lost_records", c->lost);
    loss_counts_put(x, "losses_of_unknown_size", c->unknown);
    export_put(&x->out, ",\n\"gaps\":[");
    for (size_t i = 0; i < count; i++) {
        buf_printf(&x->out, i > 0 ? ",\n" : "\n");
        export_json_text(&x->out, gaps[i].what);
    }
    buf_put_u8(&x->out, ']');
    processes_put(x);
    export_put(&x->out, "}}\n");
    return x->out.status;
}

static void chrome_fini(struct export_run *x)
{
    struct chrome *c = x->state;
    for (size_t i = 0; i < c->type_cap; i++)
        buf_fini(&c->types[i].text);
    free(c->types);
    intern_table_fini(&c->stacks);
    buf_fini(&c->item);
}

const struct export_kind export_chrome = {
    .state_bytes = sizeof(struct chrome),
    .columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE | SKEIN_COLUMN_STACK | SKEIN_COLUMN_ARGS,
    .nests = true,
    .begin = chrome_begin,
    .row = chrome_row,
    .end = chrome_end,
    .fini = chrome_fini,
};
