/* SPDX-License-Identifier: Apache-2.0
 *
 * Values over time from the rows of the series. First SQLite says which lines have most, then one pass
 * over the rows of the time fills their points. No state; any thread, on a connection
 * of its own: one at a time, and nobody else waits for it.
 */
#include <stdlib.h>
#include <string.h>

#include "aggregate_int.h"
#include "array.h"
#include "event_groups.h"
#include "json.h"
#include "series.h"

#define WAIT_PARTS (SUMMARY_REASONS + 1) /* and idle */
#define STOP_ROWS  256                   /* read between two looks at whether anybody waits */

static const struct metric {
    const char *name, *unit;
    bool of_names, needs_service;
} metrics_of[SERIES_METRICS] = {
    {"count", "events", true, false},
    {"rate", "events per sampled second", true, false},
    {"latency", "seconds", true, true},
    {"self", "seconds per sampled second", true, true},
    {"wait", "seconds per sampled second", false, false},
    {"cpu", "seconds per sampled second", false, false},
    {"errors", "lines per sampled second", false, false},
    {"sampled", "seconds", false, false},
};

enum series_metric series_metric_of(const char *name)
{
    size_t i = 0;
    while (i < SERIES_METRICS && strcmp(metrics_of[i].name, name) != 0)
        i++;
    return (enum series_metric)i;
}

bool series_metric_is_of_names(enum series_metric metric)
{
    return metrics_of[metric].of_names;
}

bool series_metric_needs_service(enum series_metric metric)
{
    return metrics_of[metric].needs_service;
}

/* ---- what is found ---- */

struct point {
    uint64_t amount, count;
    struct histogram *lasted; /* latency */
};
struct line {
    char *service, *name;
    uint32_t group;
    size_t part; /* of waits: the reason */
    struct point *points;
};
/* Of a service, as long as it was seen. */
struct time_seen {
    char *service;
    uint64_t *seen_ns, *fleet_ns;
};

struct answer {
    const struct series_query *query;
    size_t points; /* of a line */
    struct line *lines;
    size_t line_count, line_cap;
    struct time_seen *times;
    size_t time_count, time_cap;
    uint64_t more;   /* lines that are left out */
    uint64_t merged; /* names in others, at most in one bucket */
    uint64_t read;   /* rows */
    bool hours;      /* some rows are of hours */
    int status;
};

static void answer_fini(struct answer *a)
{
    for (size_t i = 0; i < a->line_count; i++) {
        struct line *line = &a->lines[i];
        for (size_t p = 0; line->points != NULL && p < a->points; p++)
            if (line->points[p].lasted != NULL) {
                histogram_fini(line->points[p].lasted);
                free(line->points[p].lasted);
            }
        free(line->points);
        free(line->service);
        free(line->name);
    }
    for (size_t i = 0; i < a->time_count; i++) {
        free(a->times[i].service);
        free(a->times[i].seen_ns);
        free(a->times[i].fleet_ns);
    }
    free(a->lines);
    free(a->times);
}

static bool line_add(struct answer *a, const char *service, const char *name, uint32_t group,
                     size_t part)
{
    if (!array_grow(a->lines, a->line_count + 1, &a->line_cap))
        return false;
    struct line *line = &a->lines[a->line_count++];
    *line = (struct line){strdup(service), strdup(name), group, part,
                          calloc(a->points, sizeof *line->points)};
    return line->service != NULL && line->name != NULL && line->points != NULL;
}

static struct time_seen *time_of(struct answer *a, const char *service, bool make)
{
    for (size_t i = 0; i < a->time_count; i++)
        if (strcmp(a->times[i].service, service) == 0)
            return &a->times[i];
    if (!make || !array_grow(a->times, a->time_count + 1, &a->time_cap))
        return NULL;
    struct time_seen *t = &a->times[a->time_count++];
    *t = (struct time_seen){strdup(service), calloc(a->points, sizeof *t->seen_ns),
                            calloc(a->points, sizeof *t->fleet_ns)};
    return t->service != NULL && t->seen_ns != NULL && t->fleet_ns != NULL ? t : NULL;
}

