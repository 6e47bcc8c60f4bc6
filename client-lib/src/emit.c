/* SPDX-License-Identifier: Apache-2.0
 *
 * Events whose site is only known at run time, and operations with a threshold. Entered by any
 * thread and by signal handlers; owns nothing: writes through the hot path as the macros do.
 */
#include "emit.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "attach_client.h"
#include "writer_int.h"

#define NS_MAX (UINT64_C(1000000000) * 1000000) /* 11 days: longer thresholds are this one */

/* In an operation's start: the rest is CLOCK_MONOTONIC in ns, as there was no ring to say in which
 * ticks it counts. Ticks never reach this bit. */
#define OP_EARLY (UINT64_C(1) << 63)

static uint8_t site_nargs(const struct skein_site *site)
{
    return site->nargs < SKEIN_ARGS_MAX ? site->nargs : SKEIN_ARGS_MAX;
}

static struct skein_field field_of(uint8_t type, const union skein_value *value)
{
    static const struct skein_sequence none;
    const struct skein_sequence *seq = &none;
    switch (type) {
    case SKEIN_T_I64:
        return skein_field_i64(value->i64);
    case SKEIN_T_F64:
        return skein_field_f64(value->f64);
    case SKEIN_T_STR:
        return skein_field_str(value->str);
    case SKEIN_T_SEQ:
        seq = value->seq != NULL ? value->seq : seq;
        return skein_field_of(seq->resource, seq->number);
    case SKEIN_T_BOOL:
        return skein_field_of(value->u64 != 0, 0);
    default:
        return skein_field_of(value->u64, 0);
    }
}

static size_t field_need(uint8_t type, struct skein_field field)
{
    if (type != SKEIN_T_STR)
        return type == SKEIN_T_SEQ ? 2 * SKEIN_NUMBER_NEED : SKEIN_NUMBER_NEED;
    if (field.b == SKEIN_FIELD_SYM_MARK)
        return SKEIN_SYM_NEED;
    return SKEIN_NUMBER_NEED + (field.b & (SKEIN_STR_CUT - 1));
}

static uint8_t *field_put(const struct skein_lane *lane, uint8_t *p, uint8_t type,
                          struct skein_field field)
{
    if (type == SKEIN_T_STR)
        return field.b == SKEIN_FIELD_SYM_MARK ? skein_put_sym(lane, p, field)
                                               : skein_put_str(p, field);
    if (type == SKEIN_T_F64)
        return skein_put_f64(p, field);
    p = skein_put_leb(p, field.a);
    return type == SKEIN_T_SEQ ? skein_put_leb(p, field.b) : p;
}

/* ---- the arguments from `first` to before `end` ---- */

static size_t fields_need(const struct skein_site *site, uint8_t first, uint8_t end,
                          const struct skein_field *fields)
{
    size_t need = SKEIN_RECORD_NEED;
    for (uint8_t i = first; i < end; i++)
        need += field_need(site->args[i].type, fields[i]);
    return need;
}

static void fields_capture(const struct skein_site *site, uint8_t first, uint8_t end,
                           const union skein_value *values, struct skein_field *fields)
{
    for (uint8_t i = first; i < end; i++)
        fields[i] = field_of(site->args[i].type, &values[i]);
}

static void fields_put(struct skein_record *record, const struct skein_site *site, uint8_t first,
                       uint8_t end, const struct skein_field *fields)
{
    for (uint8_t i = first; i < end; i++)
        record->p = field_put(record->lane, record->p, site->args[i].type, fields[i]);
}

/* ---- records ---- */

/* Opens by the fast half where that is possible. */
static struct skein_record record_of(struct skein_entry entry, struct skein_site *site, size_t need)
{
    struct skein_record record;
    return skein_record_open(&record, entry, site, need) ? record : slow_record(site, need);
}

static struct skein_scope record_finish(const struct skein_record *record,
                                        const struct skein_site *site)
{
    struct skein_scope scope = {0};
    if (site->klass == SKEIN_CLASS_RANGE_BEGIN)
        return skein_record_close_begin(record);
    skein_record_close(record);
    return scope;
}

struct skein_scope skein_slow_emit(struct skein_site *site, const struct skein_field *fields)
{
    struct skein_scope scope = {0};
    uint8_t end = site_nargs(site);
    struct skein_record record = slow_record(site, fields_need(site, 0, end, fields));
    if (record.p == NULL)
        return scope;
    fields_put(&record, site, 0, end, fields);
    return record_finish(&record, site);
}

