/* SPDX-License-Identifier: Apache-2.0
 *
 * kill -9 of a traced program at random moments, with the real daemons around it: the agent
 * captures each crash, and what is fetched over HTTP holds every event that had been committed.
 * SKEIN_CRASH_ROUNDS sets the number of kills.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "whole.h"

#define RING_BYTES    (1u << 20)
#define WRAPS_NOT     50000 /* events of all threads that surely fit into the ring */
#define SHORT_LIFE_US 500
#define LONG_LIFE_US  20000

struct crash_wait {
    struct whole *w;
    unsigned pid;
    cJSON *capture;
};

static const cJSON *first_target(const cJSON *capture)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(capture, "targets"), 0);
}

/* Kills come one after the other, so only the newest captures can be this one's. One that runs may
 * not know its process yet: it comes with the partitions. */
static bool crash_is_captured(void *context)
{
    struct crash_wait *wait = context;
    const cJSON *item;
    cJSON *page = whole_get(wait->w, "/api/v1/captures?limit=3");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(page, "items")) {
        cJSON *capture = whole_get(wait->w, "/api/v1/captures/%s", whole_str(item, "capture"));
        if (wait->capture == NULL && strcmp(whole_str(capture, "status"), "running") != 0 &&
            (unsigned)whole_number(first_target(capture), "pid") == wait->pid)
            wait->capture = capture;
        else
            cJSON_Delete(capture);
    }
    cJSON_Delete(page);
    return wait->capture != NULL;
}

/* Nothing is missing where the ring cannot have wrapped. Where it has, the newest of a lone thread
 * is there; of several, one that stood still between two chunks may have been lapped by the others.
 */
static bool thread_verify(const struct whole *w, unsigned thread, const struct load *load,
                          const struct seen *seen, bool wrapped)
{
    unsigned long long committed = load->page->committed[thread];
    /* One more may have been committed before the page said so. */
    bool newest = seen->count > 0 && (seen->last + 1 == committed || seen->last == committed);
    bool whole = newest && seen->count == seen->last + 1;
    ck_assert_msg(whole || (wrapped && (newest || load->threads > 1)),
                  "thread %u: %llu events from %llu to %llu, committed were %llu: see %s", thread,
                  (unsigned long long)seen->count, (unsigned long long)seen->first,
                  (unsigned long long)seen->last, committed, w->folder);
    return whole;
}

static void trace_verify(struct whole *w, const cJSON *capture, const struct load *load)
{
    char path[128];
    struct buf bytes = {0};
    struct tally tally;
    uint64_t all = 0;
    bool whole = true;
    (void)snprintf(path, sizeof path, "/api/v1/captures/%s/trace", whole_str(capture, "capture"));
    ck_assert_int_eq(whole_http(w, "GET", path, NULL, &bytes), 200);
    char *file = whole_path(w, "last.skein"); /* for who looks into a failure */
    file_write(file, bytes.data, bytes.len);
    free(file);
    tally_trace(&bytes, &tally);
    buf_fini(&bytes);
    ck_assert_int_eq(tally.death_signal, SIGKILL);
    for (unsigned i = 0; i < load->threads; i++)
        all += load->page->committed[i];
    for (unsigned i = 0; i < load->threads; i++)
        if (load->page->committed[i] > 0)
            whole &= thread_verify(w, i, load, &tally.threads[i], all > WRAPS_NOT);
    /* What is gone from the window is said. */
    ck_assert_str_eq(whole_str(capture, "status"), whole ? "complete" : "incomplete");
}

static bool has_committed(const struct load *load)
{
    for (unsigned i = 0; i < load->threads; i++)
        if (load->page->committed[i] > 0)
            return true;
    return false;
}

static void crash_verify(struct whole *w, const struct load *load, unsigned pid)
{
    struct crash_wait wait = {.w = w, .pid = pid};
    ck_assert_msg(wait_until(crash_is_captured, &wait, 0),
                  "the crash of %u is not captured: see %s", pid, w->folder);
    const cJSON *trigger = cJSON_GetObjectItemCaseSensitive(wait.capture, "trigger");
    const cJSON *death = cJSON_GetObjectItemCaseSensitive(first_target(wait.capture), "death");
    ck_assert_str_eq(whole_str(trigger, "type"), "crash");
    ck_assert_str_eq(whole_str(first_target(wait.capture), "service"), "victim");
    ck_assert_int_eq((int)whole_number(death, "signal"), SIGKILL);
    trace_verify(w, wait.capture, load);
    cJSON_Delete(wait.capture);
}

/* False where the program was killed before it had committed anything. */
static bool round_run(struct whole *w, int round)
{
    struct load load;
    struct load_options options = {.service = "victim",
                                   .threads = 1 + (unsigned)rand() % 4,
                                   .burst = 1 + (unsigned)rand() % 50,
                                   .pause_us = (unsigned)rand() % 3 * 200};
    bool early = round % 8 == 0; /* while it starts and attaches, too */
    load_start(w, &options, &load);
    unsigned pid = (unsigned)load.pid;
    if (!early)
        load_wait_attached(&load);
    long life_us = rand() % (round % 3 == 0 ? SHORT_LIFE_US : LONG_LIFE_US);
    struct timespec chance = {0, life_us * 1000}; /* the moment, not a wait */
    (void)nanosleep(&chance, NULL);
    load_kill(&load, SIGKILL);
    bool committed = has_committed(&load);
    if (committed)
        crash_verify(w, &load, pid);
    load_free(&load);
    return committed;
}

START_TEST(everything_committed_survives_kills_of_the_service)
{
    struct whole w;
    const char *rounds_text = getenv("SKEIN_CRASH_ROUNDS");
    int rounds = rounds_text ? (int)strtol(rounds_text, NULL, 10) : 220, captured = 0;
    char more[128];
    unsigned seed = (unsigned)time(NULL);
    fprintf(stderr, "seed %u\n", seed);
    srand(seed);
    (void)snprintf(more, sizeof more,
                   "\"ring\":{\"bytes\":%u},\"crash\":{\"cooldown_ms\":0,\"pre_ms\":60000}",
                   RING_BYTES);
    whole_init(&w, NULL, more);
    whole_collector_start(&w);
    whole_agent_start(&w);
    for (int i = 0; i < rounds; i++)
        captured += round_run(&w, i);
    fprintf(stderr, "%d kills, %d of them after the first event\n", rounds, captured);
    ck_assert_int_ge(captured, rounds / 2);
    whole_wait_drained(&w);
    whole_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_kill_service");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 280);
    tcase_add_test(c, everything_committed_survives_kills_of_the_service);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
