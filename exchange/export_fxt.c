/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuchsia's trace format, as an archive of one provider. Ticks are nanoseconds of the collector's
 * UTC. A thread's id is its process's number + 1 and its tid, 32 bits each: readers with ids of 32
 * bits then have the tid. Owns the tables of strings and threads that records refer to, and of each
 * thread when it last left a CPU, until it is known why.
 */
#include <stdlib.h>
#include <string.h>

#include "export_fxt_int.h"

#define STRINGS_OF_A_ROW 64 /* more than one row registers */

/* ---- references ---- */

void fxt_words_pad(struct buf *out)
{
    while (out->len % 8 != 0 && out->status == SKEIN_OK)
        buf_put_u8(out, 0);
}

/* The text as readers may have it, until the next call. */
static const struct buf *whole_text(struct export_run *x, const char *text, size_t n)
{
    struct fxt *f = x->state;
    buf_clear(&f->text);
    export_utf8_put(&f->text, text, n);
    export_needs(x, &f->text);
    return &f->text;
}

uint16_t fxt_string(struct export_run *x, const char *text)
{
    struct fxt *f = x->state;
    bool fresh;
    const struct buf *whole = whole_text(x, text, strlen(text));
    if (whole->len == 0 || whole->status != SKEIN_OK)
        return 0;
    int64_t at = intern_table_put(&f->strings, whole->data, whole->len, &fresh);
    if (at < 0)
        x->out.status = (int)at;
    if (at < 0 || at + 1 > FXT_STRINGS_MAX)
        return 0;
    if (fresh) {
        size_t words = 1 + (whole->len + 7) / 8;
        buf_put_u64(&x->out, FXT_STRING | words << 4 | (uint64_t)(at + 1) << 16 |
                                 (uint64_t)whole->len << 32);
        buf_put(&x->out, whole->data, whole->len);
        fxt_words_pad(&x->out);
    }
    return (uint16_t)(at + 1);
}

static uint64_t thread_koid(uint32_t process, uint32_t tid)
{
    return (uint64_t)(process + 1) << 32 | tid;
}

/* ---- names of processes and threads ---- */

static void kernel_object_put(struct export_run *x, unsigned kind, uint64_t koid,
                              const struct buf *name, uint64_t process)
{
    struct fxt *f = x->state;
    export_needs(x, name);
    size_t n = name->len < FXT_NAME_MAX ? name->len : FXT_NAME_MAX;
    size_t words = 2 + (n + 7) / 8 + (kind == FXT_OBJECT_THREAD ? 2 : 0);
    uint64_t args = kind == FXT_OBJECT_THREAD;
    uint16_t key = fxt_string(x, "process");
    buf_put_u64(&x->out, FXT_KERNEL_OBJECT | words << 4 | (uint64_t)kind << 16 |
                             (uint64_t)(n > 0 ? 0x8000 | n : 0) << 24 | args << 40);
    buf_put_u64(&x->out, koid);
    buf_put(&x->out, name->data, n);
    fxt_words_pad(&x->out);
    if (args > 0) {
        buf_put_u64(&x->out, FXT_ARG_KOID | 2 << 4 | (uint64_t)key << 16);
        buf_put_u64(&x->out, process);
    }
    buf_clear(&f->name);
}

int fxt_thread_name(struct export_run *x, uint64_t koid, uint64_t process, const char *text)
{
    struct fxt *f = x->state;
    bool fresh;
    int64_t at = intern_table_put(&f->described, &koid, sizeof koid, &fresh);
    if (at < 0 || !fresh)
        return at < 0 ? (int)at : SKEIN_OK;
    buf_clear(&f->name);
    export_utf8_put(&f->name, text, strlen(text));
    kernel_object_put(x, FXT_OBJECT_THREAD, koid, &f->name, process);
    return SKEIN_OK;
}

static void process_describe(struct export_run *x, uint32_t process, uint32_t pid)
{
    struct fxt *f = x->state;
    buf_clear(&f->name);
    export_process_name(&f->name, skein_trace_process(x->trace, process));
    kernel_object_put(x, FXT_OBJECT_PROCESS, pid, &f->name, 0);
}

static void thread_describe(struct export_run *x, uint32_t thread, uint32_t pid, uint32_t tid)
{
    struct fxt *f = x->state;
    const struct skein_thread *one = skein_trace_thread(x->trace, thread);
    buf_clear(&f->name);
    export_thread_name(&f->name, one);
    kernel_object_put(x, FXT_OBJECT_THREAD, thread_koid(one->process, tid), &f->name, pid);
}