/* Asked of each row; looks now and then, as looking costs more than a row. */
static bool is_stopped(struct answer *a)
{
    const struct series_query *q = a->query;
    if (a->read++ % STOP_ROWS == 0 && q->stop != NULL && q->stop(q->context))
        a->status = SKEIN_CLOSED;
    return a->status == SKEIN_CLOSED;
}

/* ---- which lines ---- */

static size_t lines_most(const struct answer *a)
{
    size_t most = SERIES_VALUES / a->points;
    return most < a->query->limit ? most : a->query->limit;
}

/* By weight; of waits a service has a line for each reason. */
static int line_take(void *context, struct db_row *row)
{
    struct answer *a = context;
    bool waits = a->query->metric == SERIES_METRIC_WAIT;
    size_t parts = waits ? WAIT_PARTS : 1, lines = lines_most(a);
    if (is_stopped(a))
        return 1;
    lines = lines < parts ? parts : lines - lines % parts;
    if (a->line_count + parts > lines) {
        a->more += parts;
        return 0;
    }
    for (size_t part = 0; part < parts; part++)
        if (!line_add(a, db_text(row, 0), db_text(row, 2), (uint32_t)db_i64(row, 1), part)) {
            a->status = SKEIN_NO_MEMORY;
            return 1;
        }
    return 0;
}

/* The database looks at all rows before it gives the first line: nothing stops it until then. */
static int lines_find(struct db *db, struct answer *a)
{
    const struct series_query *q = a->query;
    bool names = metrics_of[q->metric].of_names && q->service != NULL;
    const char *sql = names ? "SELECT service, grp, name FROM row WHERE at>=?1 AND at<?2"
                              " AND service=?3 AND name<>'' AND (?4 IS NULL OR name=?4)"
                              " GROUP BY grp, name ORDER BY total(weight) DESC, name, grp"
                            : "SELECT service, 0, '' FROM row WHERE at>=?1 AND at<?2"
                              " AND (?3 IS NULL OR service=?3) AND name='' AND ?4 IS NULL"
                              " GROUP BY service ORDER BY total(weight) DESC, service";
    int64_t rows = db_run(db, sql, line_take, a,
                          DB(DB_I64((int64_t)q->from_s), DB_I64((int64_t)q->to_s),
                             DB_TEXT(q->service), DB_TEXT(q->name)));
    return rows < 0 ? (int)rows : a->status;
}

/* ---- their points ---- */

static uint64_t amount_of(enum series_metric metric, const struct series_row *row, size_t part)
{
    bool service = row->name[0] == '\0';
    switch (metric) {
    case SERIES_METRIC_COUNT:
    case SERIES_METRIC_RATE:
        return row->n[service ? SERIES_REGIONS : SERIES_COUNT];
    case SERIES_METRIC_SELF:
        return row->n[SERIES_SELF_NS];
    case SERIES_METRIC_WAIT:
        return row->n[SERIES_WAIT_NET_NS + part];
    case SERIES_METRIC_CPU:
        return row->n[SERIES_SAMPLED_NS];
    case SERIES_METRIC_ERRORS:
        return row->n[SERIES_ERRORS];
    case SERIES_METRIC_SAMPLED:
        return row->n[SERIES_SEEN_NS];
    case SERIES_METRIC_LATENCY:
    case SERIES_METRICS:
    default:
        return 0;
    }
}

static int point_take(const struct answer *a, struct line *line, size_t at,
                      const struct series_row *row)
{
    struct point *p = &line->points[at];
    p->amount = series_sum(p->amount, amount_of(a->query->metric, row, line->part));
    uint64_t count = row->name[0] == '\0' ? row->n[SERIES_PROCESSES] : row->n[SERIES_COUNT];
    p->count = series_sum(p->count, count);
    if (a->query->metric != SERIES_METRIC_LATENCY)
        return SKEIN_OK;
    if (p->lasted == NULL)
        p->lasted = calloc(1, sizeof *p->lasted);
    return p->lasted != NULL ? histogram_merge(p->lasted, &row->lasted) : SKEIN_NO_MEMORY;
}

