/* SPDX-License-Identifier: Apache-2.0
 *
 * kill -9 of the agent, or of the collector, at random moments while traced programs write and
 * captures of all kinds are asked for over HTTP and by the programs themselves. Afterwards nothing
 * acknowledged is lost, nothing is stored twice, every capture has ended truthfully, and all is
 * served as before.
 *
 *   test_whole_kill agent|collector      SKEIN_CRASH_ROUNDS sets the number of kills
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "whole.h"

enum { LOADS = 2, CAPTURES_MAX = 20000, KEYS_MAX = 100000, LOOK_EVERY = 20 };

/* One after the other; the window of "absolute" is the last half second. */
static const struct {
    const char *name, *window;
} kinds[] = {{"snapshot", "\"kind\":\"snapshot\",\"pre_ms\":300,\"post_ms\":30"},
             {"absolute", NULL},
             {"record", "\"kind\":\"record\",\"for_ms\":60"},
             {"stream", "\"kind\":\"stream\",\"max_ms\":250"}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool kill_the_agent;

/* ---- asking all the time ---- */

struct asker {
    const struct whole *w;
    atomic_bool stop;
    pthread_t thread;
    char (*captures)[ID_TEXT_BYTES]; /* answered with 202: they may not get lost */
    atomic_size_t count;
};

static int ask_once(const struct whole *w, size_t kind, struct buf *answer)
{
    char window[160], body[400], from[CLOCK_TEXT_BYTES], to[CLOCK_TEXT_BYTES];
    uint64_t now_ns = clock_realtime_ns();
    clock_text(now_ns - 500000000u, from);
    clock_text(now_ns, to);
    (void)snprintf(window, sizeof window, "\"from\":\"%s\",\"to\":\"%s\"", from, to);
    (void)snprintf(body, sizeof body,
                   "{\"selector\":\"service=load\",%s,\"deadline_ms\":4000,\"reason\":\"%s\"}",
                   kinds[kind].window != NULL ? kinds[kind].window : window, kinds[kind].name);
    return whole_http(w, "POST", "/api/v1/captures", body, answer);
}

static void *ask(void *context)
{
    struct asker *asker = context;
    while (!atomic_load(&asker->stop) && asker->count < CAPTURES_MAX) {
        struct buf answer = {0};
        if (ask_once(asker->w, asker->count % KINDS, &answer) == 202) {
            buf_put_u8(&answer, 0);
            cJSON *json = cJSON_Parse((const char *)answer.data);
            const char *id =
                cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "capture"));
            (void)snprintf(asker->captures[asker->count++], ID_TEXT_BYTES, "%s", id ? id : "");
            cJSON_Delete(json);
        }
        buf_fini(&answer);
        struct timespec pace = {0, 20000000}; /* the load, not a wait */
        (void)nanosleep(&pace, NULL);
    }
    return NULL;
}

struct asked_wait {
    const struct asker *asker;
    size_t want;
};

static bool has_asked(void *context)
{
    const struct asked_wait *wait = context;
    return atomic_load(&wait->asker->count) >= wait->want;
}

/* Until one more of each kind was accepted. */
static void wait_asked(const struct asker *asker)
{
    struct asked_wait wait = {asker, atomic_load(&asker->count) + KINDS};
    ck_assert_msg(wait_until(has_asked, &wait, 0), "no capture is accepted: see %s",
                  asker->w->folder);
}

/* ---- what is stored ---- */

struct keys {
    char (*text)[PARTITION_KEY_TEXT_BYTES];
    size_t count;
};

