/* SPDX-License-Identifier: Apache-2.0
 *
 * skein series: what sampled time came to over hours and weeks, as the collector keeps it
 * (docs/series.md). One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_api.h"
#include "cli_out.h"
#include "clock.h"
#include "cmd.h"

#define SPARKS 40u /* characters of a line's drawing */

struct options {
    struct cli_collector collector;
    const char *metric, *service, *name, *quantile;
    struct cli_number from, to, step, limit;
    bool json;
};

static const char *const metrics[] = {"latency", "rate",   "count",   "self", "wait",
                                      "cpu",     "errors", "sampled", NULL};

static const struct cli_option options[] = {
    CLI_CHOICE(
        'm', "metric", "WHAT", struct options, metric, metrics,
        "latency (the default with a service), rate (the default without), count, self, wait, "
        "cpu, errors or sampled"),
    CLI_OPTION(CLI_TEXT, 's', "service", "NAME", struct options, service,
               "of this service: of each of its names"),
    CLI_OPTION(CLI_TEXT, 0, "name", "NAME", struct options, name, "of this name alone"),
    CLI_OPTION(CLI_TEXT, 'q', "quantile", "Q", struct options, quantile,
               "of latency, from 0 to 1 (default: 0.5)"),
    CLI_OPTION(CLI_TIME, 0, "from", "TIME", struct options, from,
               "from then on: 2026-11-21T09:40:00Z, or -7d (default: a day before the end)"),
    CLI_OPTION(CLI_TIME, 0, "to", "TIME", struct options, to, "up to then (default: now)"),
    CLI_OPTION(CLI_NUMBER, 0, "step", "SECONDS", struct options, step,
               "a value for each so long: a multiple of 600 (default: as fits)"),
    CLI_OPTION(CLI_NUMBER, 'n', "limit", "N", struct options, limit,
               "at most so many lines, those with most (default: 20, at most 200)"),
    CLI_OUTPUT(struct options),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

/* ---- a line ---- */

/* Whatever the collector says is in seconds: below 0 and no number are 0. */
static uint64_t ns_of(double seconds)
{
    return seconds > 0 ? seconds < 1.8e10 ? (uint64_t)(seconds * 1e9) : UINT64_MAX : 0;
}

static void value_put(struct buf *out, const char *metric, double value)
{
    if (strcmp(metric, "latency") == 0 || strcmp(metric, "sampled") == 0)
        text_put_duration(out, ns_of(value));
    else if (strcmp(metric, "self") == 0 || strcmp(metric, "wait") == 0 ||
             strcmp(metric, "cpu") == 0)
        buf_printf(out, "%.1f %%", value * 100);
    else if (strcmp(metric, "count") == 0)
        buf_printf(out, "%.0f", value);
    else
        buf_printf(out, "%.3g /s", value);
}

static void value_add(cJSON *row, const char *key, const char *metric, double value)
{
    struct buf text = {0};
    value_put(&text, metric, value);
    cJSON_AddStringToObject(row, key, text_of(&text));
    buf_fini(&text);
}

/* Eight heights, from 0 to the most; a space where nothing was sampled. Of times as long as what was
 * asked for, so that lines stand below each other. */
static void spark_add(cJSON *row, uint64_t points, double most, const double *values,
                      const bool *known)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    struct buf text = {0};
    uint64_t wide = points < SPARKS ? points : SPARKS;
    for (uint64_t i = 0; i < wide; i++) {
        double high = 0;
        bool any = false;
        for (uint64_t p = i * points / wide; p < (i + 1) * points / wide; p++) {
            any = any || known[p];
            high = known[p] && values[p] > high ? values[p] : high;
        }
        double share = most > 0 ? high / most : 0; /* no number where both are infinite */
        size_t height = share > 0 ? share < 1 ? (size_t)(share * 7.999) : 7 : 0;
        buf_printf(&text, "%s", any ? heights[height] : " ");
    }
    cJSON_AddStringToObject(row, "spark", text_of(&text));
    buf_fini(&text);
}

#define POINTS_MOST 1100u /* that an answer has in a line */

struct drawing {
    double values[POINTS_MOST];
    bool known[POINTS_MOST];
};

/* The place of a point among those of the answer, or POINTS_MOST. */
static uint64_t place_of(const cJSON *point, uint64_t from_ns, uint64_t step_s)
{
    uint64_t at_ns;
    if (clock_parse(json_text_at(point, "at"), &at_ns) != SKEIN_OK || at_ns < from_ns ||
        step_s == 0)
        return POINTS_MOST;
    uint64_t place = (at_ns - from_ns) / 1000000000u / step_s;
    return place < POINTS_MOST ? place : POINTS_MOST;
}

