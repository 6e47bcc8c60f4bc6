/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and texts of an export that all formats need. Every text of a trace is hostile. No state of
 * its own.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "array.h"
#include "event_groups.h"
#include "export_int.h"
#include "utf8_scan.h"

/* Whether nobody has had the number in this space; a status below 0 without memory. */
static int number_claim(struct export_run *x, uint64_t space, uint32_t number)
{
    uint64_t key[2] = {space, number};
    bool fresh = false;
    int64_t at = intern_table_put(&x->numbers.taken, key, sizeof key, &fresh);
    return at < 0 ? (int)at : fresh;
}

static int number_give(struct export_run *x, uint64_t space, uint32_t wanted, uint32_t otherwise,
                       uint32_t *number)
{
    int claimed = 0;
    if (wanted > 0 && wanted < EXPORT_MADE_UP)
        claimed = number_claim(x, space, wanted);
    *number = claimed == 1 ? wanted : EXPORT_MADE_UP + otherwise;
    return claimed < 0 ? claimed : SKEIN_OK;
}

int export_pid(struct export_run *x, uint32_t process, uint32_t *pid, bool *fresh)
{
    int status = SKEIN_OK;
    if (!array_grow_zero(x->numbers.pids, (size_t)process + 1, &x->numbers.pid_cap))
        return SKEIN_NO_MEMORY;
    uint32_t *mine = &x->numbers.pids[process];
    *fresh = *mine == 0;
    if (*fresh)
        status =
            number_give(x, UINT64_MAX, skein_trace_process(x->trace, process)->pid, process, mine);
    *pid = *mine;
    return status;
}

int export_tid(struct export_run *x, uint32_t thread, uint32_t *tid, bool *fresh)
{
    int status = SKEIN_OK;
    if (!array_grow_zero(x->numbers.tids, (size_t)thread + 1, &x->numbers.tid_cap))
        return SKEIN_NO_MEMORY;
    uint32_t *mine = &x->numbers.tids[thread];
    const struct skein_thread *one = skein_trace_thread(x->trace, thread);
    *fresh = *mine == 0;
    if (*fresh)
        status = number_give(x, one->process, one->evidence ? 0 : one->tid, thread, mine);
    *tid = *mine;
    return status;
}

void export_utf8_put(struct buf *out, const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + n;
    while (p < end) {
        uint32_t point;
        size_t whole = utf8_scan(p, (size_t)(end - p), &point);
        if (whole == 0)
            buf_put(out, "\xef\xbf\xbd", 3); /* U+FFFD */
        else
            buf_put(out, p, whole);
        p += whole > 0 ? whole : 1;
    }
}

static void name_put(struct buf *out, const char *name)
{
    export_utf8_put(out, name, strlen(name));
}

void export_process_name(struct buf *out, const struct skein_process *process)
{
    name_put(out, process->service);
    buf_printf(out, " (");
    name_put(out, process->host);
    buf_put_u8(out, ')');
}

void export_thread_name(struct buf *out, const struct skein_thread *thread)
{
    if (thread->evidence)
        buf_printf(out, "evidence: ");
    name_put(out, thread->name);
}

void export_category(struct buf *out, const struct export_row *row)
{
    buf_clear(out);
    if ((row->flags & SKEIN_ROW_EVIDENCE) != 0)
        buf_printf(out, "evidence");
    else if (row->what == NULL || row->what->group > 63)
        buf_printf(out, "skein");
    else
        event_groups_put(out, UINT64_C(1) << row->what->group);
    buf_put_u8(out, 0);
}

void export_frame_put(struct buf *out, const struct skein_frame *frame)
{
    if (frame->function[0] != '\0') {
        name_put(out, frame->function);
    } else if (frame->module[0] != '\0') {
        const char *base = strrchr(frame->module, '/');
        name_put(out, base != NULL && base[1] != '\0' ? base + 1 : frame->module);
        buf_printf(out, "+0x%" PRIx64, frame->offset);
    } else {
        buf_printf(out, "0x%" PRIx64, frame->address);
    }
}

size_t export_stack(struct export_run *x, const struct export_row *row, struct skein_frame *frames,
                    size_t most, bool *whole)
{
    size_t total = 0;
    uint8_t end = 0;
    *whole = true;
    if (row->stack == 0)
        return 0;
    int status = skein_cursor_stack(x->cursor, row->number, frames, most, &total, &end);
    if (status == SKEIN_NO_MEMORY)
        x->out.status = status;
    if (status != SKEIN_OK)
        return 0;
    *whole = total <= most && (end & 0x7f) == 0; /* F-44 */
    return total < most ? total : most;
}

bool export_has_args(const struct export_row *row)
{
    bool operation = row->kind == SKEIN_ROW_OPEN && row->more != NULL && row->more->has_detail;
    return row->what != NULL && row->args != NULL && row->kind != SKEIN_ROW_END_ONLY &&
           (row->flags & SKEIN_ROW_BEGIN_CLIPPED) == 0 && !operation;
}

bool export_is_curve(const struct skein_arg_type *type, const struct skein_arg *arg)
{
    return type->type == SKEIN_T_U64 || type->type == SKEIN_T_I64 ||
           (type->type == SKEIN_T_F64 && isfinite(arg->f64));
}

uint32_t export_counter_id(const struct export_row *row)
{
    return row->what->arg_count > 1 && row->on != NULL ? row->on->tid : 0;
}

bool export_row_is_sample(const struct export_row *row)
{
    return (row->flags & SKEIN_ROW_EVIDENCE) != 0 && row->kind == SKEIN_ROW_INSTANT &&
           row->stack != 0 && row->what != NULL && strcmp(row->what->name, "cpu.sample") == 0;
}
