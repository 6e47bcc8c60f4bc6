/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns a summary as JSON (docs/summary.md): the same members as its rows, by the same table of fields.
 * A pure function of the summary.
 */
#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "summary_int.h"

#define EXACT_MAX (UINT64_C(1) << 53)

static void key_put(struct buf *out, const char *key)
{
    if (out->len > 0 && out->data[out->len - 1] != '{')
        buf_put_u8(out, ',');
    buf_printf(out, "\"%s\":", key);
}

static void number_put(struct buf *out, const char *key, uint64_t n)
{
    key_put(out, key);
    buf_printf(out, n > EXACT_MAX ? "\"%" PRIu64 "\"" : "%" PRIu64, n);
}

static void real_put(struct buf *out, const char *key, double n)
{
    key_put(out, key);
    buf_printf(out, "%.17g", n);
}

static void text_put(struct buf *out, const struct summary *s, const char *key, uint32_t text)
{
    const char *bytes = summary_text(s, text);
    key_put(out, key);
    json_put_text(out, bytes, strlen(bytes));
}

static void histogram_json(struct buf *out, const struct histogram *h)
{
    static const struct {
        const char *name;
        double share;
    } shares[] = {{"p50_ns", .5}, {"p90_ns", .9}, {"p99_ns", .99}, {"p99_9_ns", .999}};
    buf_put_u8(out, '{');
    number_put(out, "min_ns", h->min_ns);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        number_put(out, shares[i].name, histogram_quantile(h, shares[i].share));
    number_put(out, "max_ns", h->max_ns);
    key_put(out, "levels"); /* [shortest, how many] */
    const char *comma = "[";
    for (unsigned level = 0; level < HISTOGRAM_LEVELS; level++) {
        uint64_t count = histogram_count(h, level);
        if (count == 0)
            continue;
        buf_printf(out, "%s[%" PRIu64 ",%" PRIu64 "]", comma, histogram_level_from(level), count);
        comma = ",";
    }
    buf_printf(out, h->count > 0 ? "]" : "[]");
    key_put(out, "examples");
    comma = "[";
    for (size_t i = 0; i < HISTOGRAM_EXAMPLES; i++) {
        const struct histogram_example *example = &h->examples[i];
        if (example->dur_ns == 0)
            continue;
        buf_printf(out, "%s{", comma);
        comma = ",";
        number_put(out, "time_ns", example->time_ns);
        number_put(out, "dur_ns", example->dur_ns);
        number_put(out, "pid", example->pid);
        number_put(out, "tid", example->tid);
        buf_put_u8(out, '}');
    }
    buf_printf(out, comma[0] == ',' ? "]}" : "[]}");
}

static void holder_json(struct buf *out, const char *name, const struct summary_holder *holder)
{
    buf_put_u8(out, '{');
    number_put(out, name, holder->tid);
    number_put(out, "waits", holder->waits);
    number_put(out, "wait_ns", holder->wait_ns);
    number_put(out, "dumped", holder->dumped);
    buf_put_u8(out, '}');
}

static void holders_json(struct buf *out, const struct summary_lock *lock)
{
    buf_put_u8(out, '[');
    for (size_t i = 0; i < SUMMARY_HOLDERS && lock->holders[i].tid != 0; i++) {
        if (i > 0)
            buf_put_u8(out, ',');
        holder_json(out, "tid", &lock->holders[i]);
    }
    buf_put_u8(out, ']');
    if (lock->rest.tid == 0)
        return;
    key_put(out, "other_holders");
    holder_json(out, "holders", &lock->rest);
}

static void peak_json(struct buf *out, const struct summary *s, const struct summary_peak *peak)
{
    buf_put_u8(out, '{');
    number_put(out, "time_ns", peak->time_ns);
    number_put(out, "dur_ns", peak->dur_ns);
    number_put(out, "other_tid", peak->other);
    text_put(out, s, "other", peak->name);
    buf_put_u8(out, '}');
}