static void take_key(void *context, const cJSON *item)
{
    struct keys *keys = context;
    ck_assert_uint_lt(keys->count, KEYS_MAX);
    (void)snprintf(keys->text[keys->count++], PARTITION_KEY_TEXT_BYTES, "%s",
                   whole_str(item, "partition"));
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* All keys, sorted; each once. */
static void keys_list(const struct whole *w, struct keys *keys)
{
    keys->count = 0;
    (void)whole_list(w, "/api/v1/partitions", take_key, keys);
    qsort(keys->text, keys->count, PARTITION_KEY_TEXT_BYTES, compare_keys);
    for (size_t i = 1; i < keys->count; i++)
        ck_assert_msg(strcmp(keys->text[i - 1], keys->text[i]) != 0, "%s is stored twice",
                      keys->text[i]);
}

static bool key_is_in(const struct keys *keys, const char *key)
{
    return bsearch(key, keys->text, keys->count, PARTITION_KEY_TEXT_BYTES, compare_keys) != NULL;
}

/* What was stored once stays stored. */
static void keys_look(const struct whole *w, struct keys *before, struct keys *now)
{
    keys_list(w, now);
    for (size_t i = 0; i < before->count; i++)
        ck_assert_msg(key_is_in(now, before->text[i]), "%s is lost: see %s", before->text[i],
                      w->folder);
    struct keys other = *before;
    *before = *now;
    *now = other;
}

/* ---- captures at the end ---- */

#define WINDOW_SLACK_NS UINT64_C(20000000) /* an agent's clock may be off by half of a round trip */

/* A time of the capture's window. */
static uint64_t window_time(const cJSON *capture, const char *end)
{
    uint64_t ns = 0;
    const char *text = whole_str(cJSON_GetObjectItemCaseSensitive(capture, "window"), end);
    ck_assert_msg(clock_parse(text, &ns) == SKEIN_OK, "%s", text);
    return ns;
}

static void process_trace_verify(const struct whole *w, const char *capture, const cJSON *about,
                                 const cJSON *target, bool complete)
{
    char path[256];
    struct buf bytes = {0};
    struct tally tally;
    const char *process = whole_str(target, "process");
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace?process=%s", capture, process);
    int status = whole_http(w, "GET", path, NULL, &bytes);
    ck_assert_msg(status == 200, "%s: %d", path, status);
    tally_window(&bytes, window_time(about, "from") + WINDOW_SLACK_NS,
                 window_time(about, "to") - WINDOW_SLACK_NS, &tally);
    buf_fini(&bytes);
    for (unsigned i = 0; complete && i < LOAD_THREADS_MAX; i++)
        ck_assert_msg(tally.threads[i].holes == 0,
                      "capture %s says complete, but thread %u of %s has %u holes: see %s", capture,
                      i, process, tally.threads[i].holes, w->folder);
}

struct look {
    const struct keys *keys;
    const char *capture;
};

static void look_for(void *context, const char *key)
{
    const struct look *look = context;
    ck_assert_msg(key_is_in(look->keys, key), "%s of the complete capture %s is lost", key,
                  look->capture);
}

static void count_kind(const cJSON *capture, unsigned complete[KINDS])
{
    const char *reason = whole_str(cJSON_GetObjectItemCaseSensitive(capture, "trigger"), "reason");
    for (size_t i = 0; i < KINDS; i++)
        complete[i] += strcmp(reason, kinds[i].name) == 0;
}

/* What the programs asked for has its own trigger, and its report was not lost. */
static void trigger_verify(const struct whole *w, const char *id, const cJSON *capture)
{
    const char *reason = whole_str(cJSON_GetObjectItemCaseSensitive(capture, "trigger"), "reason");
    ck_assert_msg(strstr(reason, "no request is known") == NULL, "%s: %s: see %s", id, reason,
                  w->folder);
}

struct counts {
    unsigned complete, incomplete, kinds[KINDS]; /* kinds: of the complete ones */
};

static void capture_verify(const struct whole *w, const char *id, const struct keys *keys,
                           struct counts *counts)
{
    cJSON *capture = whole_capture_final(w, id);
    const cJSON *target;
    bool complete = strcmp(whole_str(capture, "status"), "complete") == 0;
    trigger_verify(w, id, capture);
    *(complete ? &counts->complete : &counts->incomplete) += 1;
    if (complete)
        count_kind(capture, counts->kinds);
    cJSON_ArrayForEach(target, cJSON_GetObjectItemCaseSensitive(capture, "targets")) {
        const char *status = whole_str(target, "status");
        bool all = strcmp(status, "complete") == 0;
        ck_assert_msg(all || strcmp(status, "nothing") == 0 || strcmp(status, "failed") == 0 ||
                          strcmp(status, "expired") == 0,
                      "a target of %s ended as %s", id, status);
        ck_assert_msg(!complete || all || strcmp(status, "nothing") == 0, "%s says complete", id);
        if (all)
            whole_target_keys(target, look_for, &(struct look){keys, id});
        if (all)
            process_trace_verify(w, id, capture, target, complete);
    }
    cJSON_Delete(capture);
}

static void take_id(void *context, const cJSON *item)
{
    struct asker *all = context;
    ck_assert_uint_lt(all->count, CAPTURES_MAX);
    (void)snprintf(all->captures[all->count++], ID_TEXT_BYTES, "%s", whole_str(item, "capture"));
}

/* What is stored is looked at when all captures are final: until then partitions may still come. */
static void captures_verify(const struct whole *w, const struct asker *asked, struct keys *keys,
                            struct keys *spare)
{
    struct counts counts = {0};
    struct asker all = {.captures = calloc(CAPTURES_MAX, ID_TEXT_BYTES)};
    ck_assert_ptr_nonnull(all.captures);
    (void)whole_list(w, "/api/v1/captures", take_id, &all);
    qsort(all.captures, all.count, ID_TEXT_BYTES, compare_keys);
    for (size_t i = 0; i < asked->count; i++)
        ck_assert_msg(
            bsearch(asked->captures[i], all.captures, all.count, ID_TEXT_BYTES, compare_keys),
            "capture %s was accepted and is gone: see %s", asked->captures[i], w->folder);
    for (size_t i = 0; i < all.count; i++)
        cJSON_Delete(whole_capture_final(w, all.captures[i]));
    keys_look(w, keys, spare);
    for (size_t i = 0; i < all.count; i++)
        capture_verify(w, all.captures[i], keys, &counts);
    fprintf(stderr, "%zu captures asked, %zu in all: %u complete, %u incomplete; %zu partitions\n",
            asked->count, all.count, counts.complete, counts.incomplete, keys->count);
    for (size_t i = 0; i < KINDS; i++)
        ck_assert_msg(counts.kinds[i] > 0, "no %s is complete", kinds[i].name);
    free(all.captures);
}

/* ---- the kills ---- */

static void daemon_restart(struct whole *w, const struct asker *asker, int round)
{
    /* The moment, not a wait. A collector must hear of the processes before it can be asked; an
     * agent that never lives for longer than a stream lasts completes none. */
    bool soon = kill_the_agent && round % 10 != 9;
    if (round % 10 == 9)
        wait_asked(asker);
    struct timespec chance = {0, rand() % (soon             ? 150000000
                                           : kill_the_agent ? 900000000
                                                            : 400000000)};
    (void)nanosleep(&chance, NULL);
    if (kill_the_agent) {
        whole_kill(&w->agent);
        whole_agent_spawn(w);
    } else {
        whole_kill(&w->collector);
        whole_collector_start(w);
    }
}

static void loads_start(struct whole *w, struct load loads[LOADS])
{
    for (unsigned i = 0; i < LOADS; i++) {
        struct load_options options = {
            .service = "load", .threads = 3, .burst = 10, .pause_us = 1500, .snapshot_ms = 70};
        load_start(w, &options, &loads[i]);
    }
    for (unsigned i = 0; i < LOADS; i++)
        load_wait_attached(&loads[i]);
    whole_wait_live(w, "service%3Dload", LOADS);
}

/* The loads end, so that nothing new comes, and what the agent holds goes to the collector. */
static void loads_end(struct whole *w, struct load loads[LOADS])
{
    for (unsigned i = 0; i < LOADS; i++)
        loads[i].page->stop = 1;
    for (unsigned i = 0; i < LOADS; i++) {
        ck_assert_int_eq(spawn_wait(loads[i].pid, 0), 0);
        loads[i].pid = 0;
        load_free(&loads[i]);
    }
    whole_wait_drained(w);
}

START_TEST(nothing_acknowledged_is_lost_and_nothing_comes_twice)
{
    struct whole w;
    struct load loads[LOADS];
    struct keys before = {calloc(KEYS_MAX, PARTITION_KEY_TEXT_BYTES), 0};
    struct keys now = {calloc(KEYS_MAX, PARTITION_KEY_TEXT_BYTES), 0};
    struct asker asker = {.w = &w, .captures = calloc(CAPTURES_MAX, ID_TEXT_BYTES)};
    const char *rounds_text = getenv("SKEIN_CRASH_ROUNDS");
    int rounds = rounds_text      ? (int)strtol(rounds_text, NULL, 10)
                 : kill_the_agent ? 110
                                  : 50; /* each costs a second of a processor */
    unsigned seed = (unsigned)time(NULL);
    fprintf(stderr, "seed %u\n", seed);
    srand(seed);
    whole_init(&w, "\"store\":{\"segment_bytes\":1048576}",
               "\"ring\":{\"bytes\":524288},\"snapshot\":{\"cooldown_ms\":150,\"pre_ms\":200,"
               "\"post_ms\":20}");
    whole_collector_start(&w);
    whole_agent_start(&w);
    loads_start(&w, loads);
    ck_assert_int_eq(pthread_create(&asker.thread, NULL, ask, &asker), 0);
    for (int i = 0; i < rounds; i++) {
        daemon_restart(&w, &asker, i);
        if (i % LOOK_EVERY == LOOK_EVERY - 1)
            keys_look(&w, &before, &now);
    }
    wait_asked(&asker);
    atomic_store(&asker.stop, true);
    pthread_join(asker.thread, NULL);
    whole_wait_live(&w, "service%3Dload", LOADS);
    whole_serves(&w, "service=load");
    loads_end(&w, loads);
    captures_verify(&w, &asker, &before, &now);
    whole_fini(&w);
    free(before.text);
    free(now.text);
    free(asker.captures);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    kill_the_agent = strcmp(argv[1], "agent") == 0;
    Suite *suite = suite_create(kill_the_agent ? "whole_kill_agent" : "whole_kill_collector");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 580);
    tcase_add_test(c, nothing_acknowledged_is_lost_and_nothing_comes_twice);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
