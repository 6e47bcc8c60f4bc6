/* SPDX-License-Identifier: Apache-2.0
 *
 * GET /series: what sampled time came to, over weeks, as JSON, or since the beginning for Prometheus
 * (docs/series.md). Values over time are read of up to a million rows: beside the server's threads, at
 * most API_SERIES_PLACES, shared among those who ask. No state; any thread.
 *
 * Rows are of services: they have no other label. So a token with a selector sees what of it is of one
 * service and of nothing else, "service=NAME"; any other selector may exclude processes that a row
 * counts, and is answered 403.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "clock.h"
#include "json.h"
#include "series.h"

#define STEP_S 600u
#define DAY_S  UINT64_C(86400)
#define MOST_S (UINT64_C(1) << 33) /* what times are cut to: the year 2242 */
#define USUAL  144u                /* points where nobody says how many */
#define LINES  20u

/* The service that the asker may see: all that he asks for (NULL: all), or his own. False: an answer
 * was given. */
static bool service_of(struct http_exchange *x, const char **service)
{
    const struct principal *who = http_principal(x);
    const char *key, *value, *further, *more;
    *service = http_query(x, "service");
    if (who->selector == NULL)
        return true;
    if (!selector_equality(who->selector, 0, &key, &value) || strcmp(key, "service") != 0 ||
        strpbrk(who->selector_text, ",!()") != NULL ||
        selector_equality(who->selector, 1, &further, &more)) {
        http_problem_of(
            x, PROBLEM_CONFINED, NULL,
            "the token %s is confined to some processes; series are of whole services, and a "
            "token with the selector service=NAME alone sees those of NAME",
            who->name);
        return false;
    }
    if (*service != NULL && strcmp(*service, value) != 0) {
        http_problem_of(x, PROBLEM_CONFINED, "service",
                        "the token %s is confined to the service %s", who->name, value);
        return false;
    }
    *service = value;
    return true;
}

/* ---- Prometheus ---- */

static const struct form {
    const char *name, *type;
    enum series_form form;
} forms[] = {{"prometheus", "text/plain; version=0.0.4; charset=utf-8", SERIES_PROMETHEUS},
             {"openmetrics", "application/openmetrics-text; version=1.0.0; charset=utf-8",
              SERIES_OPENMETRICS}};

/* What is asked for by name, or by Accept where there is no metric; *json: neither form. False: a 400
 * was given. */
static bool form_of(struct http_exchange *x, const struct form **form)
{
    const char *name = http_query(x, "format"), *accept = http_header(x, "Accept");
    *form = NULL;
    if (name == NULL && http_query(x, "metric") == NULL && accept != NULL) {
        if (strstr(accept, "application/openmetrics-text") != NULL)
            *form = &forms[SERIES_OPENMETRICS];
        else if (strstr(accept, "text/plain") != NULL)
            *form = &forms[SERIES_PROMETHEUS];
        return true;
    }
    if (name == NULL || strcmp(name, "json") == 0)
        return true;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(name, forms[i].name) == 0)
            *form = &forms[i];
    if (*form == NULL)
        http_problem(x, 400, "format", "must be json, openmetrics or prometheus");
    return *form != NULL;
}

static void series_expose_reply(struct api_services *api, struct http_exchange *x,
                                const char *service, const struct form *form)
{
    struct buf out = {0};
    int status = series_expose(api->aggregate, service, form->form, &out);
    if (status == SKEIN_OK)
        http_reply(x, 200, form->type, out.data, out.len);
    else
        api_failed(x, status, "the series cannot be read");
    buf_fini(&out);
}

/* ---- values over time ---- */

static bool metric_of(struct http_exchange *x, struct series_query *q)
{
    const char *text = http_query(x, "metric");
    q->metric = text != NULL ? series_metric_of(text) : SERIES_METRICS;
    if (q->metric == SERIES_METRICS) {
        http_problem(x, 400, "metric", "must be " SERIES_METRIC_NAMES);
        return false;
    }
    if (q->service == NULL && (series_metric_needs_service(q->metric) || q->name != NULL)) {
        http_problem(x, 400, "service", "is missing: names are of a service");
        return false;
    }
    if (q->name != NULL && !series_metric_is_of_names(q->metric)) {
        http_problem(x, 400, "name", "%s is of services: it takes no name", text);
        return false;
    }
    return true;
}

