/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream through both daemons: what has arrived is downloaded while it runs, and when it is
 * stopped the whole is contiguous and holds all that was written between its begin and its end,
 * also where the collector was killed meanwhile.
 */
#include <stdio.h>
#include <string.h>

#include "whole.h"

enum { THREADS = 2, LOOKS = 3 };

struct stream {
    struct whole w;
    struct load load;
    char id[ID_TEXT_BYTES];
    uint64_t begun[THREADS], stopped[THREADS]; /* events committed by then */
};

static void note_committed(const struct stream *s, uint64_t out[THREADS])
{
    for (int i = 0; i < THREADS; i++)
        out[i] = s->load.page->committed[i];
}

static void stream_start(struct stream *s)
{
    struct load_options options = {
        .service = "load", .threads = THREADS, .burst = 5, .pause_us = 1000};
    memset(s, 0, sizeof *s);
    whole_init(&s->w, NULL, NULL);
    whole_collector_start(&s->w);
    whole_agent_start(&s->w);
    load_start(&s->w, &options, &s->load);
    whole_wait_live(&s->w, "service%3Dload", 1);
    load_wait_attached(&s->load);
    load_wait_events(&s->load, 10);
    struct capture_id capture =
        whole_capture(&s->w, "{\"selector\":\"service=load\",\"kind\":\"stream\"}");
    note_committed(s, s->begun);
    id_text(capture.bytes, s->id);
}

/* What can be had of it now: 404 while that is nothing. */
static int download(const struct stream *s, struct tally *tally)
{
    char path[96];
    struct buf bytes = {0};
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace", s->id);
    int status = whole_http(&s->w, "GET", path, NULL, &bytes);
    if (status == 200)
        tally_trace(&bytes, tally);
    buf_fini(&bytes);
    return status;
}

static void expect_contiguous(const struct stream *s, const struct tally *tally)
{
    for (int i = 0; i < THREADS; i++) {
        const struct seen *seen = &tally->threads[i];
        ck_assert_msg(seen->holes == 0, "thread %d has %u holes: see %s", i, seen->holes,
                      s->w.folder);
        ck_assert_msg(seen->count == 0 || seen->first <= s->begun[i],
                      "thread %d begins with %llu, %llu were written: see %s", i,
                      (unsigned long long)seen->first, (unsigned long long)s->begun[i],
                      s->w.folder);
    }
}

struct growth {
    const struct stream *s;
    uint64_t beyond; /* events */
    struct tally tally;
};

static bool has_grown(void *context)
{
    struct growth *g = context;
    int status = download(g->s, &g->tally);
    ck_assert_msg(status == 200 || (status == 404 && g->beyond == 0), "%d: see %s", status,
                  g->s->w.folder);
    return status == 200 && g->tally.events > g->beyond;
}

/* Each look holds more than the one before, without a hole. Returns how much the last holds. */
static uint64_t look_on(const struct stream *s, uint64_t beyond)
{
    struct growth g = {.s = s, .beyond = beyond};
    for (int i = 0; i < LOOKS; i++) {
        ck_assert_msg(wait_until(has_grown, &g, 0), "nothing more arrives: see %s", s->w.folder);
        expect_contiguous(s, &g.tally);
        g.beyond = g.tally.events;
    }
    return g.beyond;
}

static void expect_running(const struct stream *s)
{
    cJSON *json = whole_get(&s->w, "/api/v1/captures/%s", s->id);
    const cJSON *target = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "targets"), 0);
    ck_assert_str_eq(whole_str(json, "status"), "running");
    ck_assert_str_eq(whole_str(target, "status"), "capturing");
    ck_assert_int_gt(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(target, "partitions")), 0);
    cJSON_Delete(json);
    json = whole_get(&s->w, "/api/v1/captures/%s/manifest", s->id);
    ck_assert(whole_number(json, "events") > 0);
    cJSON_Delete(json);
}

static void stop(struct stream *s)
{
    char path[96];
    note_committed(s, s->stopped);
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s:stop", s->id);
    ck_assert_int_eq(whole_http(&s->w, "POST", path, NULL, NULL), 202);
}

static void expect_whole(const struct stream *s)
{
    struct tally tally;
    cJSON *json = whole_capture_final(&s->w, s->id);
    const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(json, "verdict");
    ck_assert_str_eq(whole_str(json, "status"), "stopped");
    ck_assert_msg(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(verdict, "complete")), "%s: see %s",
                  whole_str(verdict, "text"), s->w.folder);
    cJSON_Delete(json);
    ck_assert_int_eq(download(s, &tally), 200);
    expect_contiguous(s, &tally);
    for (int i = 0; i < THREADS; i++)
        ck_assert_msg(tally.threads[i].last + 1 >= s->stopped[i],
                      "thread %d ends with %llu, %llu were written: see %s", i,
                      (unsigned long long)tally.threads[i].last, (unsigned long long)s->stopped[i],
                      s->w.folder);
}

static void stream_fini(struct stream *s)
{
    load_free(&s->load);
    whole_fini(&s->w);
}

START_TEST(stream_is_downloaded_while_it_runs_and_is_whole_in_the_end)
{
    struct stream s;
    stream_start(&s);
    look_on(&s, 0);
    expect_running(&s);
    stop(&s);
    expect_whole(&s);
    stream_fini(&s);
}
END_TEST

START_TEST(stream_goes_on_when_the_collector_was_killed)
{
    struct stream s;
    stream_start(&s);
    uint64_t before = look_on(&s, 0);
    whole_kill(&s.w.collector);
    load_wait_events(&s.load, 1000);
    whole_collector_start(&s.w);
    look_on(&s, before);
    stop(&s);
    expect_whole(&s);
    stream_fini(&s);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("whole_stream",
                              stream_is_downloaded_while_it_runs_and_is_whole_in_the_end,
                              stream_goes_on_when_the_collector_was_killed, NULL));
}