static int row_lines(struct answer *a, const struct series_row *row)
{
    size_t at = (size_t)((row->at_s - a->query->from_s) / a->query->step_s);
    int status = SKEIN_OK;
    if (row->name[0] == '\0') {
        struct time_seen *t = time_of(a, row->service, true);
        if (t == NULL)
            return SKEIN_NO_MEMORY;
        t->seen_ns[at] = series_sum(t->seen_ns[at], row->n[SERIES_SEEN_NS]);
        t->fleet_ns[at] = series_sum(t->fleet_ns[at], row->n[SERIES_FLEET_NS]);
    }
    for (size_t i = 0; i < a->line_count && status == SKEIN_OK; i++) {
        struct line *line = &a->lines[i];
        if (line->group == row->group && strcmp(line->name, row->name) == 0 &&
            strcmp(line->service, row->service) == 0)
            status = point_take(a, line, at, row);
    }
    return status;
}

/* Whether a row is of a line, before its bytes are read: of a name itself, of a service its own row,
 * for the time. Services without a line take no memory, however many there are. */
static bool is_wanted(const struct answer *a, const char *service, const char *name, uint32_t group)
{
    for (size_t i = 0; i < a->line_count; i++)
        if ((name[0] == '\0' ||
             (a->lines[i].group == group && strcmp(a->lines[i].name, name) == 0)) &&
            strcmp(a->lines[i].service, service) == 0)
            return true;
    return false;
}

static int row_take(void *context, struct db_row *row)
{
    struct answer *a = context;
    struct series_set set = {NULL, 0, 0};
    bool others = strcmp(db_text(row, 3), SERIES_OTHERS) == 0;
    if (is_stopped(a))
        return 1;
    if (!others && !is_wanted(a, db_text(row, 1), db_text(row, 3), (uint32_t)db_i64(row, 2)))
        return 0;
    a->status = series_row_read(&set, row, false);
    if (a->status == SKEIN_OK && set.rows[0].at_s >= a->query->from_s &&
        set.rows[0].at_s < a->query->to_s) {
        a->hours = a->hours || db_i64(row, 5) > (int64_t)a->query->step_s;
        if (others && set.rows[0].n[SERIES_MERGED] > a->merged)
            a->merged = set.rows[0].n[SERIES_MERGED];
        a->status = row_lines(a, &set.rows[0]);
    }
    series_set_fini(&set);
    return a->status != SKEIN_OK;
}

static int points_fill(struct db *db, struct answer *a)
{
    const struct series_query *q = a->query;
    bool names = metrics_of[q->metric].of_names && q->service != NULL;
    int64_t rows =
        db_run(db,
               "SELECT at, service, grp, name, bytes, step FROM row WHERE at>=?1 AND at<?2"
               " AND (?3 IS NULL OR service=?3) AND (?4 OR name='')",
               row_take, a,
               DB(DB_I64((int64_t)q->from_s), DB_I64((int64_t)q->to_s), DB_TEXT(q->service),
                  DB_I64(names)));
    return rows < 0 ? (int)rows : a->status;
}

/* ---- as JSON ---- */