/* Whole seconds, or text with a unit; a multiple of ten minutes. */
static bool step_of(struct http_exchange *x, struct series_query *q)
{
    const char *text = http_query(x, "step");
    char *end;
    uint64_t span_s = q->to_s - q->from_s, step_s = span_s / USUAL;
    step_s = step_s > STEP_S ? (step_s + STEP_S - 1) / STEP_S * STEP_S : STEP_S;
    if (text != NULL) {
        step_s = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || step_s == 0 || step_s % STEP_S != 0 ||
            step_s > 366 * DAY_S) {
            http_problem(x, 400, "step", "must be seconds, a multiple of %u", STEP_S);
            return false;
        }
    }
    q->step_s = (uint32_t)step_s;
    q->from_s -= q->from_s % step_s;
    if ((q->to_s - q->from_s) / step_s < SERIES_POINTS)
        return true;
    http_problem(x, 400, "step", "is too short: there would be more than %u points", SERIES_POINTS);
    return false;
}

static bool times_of(struct http_exchange *x, struct series_query *q)
{
    uint64_t from_ns, to_ns;
    if (!api_window(x, &from_ns, &to_ns))
        return false;
    q->to_s = http_query(x, "to") != NULL ? to_ns / 1000000000u + 1
                                          : clock_realtime_ns() / 1000000000u + 1;
    q->to_s = q->to_s < MOST_S ? q->to_s : MOST_S;
    q->from_s = http_query(x, "from") != NULL ? from_ns / 1000000000u
                                              : (q->to_s > DAY_S ? q->to_s - DAY_S : 0);
    if (q->from_s < q->to_s)
        return true;
    http_problem(x, 400, "from", "must be before to, which is now where it is not given");
    return false;
}

static bool quantile_of(struct http_exchange *x, struct series_query *q)
{
    const char *text = http_query(x, "quantile");
    char *end;
    q->quantile = text != NULL ? strtod(text, &end) : 0.5;
    if (text == NULL ||
        (text[0] >= '0' && text[0] <= '9' && *end == '\0' && q->quantile >= 0 && q->quantile <= 1))
        return true;
    http_problem(x, 400, "quantile", "must be a number from 0 to 1, as 0.99");
    return false;
}

/* A query beside the server's threads, and what it needs to see that nobody waits for it. */
struct series_read {
    struct series_query query;
    struct api_services *api;
    struct http_exchange *x;
};

static bool is_over(void *context)
{
    const struct series_read *read = context;
    return __atomic_load_n(&read->api->draining, __ATOMIC_RELAXED) || http_gone(read->x);
}

static void series_run(void *context, struct http_exchange *x)
{
    struct series_read *read = context;
    struct api_services *api = read->api;
    cJSON *json;
    int status = series_json(api->aggregate, &read->query, &json);
    if (status == SKEIN_OK)
        http_reply_json(x, 200, json);
    else if (status == SKEIN_CLOSED)
        http_problem_of(x, PROBLEM_UNAVAILABLE, NULL,
                        "the collector is stopping, or nobody waits for the answer");
    else
        api_failed(x, status, "the series cannot be read");
    free(read);
    places_leave(api->series, api_holder(x));
}

static void series_begin(struct api_services *api, struct http_exchange *x,
                         const struct series_query *query)
{
    if (!places_enter(api->series, api_holder(x))) {
        http_add_header(x, "Retry-After", "10");
        http_problem_of(x, PROBLEM_BUSY, NULL,
                        "no place is free for one more read of series: there are %u, the last "
                        "quarter for tokens that have none",
                        API_SERIES_PLACES);
        return;
    }
    struct series_read *read = malloc(sizeof *read);
    if (read != NULL) {
        *read = (struct series_read){*query, api, x};
        read->query.stop = is_over;
        read->query.context = read;
    }
    if (read != NULL && http_aside(x, series_run, read))
        return;
    free(read);
    places_leave(api->series, api_holder(x));
}

void api_series(void *context, struct http_exchange *x)
{
    struct series_query query = {.name = http_query(x, "name"), .limit = LINES};
    const struct form *form;
    if (!service_of(x, &query.service) || !form_of(x, &form))
        return;
    if (form != NULL) {
        series_expose_reply(context, x, query.service, form);
        return;
    }
    if (!metric_of(x, &query) || !times_of(x, &query) || !step_of(x, &query) ||
        !quantile_of(x, &query) || !api_query_number(x, "limit", SERIES_LINES, &query.limit))
        return;
    series_begin(context, x, &query);
}
