/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-sent events from pieces. One thread.
 */
#include <stdlib.h>
#include <string.h>

#include "cli_sse.h"
#include "support.h"

static int take(void *context, const struct sse_event *event)
{
    struct buf *said = context;
    buf_printf(said, "[%s %s %s]", event->id, event->type, event->data);
    return strcmp(event->type, "last") == 0 ? SKEIN_CLOSED : SKEIN_OK;
}

static int feed(struct sse *sse, const char *text, struct buf *said)
{
    int status = sse_feed(sse, text, strlen(text), take, said);
    buf_put_u8(said, 0);
    said->len--;
    return status;
}

START_TEST(events_come_whole_from_pieces)
{
    struct sse sse = {.retry_ms = 0};
    struct buf said = {0};
    ck_assert_int_eq(feed(&sse, "retry: 2000\nid: 7\nevent: re", &said), SKEIN_OK);
    ck_assert_uint_eq(said.len, 0);
    ck_assert_int_eq(feed(&sse, "ady\ndata: {\ndata: }\n", &said), SKEIN_OK);
    ck_assert_uint_eq(said.len, 0);
    ck_assert_int_eq(feed(&sse, "\n: quiet\n\ndata:x\r\r", &said), SKEIN_OK);
    ck_assert_str_eq((const char *)said.data, "[7 ready {\n}][7 message x]");
    ck_assert_uint_eq(sse.retry_ms, 2000);
    sse_fini(&sse);
    buf_fini(&said);
}
END_TEST

START_TEST(an_id_counts_when_its_event_is_whole)
{
    struct sse sse = {.retry_ms = 0};
    struct buf said = {0};
    ck_assert_int_eq(feed(&sse, "id: 1\ndata: a\n\nid: 2\ndata: lost", &said), SKEIN_OK);
    sse_reset(&sse); /* the connection broke */
    ck_assert_str_eq(sse.id, "1");
    ck_assert_int_eq(feed(&sse, ": nothing new\nid: 3\n\n", &said), SKEIN_OK);
    ck_assert_str_eq(sse.id, "3");
    ck_assert_str_eq((const char *)said.data, "[1 message a]");
    sse_fini(&sse);
    buf_fini(&said);
}
END_TEST

START_TEST(who_takes_events_can_end_it_and_lines_are_bounded)
{
    struct sse sse = {.retry_ms = 0};
    struct buf said = {0};
    ck_assert_int_eq(feed(&sse, "event: last\ndata: a\n\ndata: b\n\n", &said), SKEIN_CLOSED);
    ck_assert_str_eq((const char *)said.data, "[ last a]");
    sse_reset(&sse);
    char *line = malloc(SSE_LINE_MAX + 2);
    ck_assert_ptr_nonnull(line);
    memset(line, 'x', SSE_LINE_MAX + 1);
    line[SSE_LINE_MAX + 1] = '\0';
    ck_assert_int_eq(feed(&sse, line, &said), SKEIN_TOO_LARGE);
    free(line);
    sse_fini(&sse);
    buf_fini(&said);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("cli_sse", events_come_whole_from_pieces,
                              an_id_counts_when_its_event_is_whole,
                              who_takes_events_can_end_it_and_lines_are_bounded, NULL));
}