static void lane_describe(struct export_run *x, const struct export_lane *lane, uint32_t pid)
{
    struct fxt *f = x->state;
    buf_clear(&f->name);
    export_lane_name(x, lane, &f->name);
    kernel_object_put(x, FXT_OBJECT_THREAD, thread_koid(lane->process, lane->tid), &f->name, pid);
}

int fxt_place(struct export_run *x, const struct export_row *row, struct fxt_place *place)
{
    uint32_t pid, tid;
    bool fresh;
    int status = export_pid(x, row->process, &pid, &fresh);
    if (status != SKEIN_OK)
        return status;
    if (fresh)
        process_describe(x, row->process, pid);
    tid = pid;
    if (row->thread == SKEIN_NONE) {
        status = fxt_thread_name(x, thread_koid(row->process, pid), pid, "process");
    } else {
        status = export_tid(x, row->thread, &tid, &fresh);
        if (status == SKEIN_OK && fresh)
            thread_describe(x, row->thread, pid, tid);
    }
    if (status == SKEIN_OK && row->lane != 0) {
        status = export_lane_tid(x, row, &tid, &fresh);
        if (status == SKEIN_OK && fresh)
            lane_describe(x, &(struct export_lane){row->process, row->thread, row->lane, tid}, pid);
    }
    *place = (struct fxt_place){pid, thread_koid(row->process, tid)};
    return status;
}

/* The number of a thread in the table; what stood at its place is replaced. */
static uint8_t thread_ref(struct export_run *x, const struct fxt_place *place)
{
    struct fxt *f = x->state;
    unsigned at = 1 + (unsigned)((place->thread ^ place->thread >> 32) % 255);
    if (f->threads[at].thread != place->thread) {
        f->threads[at] = *place;
        buf_put_u64(&x->out, FXT_THREAD | 3 << 4 | (uint64_t)at << 16);
        buf_put_u64(&x->out, place->process);
        buf_put_u64(&x->out, place->thread);
    }
    return (uint8_t)at;
}

/* ---- arguments ---- */

static void arg_head(struct fxt *f, unsigned type, size_t words, uint16_t name, uint64_t high)
{
    buf_put_u64(&f->args, type | words << 4 | (uint64_t)name << 16 | high << 32);
    f->arg_count++;
}

void fxt_arg_text(struct export_run *x, const char *name, const char *text, size_t n)
{
    struct fxt *f = x->state;
    uint16_t key = fxt_string(x, name);
    const struct buf *whole = whole_text(x, text, n);
    size_t len = whole->len < FXT_VALUE_MAX ? whole->len : FXT_VALUE_MAX;
    arg_head(f, FXT_ARG_STRING, 1 + (len + 7) / 8, key, len > 0 ? 0x8000 | len : 0);
    buf_put(&f->args, whole->data, len);
    fxt_words_pad(&f->args);
}

void fxt_arg_u64(struct export_run *x, const char *name, unsigned type, uint64_t v)
{
    struct fxt *f = x->state;
    uint16_t key = fxt_string(x, name);
    if (type == FXT_ARG_U64 && v <= UINT32_MAX) {
        arg_head(f, FXT_ARG_U32, 1, key, v);
        return;
    }
    arg_head(f, type, 2, key, 0);
    buf_put_u64(&f->args, v);
}

static void arg_i64(struct export_run *x, const char *name, int64_t v)
{
    struct fxt *f = x->state;
    if (v >= INT32_MIN && v <= INT32_MAX)
        arg_head(f, FXT_ARG_I32, 1, fxt_string(x, name), (uint32_t)(int32_t)v);
    else
        fxt_arg_u64(x, name, FXT_ARG_I64, (uint64_t)v);
}

/* A sequence as two: its resource and its number. */
static void arg_sequence(struct export_run *x, const char *name, const struct skein_arg *arg)
{
    struct fxt *f = x->state;
    for (unsigned i = 0; i < 2; i++) {
        buf_clear(&f->name);
        buf_printf(&f->name, "%s", name);
        buf_put(&f->name, i == 0 ? ".resource" : ".number", i == 0 ? 10 : 8); /* and NUL */
        export_needs(x, &f->name);
        const char *whole = f->name.status == SKEIN_OK ? (const char *)f->name.data : "";
        fxt_arg_u64(x, whole, i == 0 ? FXT_ARG_POINTER : FXT_ARG_U64,
                    i == 0 ? arg->resource : arg->number);
    }
}

