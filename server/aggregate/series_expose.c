/* SPDX-License-Identifier: Apache-2.0
 *
 * The totals of the series as Prometheus reads them: its text format 0.0.4, or OpenMetrics 1.0.0. All
 * numbers are of sampled time and only grow; a new analysis.db begins at 0 again. No state; any thread,
 * on the connection that reads.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate_int.h"
#include "event_groups.h"
#include "series.h"
#include "series_total.h"

struct family;
struct exposure {
    struct buf *out;
    enum series_form form;
    const struct family *family;
};

struct family {
    const char *name, *unit, *type, *help; /* name without _total; unit "": none */
    void (*put)(const struct exposure *e, const struct series_total *t);
};

/* ---- pieces ---- */

static void value_put(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == '"')
            buf_put_u8(out, '\\');
        if (*text == '\n')
            buf_put(out, "\\n", 2);
        else
            buf_put_u8(out, (uint8_t)*text);
    }
}

static void label_put(struct buf *out, const char *label, const char *value)
{
    buf_printf(out, "%s=\"", label);
    value_put(out, value);
    buf_put_u8(out, '"');
}

/* service, and of a name name and group; in braces that stay open */
static void labels_put(struct buf *out, const struct series_total *t)
{
    buf_put_u8(out, '{');
    label_put(out, "service", t->service);
    if (t->name[0] == '\0')
        return;
    buf_put_u8(out, ',');
    label_put(out, "name", t->name);
    buf_printf(out, ",group=\"");
    if (strcmp(t->name, SERIES_OTHERS) != 0)
        event_groups_put(out, UINT64_C(1) << (t->group % 64));
    buf_put_u8(out, '"');
}

static void seconds_put(struct buf *out, uint64_t ns)
{
    buf_printf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000u, ns % 1000000000u);
}

static void counter_begin(const struct exposure *e, const struct series_total *t)
{
    buf_printf(e->out, "%s_total", e->family->name);
    labels_put(e->out, t);
}

static void seconds_line(const struct exposure *e, const struct series_total *t, uint64_t ns)
{
    counter_begin(e, t);
    buf_printf(e->out, "} ");
    seconds_put(e->out, ns);
    buf_put_u8(e->out, '\n');
}

/* ---- families ---- */

static bool is_service(const struct series_total *t)
{
    return t->name[0] == '\0';
}

static void regions_put(const struct exposure *e, const struct series_total *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i <= SERIES_LE; i++)
        sum = series_sum(sum, t->le[i]);
    if (is_service(t) || sum == 0)
        return;
    uint64_t count = 0;
    for (size_t i = 0; i <= SERIES_LE; i++) {
        char bound[32] = "+Inf";
        if (i < SERIES_LE)
            snprintf(bound, sizeof bound, "%.12g",
                     (double)(UINT64_C(1) << (SERIES_LE_FIRST + 2 * i)) / 1e9);
        count = series_sum(count, t->le[i]);
        buf_printf(e->out, "%s_bucket", e->family->name);
        labels_put(e->out, t);
        buf_printf(e->out, ",le=\"%s\"} %" PRIu64 "\n", bound, count);
    }
    buf_printf(e->out, "%s_sum", e->family->name);
    labels_put(e->out, t);
    buf_printf(e->out, "} ");
    seconds_put(e->out, t->sum_ns);
    buf_printf(e->out, "\n%s_count", e->family->name);
    labels_put(e->out, t);
    buf_printf(e->out, "} %" PRIu64 "\n", count);
}

static void self_put(const struct exposure *e, const struct series_total *t)
{
    if (!is_service(t) && t->n[SERIES_TOTAL_NS] > 0)
        seconds_line(e, t, t->n[SERIES_SELF_NS]);
}

static void instants_put(const struct exposure *e, const struct series_total *t)
{
    if (is_service(t) || t->group < SUMMARY_INSTANTS)
        return;
    counter_begin(e, t);
    buf_printf(e->out, "} %" PRIu64 "\n", t->n[SERIES_COUNT]);
}

static void waits_put(const struct exposure *e, const struct series_total *t)
{
    static const char *const reasons[] = {"net", "io", "lock", "thread", "sleep", "idle"};
    for (size_t i = 0; is_service(t) && i < sizeof reasons / sizeof reasons[0]; i++) {
        counter_begin(e, t);
        buf_printf(e->out, ",reason=\"%s\"} ", reasons[i]);
        seconds_put(e->out, t->n[SERIES_WAIT_NET_NS + i]);
        buf_put_u8(e->out, '\n');
    }
}

static void cpu_put(const struct exposure *e, const struct series_total *t)
{
    if (is_service(t) && t->n[SERIES_SAMPLED_NS] > 0) /* else nobody knows */
        seconds_line(e, t, t->n[SERIES_SAMPLED_NS]);
}

static void errors_put(const struct exposure *e, const struct series_total *t)
{
    if (!is_service(t))
        return;
    counter_begin(e, t);
    buf_printf(e->out, "} %" PRIu64 "\n", t->n[SERIES_ERRORS]);
}

static void seen_put(const struct exposure *e, const struct series_total *t)
{
    if (is_service(t))
        seconds_line(e, t, t->n[SERIES_SEEN_NS]);
}

static void fleet_put(const struct exposure *e, const struct series_total *t)
{
    if (is_service(t))
        seconds_line(e, t, t->n[SERIES_FLEET_NS]);
}

static const struct family families[] = {
    {"skein_sampled_region_seconds", "seconds", "histogram",
     "How long regions lasted that ended in sampled time.", regions_put},
    {"skein_sampled_region_self_seconds", "seconds", "counter",
     "Own time of regions: without the regions in them.", self_put},
    {"skein_sampled_instants", "", "counter", "Instants in sampled time.", instants_put},
    {"skein_sampled_wait_seconds", "seconds", "counter",
     "Time that threads waited in sampled time, by what for.", waits_put},
    {"skein_sampled_cpu_seconds", "seconds", "counter",
     "Time on a CPU in sampled time, by CPU samples.", cpu_put},
    {"skein_sampled_error_logs", "", "counter", "Log lines of the level error in sampled time.",
     errors_put},
    {"skein_sampled_process_seconds", "seconds", "counter",
     "Time of processes that was sampled: what rates are to be divided by.", seen_put},
    {"skein_sampled_fleet_seconds", "seconds", "counter",
     "Time of all processes of the service while samples were taken.", fleet_put},
};

static void exposure_head_put(const struct exposure *e)
{
    const struct family *f = e->family;
    bool open = e->form == SERIES_OPENMETRICS;
    const char *suffix = !open && strcmp(f->type, "counter") == 0 ? "_total" : "";
    buf_printf(e->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", f->name, suffix, f->help, f->name,
               suffix, f->type);
    if (open && f->unit[0] != '\0')
        buf_printf(e->out, "# UNIT %s %s\n", f->name, f->unit);
}

static int total_take(void *context, const struct series_total *total)
{
    const struct exposure *e = context;
    e->family->put(e, total);
    return e->out->status != SKEIN_OK;
}

int series_expose(struct aggregate *aggregate, const char *service, enum series_form form,
                  struct buf *out)
{
    int64_t rows = 0;
    for (size_t i = 0; rows >= 0 && i < sizeof families / sizeof families[0]; i++) {
        struct exposure e = {out, form, &families[i]};
        exposure_head_put(&e);
        rows = series_totals(aggregate->db.read, service, total_take, &e);
    }
    if (form == SERIES_OPENMETRICS)
        buf_printf(out, "# EOF\n");
    return rows < 0 ? (int)rows : out->status;
}