struct skein_scope skein_region_open(struct skein_site *site, const union skein_value *values)
{
    struct skein_scope scope = {0};
    const struct skein_entry entry = skein_enter();
    if (!skein_wanted(entry, site->group))
        return scope;
    struct skein_field fields[SKEIN_ARGS_MAX];
    uint8_t end = site_nargs(site);
    fields_capture(site, 0, end, values, fields);
    struct skein_record record = record_of(entry, site, fields_need(site, 0, end, fields));
    if (record.p == NULL)
        return scope;
    fields_put(&record, site, 0, end, fields);
    return record_finish(&record, site);
}

void skein_emit(struct skein_site *site, const union skein_value *values)
{
    (void)skein_region_open(site, values); /* the site's class says whether it opens one */
}

void emit_with_stack(struct skein_site *site, const union skein_value *values)
{
    const struct skein_entry entry = skein_enter();
    if (!skein_wanted(entry, site->group))
        return;
    struct skein_field fields[SKEIN_ARGS_MAX];
    uint8_t end = site_nargs(site);
    fields_capture(site, 0, end, values, fields);
    struct skein_record record =
        record_of(entry, site, fields_need(site, 0, end, fields) + STACK_NEED);
    if (record.p == NULL)
        return;
    fields_put(&record, site, 0, end, fields);
    if (record.lane->stack_ticks != STACK_TICKS_NEVER)
        record.p = stack_record_put(record.lane, record.p, __builtin_frame_address(0));
    skein_record_close(&record);
}

void skein_begin(struct skein_site *site, const union skein_value *values)
{
    (void)skein_region_open(site, values);
}

/* ---- operations ---- */

uint64_t ticks_of_ns(const struct skein_view *view, uint64_t ns)
{
    if (ns > NS_MAX)
        ns = NS_MAX;
    return (ns / 1000000000u) * view->ticks_per_s +
           (ns % 1000000000u) * view->ticks_per_s / 1000000000u;
}

uint64_t skein_threshold_ns(enum skein_group group, uint64_t fallback_ns)
{
    const struct skein_view *view = session_view();
    uint64_t set = view != NULL ? skein_load64(&view->threshold_ns[(unsigned)group & 63]) : 0;
    return set ? set : fallback_ns;
}

/* Shows the operation in the thread's slot. The frame tells an operation that a long jump left from
 * one that is still going on; on an alternate stack the guess may show the wrong one of two. */
