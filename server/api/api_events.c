/* SPDX-License-Identifier: Apache-2.0
 *
 * /events: server-sent events. What is said and kept is events.c's. No state; any thread.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "api.h"
#include "api_handlers.h"

static int64_t events_read(void *context, uint64_t offset, void *out, size_t n)
{
    (void)offset;
    return events_watch_read(context, out, n);
}

static void events_close(void *context)
{
    events_watch_free(context);
}

/* The id after which the watcher goes on: from the header that browsers send, or the parameter. */
static bool last_id(struct http_exchange *x, struct events_query *query)
{
    const char *header = http_header(x, "Last-Event-ID"), *name = "Last-Event-ID";
    const char *text = header != NULL ? header : http_query(x, name = "after");
    char *end;
    if (text == NULL || text[0] == '\0')
        return true;
    query->resume = true;
    query->after = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && query->after < UINT64_MAX)
        return true;
    http_problem(x, 400, name, "must be the id of an event, digits");
    return false;
}

void api_events(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    char text[API_SELECTOR_BYTES];
    struct events_query query = {.types = http_query(x, "types"), .who = api_holder(x)};
    struct selector *selector = NULL;
    struct events_watch *watch;
    if (!last_id(x, &query) || !api_selector(x, &selector, text))
        return;
    if (query.types != NULL && !event_types_known(query.types)) {
        selector_free(&selector);
        http_problem(x, 400, "types",
                     "must be a list of types that there are: capture.finished,rule.*");
        return;
    }
    query.selector_text = selector != NULL ? text : NULL;
    selector_free(&selector); /* it was only to be checked */
    int status = events_watch_new(api->events, &query, &watch);
    if (status == SKEIN_FULL) {
        http_problem_of(x, PROBLEM_BUSY, NULL,
                        "no place is free for one more watcher: http.max_event_streams are %" PRIu64
                        ", "
                        "the last quarter for tokens that have none",
                        api->config.http_event_streams);
        return;
    }
    if (status != SKEIN_OK) {
        api_failed(x, status, "the events cannot be watched");
        return;
    }
    struct http_source source = {watch, events_read, events_close, ":\n\n"};
    http_add_header(x, "X-Accel-Buffering", "no");
    struct http_live *live = http_reply_live(x, "text/event-stream", &source);
    if (live != NULL)
        events_watch_live(watch, live);
}