static cJSON *line_row(const cJSON *line, const cJSON *answer)
{
    struct drawing d = {{0}, {0}};
    const char *metric = json_text_at(answer, "metric");
    uint64_t from_ns = 0, to_ns = 0, step_s = json_u64_at(answer, "step_s"), sampled = 0;
    double most = 0, last = 0, least = 0;
    const cJSON *point;
    cJSON *row = cJSON_CreateObject();
    (void)clock_parse(json_text_at(answer, "from"), &from_ns);
    (void)clock_parse(json_text_at(answer, "to"), &to_ns);
    cJSON_ArrayForEach(point, json_at(line, "points")) {
        uint64_t place = place_of(point, from_ns, step_s);
        const cJSON *value = json_at(point, "value");
        last = cJSON_IsNumber(value) ? value->valuedouble : 0;
        most = sampled == 0 || last > most ? last : most;
        least = sampled == 0 || last < least ? last : least;
        sampled++;
        if (place < POINTS_MOST) {
            d.values[place] = last;
            d.known[place] = true;
        }
    }
    static const char *const copied[] = {"service", "name", "group", "reason"};
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        if (json_at(line, copied[i]) != NULL)
            cJSON_AddStringToObject(row, copied[i], json_text_at(line, copied[i]));
    if (sampled == 0)
        return row;
    value_add(row, "last", metric, last);
    value_add(row, "least", metric, least);
    value_add(row, "most", metric, most);
    uint64_t points =
        step_s > 0 && to_ns > from_ns ? (to_ns - from_ns) / 1000000000u / step_s + 1 : 0;
    points = points < POINTS_MOST ? points : POINTS_MOST;
    if (isatty(STDOUT_FILENO))
        spark_add(row, points, most, d.values, d.known);
    return row;
}

/* ---- the command ---- */

struct shown {
    struct table_column columns[10];
    size_t count;
};

/* A column that some row has. */
static void column_add(struct shown *shown, const cJSON *rows, const char *title, const char *path,
                       int kind)
{
    const cJSON *row;
    bool any = false;
    cJSON_ArrayForEach(row, rows) {
        any = any || json_at(row, path) != NULL;
    }
    if (any)
        shown->columns[shown->count++] = (struct table_column){title, path, kind};
}

static int rows_show(const cJSON *rows)
{
    struct shown shown = {.count = 0};
    column_add(&shown, rows, "SERVICE", "service", TABLE_TEXT);
    column_add(&shown, rows, "NAME", "name", TABLE_TEXT);
    column_add(&shown, rows, "GROUP", "group", TABLE_TEXT | TABLE_SPARE);
    column_add(&shown, rows, "REASON", "reason", TABLE_TEXT);
    column_add(&shown, rows, "LAST", "last", TABLE_TEXT);
    column_add(&shown, rows, "LEAST", "least", TABLE_TEXT | TABLE_SPARE);
    column_add(&shown, rows, "MOST", "most", TABLE_TEXT);
    column_add(&shown, rows, "", "spark", TABLE_TIME);
    return table_print(rows, false, shown.columns, "");
}

/* Ends the text with the time that the answer is of, and writes it. */
static int span_say(const cJSON *answer, struct buf *out, const char *end)
{
    static const char *const bounds[] = {"from", "to"};
    for (size_t i = 0; i < 2; i++) {
        const char *text = json_text_at(answer, bounds[i]);
        buf_printf(out, " %s ", bounds[i]);
        shown_put(out, text);
    }
    buf_printf(out, "%s", end);
    bool written = out_write(out);
    buf_fini(out);
    return written ? CLI_OK : CLI_FAILED;
}

/* What the values are, as they are printed. */
static int meaning_say(const cJSON *answer)
{
    static const struct {
        const char *metric, *words;
    } meanings[] = {{"count", "Events that ended in sampled time"},
                    {"rate", "Events in a second of sampled time"},
                    {"self", "Own time, of sampled time: 100 % is one thread all the time"},
                    {"wait", "Waits that ended, of sampled time: 100 % is one thread all the time"},
                    {"cpu", "Time on a CPU, of sampled time: 100 % is one CPU"},
                    {"errors", "Log lines of the level error in a second of sampled time"},
                    {"sampled", "Processes' time that was sampled"}};
    const char *metric = json_text_at(answer, "metric");
    const cJSON *quantile = json_at(answer, "quantile");
    struct buf out = {0};
    buf_put_u8(&out, '\n');
    if (cJSON_IsNumber(quantile))
        buf_printf(&out, "How long regions lasted: %g %% took no longer",
                   quantile->valuedouble * 100);
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (strcmp(metric, meanings[i].metric) == 0)
            buf_printf(&out, "%s", meanings[i].words);
    buf_printf(&out, ". A value for each %" PRIu64 " minutes",
               json_u64_at(answer, "coarsest_s") / 60);
    return span_say(answer, &out, "\n");
}