static bool op_show(struct skein_op *op, uint64_t frame)
{
    struct skein_lane *main = &skein_lane_tls;
    struct session *session = session_current();
    if (session == NULL || lane_busy(main))
        return false;
    lane_take(main, frame);
    struct thread_cold *cold = thread_cold_get();
    bool shown = false;
    if (cold != NULL && (!cold->op_frame || frame > cold->op_frame)) {
        thread_slot_join(cold, session);
        struct ring_slot *slot = cold->slot;
        if (slot != NULL) {
            uint64_t id = table_site_id(session, main, op->site);
            cold->op_frame = frame;
            cold->op_session = session;
            cold->op_slot = slot;
            skein_slot_store64(&slot->op_start, 0); /* what a long jump may have left */
            skein_writer_fence();
            skein_store32(&slot->op_type, (uint32_t)id);
            skein_store64(&slot->op_epoch, id >> 32);
            skein_store64((uint64_t *)(void *)&slot->op_detail, (uint64_t)op->detail);
            SKEIN_TEST_POINT("op_filled");
            skein_slot_store64(&slot->op_start, op->start);
            SKEIN_TEST_POINT("op_shown");
            shown = true;
        }
    }
    lane_drop(main);
    return shown;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* An operation that begins before the ring may end in it, as the one that lets the visitor come. */
static void op_begin_early(struct skein_op *op)
{
    if (session_current() == NULL && attach_client_asked())
        op->start = OP_EARLY | monotonic_ns();
}

/* No ring has it at its end either: it is missed, from its begin. */
static void op_end_early(const struct skein_op *op, uint64_t threshold_ns)
{
    const uint64_t began_ns = op->start & ~OP_EARLY;
    if ((op->start & OP_EARLY) && monotonic_ns() - began_ns >= threshold_ns)
        session_miss(began_ns);
}

static uint64_t op_start_ticks(const struct skein_op *op, const struct skein_view *view,
                               uint64_t now)
{
    if (!(op->start & OP_EARLY))
        return op->start;
    uint64_t ticks = ticks_of_ns(view, monotonic_ns() - (op->start & ~OP_EARLY));
    return ticks < now ? now - ticks : 1;
}

struct skein_op skein_op_enter(struct skein_site *site, int64_t detail)
{
    struct skein_op op = {.start = 0, .site = site, .detail = detail, .outermost = false};
    const struct skein_entry entry = skein_enter();
    int saved = errno;
    if (!skein_wanted(entry, site->group)) {
        op_begin_early(&op);
        errno = saved;
        return op;
    }
    if (SKEIN_UNLIKELY(skein_load32(&attach_client_wanted)))
        attach_client_event();
    if (session_is_lure(entry.view)) {
        op_begin_early(&op);
        if (!op.start) /* else its end tells whether there is a ring that has it */
            session_miss(0);
        errno = saved;
        return op;
    }
    op.start = ticks_now(entry.view);
    op.start += op.start == 0;
    op.outermost = op_show(&op, (uint64_t)(uintptr_t)__builtin_frame_address(0));
    errno = saved;
    return op;
}

static void op_hide(void)
{
    struct thread_cold *cold = skein_lane_tls.cold;
    if (cold == NULL || !cold->op_frame)
        return;
    cold->op_frame = 0;
    if (cold->op_slot != NULL && cold->op_session == session_current() &&
        cold->op_slot == cold->slot) {
        skein_slot_store64(&cold->op_slot->op_start, 0);
        SKEIN_TEST_POINT("op_hidden");
    }
}

void op_leave_told(struct skein_op *op, uint64_t threshold_ns, op_tell_fn *tell, void *context)
{
    if (!op->start)
        return;
    if (op->outermost)
        op_hide();
    const struct skein_entry entry = skein_enter();
    const struct skein_view *view = entry.view;
    if (view == NULL || session_current() == NULL || session_is_lure(view)) {
        op_end_early(op, threshold_ns);
        op->start = 0;
        return;
    }
    uint64_t now = ticks_now(view), start = op_start_ticks(op, view, now);
    op->start = 0;
    uint64_t ticks = now > start ? now - start : 0;
    if (ticks < ticks_of_ns(view, threshold_ns))
        return;
    struct skein_site *site = op->site;
    uint8_t end = site_nargs(site);
    struct skein_field fields[SKEIN_ARGS_MAX];
    fields_capture(site, 1, end, tell != NULL ? tell(context) : context, fields);
    struct skein_record record = record_of(
        entry, site, fields_need(site, 1, end, fields) + 2 * SKEIN_NUMBER_NEED + STACK_NEED);
    if (record.p == NULL)
        return;
    ticks = record.now > start ? record.now - start : 0;
    record.p = skein_put_leb(record.p, ticks);
    if (end > 0)
        record.p = skein_put_leb(record.p, skein_field_i64(op->detail).a);
    fields_put(&record, site, 1, end, fields);
    if (tell != NULL && ticks >= record.lane->stack_ticks)
        record.p = stack_record_put(record.lane, record.p, __builtin_frame_address(0));
    skein_record_close(&record);
}

static const union skein_value *values_given(void *values)
{
    return values;
}

void skein_op_leave(struct skein_op *op, uint64_t threshold_ns, const union skein_value *values)
{
    op_leave_told(op, threshold_ns, values_given, (void *)(uintptr_t)values);
}

/* ---- spans ---- */

uint64_t skein_span_begin(const struct skein_site *site)
{
    const struct skein_entry entry = skein_enter();
    if (!skein_wanted(entry, site->group))
        return 0;
    int saved = errno;
    if (SKEIN_UNLIKELY(skein_load32(&attach_client_wanted)))
        attach_client_event();
    uint64_t now = 0;
    if (session_is_lure(entry.view))
        session_miss(0);
    else
        now = ticks_now(entry.view);
    errno = saved;
    return now;
}

void skein_span_end(struct skein_site *site, uint64_t begin, const union skein_value *values)
{
    const struct skein_entry entry = skein_enter();
    if (begin == 0 || entry.view == NULL || session_current() == NULL ||
        session_is_lure(entry.view))
        return;
    uint8_t end = site_nargs(site);
    struct skein_field fields[SKEIN_ARGS_MAX];
    fields_capture(site, 0, end, values, fields);
    struct skein_record record =
        record_of(entry, site, fields_need(site, 0, end, fields) + SKEIN_NUMBER_NEED);
    if (record.p == NULL)
        return;
    record.p = skein_put_leb(record.p, record.now > begin ? record.now - begin : 0);
    fields_put(&record, site, 0, end, fields);
    skein_record_close(&record);
}