static void argument_put(struct export_run *x, const struct skein_arg_type *type,
                         const struct skein_arg *arg)
{
    struct fxt *f = x->state;
    switch (type->type) {
    case SKEIN_T_U64:
        fxt_arg_u64(x, type->name, FXT_ARG_U64, arg->u64);
        break;
    case SKEIN_T_I64:
        arg_i64(x, type->name, arg->i64);
        break;
    case SKEIN_T_F64:
        arg_head(f, FXT_ARG_F64, 2, fxt_string(x, type->name), 0);
        buf_put_f64(&f->args, arg->f64);
        break;
    case SKEIN_T_BOOL:
        arg_head(f, FXT_ARG_BOOL, 1, fxt_string(x, type->name), arg->u64 != 0);
        break;
    case SKEIN_T_PTR:
        fxt_arg_u64(x, type->name, FXT_ARG_POINTER, arg->u64);
        break;
    case SKEIN_T_STR:
        fxt_arg_text(x, type->name, arg->text, arg->len);
        x->cut_texts += arg->cut;
        break;
    case SKEIN_T_SEQ:
        arg_sequence(x, type->name, arg);
        break;
    default:
        arg_head(f, FXT_ARG_NULL, 1, fxt_string(x, type->name), 0);
    }
}

static void stack_put(struct export_run *x, const struct export_row *row)
{
    struct fxt *f = x->state;
    bool whole;
    size_t most = sizeof f->frames / sizeof f->frames[0];
    size_t count = export_stack(x, row, f->frames, most, &whole);
    if (count == 0)
        return;
    buf_clear(&f->stack);
    for (size_t i = 0; i < count && f->stack.len < FXT_VALUE_MAX / 2; i++) {
        buf_printf(&f->stack, "%s", i > 0 ? "\n" : "");
        export_frame_put(&f->stack, &f->frames[i]);
        whole = whole && (i + 1 == count || f->stack.len < FXT_VALUE_MAX / 2);
    }
    if (!whole)
        buf_printf(&f->stack, "\n...");
    export_needs(x, &f->stack);
    if (f->stack.status == SKEIN_OK)
        fxt_arg_text(x, "skein.stack", (const char *)f->stack.data, f->stack.len);
}

static const char *state_of(const struct export_row *row)
{
    bool begin = (row->flags & SKEIN_ROW_BEGIN_CLIPPED) != 0;
    bool end = (row->flags & SKEIN_ROW_END_CLIPPED) != 0;
    if (row->kind == SKEIN_ROW_OPEN)
        return "in progress";
    if (row->kind == SKEIN_ROW_END_ONLY)
        return "its begin is lost";
    if (begin && end)
        return "began earlier and ended later";
    return begin ? "began earlier" : end ? "ended later" : NULL;
}

static void arguments_put(struct export_run *x, const struct export_row *row)
{
    const char *state = state_of(row);
    unsigned count = row->what != NULL && export_has_args(row) ? row->what->arg_count : 0;
    for (unsigned i = 0; i < count; i++) {
        if (row->kind != SKEIN_ROW_COUNTER || export_is_curve(&row->what->args[i], &row->args[i]))
            argument_put(x, &row->what->args[i], &row->args[i]);
        else
            x->arguments_left++;
    }
    if (row->kind == SKEIN_ROW_COUNTER)
        return;
    if (row->more != NULL && row->more->has_detail)
        arg_i64(x, "skein.detail", row->more->detail);
    if (state != NULL)
        fxt_arg_text(x, "skein.state", state, strlen(state));
    stack_put(x, row);
}

/* ---- records ---- */

static unsigned event_of(const struct export_row *row)
{
    switch (row->kind) {
    case SKEIN_ROW_REGION:
    case SKEIN_ROW_OPEN:
        return FXT_EVENT_COMPLETE;
    case SKEIN_ROW_COUNTER:
        return FXT_EVENT_COUNTER;
    default:
        return FXT_EVENT_INSTANT;
    }
}

static void event_put(struct export_run *x, const struct export_row *row,
                      const struct fxt_place *place, const char *name)
{
    struct fxt *f = x->state;
    unsigned event = event_of(row);
    bool tail = event != FXT_EVENT_INSTANT;
    export_category(&f->name, row);
    export_needs(x, &f->name);
    uint16_t cat = fxt_string(x, f->name.status == SKEIN_OK ? (const char *)f->name.data : "");
    uint16_t title = fxt_string(x, name);
    uint8_t thread = thread_ref(x, place);
    size_t words = 2 + f->args.len / 8 + tail;
    if (words > FXT_WORDS_MAX) { /* names and texts that are hostile by their length */
        x->arguments_left += f->arg_count;
        buf_clear(&f->args);
        f->arg_count = 0;
        words = 2 + tail;
    }
    buf_put_u64(&x->out, FXT_EVENT | words << 4 | (uint64_t)event << 16 |
                             (uint64_t)f->arg_count << 20 | (uint64_t)thread << 24 |
                             (uint64_t)cat << 32 | (uint64_t)title << 48);
    buf_put_u64(&x->out, row->time_ns);
    buf_put(&x->out, f->args.data, f->args.len);
    if (tail)
        buf_put_u64(&x->out, event == FXT_EVENT_COMPLETE ? row->made_ns : export_counter_id(row));
}

