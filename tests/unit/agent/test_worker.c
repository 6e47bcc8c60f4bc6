/* SPDX-License-Identifier: Apache-2.0
 * In which turn the worker does what many users post, while all of it waits. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc_fail.h"
#include "support.h"
#include "worker.h"

#define CROWD    1000
#define DONE_MAX 4096

static struct worker *worker;
static sem_t held, gate;
static int done[DONE_MAX]; /* what each job said, in the order they were done */
static size_t done_count;

static void hold(void *context)
{
    (void)context;
    sem_post(&held);
    sem_wait(&gate);
}

static void note(void *context)
{
    must_hold(done_count < DONE_MAX, "more was done than was posted");
    done[done_count++] = *(const int *)context;
}

/* What each note says is where it stands here. */
static int words[DONE_MAX];

static void setup(void)
{
    done_count = 0;
    for (int i = 0; i < DONE_MAX; i++)
        words[i] = i;
    sem_init(&held, 0, 0);
    sem_init(&gate, 0, 0);
    ck_assert_int_eq(worker_new(&worker), SKEIN_OK);
    ck_assert_int_eq(worker_post(worker, NULL, hold, NULL), SKEIN_OK);
    sem_wait(&held); /* nothing is waiting any more, and nothing is done */
}

static void all_do(void)
{
    sem_post(&gate);
    worker_free(&worker);
}

static void post(const struct share_key *whose, int word)
{
    ck_assert_int_eq(worker_post(worker, whose, note, &words[word]), SKEIN_OK);
}

static size_t place_of(int word)
{
    for (size_t i = 0; i < done_count; i++)
        if (done[i] == word)
            return i;
    ck_abort_msg("%d was not done", word);
    return 0;
}

START_TEST(who_comes_behind_anothers_crowd_is_next)
{
    const struct share_key nobody = share_key_of(65534, "/crowd", "snapshot"),
                           root = share_key_of(0, "/shop", "rule");
    for (int i = 0; i < CROWD; i++)
        post(&nobody, i);
    post(&root, CROWD);
    post(NULL, CROWD + 1); /* the agent's own */
    all_do();
    ck_assert_uint_eq(done_count, CROWD + 2);
    ck_assert_uint_le(place_of(CROWD), 1);
    ck_assert_uint_le(place_of(CROWD + 1), 2);
    for (int i = 1; i < CROWD; i++)
        must_hold(place_of(i - 1) < place_of(i), "%d was done before %d", i, i - 1);
}
END_TEST

/* Beside each other: another program of the user, and another cause of the program. */
START_TEST(programs_of_a_user_and_causes_of_a_program_take_turns)
{
    const struct share_key crowd = share_key_of(1000, "/crowd", "snapshot"),
                           crash = share_key_of(1000, "/crowd", "crash"),
                           other = share_key_of(1000, "/other", "snapshot");
    for (int i = 0; i < CROWD; i++)
        post(&crowd, i);
    post(&crash, CROWD);
    post(&other, CROWD + 1);
    all_do();
    ck_assert_uint_le(place_of(CROWD + 1), 1);
    ck_assert_uint_le(place_of(CROWD), 2);
}
END_TEST

/* However many programs one makes up, each is done, in its order, and nobody waits for them all. */
START_TEST(a_crowd_of_programs_has_the_turns_of_one_user)
{
    const struct share_key root = share_key_of(0, "/shop", "rule");
    for (int i = 0; i < CROWD; i++) {
        char program[32];
        (void)snprintf(program, sizeof program, "/crowd/%d", i);
        const struct share_key one = share_key_of(65534, program, "crash");
        post(&one, 2 * i);
        post(&one, 2 * i + 1);
    }
    post(&root, 2 * CROWD);
    all_do();
    ck_assert_uint_eq(done_count, 2 * CROWD + 1);
    ck_assert_uint_le(place_of(2 * CROWD), 1);
    for (int i = 0; i < CROWD; i++)
        must_hold(place_of(2 * i) < place_of(2 * i + 1), "the second job of %d was first", i);
}
END_TEST

START_TEST(what_is_posted_first_passes_its_own_turn_alone)
{
    const struct share_key a = share_key_of(1, "/a", "rule"), b = share_key_of(2, "/b", "rule");
    for (int i = 0; i < 4; i++)
        post(&a, i);
    post(&b, 4);
    for (int i = 5; i < 8; i++) /* b's second job would wait for all of these, were they in front */
        ck_assert_int_eq(worker_post_first(worker, &a, note, &words[i]), SKEIN_OK);
    all_do();
    const int want[] = {7, 4, 6, 5, 0, 1, 2, 3};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        ck_assert_int_eq(done[i], want[i]);
}
END_TEST

/* A job that was not taken is not done, and leaves nothing behind that a later one meets. */
START_TEST(without_memory_a_job_is_refused)
{
    int taken = 0, refused = 0;
    for (unsigned n = 1;; n++) {
        const struct share_key fresh = share_key_of(n, "/a", "rule");
        alloc_fail_at(n);
        int status = worker_post(worker, &fresh, note, &words[0]);
        bool failed = alloc_fail_end();
        ck_assert_int_eq(status, failed ? SKEIN_NO_MEMORY : SKEIN_OK);
        taken += !failed;
        refused += failed;
        if (!failed)
            break;
    }
    ck_assert_int_ge(refused, 2);
    all_do();
    ck_assert_uint_eq(done_count, (size_t)taken);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("worker");
    TCase *tc = tcase_create("turns");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, who_comes_behind_anothers_crowd_is_next);
    tcase_add_test(tc, programs_of_a_user_and_causes_of_a_program_take_turns);
    tcase_add_test(tc, a_crowd_of_programs_has_the_turns_of_one_user);
    tcase_add_test(tc, what_is_posted_first_passes_its_own_turn_alone);
    tcase_add_test(tc, without_memory_a_job_is_refused);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