static double seconds_of(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* False: nothing is known of it. */
static bool value_of(const struct answer *a, const struct point *p, uint64_t seen_ns, double *value)
{
    switch (a->query->metric) {
    case SERIES_METRIC_COUNT:
        *value = (double)p->amount;
        return seen_ns > 0 || p->count > 0;
    case SERIES_METRIC_LATENCY:
        if (p->lasted == NULL || p->lasted->count == 0)
            return false;
        *value = seconds_of(histogram_quantile(p->lasted, a->query->quantile));
        return true;
    case SERIES_METRIC_SAMPLED:
        *value = seconds_of(p->amount);
        return seen_ns > 0;
    case SERIES_METRIC_RATE:
    case SERIES_METRIC_ERRORS:
        *value = seen_ns > 0 ? (double)p->amount / seconds_of(seen_ns) : 0;
        return seen_ns > 0;
    case SERIES_METRIC_CPU: /* without a sample nobody knows: most policies take none */
        *value = seen_ns > 0 ? (double)p->amount / (double)seen_ns : 0;
        return seen_ns > 0 && p->amount > 0;
    case SERIES_METRIC_SELF:
    case SERIES_METRIC_WAIT:
    case SERIES_METRICS:
    default:
        *value = seen_ns > 0 ? (double)p->amount / (double)seen_ns : 0;
        return seen_ns > 0;
    }
}

static void points_add(const struct answer *a, const struct line *line, const struct time_seen *t,
                       cJSON *to)
{
    for (size_t i = 0; i < a->points; i++) {
        uint64_t seen_ns = t != NULL ? t->seen_ns[i] : 0, fleet_ns = t != NULL ? t->fleet_ns[i] : 0;
        double value;
        if (!value_of(a, &line->points[i], seen_ns, &value))
            continue;
        cJSON *point = cJSON_CreateObject();
        json_add_time(point, "at", (a->query->from_s + i * a->query->step_s) * 1000000000u);
        cJSON_AddNumberToObject(point, "value", value);
        if (line->name[0] != '\0')
            json_add_u64(point, "count", line->points[i].count);
        cJSON_AddNumberToObject(point, "seen_s", seconds_of(seen_ns));
        if (a->query->metric == SERIES_METRIC_SAMPLED && fleet_ns > 0)
            cJSON_AddNumberToObject(point, "share", (double)seen_ns / (double)fleet_ns);
        cJSON_AddItemToArray(to, point);
    }
}

static cJSON *line_json(struct answer *a, const struct line *line)
{
    static const char *const reasons[WAIT_PARTS] = {"net", "io", "lock", "thread", "sleep", "idle"};
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "service", line->service);
    if (line->name[0] != '\0') {
        struct buf group = {0};
        cJSON_AddStringToObject(json, "name", line->name);
        cJSON_AddStringToObject(json, "kind",
                                line->group >= SUMMARY_INSTANTS ? "instant" : "region");
        event_groups_put(&group, UINT64_C(1) << (line->group % 64));
        buf_put_u8(&group, 0);
        if (strcmp(line->name, SERIES_OTHERS) != 0)
            cJSON_AddStringToObject(json, "group",
                                    group.status == SKEIN_OK ? (const char *)group.data : "");
        buf_fini(&group);
    }
    if (a->query->metric == SERIES_METRIC_WAIT)
        cJSON_AddStringToObject(json, "reason", reasons[line->part]);
    cJSON *points = cJSON_AddArrayToObject(json, "points");
    points_add(a, line, time_of(a, line->service, false), points);
    return json;
}

static cJSON *answer_json(struct aggregate *aggregate, struct answer *a)
{
    const struct series_query *q = a->query;
    struct db *db = aggregate->db.scan;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "metric", metrics_of[q->metric].name);
    cJSON_AddStringToObject(json, "unit", metrics_of[q->metric].unit);
    if (q->metric == SERIES_METRIC_LATENCY)
        cJSON_AddNumberToObject(json, "quantile", q->quantile);
    json_add_time(json, "from", q->from_s * 1000000000u);
    json_add_time(json, "to", q->to_s * 1000000000u);
    json_add_u64(json, "step_s", q->step_s);
    json_add_u64(json, "coarsest_s", a->hours ? SERIES_HOUR_S : q->step_s);
    cJSON *items = cJSON_AddArrayToObject(json, "series");
    for (size_t i = 0; i < a->line_count; i++)
        cJSON_AddItemToArray(items, line_json(a, &a->lines[i]));
    cJSON *left_out = cJSON_AddObjectToObject(json, "left_out");
    json_add_u64(left_out, "series", a->more);
    json_add_u64(left_out, "names", a->merged);
    json_add_u64(left_out, "rows_dropped", aggregate_note(db, "rows_dropped"));
    json_add_u64(left_out, "late_captures", aggregate_note(db, "late_captures"));
    return json;
}

int series_json(struct aggregate *aggregate, const struct series_query *query, cJSON **out)
{
    struct answer a = {.query = query, .status = SKEIN_OK};
    *out = NULL;
    a.points = (size_t)((query->to_s - query->from_s + query->step_s - 1) / query->step_s);
    db_hold(aggregate->db.scan); /* its turn has come */
    int status = query->stop != NULL && query->stop(query->context) ? SKEIN_CLOSED : SKEIN_OK;
    if (status == SKEIN_OK && a.points > 0)
        status = lines_find(aggregate->db.scan, &a);
    if (status == SKEIN_OK && a.line_count > 0)
        status = points_fill(aggregate->db.scan, &a);
    if (status == SKEIN_OK)
        *out = answer_json(aggregate, &a);
    db_release(aggregate->db.scan);
    answer_fini(&a);
    return status;
}