static void field_json(struct buf *out, const struct summary *s, const struct summary_field *field,
                       const struct summary_row *row)
{
    const void *at = (const uint8_t *)row + field->offset;
    switch (field->kind) {
    case FIELD_SUM:
    case FIELD_MAX:
    case FIELD_LEAST:
    case FIELD_LATEST:
        number_put(out, field->name, *(const uint64_t *)at);
        return;
    case FIELD_TEXT:
        text_put(out, s, field->name, *(const uint32_t *)at);
        return;
    case FIELD_PEAK:
        if (((const struct summary_peak *)at)->dur_ns == 0)
            return;
        key_put(out, field->name);
        peak_json(out, s, at);
        return;
    case FIELD_HISTOGRAM:
        if (((const struct histogram *)at)->count == 0)
            return;
        key_put(out, field->name);
        histogram_json(out, at);
        return;
    case FIELD_HOLDERS:
        key_put(out, field->name);
        holders_json(out, (const struct summary_lock *)row);
        return;
    default:
        real_put(out, field->name, *(const double *)at);
    }
}

/* Whose row it is: {"service":…,"pid":…,"process":id} and, of a thread, {"thread":…,"tid":…}. */
static void owner_json(struct buf *out, const struct summary *s, enum summary_of of, uint32_t i)
{
    if (of == OF_NOTHING || i == SUMMARY_NONE)
        return;
    if (of == OF_THREAD) {
        const struct summary_thread *thread =
            (const struct summary_thread *)row_at(s, SUMMARY_THREAD, i);
        owner_json(out, s, OF_PROCESS, thread->row.of);
        text_put(out, s, "thread", thread->name);
        number_put(out, "tid", thread->row.number);
        return;
    }
    const struct summary_process *process =
        (const struct summary_process *)row_at(s, SUMMARY_PROCESS, i);
    text_put(out, s, "service", process->service);
    number_put(out, "pid", process->pid);
    text_put(out, s, "process", process->row.text);
}

static void row_json(struct buf *out, const struct summary *s, enum summary_table table,
                     const struct summary_row *row)
{
    const struct summary_kind *kind = &summary_kinds[table];
    bool others = row->of == SUMMARY_NONE && row->number == OTHERS_NUMBER;
    buf_put_u8(out, '{');
    owner_json(out, s, kind->of, row->of);
    if (kind->text != NULL)
        text_put(out, s, kind->text, row->text);
    if (others)
        number_put(out, "others", row->merged);
    else if (kind->number_name != NULL && number_is_text(table, row))
        text_put(out, s, kind->number_name, (uint32_t)row->number);
    else if (kind->number_name != NULL && kind->number == NUMBER_PLAIN)
        number_put(out, kind->number_name, row->number);
    number_put(out, "first_ns", row->first_ns);
    number_put(out, "last_ns", row->last_ns);
    for (size_t i = 0; i < kind->field_count; i++)
        field_json(out, s, &kind->fields[i], row);
    buf_put_u8(out, '}');
}

void summary_json(const struct summary *summary, struct buf *out)
{
    uint64_t from_ns, to_ns;
    summary_bounds(summary, &from_ns, &to_ns);
    buf_put_u8(out, '{');
    number_put(out, "version", SUMMARY_VERSION);
    number_put(out, "from_ns", from_ns);
    number_put(out, "to_ns", to_ns);
    for (unsigned t = 0; t < SUMMARY_TABLES; t++) {
        key_put(out, summary_kinds[t].plural);
        buf_put_u8(out, '[');
        for (size_t i = 0; i < summary->tables[t].count; i++) {
            if (i > 0)
                buf_put_u8(out, ',');
            row_json(out, summary, t, row_at(summary, t, i));
        }
        buf_put_u8(out, ']');
    }
    buf_put_u8(out, '}');
}