static void log_put(struct export_run *x, const struct export_row *row,
                    const struct fxt_place *place)
{
    const struct skein_event_type *type = row->what;
    if (type == NULL || type->arg_count < 2 || type->args[1].type != SKEIN_T_STR)
        return;
    uint8_t thread = thread_ref(x, place);
    const struct buf *whole = whole_text(x, row->args[1].text, row->args[1].len);
    size_t n = whole->len < FXT_VALUE_MAX ? whole->len : FXT_VALUE_MAX;
    size_t words = 2 + (n + 7) / 8;
    buf_put_u64(&x->out, FXT_LOG | words << 4 | (uint64_t)n << 16 | (uint64_t)thread << 32);
    buf_put_u64(&x->out, row->time_ns);
    buf_put(&x->out, whole->data, n);
    fxt_words_pad(&x->out);
}

static void loss_put(struct export_run *x, const struct export_row *row)
{
    const char *reason = skein_loss_text(row->more != NULL ? row->more->loss_reason : 0);
    buf_put_u64(&x->out, FXT_METADATA | 1 << 4 | (uint64_t)FXT_PROVIDER_EVENT << 16 |
                             (uint64_t)FXT_PROVIDER << 20); /* event 0: records were dropped */
    fxt_arg_text(x, "reason", reason, strlen(reason));
    fxt_arg_u64(x, "records", FXT_ARG_U64, row->more != NULL ? row->more->lost : 0);
    fxt_arg_u64(x, "ns", FXT_ARG_U64, row->dur_ns);
}

static int fxt_row(struct export_run *x, const struct export_row *row)
{
    struct fxt *f = x->state;
    struct fxt_place place;
    const char *name = row->what != NULL ? row->what->name : "unknown";
    if (f->strings.count > FXT_STRINGS_MAX - STRINGS_OF_A_ROW)
        intern_table_fini(&f->strings); /* and over: a registration replaces the one before */
    int status = fxt_place(x, row, &place);
    if (status != SKEIN_OK)
        return status;
    buf_clear(&f->args);
    f->arg_count = 0;
    if (row->kind == SKEIN_ROW_LOSS) {
        loss_put(x, row);
        name = "records lost";
    } else {
        arguments_put(x, row);
    }
    if (row->kind == SKEIN_ROW_LOG)
        log_put(x, row, &place);
    event_put(x, row, &place, name);
    status = f->args.status != SKEIN_OK ? f->args.status : x->out.status;
    if (status == SKEIN_OK && (row->flags & SKEIN_ROW_EVIDENCE) != 0)
        status = fxt_sched_row(x, row);
    return status;
}

/* ---- the whole ---- */

static int fxt_begin(struct export_run *x)
{
    buf_put_u64(&x->out, FXT_MAGIC);
    buf_put_u64(&x->out, FXT_METADATA | 2 << 4 | (uint64_t)FXT_PROVIDER_INFO << 16 |
                             (uint64_t)FXT_PROVIDER << 20 | (uint64_t)5 << 52);
    buf_put(&x->out, "skein\0\0\0", 8);
    buf_put_u64(&x->out, FXT_INITIALIZATION | 2 << 4);
    buf_put_u64(&x->out, UINT64_C(1000000000)); /* ticks a second */
    return x->out.status;
}

static int fxt_end(struct export_run *x)
{
    int status = fxt_sched_end(x);
    /* Once more, with the last names known. */
    for (uint32_t i = 0; i < x->numbers.tid_cap && status == SKEIN_OK; i++)
        if (x->numbers.tids[i] != 0)
            thread_describe(x, i, x->numbers.pids[skein_trace_thread(x->trace, i)->process],
                            x->numbers.tids[i]);
    struct export_lane lane;
    for (size_t i = 0; status == SKEIN_OK && export_lane_made(x, i, &lane); i++)
        lane_describe(x, &lane, x->numbers.pids[lane.process]);
    return status;
}

static void fxt_fini(struct export_run *x)
{
    struct fxt *f = x->state;
    intern_table_fini(&f->strings);
    intern_table_fini(&f->described);
    free(f->leaving);
    buf_fini(&f->args);
    buf_fini(&f->text);
    buf_fini(&f->name);
    buf_fini(&f->stack);
}

const struct export_kind export_fxt = {
    .state_bytes = sizeof(struct fxt),
    .columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE | SKEIN_COLUMN_STACK | SKEIN_COLUMN_ARGS,
    .nests = true,
    .begin = fxt_begin,
    .row = fxt_row,
    .end = fxt_end,
    .fini = fxt_fini,
};