static int series_show(const cJSON *answer)
{
    const cJSON *line;
    cJSON *rows = cJSON_CreateArray();
    int status = CLI_OK;
    cJSON_ArrayForEach(line, json_at(answer, "series")) {
        if (cJSON_GetArraySize(json_at(line, "points")) > 0)
            cJSON_AddItemToArray(rows, line_row(line, answer));
    }
    if (cJSON_GetArraySize(rows) == 0) {
        struct buf out = {0};
        buf_printf(&out, "nothing of this was sampled");
        status = span_say(answer, &out, "; policies take samples: skein policy --help\n");
    } else {
        status = rows_show(rows);
        if (status == CLI_OK)
            status = meaning_say(answer);
    }
    cJSON_Delete(rows);
    return status;
}

/* What the answer does not have. */
static void left_out_say(const cJSON *answer)
{
    uint64_t lines = json_u64_at(answer, "left_out.series"),
             names = json_u64_at(answer, "left_out.names");
    uint64_t rows = json_u64_at(answer, "left_out.rows_dropped");
    uint64_t late = json_u64_at(answer, "left_out.late_captures");
    if (lines > 0)
        say_warning("%" PRIu64 " more have less: --limit or --name shows them", lines);
    if (names > 0)
        say_warning("%" PRIu64 " names or more are in (others): a service has 200 of its own",
                    names);
    if (rows > 0)
        say_warning("%" PRIu64 " rows of the oldest time were dropped for analysis.max_rows", rows);
    if (late > 0)
        say_warning("%" PRIu64 " samples changed too late to be counted again", late);
}

static bool needs_service(const struct options *o)
{
    const char *metric = o->metric != NULL ? o->metric : "";
    return o->name != NULL || strcmp(metric, "latency") == 0 || strcmp(metric, "self") == 0;
}

static int series_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct api api;
    struct buf path = {0};
    char number[32];
    cJSON *answer = NULL;
    const char *usual = o->service != NULL ? "latency" : "rate";
    if (o->service == NULL && needs_service(o)) {
        say_error("series: names are of a service: say of which with --service; of all services "
                  "there are rate, count, wait, cpu, errors and sampled");
        return CLI_USAGE;
    }
    int status = api_init(&api, o->collector);
    if (status != CLI_OK)
        return status;
    buf_printf(&path, "/series");
    api_query(&path, "metric", o->metric != NULL ? o->metric : usual);
    api_query(&path, "service", o->service);
    api_query(&path, "name", o->name);
    api_query(&path, "quantile", o->quantile);
    api_query_time(&path, "from", &o->from);
    api_query_time(&path, "to", &o->to);
    if (o->step.given) {
        snprintf(number, sizeof number, "%" PRIu64, o->step.value);
        api_query(&path, "step", number);
    }
    if (o->limit.given) {
        snprintf(number, sizeof number, "%" PRIu64, o->limit.value);
        api_query(&path, "limit", number);
    }
    status = api_call(&api, "GET", text_of(&path), NULL, &answer);
    buf_fini(&path);
    if (status == CLI_OK)
        status = o->json ? json_show(answer) : series_show(answer);
    if (status == CLI_OK && !o->json)
        left_out_say(answer);
    cJSON_Delete(answer);
    return status;
}

const struct cli_command cmd_series = {
    .name = "series",
    .summary = "Show what policies' samples came to over time, by service and name",
    .details =
        "Each sample that a policy takes is summed up at its end: how often each name of each\n"
        "service came, how long it took, what its threads waited for. Values are of sampled time\n"
        "alone: a rate is per second that was sampled, and a time without samples has no value.\n"
        "Prometheus reads the same as counters: docs/series.md.\n",
    .examples = "  skein series\n"
                "  skein series -s shop -q 0.99 --from -7d\n"
                "  skein series -s shop -m wait -o json\n",
    CLI_RUN(options, struct options, series_run),
};
